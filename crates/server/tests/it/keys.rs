//! API keys: made once, never shown again.

use std::time::Duration;

use serde_json::json;

use crate::harness::{Gateway, TOKEN};

#[tokio::test]
async fn a_secret_is_shown_once() {
    let gateway = Gateway::start().await;
    let made = gateway.manage("POST", "/api/keys", Some(json!({"name": "ci"}))).await.ok();
    let secret = made["key"].as_str().unwrap();
    assert!(secret.starts_with("osk_") && secret.len() == 4 + 64, "{secret}");
    let list = gateway.manage("GET", "/api/keys", None).await.ok();
    assert_eq!((&list["total"], &list["data"][0]["name"]), (&json!(1), &json!("ci")));
    assert_eq!(list["data"][0]["scopes"], json!(["proxy", "read:skills", "execute:skills", "read:catalog"]));
    let text = list.to_string();
    assert!(!text.contains(secret) && !text.contains("hash"), "{text}");
    let other = gateway.manage("POST", "/api/keys", Some(json!({"name": "ci"}))).await.ok();
    assert_ne!(other["key"], made["key"]);
    let page = gateway.manage("GET", "/api/keys?limit=1&page=2", None).await.ok();
    assert_eq!((&page["data"][0]["id"], &page["totalPages"]), (&made["id"], &json!(2)));
}

#[tokio::test]
async fn nonsense_is_refused() {
    let gateway = Gateway::start().await;
    for (body, status, code) in [
        (json!({}), 400, "invalid_field"),
        (json!({"name": ""}), 400, "invalid_field"),
        (json!({"name": "a\u{7}"}), 400, "invalid_field"),
        (json!({"name": "k", "scopes": ["everything"]}), 400, "invalid_field"),
        (json!({"name": "k", "scopes": "proxy"}), 422, "invalid_type"),
        (json!({"name": "k", "key": "osk_mine"}), 400, "invalid_field"),
    ] {
        gateway.manage("POST", "/api/keys", Some(body)).await.expect(status, code);
    }
    for (method, path, body) in [
        ("PUT", "/api/keys/nobody", Some(json!({"name": "x"}))),
        ("DELETE", "/api/keys/nobody", None),
        ("POST", "/api/keys/nobody/rotate", None),
    ] {
        gateway.manage(method, path, body).await.expect(404, "key_not_found");
    }
    let (id, _) = gateway.key("k", &[]).await;
    gateway.manage("PUT", &format!("/api/keys/{id}"), Some(json!({}))).await.expect(400, "invalid_field");
}

#[tokio::test]
async fn the_last_use_is_noted() {
    let gateway = Gateway::start().await;
    let (id, secret) = gateway.key("k", &["read:skills"]).await;
    gateway.call(&secret, "GET", "/api/skills/executions", None).await.ok();
    let noted = async {
        loop {
            let list = gateway.call(TOKEN, "GET", "/api/keys", None).await.ok();
            let key =
                list["data"].as_array().unwrap().iter().find(|k| k["id"] == id.as_str()).unwrap().clone();
            if key["lastUsedAt"].is_string() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), noted).await.expect("last use is written");
}
