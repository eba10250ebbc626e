//! What holds for every request: bodies, content types, ids, health.

use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use futures_util::stream;
use serde_json::json;

use crate::harness::{Answer, Gateway, TOKEN, request};

async fn post(gateway: &Gateway, path: &str, kind: Option<&str>, body: Body) -> Answer {
    let mut asked = request("POST", path).header("authorization", format!("Bearer {TOKEN}"));
    if let Some(kind) = kind {
        asked = asked.header("content-type", kind);
    }
    gateway.send(asked.body(body).unwrap()).await
}

fn chunks(total: usize) -> Body {
    let chunk = Bytes::from(vec![b' '; 64 * 1024]);
    Body::from_stream(stream::iter(
        (0..total / chunk.len()).map(move |_| Ok::<_, std::io::Error>(chunk.clone())),
    ))
}

#[tokio::test]
async fn a_body_over_the_limit_is_413_with_and_without_a_length() {
    let gateway = Gateway::start().await;
    let five = 5 * 1024 * 1024;
    let body =
        json!({"name": "x", "description": "d".repeat(five), "handlerCode": "echo-handler"}).to_string();
    for body in [Body::from(body), chunks(five)] {
        let answer = post(&gateway, "/api/skills/install", Some("application/json"), body).await;
        let said = answer.expect(413, "body_too_large").json()["error"].as_str().unwrap().to_owned();
        assert!(said.contains("1 MiB"), "{said}");
    }
    // An announced length is believed before a byte is read.
    let asked = request("POST", "/api/skills/install")
        .header("authorization", format!("Bearer {TOKEN}"))
        .header("content-length", "5000000");
    gateway.send(asked.body(Body::empty()).unwrap()).await.expect(413, "body_too_large");
}

#[tokio::test]
async fn the_proxy_takes_more_and_refuses_in_its_dialect() {
    let gateway = Gateway::start().await;
    let path = dialects::ALL[0].routes()[0];
    let announced = |bytes: &'static str| {
        let asked = request("POST", path).header("content-length", bytes).header("expect", "100-continue");
        gateway.send(asked.body(Body::empty()).unwrap())
    };
    let refused = announced("67108865").await;
    assert_eq!(refused.status, StatusCode::PAYLOAD_TOO_LARGE);
    let body = refused.json();
    assert!(body["error"]["message"].as_str().unwrap().contains("64 MiB"), "{body}");
    assert_eq!(announced("67108864").await.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_body_in_many_pieces_is_put_together() {
    let gateway = Gateway::start().await;
    let text = json!({"name": "pieces", "description": "d", "handlerCode": "echo-handler"}).to_string();
    let pieces: Vec<_> =
        text.as_bytes().chunks(7).map(|c| Ok::<_, std::io::Error>(Bytes::copy_from_slice(c))).collect();
    post(&gateway, "/api/skills/install", Some("application/json"), Body::from_stream(stream::iter(pieces)))
        .await
        .ok();
}

#[tokio::test]
async fn a_body_that_breaks_off_is_the_clients_fault() {
    let gateway = Gateway::start().await;
    let broken = stream::iter([Ok(Bytes::from_static(b"{")), Err(std::io::Error::other("gone"))]);
    let answer =
        post(&gateway, "/api/skills/install", Some("application/json"), Body::from_stream(broken)).await;
    answer.expect(400, "broken_body");
}

#[tokio::test]
async fn only_json_is_read() {
    let gateway = Gateway::start().await;
    for kind in
        [None, Some("application/x-www-form-urlencoded"), Some("text/plain"), Some("application/jsonx")]
    {
        let answer = post(&gateway, "/api/skills/install", kind, Body::from("{}")).await;
        let said = answer.expect(415, "unsupported_media_type").json()["error"].as_str().unwrap().to_owned();
        assert!(said.contains("Content-Type: application/json"), "{said}");
    }
    for kind in ["application/json; charset=utf-8", "Application/JSON", "application/vnd.api+json"] {
        let answer = post(&gateway, "/api/skills/install", Some(kind), Body::from("{}")).await;
        answer.expect(400, "invalid_field");
    }
}

#[tokio::test]
async fn malformed_json_names_the_place() {
    let gateway = Gateway::start().await;
    for text in ["", "{", "{\"a\":\n 1,}", "nul", "{}{}", "\u{0}", "{\"a\":\"\\ud800\"}"] {
        let answer = post(&gateway, "/api/skills/install", Some("application/json"), Body::from(text)).await;
        let said = answer.expect(400, "malformed_json").json()["error"].as_str().unwrap().to_owned();
        assert!(said.contains("line") && said.contains("column"), "{said}");
    }
    let deep = "[".repeat(100_000);
    let answer = post(&gateway, "/api/skills/install", Some("application/json"), Body::from(deep)).await;
    answer.expect(400, "malformed_json");
    let invalid =
        post(&gateway, "/api/skills/install", Some("application/json"), Body::from(&b"{\"a\":\"\xff\"}"[..]))
            .await;
    invalid.expect(400, "malformed_json");
    for text in ["[]", "7", "null", "\"x\""] {
        let answer = post(&gateway, "/api/skills/install", Some("application/json"), Body::from(text)).await;
        answer.expect(422, "invalid_type");
    }
}

#[tokio::test]
async fn health_needs_nobody_and_ids_differ() {
    let gateway = Gateway::start().await;
    gateway.key("k", &[]).await;
    let live = gateway.call("", "GET", "/healthz", None).await;
    let first = live.headers["x-request-id"].clone();
    assert_eq!(live.ok(), json!({"status": "ok", "version": env!("CARGO_PKG_VERSION")}));
    let ready = gateway.call("osk_unknown", "GET", "/readyz", None).await;
    assert_ne!(ready.headers["x-request-id"], first);
    assert_eq!(ready.status, StatusCode::OK);
}
