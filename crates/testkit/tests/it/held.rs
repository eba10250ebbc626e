//! What providers hold: stored answers that are asked for by id, and threads that are gone on with by id.

use serde_json::{Value, json};
use testkit::fake_upstream::FakeUpstream;
use testkit::script::{Call, Round, Script};

use crate::client::{client, json as read, post};

async fn call(fake: &FakeUpstream, method: &str, path: &str) -> (u16, Value) {
    let request =
        client().request(method.parse().unwrap(), format!("{}/v1/responses/{path}", fake.base_url()));
    read(request.send().await.unwrap()).await
}

async fn respond(fake: &FakeUpstream, body: &Value) -> (u16, Value) {
    read(post(fake, "/v1/responses", body).await).await
}

#[tokio::test]
async fn stored_answers_are_shown_listed_and_deleted() {
    let fake = FakeUpstream::start(Script::rounds([Round::text("hello")])).await;
    let (_, answer) = respond(&fake, &json!({"model": "m", "input": "x"})).await;
    let id = answer["id"].as_str().unwrap();
    assert_eq!(call(&fake, "GET", id).await, (200, answer.clone()));
    let next = json!({"model": "m", "input": "y", "previous_response_id": id});
    let (_, second) = respond(&fake, &next).await;
    let items = format!("{}/input_items", second["id"].as_str().unwrap());
    let (_, all) = call(&fake, "GET", &format!("{items}?order=asc")).await;
    assert_eq!((all["data"].as_array().unwrap().len(), &all["has_more"]), (3, &json!(false)));
    let (_, page) = call(&fake, "GET", &format!("{items}?limit=1")).await;
    assert_eq!((&page["data"][0], &page["has_more"]), (&all["data"][2], &json!(true)));
    let after = page["last_id"].as_str().unwrap();
    let (_, page) = call(&fake, "GET", &format!("{items}?limit=1&after={after}")).await;
    assert_eq!(page["data"][0], all["data"][1]);
    assert_eq!(call(&fake, "POST", &format!("{id}/cancel")).await.0, 400);
    assert_eq!(call(&fake, "GET", &format!("{id}?stream=true")).await.0, 400);
    assert_eq!(
        call(&fake, "DELETE", id).await,
        (200, json!({"id": id, "object": "response", "deleted": true}))
    );
    assert_eq!(call(&fake, "GET", id).await.0, 404);
    assert_eq!(respond(&fake, &next).await.0, 400, "nobody goes on with what is gone");
    let (_, unstored) = respond(&fake, &json!({"model": "m", "input": "x", "store": false})).await;
    assert_eq!(call(&fake, "GET", unstored["id"].as_str().unwrap()).await.0, 404);
}

#[tokio::test]
async fn references_and_open_calls_are_looked_at() {
    let calls = Round::calls([Call::new("f", json!({})).exactly()]);
    let fake = FakeUpstream::start(Script::rounds([calls, Round::text("done")])).await;
    let (_, answer) = respond(&fake, &json!({"model": "m", "input": "x"})).await;
    let output = |id: &Value| json!({"type": "function_call_output", "call_id": id, "output": "y"});
    let call = &answer["output"][0];
    let named = |id: &Value| json!({"type": "item_reference", "id": id});
    let input = json!([named(&call["id"]), output(&call["call_id"])]);
    assert_eq!(respond(&fake, &json!({"model": "m", "input": input})).await.0, 200);
    let bare = json!([{"id": call["id"]}]);
    assert_eq!(respond(&fake, &json!({"model": "m", "input": bare})).await.0, 400, "the call is open");
    let unknown = json!([named(&json!("fc_9"))]);
    assert_eq!(respond(&fake, &json!({"model": "m", "input": unknown})).await.0, 404);
    let open = json!({"model": "m", "input": "x", "previous_response_id": answer["id"]});
    assert_eq!(respond(&fake, &open).await.0, 400);
}

#[tokio::test]
async fn threads_are_gone_on_with_once_and_with_their_own_tools() {
    let fake = FakeUpstream::start(Script::rounds([Round::text("hello")])).await;
    let tools = json!([{"name": "f", "input_schema": {"type": "object"}}]);
    let ask = async |thread: Value, tools: &Value| {
        let messages = json!([{"role": "user", "content": "x"}]);
        let mut body = json!({"model": "m", "max_tokens": 9, "messages": messages, "thread": thread});
        if !tools.is_null() {
            body["tools"] = tools.clone();
        }
        let request = client().post(format!("{}/v1/messages", fake.base_url()));
        let request =
            request.header("anthropic-version", "2023-06-01").header("content-type", "application/json");
        read(request.body(body.to_string()).send().await.unwrap()).await
    };
    let go_on = |answer: &Value| json!({"type": "continue", "previous_message_id": answer["id"]});
    let (status, first) = ask(json!({"type": "create"}), &tools).await;
    assert_eq!(status, 200);
    assert_eq!(ask(go_on(&first), &json!([{"name": "g", "input_schema": {"type": "object"}}])).await.0, 400);
    let (status, second) = ask(go_on(&first), &Value::Null).await;
    assert_eq!(status, 200);
    assert_eq!(ask(go_on(&first), &Value::Null).await.0, 400, "once");
    assert_eq!(ask(go_on(&second), &tools).await.0, 200);
    assert_eq!(ask(go_on(&json!({"id": "msg_9"})), &Value::Null).await.0, 404);
    assert_eq!(ask(json!({"type": "x"}), &Value::Null).await.0, 400);
}
