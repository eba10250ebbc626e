//! Nonsense to every operation that the document has: refused by name, never taken for something else, never a 5xx.
//!
//! The operations come from the document, so that a new one cannot be forgotten.

use axum::body::Body;
use serde_json::{Value, json};
use server::openapi;

use crate::conformance::referred;
use crate::harness::{Answer, Gateway, TOKEN, request};

const NOBODY: &str = "018f0000-0000-7000-8000-000000000000";

struct Tried {
    method: String,
    path: String,
    operation: &'static Value,
}

impl Tried {
    fn what(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    /// The schema of its JSON body, and a legal body.
    fn json(&self) -> Option<(&'static Value, Value)> {
        let content = self.operation["requestBody"]["content"].get("application/json")?;
        let example = content.get("example").cloned();
        let needs = self.operation["requestBody"]["required"] == true;
        assert!(example.is_some() || !needs, "{}: the body has no example", self.what());
        Some((&content["schema"], example.unwrap_or_else(|| json!({}))))
    }

    fn query(&self) -> Vec<&'static str> {
        let parameters = self.operation["parameters"].as_array().into_iter().flatten();
        parameters.filter(|p| p["in"] == "query").map(|p| p["name"].as_str().unwrap()).collect()
    }
}

/// Every operation of the API but the stream, which does not end.
fn operations() -> Vec<Tried> {
    let paths = openapi()["paths"].as_object().unwrap();
    let ours = paths.iter().filter(|(path, _)| path.starts_with("/api"));
    let mut out = Vec::new();
    for (path, item) in ours {
        let path: Vec<&str> =
            path.split('/').map(|part| if part.starts_with('{') { NOBODY } else { part }).collect();
        for (method, operation) in item.as_object().unwrap() {
            out.push(Tried { method: method.to_uppercase(), path: path.join("/"), operation });
        }
    }
    out
}

