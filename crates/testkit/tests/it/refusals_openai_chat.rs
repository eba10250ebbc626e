//! Every refusal of the fake chat completions provider: one illegal body each, and the legal one beside it.

use serde_json::{Value, json};
use testkit::fake_upstream::FakeUpstream;
use testkit::script::{Round, Script};

use crate::client::{chat, client};

fn tool(name: &str) -> Value {
    json!({"type": "function", "function": {"name": name, "description": "d",
        "parameters": {"type": "object", "properties": {"a": {"type": "string"}}}}})
}

fn legal() -> Value {
    json!({"model": "m", "tools": [tool("eval_code__1_0_0")], "tool_choice": "auto", "messages": [
        {"role": "system", "content": "s"},
        {"role": "user", "content": [{"type": "text", "text": "hi"}]},
        {"role": "assistant", "content": null, "tool_calls": [call("call_1", "a"), call("call_2", "b")]},
        {"role": "tool", "tool_call_id": "call_1", "content": "1"},
        {"role": "tool", "tool_call_id": "call_2", "content": ""},
        {"role": "assistant", "content": "done"},
        {"role": "user", "content": "go on"},
    ]})
}

fn call(id: &str, name: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": "{"}})
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

fn without(pointer: &str, key: &str) -> Value {
    let mut body = legal();
    body.pointer_mut(pointer).unwrap().as_object_mut().unwrap().remove(key);
    body
}

fn messages(list: Value) -> Value {
    with("/messages", list)
}

#[tokio::test]
async fn refuses_what_the_real_provider_refuses() {
    let fake = FakeUpstream::start(vec![Round::text("done")]).await;
    assert_eq!(chat(&fake, &legal()).await.0, 200, "{:?}", fake.refusals());
    let parameters = "/tools/0/function/parameters";
    let user = json!({"role": "user", "content": "hi"});
    let assistant = json!({"role": "assistant", "content": null, "tool_calls": [call("call_1", "a")]});
    let result = json!({"role": "tool", "tool_call_id": "call_1", "content": "1"});
    let table = [
        ("no model", without("", "model")),
        ("empty model", with("/model", json!(""))),
        ("own member", with("/omni", json!({}))),
        ("at sign in a name", with("/tools/0/function/name", json!("eval_code@1.0.0"))),
        ("long name", with("/tools/0/function/name", json!("a".repeat(65)))),
        ("same name twice", with("/tools", json!([tool("a"), tool("a")]))),
        ("no tools in the list", with("/tools", json!([]))),
        ("129 tools", with("/tools", (0..129).map(|n| tool(&format!("t{n}"))).collect())),
        ("omni entry", with("/tools/0", json!({"type": "omni:eval_code"}))),
        ("parameters without type", with(parameters, json!({"properties": {}}))),
        ("property that is a string", with(&format!("{parameters}/properties/a"), json!("string"))),
        ("unknown type", with(&format!("{parameters}/properties/a/type"), json!("text"))),
        ("required: true", with(&format!("{parameters}/required"), json!(true))),
        ("choice without tools", without("", "tools")),
        (
            "choice of an unknown tool",
            with("/tool_choice", json!({"type": "function", "function": {"name": "x"}})),
        ),
        ("stream options without stream", with("/stream_options", json!({"include_usage": true}))),
        ("no messages", messages(json!([]))),
        ("unknown role", messages(json!([{"role": "model", "content": "x"}]))),
        ("content null", messages(json!([{"role": "user", "content": null}]))),
        ("no content parts", messages(json!([{"role": "user", "content": []}]))),
        ("assistant without anything", messages(json!([user, {"role": "assistant", "content": null}]))),
        (
            "empty tool_calls",
            messages(json!([user, {"role": "assistant", "content": "x", "tool_calls": []}])),
        ),
        ("call without result", messages(json!([user, assistant]))),
        ("result not adjacent", messages(json!([user, assistant, user, result]))),
        ("result without call", messages(json!([user, result]))),
        ("result twice", messages(json!([user, assistant, result, result]))),
        ("spliced results", with("/messages/2/tool_results", json!([]))),
        ("arguments an object", with("/messages/2/tool_calls/0/function/arguments", json!({}))),
        ("call without type", without("/messages/2/tool_calls/0", "type")),
        ("call with an illegal name", with("/messages/2/tool_calls/0/function/name", json!("a b"))),
        ("same call id twice", with("/messages/2/tool_calls/1/id", json!("call_1"))),
    ];
    for (what, body) in table {
        let (status, answer) = chat(&fake, &body).await;
        assert_eq!(status, 400, "{what}");
        assert_eq!(answer["error"]["type"], "invalid_request_error", "{what}: {answer}");
        assert!(answer["error"]["message"].is_string(), "{what}: {answer}");
    }
    assert_eq!(fake.refusals().len(), 31);
}

#[tokio::test]
async fn refuses_what_must_not_leak() {
    let fake = FakeUpstream::start(Script::rounds([Round::text("done")]).requiring_key("sk-up")).await;
    let send = |name: &'static str, value: &'static str| {
        let request = client().post(format!("{}/v1/chat/completions", fake.base_url()));
        let request = request.header(name, value).body(legal().to_string());
        async { request.send().await.unwrap().status().as_u16() }
    };
    assert_eq!(send("authorization", "Bearer sk-up").await, 200);
    assert_eq!(send("authorization", "Bearer sk-other").await, 401);
    assert_eq!(send("x-api-key", "sk-up").await, 401);

    fake.set_script(vec![Round::text("done")]);
    assert_eq!(send("x-omni-user", "u").await, 400);
    assert_eq!(send("authorization", "Bearer osk_1").await, 400);
    assert_eq!(send("cookie", "a=osk_1").await, 400);
}

#[tokio::test]
async fn nine_character_ids_are_a_rule_on_demand() {
    let script = Script::s2("eval_code", json!({})).with_mistral_ids();
    let fake = FakeUpstream::start(script).await;
    assert_eq!(chat(&fake, &legal()).await.0, 400);
    let body = with("/messages", json!([{"role": "user", "content": "hi"}]));
    let (_, answer) = chat(&fake, &body).await;
    let call = &answer["choices"][0]["message"]["tool_calls"][0];
    assert_eq!(call["id"].as_str().unwrap().len(), 9);
    assert_eq!(call["function"]["name"], "eval_code__1_0_0");
}

#[tokio::test]
async fn reasoning_must_be_echoed_within_the_turn() {
    let script =
        vec![Round::calls([testkit::script::Call::new("f", json!({}))]).reasoning("hm"), Round::text("ok")];
    let fake = FakeUpstream::start(script).await;
    let user = json!({"role": "user", "content": "hi"});
    let ask = |list: Value| json!({"model": "m", "tools": [tool("f")], "messages": list});
    let (_, answer) = chat(&fake, &ask(json!([user]))).await;
    let message = answer["choices"][0]["message"].clone();
    let result = json!({"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "1"});
    assert_eq!(chat(&fake, &ask(json!([user, message, result]))).await.0, 200);
    let mut silent = message.clone();
    silent.as_object_mut().unwrap().remove("reasoning_content");
    assert_eq!(chat(&fake, &ask(json!([user, silent, result]))).await.0, 400);
    assert_eq!(chat(&fake, &ask(json!([user, silent, result, user]))).await.0, 200);
}
