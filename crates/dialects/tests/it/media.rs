//! Images and files of results: how each dialect writes them, for which models, and how kept rounds lose them.

use bytes::Bytes;
use dialects::{Ask, Call, ClientRequest, Ending, Finish, Kept, Round};
use domain::{Part, ToolCall, ToolResult};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::support::{CHAT, GEMINI, MESSAGES, RESPONSES, dialect, owned, plain};

fn parts() -> Vec<Part> {
    let file = |name: &str, mime: &str| Part::File {
        name: name.to_owned(),
        mime: mime.to_owned(),
        data: "aGk=".to_owned(),
    };
    vec![
        Part::Image { mime: "image/png".to_owned(), data: "aGk=".to_owned() },
        file("a.pdf", "application/pdf"),
        file("", "text/plain"),
    ]
}

fn result(parts: Vec<Part>, is_error: bool) -> ToolResult {
    ToolResult {
        call_id: "c".to_owned(),
        name: "ours__1_0_0".to_owned(),
        content: "text".to_owned(),
        parts,
        is_error,
    }
}

/// What stands behind the model's message in the next request.
fn written(name: &str, result: ToolResult) -> String {
    let call = ToolCall { id: "c".to_owned(), name: "ours__1_0_0".to_owned(), arguments: "{}".to_owned() };
    let round = Round {
        calls: vec![Call { call, owned: true }],
        finish: Finish::Normal,
        message: Bytes::from_static(b"{\"output\":[]}"),
    };
    let (body, list) = match name {
        GEMINI => (json!({"contents": []}), "contents"),
        RESPONSES => (json!({"store": false, "input": []}), "input"),
        _ => (json!({"messages": []}), "messages"),
    };
    let body = Bytes::from(body.to_string());
    let next = dialect(name)
        .follow_up(&ClientRequest::default(), &body, &round, &[result], Ask::Again, &[])
        .unwrap();
    let next: Value = serde_json::from_slice(&next).unwrap();
    next[list].as_array().unwrap().last().unwrap().to_string()
}

#[test]
fn without_parts_a_result_is_a_text() {
    let table = [
        (CHAT, r#"{"role":"tool","tool_call_id":"c","content":"text"}"#),
        (RESPONSES, r#"{"type":"function_call_output","call_id":"c","output":"text"}"#),
        (
            MESSAGES,
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"text","is_error":true}]}"#,
        ),
        (
            GEMINI,
            r#"{"role":"user","parts":[{"functionResponse":{"id":"c","name":"ours__1_0_0","response":{"error":"text"}}}]}"#,
        ),
    ];
    for (name, wanted) in table {
        assert_eq!(written(name, result(Vec::new(), true)), wanted);
    }
}

#[test]
fn parts_stand_behind_the_text_in_each_dialects_own_shape() {
    let content = json!([
        {"type": "text", "text": "text"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
        {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "aGk="}, "title": "a.pdf"},
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "hi"}},
    ]);
    let messages =
        json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": content}]});
    let output = json!([
        {"type": "input_text", "text": "text"},
        {"type": "input_image", "image_url": "data:image/png;base64,aGk=", "detail": "auto"},
        {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,aGk="},
        {"type": "input_file", "filename": "file", "file_data": "data:text/plain;base64,aGk="},
    ]);
    let responses = json!({"type": "function_call_output", "call_id": "c", "output": output});
    let blob = |mime: &str| json!({"inlineData": {"mimeType": mime, "data": "aGk="}});
    let blobs = [blob("image/png"), blob("application/pdf"), blob("text/plain")];
    let response = json!({"id": "c", "name": "ours__1_0_0", "response": {"result": "text"}, "parts": blobs});
    let gemini = json!({"role": "user", "parts": [{"functionResponse": response}]});
    for (name, wanted) in [(MESSAGES, messages), (RESPONSES, responses), (GEMINI, gemini)] {
        assert_eq!(written(name, result(parts(), false)), wanted.to_string());
    }
    let error = written(MESSAGES, result(parts(), true));
    assert_eq!(error, written(MESSAGES, result(Vec::new(), true)));
}

