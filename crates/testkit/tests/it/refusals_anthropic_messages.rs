//! Every refusal of the fake messages provider: one illegal body each, and the legal one beside it.

use serde_json::{Value, json};
use testkit::fake_upstream::FakeUpstream;
use testkit::script::{Call, Round};

use crate::client::{client, message};

fn tool(name: &str) -> Value {
    json!({"name": name, "description": "d",
        "input_schema": {"type": "object", "properties": {"a": {"type": "string"}}}})
}

fn tool_use(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "a", "input": {}})
}

fn result(id: &str) -> Value {
    json!({"type": "tool_result", "tool_use_id": id, "content": "1"})
}

fn legal() -> Value {
    json!({"model": "m", "max_tokens": 9, "tools": [tool("eval_code__1_0_0")], "tool_choice": {"type": "auto"},
    "messages": [
        {"role": "user", "content": "hi"},
        {"role": "user", "content": [{"type": "text", "text": "there"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "I"}, tool_use("t1"), tool_use("t2")]},
        {"role": "user", "content": [result("t1")]},
        {"role": "user", "content": [result("t2"), {"type": "text", "text": "and"}]},
        {"role": "assistant", "content": "done"},
        {"role": "user", "content": "go on"},
    ]})
}

fn with(pointer: &str, value: Value) -> Value {
    let mut body = legal();
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let parent = body.pointer_mut(parent).unwrap();
    match parent {
        Value::Array(list) => list[key.parse::<usize>().unwrap()] = value,
        _ => parent[key] = value,
    }
    body
}

fn without(key: &str) -> Value {
    let mut body = legal();
    body.as_object_mut().unwrap().remove(key);
    body
}

fn messages(list: Value) -> Value {
    with("/messages", list)
}

#[tokio::test]
async fn refuses_what_the_real_provider_refuses() {
    let fake = FakeUpstream::start(vec![Round::text("done")]).await;
    assert_eq!(message(&fake, &legal()).await.0, 200, "{:?}", fake.refusals());
    let schema = "/tools/0/input_schema";
    let user = json!({"role": "user", "content": "hi"});
    let assistant = json!({"role": "assistant", "content": [tool_use("t1")]});
    let text = json!({"type": "text", "text": "x"});
    let mut no_tools = without("tools");
    no_tools.as_object_mut().unwrap().remove("tool_choice");
    let table = [
        ("no model", without("model")),
        ("no max_tokens", without("max_tokens")),
        ("own member", with("/omni", json!({}))),
        ("at sign in a name", with("/tools/0/name", json!("eval_code@1.0.0"))),
        ("long name", with("/tools/0/name", json!("a".repeat(129)))),
        ("same name twice", with("/tools", json!([tool("a"), tool("a")]))),
        ("no tools in the list", with("/tools", json!([]))),
        ("omni entry", with("/tools/0", json!({"type": "omni:eval_code"}))),
        (
            "tool of the other dialect",
            with("/tools/0", json!({"type": "function", "function": {"name": "a"}})),
        ),
        ("schema without type", with(schema, json!({"properties": {}}))),
        ("property that is a string", with(&format!("{schema}/properties/a"), json!("string"))),
        ("choice without tools", without("tools")),
        ("choice of an unknown tool", with("/tool_choice", json!({"type": "tool", "name": "x"}))),
        ("choice as a string", with("/tool_choice", json!("auto"))),
        ("calls in history without tools", no_tools),
        ("no messages", messages(json!([]))),
        ("assistant first", messages(json!([{"role": "assistant", "content": "x"}]))),
        ("system role", messages(json!([user, {"role": "system", "content": "x"}]))),
        ("empty content", messages(json!([{"role": "user", "content": ""}]))),
        ("empty text block", messages(json!([{"role": "user", "content": [{"type": "text", "text": ""}]}]))),
        ("call without result", messages(json!([user, assistant]))),
        ("call answered by text", messages(json!([user, assistant, user]))),
        (
            "text before the result",
            messages(json!([user, assistant, {"role": "user", "content": [text, result("t1")]}])),
        ),
        (
            "one of two results",
            messages(json!([user,
            {"role": "assistant", "content": [tool_use("t1"), tool_use("t2")]},
            {"role": "user", "content": [result("t1")]}, {"role": "assistant", "content": "x"}, user])),
        ),
        ("result without call", messages(json!([{"role": "user", "content": [result("t1")]}]))),
        (
            "result twice",
            messages(json!([user, assistant, {"role": "user", "content": [result("t1"), result("t1")]}])),
        ),
        (
            "result in an assistant message",
            messages(json!([user,
            {"role": "assistant", "content": [tool_use("t1"), result("t1")]}])),
        ),
        ("result with an unknown member", with("/messages/3/content/0/name", json!("a"))),
        (
            "empty error result",
            with(
                "/messages/3/content/0",
                json!({"type": "tool_result", "tool_use_id": "t1",
            "content": "", "is_error": true}),
            ),
        ),
        ("input a string", with("/messages/2/content/1/input", json!("{}"))),
        ("illegal call id", with("/messages/2/content/1/id", json!("a.b"))),
        ("unknown message member", with("/messages/0/omni", json!(1))),
    ];
    for (what, body) in table {
        let (status, answer) = message(&fake, &body).await;
        assert_eq!(status, 400, "{what}");
        assert_eq!(answer["type"], "error", "{what}: {answer}");
        assert_eq!(answer["error"]["type"], "invalid_request_error", "{what}: {answer}");
    }
    assert_eq!(fake.refusals().len(), 32);
}

#[tokio::test]
async fn the_version_header_is_required() {
    let fake = FakeUpstream::start(vec![Round::text("done")]).await;
    let request = client().post(format!("{}/v1/messages", fake.base_url())).body(legal().to_string());
    assert_eq!(request.send().await.unwrap().status().as_u16(), 400);
}

#[tokio::test]
async fn thinking_must_come_back_unchanged_and_in_front() {
    let round =
        Round::calls([Call::new("f", json!({}))]).thinking("hm", "sig").redacted_thinking("data").saying("t");
    let fake = FakeUpstream::start(vec![round, Round::text("ok")]).await;
    let user = json!({"role": "user", "content": "hi"});
    let ask = |list: Value| {
        json!({"model": "m", "max_tokens": 5000, "thinking": {"type": "enabled", "budget_tokens": 1024},
            "tools": [tool("f")], "messages": list})
    };
    let (_, answer) = message(&fake, &ask(json!([user]))).await;
    let content = answer["content"].as_array().unwrap().clone();
    let kinds: Vec<&str> = content.iter().map(|block| block["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["thinking", "redacted_thinking", "text", "tool_use"]);
    let answered = json!({"role": "user", "content": [result(content[3]["id"].as_str().unwrap())]});
    let next = |content: Value| ask(json!([user, {"role": "assistant", "content": content}, answered]));
    assert_eq!(message(&fake, &next(json!(content))).await.0, 200);
    let changed = json!({"type": "thinking", "thinking": "other", "signature": "sig"});
    let invented = json!({"type": "thinking", "thinking": "hm", "signature": "gis"});
    let c = &content;
    for wrong in [
        json!([c[3]]),
        json!([c[2], c[3]]),
        json!([c[1], c[2], c[3]]),
        json!([c[1], c[0], c[2], c[3]]),
        json!([c[2], c[0], c[1], c[3]]),
        json!([changed, c[1], c[2], c[3]]),
        json!([invented, c[1], c[2], c[3]]),
    ] {
        assert_eq!(message(&fake, &next(wrong.clone())).await.0, 400, "{wrong}");
    }
}
