//! Legal turns, stream shapes, cuts and failures of the fake upstream, in every dialect.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};
use testkit::fake_upstream::FakeUpstream;
use testkit::script::{Call, Chunking, Fault, Round, Script};

use crate::client::{chat, client, message, post};

const CHAT: &str = "/v1/chat/completions";
const RESPONSES: &str = "/v1/responses";
const MESSAGES: &str = "/v1/messages";

fn ask_chat(list: &Value) -> Value {
    json!({"model": "m", "messages": list, "tools": [{"type": "function", "function": {"name": "f__1_0_0"}}]})
}

fn ask_messages(list: &Value) -> Value {
    json!({"model": "m", "max_tokens": 9, "messages": list,
        "tools": [{"name": "f__1_0_0", "input_schema": {"type": "object"}}]})
}

fn ask_responses(list: &Value) -> Value {
    json!({"model": "m", "input": list, "tools": [{"type": "function", "name": "f__1_0_0", "strict": false}]})
}

fn streamed(mut body: Value) -> Value {
    body["stream"] = json!(true);
    body
}

#[tokio::test]
async fn a_chat_turn_of_two_rounds_passes() {
    let fake = FakeUpstream::start(Script::s2("f", json!({"a": 1}))).await;
    let user = json!({"role": "user", "content": "hi"});
    let (_, answer) = chat(&fake, &ask_chat(&json!([user]))).await;
    let said = &answer["choices"][0]["message"];
    assert_eq!(answer["choices"][0]["finish_reason"], "tool_calls");
    assert_eq!(said["tool_calls"][0]["function"], json!({"name": "f__1_0_0", "arguments": "{\"a\":1}"}));
    let result = json!({"role": "tool", "tool_call_id": said["tool_calls"][0]["id"], "content": "1"});
    let (_, answer) = chat(&fake, &ask_chat(&json!([user, said, result]))).await;
    assert_eq!(answer["choices"][0]["message"]["content"], "done");
    assert_eq!(answer["usage"]["total_tokens"], 18);
    let requests = fake.requests();
    assert_eq!(requests.len(), 2);
    assert!(requests.iter().all(|request| request.status == 200 && request.finished && !request.abandoned));
}

#[tokio::test]
async fn a_messages_turn_of_two_rounds_passes() {
    let fake = FakeUpstream::start(Script::s2("f", json!({"a": 1}))).await;
    let user = json!({"role": "user", "content": "hi"});
    let (_, answer) = message(&fake, &ask_messages(&json!([user]))).await;
    assert_eq!(answer["stop_reason"], "tool_use");
    assert_eq!(answer["content"][0]["input"], json!({"a": 1}));
    let result = json!({"type": "tool_result", "tool_use_id": answer["content"][0]["id"], "content": "1"});
    let list = json!([user, {"role": "assistant", "content": answer["content"]}, {"role": "user", "content": [result]}]);
    let (_, answer) = message(&fake, &ask_messages(&list)).await;
    assert_eq!(answer["content"], json!([{"type": "text", "text": "done"}]));
    assert!(fake.refusals().is_empty());
}

#[tokio::test]
async fn a_forbidden_call_becomes_text() {
    let fake = FakeUpstream::start(vec![Round::calls([Call::new("f", json!({}))])]).await;
    let mut body = ask_chat(&json!([{"role": "user", "content": "hi"}]));
    body["tool_choice"] = json!("none");
    let (_, answer) = chat(&fake, &body).await;
    assert_eq!(answer["choices"][0]["message"]["content"], "no tools");
    assert_eq!(answer["choices"][0]["finish_reason"], "stop");
}