#[test]
fn a_model_that_is_not_known_to_see_takes_text_alone() {
    let see = [
        (RESPONSES, "gpt-4o-mini"),
        (RESPONSES, "openai/gpt-5.2-codex"),
        (RESPONSES, "ft:gpt-4.1-2025-04-14:org::1"),
        (RESPONSES, "o3"),
        (MESSAGES, "claude-opus-4-8"),
        (MESSAGES, "us.anthropic.claude-sonnet-5-v1:0"),
        (GEMINI, "gemini-3-pro-preview"),
        (GEMINI, "gemini-10-flash"),
    ];
    let blind = [
        (CHAT, "gpt-5.2"),
        (RESPONSES, "gpt-4"),
        (RESPONSES, "gpt-oss-120b"),
        (RESPONSES, "o3-mini"),
        (RESPONSES, "llama-o3"),
        (MESSAGES, "claude-2.1"),
        (MESSAGES, "deepseek-chat"),
        (GEMINI, "gemini-2.5-pro"),
        (GEMINI, "gemini-flash-latest"),
    ];
    for (name, model) in see {
        assert!(dialect(name).media(model).contains(&"image/png"), "{name} {model}");
    }
    for (name, model) in blind {
        assert_eq!(dialect(name).media(model), [""; 0], "{name} {model}");
    }
}

#[test]
fn kept_rounds_can_do_without_parts_and_keep_everything_else() {
    let raw = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
    let said = r#"{"role":"assistant", "content":[{"type":"image"}],"parts":[{"inlineData":{}}],"x":1.0}"#;
    for name in [CHAT, RESPONSES, MESSAGES, GEMINI] {
        let (with, without) =
            (written(name, result(parts(), false)), written(name, result(Vec::new(), false)));
        let kept = Kept { before: vec![raw(said), raw(&with)], results: vec![raw(&with)], ..Kept::default() };
        let plain = dialect(name).without_media(kept);
        assert_eq!(plain.before[0].get(), said);
        // A list of one text is as good as the text.
        let content = r#"[{"type":"text","text":"text"}]"#;
        let output = r#"[{"type":"input_text","text":"text"}]"#;
        let wanted = match name {
            MESSAGES => without.replace("\"text\"", content),
            RESPONSES => without.replace("\"text\"", output),
            _ => without.clone(),
        };
        assert_eq!((plain.before[1].get(), plain.results[0].get()), (&*wanted, &*wanted));
        let nothing = Kept { before: vec![raw(&without)], ..Kept::default() };
        assert_eq!(dialect(name).without_media(nothing).before[0].get(), without);
    }
    let block = r#"{"type":"tool_result","content":[{"type":"image"},{"type":"text","text":"t"}]}"#;
    let kept = Kept { results: vec![raw(block)], ..Kept::default() };
    let plain = dialect(MESSAGES).without_media(kept);
    assert_eq!(plain.results[0].get(), r#"{"type":"tool_result","content":[{"type":"text","text":"t"}]}"#);
}

/// A plain answer with one call of ours that the client is shown.
fn shown(name: &str) -> String {
    let said = match name {
        CHAT => {
            let call = json!({"id": "c", "type": "function", "function": {"name": "ours__1_0_0", "arguments": "{}"}});
            json!({"choices": [{"message": {"role": "assistant", "content": null, "tool_calls": [call]}}]})
        }
        RESPONSES => {
            let call =
                json!({"type": "function_call", "call_id": "c", "name": "ours__1_0_0", "arguments": "{}"});
            json!({"id": "r", "status": "completed", "output": [call]})
        }
        MESSAGES => {
            let call = json!({"type": "tool_use", "id": "c", "name": "ours__1_0_0", "input": {}});
            json!({"role": "assistant", "stop_reason": "tool_use", "content": [call]})
        }
        _ => {
            let call = json!({"functionCall": {"id": "c", "name": "ours__1_0_0", "args": {}}});
            json!({"candidates": [{"content": {"role": "model", "parts": [call]}}]})
        }
    };
    let mut answer = dialect(name).answer(&plain(), owned());
    let mut out = Vec::new();
    answer.feed(said.to_string().as_bytes(), &mut out).unwrap();
    answer.end_round(&mut out).unwrap();
    let parts = if name == CHAT { Vec::new() } else { parts() };
    answer.splice(&[result(parts, false)], true);
    answer.finish(&Ending::default(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_spliced_answer_shows_a_result_as_the_model_gets_it() {
    let block = written(MESSAGES, result(parts(), false));
    let block = block.strip_prefix(r#"{"role":"user","content":["#).unwrap().strip_suffix("]}").unwrap();
    assert!(shown(MESSAGES).contains(block));
    assert!(shown(RESPONSES).contains(&written(RESPONSES, result(parts(), false))));
    let part = written(GEMINI, result(parts(), false));
    let part = part.strip_prefix(r#"{"role":"user","parts":["#).unwrap().strip_suffix("]}").unwrap();
    assert!(shown(GEMINI).contains(part));
    let element = r#""tool_results":[{"tool_call_id":"c","name":"ours__1_0_0","output":"text"}]"#;
    assert!(shown(CHAT).contains(element));
}
