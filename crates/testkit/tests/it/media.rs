//! Images and files in the results of calls: what the fakes take and refuse, and that they take all that the dialects
//! write.

use bytes::Bytes;
use dialects::{Ask, Call, Dialect, Finish, Round};
use domain::{Part, ToolCall, ToolResult};
use proptest::prelude::*;
use serde_json::{Value, json};
use testkit::fake_upstream::FakeUpstream;
use testkit::script;

use crate::client::post;

const CHAT: &str = "openai_chat";
const RESPONSES: &str = "openai_responses";
const MESSAGES: &str = "anthropic_messages";
const GEMINI: &str = "gemini";

fn model(dialect: &str) -> &'static str {
    match dialect {
        MESSAGES => "claude-sonnet-5",
        GEMINI => "gemini-3-flash",
        _ => "gpt-5.2",
    }
}

fn path(dialect: &str, model: &str) -> String {
    match dialect {
        CHAT => "/v1/chat/completions".to_owned(),
        RESPONSES => "/v1/responses".to_owned(),
        MESSAGES => "/v1/messages".to_owned(),
        _ => format!("/v1beta/models/{model}:generateContent"),
    }
}

/// A question, and the model's message with one call in the dialect's shape.
fn asked(dialect: &str) -> (Value, Value) {
    let model = model(dialect);
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    match dialect {
        CHAT => {
            let call = json!({"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}});
            let tool = json!({"type": "function", "function": {"name": "f", "parameters": schema}});
            (
                json!({"model": model, "tools": [tool], "messages": [{"role": "user", "content": "hi"}]}),
                json!({"role": "assistant", "content": null, "tool_calls": [call]}),
            )
        }
        RESPONSES => {
            let call = json!({"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"});
            let tool = json!({"type": "function", "name": "f", "strict": false, "parameters": schema});
            (
                json!({"model": model, "store": false, "tools": [tool], "input": "hi"}),
                json!({"output": [call]}),
            )
        }
        MESSAGES => {
            let call = json!({"type": "tool_use", "id": "c1", "name": "f", "input": {}});
            let messages = [json!({"role": "user", "content": "hi"})];
            let tool = json!({"name": "f", "input_schema": schema});
            (
                json!({"model": model, "max_tokens": 9, "tools": [tool], "messages": messages}),
                json!({"role": "assistant", "content": [call]}),
            )
        }
        _ => {
            let call = json!({"functionCall": {"name": "f", "args": {}}});
            let contents = [json!({"role": "user", "parts": [{"text": "hi"}]})];
            (
                json!({"contents": contents, "tools": [{"functionDeclarations": [{"name": "f"}]}]}),
                json!({"role": "model", "parts": [call]}),
            )
        }
    }
}

/// The request with a result of these parts, as the dialect writes it.
fn follow_up(dialect: &dyn Dialect, parts: Vec<Part>, content: &str, is_error: bool) -> Value {
    let (body, message) = asked(dialect.name());
    let body = Bytes::from(body.to_string());
    let request = dialect.read_request(&path(dialect.name(), model(dialect.name())), body).unwrap();
    let id = if dialect.name() == GEMINI { "" } else { "c1" };
    let call = ToolCall { id: id.to_owned(), name: "f".to_owned(), arguments: "{}".to_owned() };
    let result = ToolResult {
        call_id: id.to_owned(),
        name: "f".to_owned(),
        content: content.to_owned(),
        parts,
        is_error,
    };
    let calls = vec![Call { call, owned: true }];
    let round = Round { calls, finish: Finish::Normal, message: message.to_string().into() };
    let next = dialect.follow_up(&request, &request.raw, &round, &[result], Ask::Again, &[]).unwrap();
    serde_json::from_slice(&next).unwrap()
}

async fn status(fake: &FakeUpstream, dialect: &str, body: &Value) -> u16 {
    post(fake, &path(dialect, model(dialect)), body).await.status().as_u16()
}

/// Where the result of the only call stands.
fn result_mut<'a>(dialect: &str, body: &'a mut Value) -> &'a mut Value {
    let pointer = match dialect {
        CHAT => "/messages/2/content",
        RESPONSES => "/input/2/output",
        MESSAGES => "/messages/2/content/0/content",
        _ => "/contents/2/parts/0/functionResponse/parts",
    };
    body.pointer_mut(pointer).unwrap()
}