#[tokio::test]
async fn cases_closures_and_json_choose_rounds() {
    let script = Script::rounds([Round::text("other")]).when("weather", [Round::text("sun")]);
    let fake = FakeUpstream::start(script).await;
    let said = async |words: &str| {
        let (_, answer) =
            chat(&fake, &json!({"model": "m", "messages": [{"role": "user", "content": words}]})).await;
        answer["choices"][0]["message"]["content"].as_str().unwrap().to_owned()
    };
    assert_eq!(said("the weather?").await, "sun");
    assert_eq!(said("hello").await, "other");
    fake.set_script(Script::choose(|body, round| Round::text(&format!("{} {round}", body["model"]))));
    assert_eq!(said("hello").await, "\"m\" 0");
    let json = br#"{"rounds": [{"text": "from json", "chunking": {"bytes": 3}, "first": [{"http": {"status": 503}}]}]}"#;
    fake.set_script(Script::from_json(json).unwrap());
    let words = json!({"model": "m", "messages": [{"role": "user", "content": "x"}]});
    assert_eq!(chat(&fake, &words).await.0, 503);
    assert_eq!(said("hello").await, "from json");
    assert!(Script::from_json(br#"{"rounds": [{"txt": "typo"}]}"#).is_err());
}

#[tokio::test]
async fn every_cut_gives_the_same_stream() {
    let round = Round::calls([Call::raw("f", "{\"a\": \"那\"")]).saying("个🙂 é").id_of_first("call_1");
    for (path, body) in [
        (CHAT, ask_chat(&json!([{"role": "user", "content": "hi"}]))),
        (RESPONSES, ask_responses(&json!([{"role": "user", "content": "hi"}]))),
        (MESSAGES, ask_messages(&json!([{"role": "user", "content": "hi"}]))),
    ] {
        let mut seen = Vec::new();
        for cut in
            [Chunking::Whole, Chunking::Event, Chunking::Bytes(1), Chunking::Bytes(7), Chunking::Bytes(0)]
        {
            let fake = FakeUpstream::start(vec![round.clone().chunked(cut)]).await;
            seen.push(post(&fake, path, &streamed(body.clone())).await.text().await.unwrap());
        }
        assert!(seen.windows(2).all(|pair| pair[0] == pair[1]), "{path}");
        let end = match path {
            CHAT => "data: [DONE]\n\n",
            RESPONSES => "\"user\":null,\"metadata\":{}}}\n\n",
            _ => "data: {\"type\":\"message_stop\"}\n\n",
        };
        assert!(seen[0].ends_with(end), "{}", seen[0]);
    }
}

#[tokio::test]
async fn small_cuts_reach_the_wire_one_by_one() {
    let fake = FakeUpstream::start(vec![Round::text("个🙂").chunked(Chunking::Bytes(1))]).await;
    let body = streamed(json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]}));
    let mut response = post(&fake, CHAT, &body).await;
    let mut cut_inside_a_character = false;
    while let Some(chunk) = response.chunk().await.unwrap() {
        cut_inside_a_character |= std::str::from_utf8(&chunk).is_err();
    }
    assert!(cut_inside_a_character);
}

#[tokio::test]
async fn the_usage_chunk_is_sent_on_demand() {
    let fake = FakeUpstream::start(vec![Round::text("x").usage(100, 10)]).await;
    let mut body = streamed(json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]}));
    let silent = post(&fake, CHAT, &body).await.text().await.unwrap();
    assert!(!silent.contains("usage"));
    body["stream_options"] = json!({"include_usage": true});
    let told = post(&fake, CHAT, &body).await.text().await.unwrap();
    assert!(told.contains("\"choices\":[],\"usage\":{\"prompt_tokens\":100,"), "{told}");
    assert_eq!(told.matches("\"usage\":null").count(), 3);
}

