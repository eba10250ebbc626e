//! Every refusal of the fake responses provider: one illegal body each, and the legal one beside it.

use serde_json::{Value, json};
use testkit::fake_upstream::FakeUpstream;
use testkit::script::{Call, Round};

use crate::client::response;

fn tool(name: &str) -> Value {
    json!({"type": "function", "name": name, "description": "d", "strict": false,
        "parameters": {"type": "object", "properties": {"a": {"type": "string"}}}})
}

fn call(id: &str) -> Value {
    json!({"type": "function_call", "call_id": id, "name": "a", "arguments": "{"})
}

fn output(id: &str) -> Value {
    json!({"type": "function_call_output", "call_id": id, "output": "1"})
}

fn legal() -> Value {
    json!({"model": "m", "tools": [tool("eval_code__1_0_0"), {"type": "web_search_preview"}, {"type": "custom", "name": "c"}],
    "tool_choice": {"type": "function", "name": "eval_code__1_0_0"}, "instructions": "s", "input": [
        {"role": "developer", "content": "s"},
        {"role": "user", "content": [{"type": "input_text", "text": "hi"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I"}]},
        call("call_1"), call("call_2"), output("call_2"), output("call_1"),
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

fn without(pointer: &str, key: &str) -> Value {
    let mut body = legal();
    body.pointer_mut(pointer).unwrap().as_object_mut().unwrap().remove(key);
    body
}

fn input(items: Value) -> Value {
    with("/input", items)
}

#[tokio::test]
async fn refuses_what_the_real_provider_refuses() {
    let fake = FakeUpstream::start(vec![Round::text("done")]).await;
    assert_eq!(response(&fake, &legal()).await.0, 200, "{:?}", fake.refusals());
    for fine in [input(json!("hi")), with("/tools", json!([tool("eval_code__1_0_0")]))] {
        assert_eq!(response(&fake, &fine).await.0, 200, "{:?}", fake.refusals());
    }
    let user = json!({"role": "user", "content": "hi"});
    let nested = json!({"type": "function", "function": {"name": "a"}});
    let both = json!({"type": "function", "name": "a", "strict": false, "function": {"name": "a"}});
    let table = [
        ("no model", without("", "model")),
        ("own member", with("/omni", json!({}))),
        ("chat's messages", with("/messages", json!([]))),
        ("nested tool", with("/tools/0", nested)),
        ("nested beside flat", with("/tools/0", both)),
        ("strict by default", without("/tools/0", "strict")),
        ("at sign in a name", with("/tools/0/name", json!("eval_code@1.0.0"))),
        ("long name", with("/tools/0/name", json!("a".repeat(65)))),
        ("same name twice", with("/tools", json!([tool("a"), tool("a")]))),
        ("129 tools", with("/tools", (0..129).map(|n| tool(&format!("t{n}"))).collect())),
        ("omni entry", with("/tools/0", json!({"type": "omni:eval_code"}))),
        ("parameters without type", with("/tools/0/parameters", json!({"properties": {}}))),
        ("choice of an unknown tool", with("/tool_choice", json!({"type": "function", "name": "x"}))),
        (
            "chat's choice",
            with("/tool_choice", json!({"type": "function", "function": {"name": "eval_code__1_0_0"}})),
        ),
        ("forced choice without tools", json!({"model": "m", "input": "x", "tool_choice": "required"})),
        ("no input", without("", "input")),
        ("input of a wrong type", input(json!(7))),
        ("unknown item", input(json!([user, {"type": "tool_result"}]))),
        ("unknown role", input(json!([{"role": "tool", "content": "x"}]))),
        ("content null", input(json!([{"role": "user", "content": null}]))),
        ("chat's part", input(json!([{"role": "user", "content": [{"type": "text", "text": "x"}]}]))),
        (
            "input text of an assistant",
            input(json!([{"role": "assistant", "content": [{"type": "input_text", "text": "x"}]}])),
        ),
        ("call without result", input(json!([user, call("c")]))),
        ("result after another question", input(json!([user, call("c"), user, output("c")]))),
        ("result without call", input(json!([user, output("c")]))),
        ("result before its call", input(json!([user, output("c"), call("c")]))),
        ("result twice", input(json!([user, call("c"), output("c"), output("c")]))),
        ("call id twice", input(json!([user, call("c"), output("c"), call("c"), output("c")]))),
        (
            "item id twice",
            input(
                json!([{"id": "x", "role": "user", "content": "a"}, {"id": "x", "role": "user", "content": "b"}]),
            ),
        ),
        ("arguments an object", with("/input/3/arguments", json!({}))),
        ("call without call_id", without("/input/3", "call_id")),
        ("result an object", with("/input/5/output", json!({}))),
        ("own member in an item", with("/input/1/omni", json!(1))),
        ("unknown answer before", with("/previous_response_id", json!("resp_x"))),
    ];
    for (what, body) in table {
        let (status, answer) = response(&fake, &body).await;
        assert_eq!(status, 400, "{what}");
        assert_eq!(answer["error"]["type"], "invalid_request_error", "{what}: {answer}");
        assert!(answer["error"]["message"].is_string(), "{what}: {answer}");
    }
    assert_eq!(fake.refusals().len(), 34);
}

#[tokio::test]
async fn a_stored_answer_can_be_continued_and_must_be_answered() {
    let fake = FakeUpstream::start(vec![
        Round::calls([Call::new("f", json!({})).id("call_1")]),
        Round::text("done"),
    ])
    .await;
    let ask = |members: Value| {
        let mut body = json!({"model": "m", "tools": [tool("f")], "input": "hi"});
        body.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        body
    };
    let (_, first) = response(&fake, &ask(json!({}))).await;
    assert_eq!((&first["output"][0]["call_id"], &first["status"]), (&json!("call_1"), &json!("completed")));
    let on = |input: Value| ask(json!({"previous_response_id": first["id"], "input": input}));
    let (status, second) = response(&fake, &on(json!([output("call_1")]))).await;
    assert_eq!((status, &second["output"][0]["content"][0]["text"]), (200, &json!("done")));
    let (_, third) =
        response(&fake, &ask(json!({"previous_response_id": second["id"], "input": "and?"}))).await;
    assert_eq!(third["status"], "completed");
    assert!(fake.refusals().is_empty());

    assert_eq!(response(&fake, &on(json!("and?"))).await.0, 400, "an unanswered call");
    assert_eq!(response(&fake, &on(json!([output("call_9")]))).await.0, 400);
    let both = ask(json!({"previous_response_id": second["id"], "conversation": "c"}));
    assert_eq!(response(&fake, &both).await.0, 400);
    let (_, unstored) = response(&fake, &ask(json!({"store": false}))).await;
    let on = ask(json!({"previous_response_id": unstored["id"], "input": [output("call_1")]}));
    assert_eq!(response(&fake, &on).await.0, 400, "nothing was stored");

    let (_, first) = response(&fake, &ask(json!({"conversation": "c"}))).await;
    assert_eq!(first["output"][0]["type"], "function_call");
    let on = |input: Value| ask(json!({"conversation": {"id": "c"}, "input": input}));
    assert_eq!(response(&fake, &on(json!("and?"))).await.0, 400);
    assert_eq!(response(&fake, &on(json!([output("call_1")]))).await.0, 200);
}

#[tokio::test]
async fn reasoning_must_come_back_whole_and_before_what_it_led_to() {
    let fake = FakeUpstream::start(vec![
        Round::calls([Call::new("f", json!({}))]).reasoning("hm"),
        Round::text("ok"),
    ])
    .await;
    let include = ["reasoning.encrypted_content"];
    let ask = |list: Value| json!({"model": "m", "store": false, "include": include, "tools": [tool("f")], "input": list});
    let user = json!({"role": "user", "content": "hi"});
    let (_, answer) = response(&fake, &ask(json!([user]))).await;
    let (reasoning, call) = (&answer["output"][0], &answer["output"][1]);
    let result = output(call["call_id"].as_str().unwrap());
    let next = ask(json!([user, reasoning, call, result]));
    assert_eq!(response(&fake, &next).await.0, 200, "{:?}", fake.refusals());
    let mut bare = reasoning.clone();
    bare.as_object_mut().unwrap().remove("encrypted_content");
    let mut forged = reasoning.clone();
    forged["encrypted_content"] = json!("forged");
    for wrong in [
        json!([user, call, result]),
        json!([user, bare, call, result]),
        json!([user, forged, call, result]),
        json!([user, call, reasoning, result]),
        json!([user, reasoning, user]),
        json!([user, reasoning]),
    ] {
        assert_eq!(response(&fake, &ask(wrong.clone())).await.0, 400, "{wrong}");
    }
}
