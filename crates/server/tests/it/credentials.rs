//! Where a credential may stand, and who gets in without one.

use axum::body::Body;
use axum::http::StatusCode;
use serde_json::json;

use crate::harness::{Answer, Gateway, Setup, TOKEN, request};

const LIGHT: &str = "/api/skills/executions";

async fn get(gateway: &Gateway, path: &str, headers: &[(&str, &str)]) -> Answer {
    let asked = headers.iter().fold(request("GET", path), |r, (name, value)| r.header(*name, *value));
    gateway.send(asked.body(Body::empty()).unwrap()).await
}

#[tokio::test]
async fn a_key_is_found_in_every_place_and_a_token_as_bearer() {
    let gateway = Gateway::start().await;
    let (_, key) = gateway.key("k", &["read:skills"]).await;
    let bearer = format!("bearer {key}");
    for headers in [
        [("authorization", bearer.as_str())],
        [("x-api-key", &key)],
        [("x-goog-api-key", &key)],
        [("x-omni-key", &key)],
    ] {
        assert_eq!(get(&gateway, LIGHT, &headers).await.status, StatusCode::OK, "{headers:?}");
    }
    // Our own place is asked first, and what stands there is ours to judge.
    let two = [("x-omni-key", key.as_str()), ("authorization", "Bearer sk-own")];
    assert_eq!(get(&gateway, LIGHT, &two).await.status, StatusCode::OK);
    get(&gateway, LIGHT, &[("x-omni-key", "sk-own")]).await.expect(401, "invalid_credential");
    get(&gateway, LIGHT, &[("x-omni-key", "osk_x"), ("x-api-key", &key)])
        .await
        .expect(401, "invalid_credential");
    assert_eq!(get(&gateway, "/api/keys", &[("x-omni-key", TOKEN)]).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_query_key_counts_on_the_proxy_only() {
    let gateway = Gateway::start().await;
    let (_, key) = gateway.key("k", &["proxy"]).await;
    assert_eq!(get(&gateway, &format!("/v1/nothing?key={key}"), &[]).await.status, StatusCode::NOT_FOUND);
    assert_eq!(get(&gateway, "/v1/nothing?key=osk_1", &[]).await.status, StatusCode::UNAUTHORIZED);
    assert_eq!(get(&gateway, &format!("{LIGHT}?key={key}"), &[]).await.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn anonymous_callers_are_let_in_until_the_first_key_and_never_again() {
    let gateway = Gateway::start().await;
    gateway.call("", "GET", LIGHT, None).await.ok();
    // Somebody's own credential is no login, and no harm.
    gateway.call("sk-own", "GET", LIGHT, None).await.ok();
    gateway.call("osk_unknown", "GET", LIGHT, None).await.expect(401, "invalid_credential");
    gateway.call("", "GET", "/api/skills", None).await.expect(401, "missing_credential");
    let (id, _) = gateway.key("first", &[]).await;
    gateway.call("", "GET", LIGHT, None).await.expect(401, "missing_credential");
    gateway.manage("DELETE", &format!("/api/keys/{id}"), None).await.ok();
    gateway.call("", "GET", LIGHT, None).await.expect(401, "missing_credential");
}

#[tokio::test]
async fn nobody_is_anonymous_behind_a_proxy_or_from_a_foreign_page_or_off_loopback() {
    let gateway = Gateway::start().await;
    for name in
        ["forwarded", "via", "x-real-ip", "x-forwarded-for", "x-forwarded-proto", "x-forwarded-anything"]
    {
        get(&gateway, LIGHT, &[(name, "x")]).await.expect(401, "missing_credential");
    }
    let page = [("origin", "https://evil.example")];
    assert_eq!(get(&gateway, "/v1/nothing", &page).await.status, StatusCode::UNAUTHORIZED);
    assert_eq!(get(&gateway, "/v1/nothing", &[]).await.status, StatusCode::NOT_FOUND);
    let outside = Gateway::with(Setup { loopback: false, ..Setup::default() }).await;
    outside.call("", "GET", LIGHT, None).await.expect(401, "missing_credential");
}

#[tokio::test]
async fn a_revoked_rotated_or_narrowed_key_stops_at_once() {
    let gateway = Gateway::start().await;
    let (id, first) = gateway.key("k", &["read:skills"]).await;
    gateway.call(&first, "GET", LIGHT, None).await.ok();
    let rotated = gateway.manage("POST", &format!("/api/keys/{id}/rotate"), None).await.ok();
    let second = rotated["key"].as_str().unwrap();
    gateway.call(&first, "GET", LIGHT, None).await.expect(401, "invalid_credential");
    gateway.call(second, "GET", LIGHT, None).await.ok();
    gateway.manage("PUT", &format!("/api/keys/{id}"), Some(json!({"scopes": ["proxy"]}))).await.ok();
    gateway.call(second, "GET", LIGHT, None).await.expect(403, "missing_scope");
    gateway.manage("DELETE", &format!("/api/keys/{id}"), None).await.ok();
    gateway.call(second, "GET", LIGHT, None).await.expect(401, "invalid_credential");
}

#[tokio::test]
async fn a_key_marked_as_revoked_is_no_login() {
    let gateway = Gateway::start().await;
    let (id, key) = gateway.key("k", &["read:skills"]).await;
    let revoked = store::KeyUpdate { revoked: Some(true), ..store::KeyUpdate::default() };
    gateway.app.store.update_key(&id, revoked).await.unwrap();
    gateway.call(&key, "GET", LIGHT, None).await.expect(401, "invalid_credential");
}

#[tokio::test]
async fn a_request_to_another_host_or_from_another_site_is_refused() {
    let gateway =
        Gateway::with(Setup { allowed_hosts: vec!["gateway.example".to_owned()], ..Setup::default() }).await;
    let at = async |hosts: &[&str], origin: Option<&str>| {
        let mut asked = axum::http::Request::builder()
            .uri("/api/keys")
            .header("authorization", format!("Bearer {TOKEN}"));
        for host in hosts {
            asked = asked.header("host", *host);
        }
        if let Some(origin) = origin {
            asked = asked.header("origin", origin);
        }
        gateway.send(asked.body(Body::empty()).unwrap()).await
    };
    for host in ["localhost", "127.0.0.1:20128", "[::1]:1", "x.localhost", "gateway.example:8443"] {
        assert_eq!(at(&[host], None).await.status, StatusCode::OK, "{host}");
    }
    at(&["evil.example"], None).await.expect(403, "host_refused");
    at(&["10.0.0.1"], None).await.expect(403, "host_refused");
    for hosts in [&[][..], &["localhost", "localhost"], &["a b"], &["user@localhost"]] {
        at(hosts, None).await.expect(400, "invalid_host");
    }
    assert_eq!(at(&["localhost:1"], Some("http://localhost:1")).await.status, StatusCode::OK);
    assert_eq!(at(&["localhost:1"], Some("https://gateway.example")).await.status, StatusCode::OK);
    for origin in
        ["https://evil.example", "null", "http://localhost.evil.example", "file://", "chrome-extension://x"]
    {
        at(&["localhost:1"], Some(origin)).await.expect(403, "origin_refused");
    }
}
