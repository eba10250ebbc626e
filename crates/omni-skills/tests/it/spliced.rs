//! Answers that show calls and results because the client asked for it, and what becomes of them in a history.

use serde_json::{Value, json};
use testkit::fake_upstream::FakeUpstream;
use testkit::gateway::Gateway;
use testkit::script::{Call, Round, Script};

use crate::client::{body, chat, gateway, history};

const BOTH: [&str; 2] = ["openai_chat", "anthropic_messages"];

fn run(code: &str) -> Call {
    Call::new("eval_code", json!({"language": "javascript", "code": code}))
}

async fn ask(gateway: &Gateway, dialect: &str, body: &Value, headers: &[(&str, &str)]) -> (u16, Value) {
    let mut request = chat(&gateway.base, dialect).header("x-omni-use", "eval_code").body(body.to_string());
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    (status, serde_json::from_slice(&response.bytes().await.unwrap()).unwrap())
}

/// What the client puts into its history.
fn message(dialect: &str, answer: &Value) -> Value {
    match dialect {
        "openai_chat" => answer["choices"][0]["message"].clone(),
        _ => json!({"role": "assistant", "content": answer["content"]}),
    }
}

/// Kinds of the blocks of a message.
fn kinds(message: &Value) -> Vec<&str> {
    message["content"].as_array().unwrap().iter().map(|block| block["type"].as_str().unwrap()).collect()
}

/// The conversation after `answer` and one more message of the user.
fn goes_on(dialect: &str, first: &Value, answer: &Value, more: &[Value]) -> Value {
    let mut next = first.clone();
    let messages = next["messages"].as_array_mut().unwrap();
    messages.push(message(dialect, answer));
    messages.extend_from_slice(more);
    next
}

#[tokio::test(flavor = "multi_thread")]
async fn a_spliced_transcript_shows_every_round_and_comes_back_legal() {
    for dialect in BOTH {
        let rounds = [
            Round::calls([run("console.log('A')"), run("throw new Error('B')")]).saying("first"),
            Round::calls([run("console.log('C')")]).saying("second"),
            Round::text("done"),
        ];
        let upstream = FakeUpstream::start(Script::rounds(rounds)).await;
        let gateway = gateway(&upstream.base_url(), "");
        let first = body(dialect, false, "please", &[]);
        let (status, answer) = ask(&gateway, dialect, &first, &[("x-omni-transcript", "spliced")]).await;
        assert_eq!(status, 200, "{answer}");
        let shown = message(dialect, &answer);
        let text = shown.to_string();
        for result in ["A", "Error: B", "C"] {
            assert!(text.contains(result), "{dialect}: no {result} in {text}");
        }
        if dialect == "openai_chat" {
            let results = shown["tool_results"].as_array().unwrap();
            assert_eq!(results.len(), 3);
            assert_eq!(results[0].as_object().unwrap().keys().collect::<Vec<_>>().len(), 3);
            assert_eq!(results[0]["name"], "eval_code__1_0_0");
            assert!(shown.get("tool_calls").is_none() && answer["choices"][0]["finish_reason"] == "stop");
        } else {
            let wanted = "text tool_use tool_use tool_result tool_result text tool_use tool_result text";
            assert_eq!(kinds(&shown).join(" "), wanted);
            assert_eq!(shown["content"][4]["is_error"], true);
            assert_eq!(answer["stop_reason"], "end_turn");
        }
        upstream.set_script(Script::rounds([Round::text("bye")]));
        let next = goes_on(dialect, &first, &answer, &[json!({"role": "user", "content": "and now?"})]);
        for headers in [&[][..], &[("x-omni-skills", "off")]] {
            let (status, answer) = ask(&gateway, dialect, &next, headers).await;
            assert_eq!(status, 200, "{dialect}: {answer}");
            assert_eq!(upstream.refusals(), Vec::<String>::new(), "{dialect}");
            let sent = upstream.requests().pop().unwrap().body["messages"].to_string();
            assert!(!sent.contains("tool_results"), "{sent}");
            // Each call once: the memory does not put them back a second time.
            assert!(sent.matches("console.log('C')").count() <= 1, "{sent}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn splice_only_is_one_round_and_comes_back_legal() {
    for dialect in BOTH {
        for tools in [&[][..], &["Bash"]] {
            let mut calls = vec![run("console.log('A')")];
            calls.extend(tools.iter().map(|name| Call::new(name, json!({})).exactly().id("call_bash12")));
            let upstream =
                FakeUpstream::start(Script::rounds([Round::calls(calls), Round::text("no")])).await;
            let gateway = gateway(&upstream.base_url(), "");
            let first = body(dialect, false, "please", tools);
            let (status, answer) = ask(&gateway, dialect, &first, &[("x-omni-skills", "splice-only")]).await;
            assert_eq!((status, upstream.requests().len()), (200, 1), "{answer}");
            assert_eq!(history(&gateway).await.len(), 1);
            let shown = message(dialect, &answer);
            assert!(shown.to_string().contains("\\\"stdout\\\":\\\"A"), "{shown}");
            let theirs = if dialect == "openai_chat" {
                assert_eq!(shown["tool_calls"].as_array().unwrap().len(), 1 + tools.len());
                assert_eq!(shown["tool_results"][0]["tool_call_id"], shown["tool_calls"][0]["id"]);
                assert_eq!(answer["choices"][0]["finish_reason"], "tool_calls");
                json!({"role": "tool", "tool_call_id": "call_bash12", "content": "ok"})
            } else {
                assert_eq!(kinds(&shown).iter().filter(|kind| **kind == "tool_use").count(), 1 + tools.len());
                assert_eq!(answer["stop_reason"], "tool_use");
                json!({"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "call_bash12", "content": "ok"}]})
            };
            let more = if tools.is_empty() { json!({"role": "user", "content": "go on"}) } else { theirs };
            upstream.set_script(Script::rounds([Round::text("bye")]));
            let next = goes_on(dialect, &first, &answer, &[more]);
            let (status, answer) = ask(&gateway, dialect, &next, &[]).await;
            assert_eq!(status, 200, "{dialect} {tools:?}: {answer}");
            assert_eq!(upstream.refusals(), Vec::<String>::new(), "{dialect} {tools:?}");
            let sent = upstream.requests().pop().unwrap().body["messages"].to_string();
            assert_eq!(
                sent.matches("\\\"stdout\\\":\\\"A").count(),
                1,
                "the result reached the model: {sent}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_spliced_is_refused_with_the_reason() {
    let upstream = FakeUpstream::start(Script::rounds([Round::text("hello")])).await;
    let gateway = gateway(&upstream.base_url(), "");
    for dialect in BOTH {
        let streamed = body(dialect, true, "please", &[]);
        let (status, answer) = ask(&gateway, dialect, &streamed, &[("x-omni-skills", "splice-only")]).await;
        assert_eq!(status, 400);
        assert!(answer["error"]["message"].as_str().unwrap().contains("stream"), "{answer}");
        let plain = body(dialect, false, "please", &[]);
        let (status, _) = ask(&gateway, dialect, &plain, &[("x-omni-transcript", "some")]).await;
        assert_eq!(status, 400);
    }
    assert!(upstream.requests().is_empty());
}