#[tokio::test]
async fn failures_arrive_as_scripted() {
    let fake = FakeUpstream::start(Script::default()).await;
    let user = json!([{"role": "user", "content": "hi"}]);
    let asks = [(CHAT, ask_chat(&user)), (RESPONSES, ask_responses(&user)), (MESSAGES, ask_messages(&user))];
    for (path, body) in asks {
        for body in [body.clone(), streamed(body)] {
            let url = format!("{}{path}", fake.base_url());
            let send = async || {
                let request = client().post(&url).header("anthropic-version", "1").body(body.to_string());
                match request.send().await {
                    Ok(response) => response.text().await.ok(),
                    Err(_) => None,
                }
            };
            for fault in [Fault::Drop, Fault::DropAfterEvents(1), Fault::DropAfterBytes(30)] {
                fake.set_script(vec![Round::text("a long text").then(fault)]);
                assert_eq!(send().await, None);
            }
            fake.set_script(vec![Round::text("a long text").then(Fault::EndAfterEvents(1))]);
            assert!(send().await.is_some());
            fake.set_script(vec![
                Round::text("x").then(Fault::ErrorEvent { after_events: 1, message: "tired".into() }),
            ]);
            assert!(send().await.unwrap().contains("tired"));
        }
    }
    fake.set_script(vec![Round::http_error(429, json!({"error": "slow"}))]);
    assert_eq!(chat(&fake, &ask_chat(&user)).await, (429, json!({"error": "slow"})));
    fake.set_script(vec![Round::fails(Fault::status(529))]);
    let (status, answer) = message(&fake, &ask_messages(&user)).await;
    assert_eq!((status, &answer["error"]["type"]), (529, &json!("overloaded_error")));
}

#[tokio::test]
async fn a_caller_that_leaves_is_noticed() {
    let fake = FakeUpstream::start(vec![Round::text("a b c").delay_within(Duration::from_mins(1))]).await;
    let body = streamed(json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]}));
    let mut response = post(&fake, CHAT, &body).await;
    assert!(response.chunk().await.unwrap().is_some());
    drop(response);
    let mut record = fake.requests().remove(0);
    assert!(!record.finished);
    while !record.abandoned {
        tokio::time::sleep(Duration::from_millis(5)).await;
        record = fake.requests().remove(0);
    }
    let url = fake.base_url();
    drop(fake);
    tokio::task::yield_now().await;
    let again = client().get(format!("{url}/__requests")).send().await;
    assert!(again.is_err(), "the port is closed with the handle");
}

#[tokio::test]
async fn every_streamed_shape_passes_the_linter() {
    let rounds = [
        Round::text("个🙂 done"),
        Round::calls([Call::new("f", json!({"a": "é"}))]),
        Round::calls([Call::new("f", json!({})), Call::raw("g", "{\"a\": 1}")])
            .saying("first")
            .reasoning("hm"),
        Round::calls([Call::raw("f", "")]).thinking("hm", "sig").redacted_thinking("data"),
        Round::text("cut").finish("length"),
        Round::text("ends badly").then(Fault::ErrorEvent { after_events: 4, message: "tired".into() }),
    ];
    for round in rounds {
        let user = json!([{"role": "user", "content": "hi"}]);
        let mut thinking = streamed(ask_messages(&user));
        thinking["thinking"] = json!({"type": "enabled", "budget_tokens": 1024});
        let fake = FakeUpstream::start(vec![round.clone()]).await;
        for (path, dialect, body) in [
            (CHAT, "openai_chat", streamed(ask_chat(&user))),
            (RESPONSES, "openai_responses", streamed(ask_responses(&user))),
            (MESSAGES, "anthropic_messages", streamed(ask_messages(&user))),
            (MESSAGES, "anthropic_messages", thinking),
        ] {
            let bytes = post(&fake, path, &body).await.bytes().await.unwrap();
            let summary = testkit::sse_lint::lint(dialect, &bytes);
            let summary = summary.unwrap_or_else(|problem| panic!("{dialect} {round:?}: {problem}"));
            assert_eq!(summary.calls.len(), round.calls.len());
            assert_eq!(summary.error.is_some(), round.fault.is_some());
        }
    }
}

/// Test sugar: fixes the first call's id.
trait IdOfFirst {
    fn id_of_first(self, id: &str) -> Self;
}

impl IdOfFirst for Round {
    fn id_of_first(mut self, id: &str) -> Self {
        self.calls[0].id = Some(id.to_owned());
        self
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn script_json_never_panics(text in "\\PC{0,80}") {
        let wrapped = format!("{{\"rounds\":[{{\"text\":{}}}]}}", json!(text));
        let script = Script::from_json(wrapped.as_bytes()).unwrap();
        prop_assert_eq!(script.rounds[0].text.as_deref(), Some(text.as_str()));
        drop(Script::from_json(text.as_bytes()));
    }
}