fn fields(answer: &Answer) -> Vec<String> {
    let body = answer.json();
    let details = body["details"].as_array().cloned().unwrap_or_default();
    details.iter().map(|detail| detail["field"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn unknown_members_of_a_body_are_refused_by_name() {
    let gateway = Gateway::start().await;
    let mut tried = 0;
    for operation in operations() {
        let Some((schema, mut body)) = operation.json() else { continue };
        let what = operation.what();
        let root = schema["$ref"].as_str().and_then(referred).unwrap_or(schema);
        assert_eq!(root["additionalProperties"], false, "{what}: the body is not closed()");
        body["nonsense"] = 1.into();
        let answer = gateway.manage(&operation.method, &operation.path, Some(body)).await;
        let answer = answer.expect(400, "invalid_field");
        assert!(fields(&answer).contains(&"nonsense".to_owned()), "{what}: {answer:?}");
        tried += 1;
    }
    assert!(tried >= 8);
}

#[tokio::test]
async fn bodies_that_are_no_object_too_large_or_of_another_type_are_refused() {
    let gateway = Gateway::start().await;
    for operation in operations().iter().filter(|operation| operation.json().is_some()) {
        let send = async |kind: Option<&str>, body: Vec<u8>| {
            let mut ask = request(&operation.method, &operation.path);
            ask = ask.header("authorization", format!("Bearer {TOKEN}"));
            if let Some(kind) = kind {
                ask = ask.header("content-type", kind);
            }
            gateway.send(ask.body(Body::from(body)).unwrap()).await
        };
        let json = Some("application/json");
        let large = format!("{{\"name\": \"{}\"}}", "a".repeat(5 * 1024 * 1024));
        send(json, large.into_bytes()).await.expect(413, "body_too_large");
        send(json, b"[1]".to_vec()).await.expect(422, "invalid_type");
        send(json, b"null".to_vec()).await.expect(422, "invalid_type");
        send(json, b"{\"name\": ".to_vec()).await.expect(400, "malformed_json");
        send(json, b"\xff\xfe".to_vec()).await.expect(400, "malformed_json");
        send(None, b"{}".to_vec()).await.expect(415, "unsupported_media_type");
        send(Some("text/plain"), b"{}".to_vec()).await.expect(415, "unsupported_media_type");
    }
}

#[tokio::test]
async fn wrong_types_of_each_member_are_named() {
    let gateway = Gateway::start().await;
    gateway.install("eval_code", json!({})).await.ok();
    let mut tried = 0;
    for operation in operations() {
        let Some((schema, body)) = operation.json() else { continue };
        for (name, member) in schema["properties"].as_object().into_iter().flatten() {
            let wrong = match member["type"].as_str() {
                Some("string") => json!(7),
                Some("boolean" | "integer") => json!([]),
                Some("array" | "object") => json!("text"),
                _ => continue,
            };
            let mut body = body.clone();
            body[name] = wrong;
            let what = format!("{} with {body}", operation.what());
            let answer = gateway.manage(&operation.method, &operation.path, Some(body)).await;
            assert!([400, 422].contains(&answer.status.as_u16()), "{what}: {answer:?}");
            let named = fields(&answer).iter().any(|field| field.starts_with(name.as_str()));
            let said = answer.json()["error"].as_str().unwrap().contains(name.as_str());
            assert!(named || said, "{what}: {answer:?}");
            tried += 1;
        }
    }
    assert!(tried >= 25, "{tried}");
}

#[tokio::test]
async fn queries_with_unknown_names_or_limits_out_of_bounds_are_refused_by_name() {
    let gateway = Gateway::start().await;
    let mut paged = 0;
    for operation in operations() {
        let names = operation.query();
        if names.is_empty() {
            continue;
        }
        let ask = async |query: &str| {
            let body = operation.json().map(|(_, body)| body);
            gateway.manage(&operation.method, &format!("{}?{query}", operation.path), body).await
        };
        let what = operation.what();
        let answer = ask("nonsense=1").await.expect(400, "invalid_field");
        assert!(fields(&answer).contains(&"nonsense".to_owned()), "{what}");
        if !names.contains(&"limit") {
            continue;
        }
        paged += 1;
        for limit in ["-1", "0", "201", "1e9", "1000000000", "99999999999999999999", "a", "", "1%00"] {
            let answer = ask(&format!("limit={limit}")).await.expect(400, "invalid_field");
            assert_eq!(fields(&answer)[0], "limit", "{what} {limit}");
        }
        for page in ["-1", "0", "1.5", "4294967296"] {
            let answer = ask(&format!("page={page}")).await.expect(400, "invalid_field");
            assert_eq!(fields(&answer)[0], "page", "{what} {page}");
        }
    }
    assert!(paged >= 3);
}

#[tokio::test]
async fn odd_letters_in_a_query_are_looked_for_and_not_found() {
    let gateway = Gateway::start().await;
    gateway.install("alpha", json!({})).await.ok();
    for q in ["%", "%25", "_", "'", "%22", "%5C", "%00", "%F0%9F%99%82", "*", "%27%20OR%201=1"] {
        let answer = gateway.manage("GET", &format!("/api/skills?q={q}"), None).await.ok();
        assert!(answer["total"].as_u64().unwrap() <= 2, "{q}: {answer}");
        for name in ["skill", "session", "turn"] {
            let path = format!("/api/skills/executions?{name}={q}");
            assert_eq!(gateway.manage("GET", &path, None).await.ok()["total"], 0, "{path}");
        }
    }
}

#[tokio::test]
async fn a_number_may_be_written_with_a_point_if_it_is_whole() {
    let gateway = Gateway::start().await;
    let id = gateway.install("alpha", json!({"timeoutMs": 500.0})).await.ok()["id"].clone();
    let path = format!("/api/skills/{}", id.as_str().unwrap());
    assert_eq!(gateway.manage("GET", &path, None).await.ok()["timeoutMs"], 500);
    for wrong in [json!(500.5), json!(-1.0), json!(1e300)] {
        let answer = gateway.manage("PUT", &path, Some(json!({"timeoutMs": wrong}))).await;
        assert_eq!(fields(&answer.expect(400, "invalid_field")), ["timeoutMs"]);
    }
}
