//! What an operator sets for a key: taken, shown, changed one by one, and obeyed.

use axum::http::header;
use serde_json::{Value, json};

use crate::harness::{Answer, Gateway, Setup, request};

#[tokio::test]
async fn settings_are_shown_and_each_is_replaced_alone() {
    let gateway = Gateway::start().await;
    let body = json!({
        "name": "k",
        "budgets": {"rounds": 2, "wallMs": 0, "executions": 0, "resultBytes": 10, "resultsBytes": 20, "tokens": 30},
        "policies": {"eval_code": "manual", "any-name": "hybrid"},
        "requireUser": true,
        "onDisconnect": "finish",
    });
    let mut wanted = body.clone();
    let made = gateway.manage("POST", "/api/keys", Some(body)).await.ok();
    let path = format!("/api/keys/{}", made["id"].as_str().unwrap());
    let shows = |key: &Value, wanted: &Value| {
        for (name, value) in wanted.as_object().unwrap() {
            assert_eq!(&key[name], value, "{name}");
        }
    };
    shows(&made, &wanted);
    for change in [
        json!({"budgets": {"rounds": 1}}),
        json!({"policies": {}}),
        json!({"requireUser": false, "name": "other"}),
        json!({"onDisconnect": "cancel", "budgets": {}}),
    ] {
        wanted.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        let changed = gateway.manage("PUT", &path, Some(change)).await.ok();
        shows(&changed["apiKey"], &wanted);
        shows(&gateway.manage("GET", "/api/keys", None).await.ok()["data"][0], &wanted);
    }
    gateway
        .manage("PUT", "/api/keys/nobody", Some(json!({"budgets": {}})))
        .await
        .expect(404, "key_not_found");
}

#[tokio::test]
async fn changes_at_the_same_time_do_not_take_each_other_back() {
    let gateway = Gateway::start().await;
    let (id, _) = gateway.key("k", &[]).await;
    let path = format!("/api/keys/{id}");
    let put = |change: Value| gateway.manage("PUT", &path, Some(change));
    tokio::join!(
        put(json!({"budgets": {"rounds": 1}})),
        put(json!({"policies": {"a": "manual"}})),
        put(json!({"requireUser": true})),
        put(json!({"onDisconnect": "finish"})),
    );
    let key = gateway.manage("GET", "/api/keys", None).await.ok()["data"][0].clone();
    assert_eq!((&key["budgets"], &key["policies"]), (&json!({"rounds": 1}), &json!({"a": "manual"})));
    assert_eq!((&key["requireUser"], &key["onDisconnect"]), (&json!(true), &json!("finish")));
}

#[tokio::test]
async fn nonsense_is_refused_by_name() {
    let gateway = Gateway::start().await;
    let (id, _) = gateway.key("k", &[]).await;
    let many: serde_json::Map<_, _> = (0..501).map(|n| (format!("s{n}"), json!("auto"))).collect();
    for (change, status, field) in [
        (json!({"budgets": {"rounds": 0}}), 400, "budgets.rounds"),
        (json!({"budgets": {"tokens": 0}}), 400, "budgets.tokens"),
        (json!({"budgets": {"executions": -1}}), 400, "budgets.executions"),
        (json!({"budgets": {"wall_ms": 1}}), 400, "budgets.wall_ms"),
        (json!({"budgets": 3}), 422, "budgets"),
        (json!({"budgets": {"wallMs": "1"}}), 422, "budgets.wallMs"),
        (json!({"policies": {"a": "sometimes"}}), 400, "policies.a"),
        (json!({"policies": {"": "auto"}}), 400, "policies."),
        (json!({"policies": {"a": 1}}), 422, "policies.a"),
        (json!({"policies": ["a"]}), 422, "policies"),
        (json!({"policies": many}), 400, "policies"),
        (json!({"requireUser": "yes"}), 422, "requireUser"),
        (json!({"onDisconnect": "wait"}), 400, "onDisconnect"),
    ] {
        for (method, path) in [("POST", "/api/keys".to_owned()), ("PUT", format!("/api/keys/{id}"))] {
            let mut body = change.clone();
            body["name"] = "k".into();
            let answer = gateway.manage(method, &path, Some(body)).await;
            assert_eq!(answer.status.as_u16(), status, "{change}");
            assert_eq!(answer.json()["details"][0]["field"], field, "{change}");
        }
    }
    assert_eq!(gateway.manage("GET", "/api/keys", None).await.ok()["data"][0]["budgets"], json!({}));
}

async fn chat(gateway: &Gateway, key: &str, path: &str, body: &Value, user: &str) -> Answer {
    let mut asks =
        request("POST", path).header("x-omni-key", key).header(header::CONTENT_TYPE, "application/json");
    if !user.is_empty() {
        asks = asks.header("x-omni-user", user);
    }
    gateway.send(asks.body(body.to_string().into()).unwrap()).await
}

#[tokio::test]
async fn a_key_that_requires_a_user_has_no_chat_without() {
    let gateway = Gateway::with(Setup { demo: true, ..Setup::default() }).await;
    let made = json!({"name": "k", "requireUser": true});
    let made = gateway.manage("POST", "/api/keys", Some(made)).await.ok();
    let key = made["key"].as_str().unwrap();
    let messages = json!([{"role": "user", "content": "hello"}]);
    let gemini = "/v1beta/models/demo:generateContent";
    for (path, body, user) in [
        ("/v1/chat/completions", json!({"model": "demo", "messages": messages}), json!({"user": "u"})),
        ("/v1/responses", json!({"model": "demo", "input": "hello"}), json!({"safety_identifier": "u"})),
        (
            "/v1/messages",
            json!({"model": "demo", "max_tokens": 9, "messages": messages}),
            json!({"metadata": {"user_id": "u"}}),
        ),
        (gemini, json!({"contents": [{"role": "user", "parts": [{"text": "hello"}]}]}), Value::Null),
    ] {
        let refused = chat(&gateway, key, path, &body, "").await;
        let text = refused.json().to_string();
        assert_eq!(refused.status, 400, "{path}: {text}");
        assert!(text.contains("x-omni-user"), "{path}: {text}");
        chat(&gateway, key, path, &body, "u").await.ok();
        if let Value::Object(user) = user {
            let mut named = body.clone();
            named.as_object_mut().unwrap().extend(user);
            chat(&gateway, key, path, &named, "").await.ok();
        }
    }
}
