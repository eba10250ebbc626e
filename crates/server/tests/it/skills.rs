//! The list of skills, one skill, and the switches.

use serde_json::{Value, json};

use crate::harness::Gateway;

async fn names(gateway: &Gateway, query: &str) -> Vec<String> {
    let body = gateway.manage("GET", &format!("/api/skills{query}"), None).await.ok();
    assert_eq!(body["data"], body["skills"]);
    body["data"].as_array().unwrap().iter().map(|s| s["name"].as_str().unwrap().to_owned()).collect()
}

async fn three() -> Gateway {
    let gateway = Gateway::start().await;
    gateway.install("alpha", json!({"mode": "auto", "description": "100% sure"})).await.ok();
    gateway.install("beta", json!({"apiKeyId": "alice", "tags": ["greek"]})).await.ok();
    gateway.install("gamma", json!({"mode": "off"})).await.ok();
    gateway
}

#[tokio::test]
async fn filters_and_pages() {
    let gateway = three().await;
    assert_eq!(names(&gateway, "").await, ["alpha", "beta", "file_write", "gamma"]);
    assert_eq!(names(&gateway, "?owner=alice").await, ["beta"]);
    assert_eq!(names(&gateway, "?mode=off").await, ["gamma"]);
    assert_eq!(names(&gateway, "?source=builtin").await, ["file_write"]);
    assert_eq!(names(&gateway, "?q=GREEK").await, ["beta"]);
    assert_eq!(names(&gateway, "?q=%").await, ["alpha"]);
    assert_eq!(names(&gateway, "?q=%25").await, ["alpha"]);
    assert_eq!(names(&gateway, "?q=_").await, ["file_write"]);
    assert_eq!(names(&gateway, "?limit=1&page=2").await, ["beta"]);
    assert_eq!(names(&gateway, "?page=4294967295&limit=200").await, [""; 0]);
    let body = gateway.manage("GET", "/api/skills?limit=3", None).await.ok();
    assert_eq!(
        (&body["total"], &body["page"], &body["limit"], &body["totalPages"]),
        (&json!(4), &json!(1), &json!(3), &json!(2))
    );
    assert_eq!(body["provider"], "skillsmp");
    assert_eq!(body["popularDefaults"], json!([]));
}

#[tokio::test]
async fn a_bad_query_is_refused() {
    let gateway = Gateway::start().await;
    for (query, field) in [
        ("limit=-1", "limit"),
        ("limit=0", "limit"),
        ("limit=201", "limit"),
        ("limit=1e9", "limit"),
        ("limit=1000000000", "limit"),
        ("page=0", "page"),
        ("page=x", "page"),
        ("source=x", "source"),
        ("mode=sometimes", "mode"),
        ("enabled=yes", "enabled"),
        ("sort=colour", "sort"),
        ("apiKeyId=alice", "apiKeyId"),
        ("mode=on&mode=off", "mode"),
    ] {
        let answer =
            gateway.manage("GET", &format!("/api/skills?{query}"), None).await.expect(400, "invalid_field");
        assert_eq!(answer.json()["details"][0]["field"], field, "{query}");
    }
}

#[tokio::test]
async fn one_skill_shows_what_is_known_about_it() {
    let gateway = Gateway::start().await;
    let long = "x".repeat(2000);
    let id = gateway.install("long", json!({"description": long})).await.ok()["id"].clone();
    let shown = gateway.manage("GET", &format!("/api/skills/{}", id.as_str().unwrap()), None).await.ok();
    assert_eq!(shown["description"].as_str().unwrap().len(), 2000);
    assert!(shown["warnings"][0].as_str().unwrap().contains("1024"));
    let builtin = gateway.manage("GET", "/api/skills?source=builtin", None).await.ok()["data"][0].clone();
    assert_eq!(builtin["unavailable"], "no workspace");
    gateway.manage("GET", "/api/skills/nobody", None).await.expect(404, "skill_not_found");
    gateway.manage("GET", "/api/skills/%ff", None).await.expect(404, "route_not_found");
}

#[tokio::test]
async fn a_skill_is_edited_and_the_next_read_sees_it() {
    let gateway = three().await;
    let list = gateway.manage("GET", "/api/skills?owner=alice", None).await.ok();
    let path = format!("/api/skills/{}", list["data"][0]["id"].as_str().unwrap());
    let put = async |body: Value| gateway.manage("PUT", &path, Some(body)).await;
    put(json!({"mode": "auto", "policy": "manual", "tags": ["B"], "timeoutMs": 5, "maxRetries": 1}))
        .await
        .ok();
    let shown = gateway.manage("GET", &path, None).await.ok();
    assert_eq!((&shown["mode"], &shown["policy"]), (&json!("auto"), &json!("manual")));
    assert_eq!((&shown["tags"], &shown["timeoutMs"]), (&json!(["b"]), &json!(5)));
    put(json!({"enabled": false})).await.ok();
    assert_eq!(gateway.manage("GET", &path, None).await.ok()["mode"], "off");
    put(json!({"enabled": true, "timeoutMs": null})).await.ok();
    let shown = gateway.manage("GET", &path, None).await.ok();
    assert_eq!((&shown["mode"], &shown["timeoutMs"]), (&json!("auto"), &Value::Null));
    for (body, status, code) in [
        (json!({}), 400, "invalid_field"),
        (json!({"name": "other"}), 400, "invalid_field"),
        (json!({"mode": "sometimes"}), 400, "invalid_field"),
        (json!({"mode": null}), 400, "invalid_field"),
        (json!({"enabled": "yes"}), 422, "invalid_type"),
    ] {
        put(body.clone()).await.expect(status, code);
    }
    for body in [json!({"mode": "on"}), json!({"description": "d"})] {
        gateway.manage("PUT", "/api/skills/nobody", Some(body)).await.expect(404, "skill_not_found");
    }
}

#[tokio::test]
async fn deleting_removes_all_but_builtins() {
    let gateway = three().await;
    let list = gateway.manage("GET", "/api/skills", None).await.ok();
    for skill in list["data"].as_array().unwrap() {
        let path = format!("/api/skills/{}", skill["id"].as_str().unwrap());
        let gone = gateway.manage("DELETE", &path, None).await;
        if skill["name"] == "file_write" {
            gone.expect(409, "builtin_skill");
            gateway.manage("PUT", &path, Some(json!({"tags": []}))).await.expect(409, "builtin_skill");
            gateway.manage("PUT", &path, Some(json!({"mode": "off"}))).await.ok();
        } else {
            assert_eq!(gone.ok(), json!({"success": true}));
            gateway.manage("DELETE", &path, None).await.expect(404, "skill_not_found");
        }
    }
    assert_eq!(names(&gateway, "").await, ["file_write"]);
}