#[tokio::test]
async fn refuses_what_the_real_ones_refuse() {
    let fake = FakeUpstream::start(vec![script::Round::text("done")]).await;
    let source = |mime: &str, data: &str| json!({"type": "base64", "media_type": mime, "data": data});
    let image = |mime: &str, data: &str| json!([{"type": "image", "source": source(mime, data)}]);
    let document = |source: Value| json!([{"type": "document", "source": source}]);
    let url = |mime: &str| format!("data:{mime};base64,aGk=");
    let input = |url: &str| json!([{"type": "input_image", "image_url": url, "detail": "auto"}]);
    let file = |mime: &str| json!([{"type": "input_file", "filename": "f", "file_data": url(mime)}]);
    let blob = |mime: &str| json!([{"inlineData": {"mimeType": mime, "data": "aGk="}}]);
    let table = [
        (CHAT, json!([{"type": "text", "text": "x"}]), 200),
        (CHAT, json!([{"type": "image_url", "image_url": {"url": url("image/png")}}]), 400),
        (CHAT, json!([{"type": "text"}]), 400),
        (MESSAGES, image("image/gif", "aGk="), 200),
        (MESSAGES, image("image/tiff", "aGk="), 400),
        (MESSAGES, image("image/png", "a b"), 400),
        (MESSAGES, image("image/png", &"AAAA".repeat(2 * 1024 * 1024)), 400),
        (MESSAGES, json!([{"type": "image", "source": {"type": "text", "data": "x"}}]), 400),
        (MESSAGES, json!([{"type": "input_image", "image_url": url("image/png")}]), 400),
        (MESSAGES, document(source("application/pdf", "aGk=")), 200),
        (MESSAGES, document(source("text/plain", "aGk=")), 400),
        (MESSAGES, document(json!({"type": "text", "media_type": "text/plain", "data": "x"})), 200),
        (MESSAGES, document(json!({"type": "text", "media_type": "text/plain", "data": ""})), 400),
        (MESSAGES, document(json!({"type": "text", "media_type": "text/csv", "data": "x"})), 400),
        (RESPONSES, json!([{"type": "input_text", "text": "x"}]), 200),
        (RESPONSES, json!([{"type": "output_text", "text": "x"}]), 400),
        (RESPONSES, input(&url("image/png")), 200),
        (RESPONSES, input(&url("image/tiff")), 400),
        (RESPONSES, input("data:image/png;base64,-"), 400),
        (RESPONSES, json!([{"type": "input_image", "image_url": {"url": url("image/png")}}]), 400),
        (RESPONSES, file("text/plain"), 200),
        (RESPONSES, file("application/x-sh"), 400),
        (RESPONSES, json!([{"type": "input_file", "file_data": url("text/plain")}]), 400),
        (GEMINI, blob("image/webp"), 200),
        (GEMINI, blob("image/gif"), 400),
        (GEMINI, json!([{"text": "x"}]), 400),
        (GEMINI, json!([{"inlineData": {"data": "aGk="}}]), 400),
    ];
    let sound = vec![Part::Image { mime: "image/png".to_owned(), data: "aGk=".to_owned() }];
    for (dialect, content, wanted) in table {
        let mut body = follow_up(dialects::by_name(dialect).unwrap(), sound.clone(), "x", false);
        *result_mut(dialect, &mut body) = content.clone();
        assert_eq!(status(&fake, dialect, &body).await, wanted, "{dialect} {:.200}", content.to_string());
    }
    let mut body = follow_up(dialects::by_name(MESSAGES).unwrap(), sound.clone(), "x", false);
    body["messages"][2]["content"][0]["is_error"] = true.into();
    assert_eq!(status(&fake, MESSAGES, &body).await, 400);
    let body = follow_up(dialects::by_name(GEMINI).unwrap(), sound, "x", false);
    for (model, wanted) in [("gemini-2.5-pro", 400), ("gemini-3.1-pro", 200)] {
        let answer = post(&fake, &path(GEMINI, model), &body).await;
        assert_eq!(answer.status().as_u16(), wanted, "{model}");
    }
}

fn part(media: &'static [&'static str]) -> impl Strategy<Value = Part> {
    let data = prop_oneof![Just("aGk="), Just("w6k="), Just("AAAA")];
    let name = prop_oneof![Just(String::new()), ".{1,12}", Just("n".repeat(400))];
    (any::<bool>(), name, prop::sample::select(media), data).prop_map(|(is_image, name, mime, data)| {
        let (mime, data) = (mime.to_owned(), data.to_owned());
        if is_image { Part::Image { mime, data } } else { Part::File { name, mime, data } }
    })
}

fn check(dialect: &'static str, parts: Vec<Part>, content: &str, is_error: bool) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let fake = FakeUpstream::start(vec![script::Round::text("done")]).await;
        let one = dialects::by_name(dialect).unwrap();
        let body = follow_up(one, parts, content, is_error);
        assert_eq!(status(&fake, dialect, &body).await, 200, "{:?} {body}", fake.refusals());
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn the_fakes_take_all_that_the_dialects_write(
        content in prop_oneof![Just(String::new()), ".{1,9}"],
        is_error in any::<bool>(),
        lists in [RESPONSES, MESSAGES, GEMINI].map(|dialect| {
            let media = dialects::by_name(dialect).unwrap().media(model(dialect));
            prop::collection::vec(part(media), 0..4)
        }),
    ) {
        // Every error has a message.
        let content = if is_error && content.is_empty() { "failed" } else { &content };
        for (dialect, parts) in [RESPONSES, MESSAGES, GEMINI].into_iter().zip(lists) {
            check(dialect, parts, content, is_error);
        }
        check(CHAT, Vec::new(), content, is_error);
    }
}
