//! The page of the API: whole, from here alone, and closed to strangers like the rest.

use axum::body::Body;
use axum::http::StatusCode;
use serde_json::Value;
use server::openapi;

use crate::harness::{Answer, Gateway, TOKEN, request};

async fn page(gateway: &Gateway, credential: &str, accept: &str) -> Answer {
    let mut ask = request("GET", "/api/docs").header("accept", accept);
    if !credential.is_empty() {
        ask = ask.header("authorization", format!("Bearer {credential}"));
    }
    gateway.send(ask.body(Body::empty()).unwrap()).await
}

fn text(answer: &Answer) -> String {
    String::from_utf8(answer.bytes.to_vec()).unwrap()
}

#[tokio::test]
async fn every_operation_and_schema_is_on_the_page_and_nothing_comes_from_elsewhere() {
    let gateway = Gateway::start().await;
    let answer = page(&gateway, TOKEN, "text/html").await;
    assert_eq!(answer.status, StatusCode::OK);
    let policy = answer.headers["content-security-policy"].to_str().unwrap();
    assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    assert_eq!(answer.headers["x-content-type-options"], "nosniff");
    let html = text(&answer);
    let mut operations = Vec::new();
    crate::conformance::each_with(openapi(), "operationId", &mut operations);
    for id in operations.iter().map(|operation| operation["operationId"].as_str()) {
        // A link names an operation, too; both are anchors of the page.
        assert!(html.contains(&format!("id=\"{}\"", id.unwrap())), "{id:?}");
    }
    for name in openapi()["components"]["schemas"].as_object().unwrap().keys() {
        assert!(html.contains(&format!("id=\"schema-{name}\"")), "{name}");
    }
    for never in ["http://", "https://", "style=", "onclick", "<style", "javascript:"] {
        assert!(!html.contains(never), "{never}");
    }
    let scripts = html.matches("<script").count();
    assert_eq!((scripts, html.matches("<script src=\"../assets/").count()), (1, 1));
}

#[tokio::test]
async fn links_of_the_page_lead_somewhere() {
    let gateway = Gateway::start().await;
    let html = text(&page(&gateway, TOKEN, "text/html").await);
    for anchor in html.split("href=\"#").skip(1).filter_map(|rest| rest.split('"').next()) {
        assert!(html.contains(&format!("id=\"{anchor}\"")), "{anchor}");
    }
    for (file, kind) in [("/assets/docs.css", "text/css"), ("/assets/docs.js", "text/javascript")] {
        let answer = gateway.call("", "GET", file, None).await;
        assert_eq!(answer.status, StatusCode::OK);
        assert!(answer.headers["content-type"].to_str().unwrap().starts_with(kind));
        assert_eq!(answer.headers["x-content-type-options"], "nosniff");
    }
}

#[tokio::test]
async fn a_browser_without_a_credential_is_asked_for_one() {
    let gateway = Gateway::start().await;
    let (_, writer) = gateway.key("writer", &["write:skills"]).await;
    for credential in ["", "osk_unknown"] {
        let asked = page(&gateway, credential, "text/html,*/*;q=0.8").await;
        assert_eq!(asked.status, StatusCode::UNAUTHORIZED);
        assert!(asked.headers.contains_key("www-authenticate") && asked.headers.contains_key("x-request-id"));
        assert!(asked.headers["content-security-policy"].to_str().unwrap().contains("default-src 'none'"));
        let html = text(&asked);
        assert!(html.contains("type=\"password\"") && !html.contains("/api/skills"), "{html}");
        page(&gateway, credential, "application/json").await.code();
    }
    let told = page(&gateway, &writer, "text/html").await.expect(403, "missing_scope");
    assert!(matches!(&told.json()["error"], Value::String(text) if text.contains("read:skills")));
}
