//! Installing: the seeds' example, and everything that an install must refuse.

use axum::body::Body;
use serde_json::{Value, json};

use crate::harness::{Gateway, TOKEN, request};

/// The seeds' body, byte for byte.
const EXAMPLE: &str = r#"{
    "name": "reverse-text",
    "version": "1.0.0",
    "description": "Reverses a string",
    "schema": {
      "input":  { "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"] },
      "output": { "type": "object", "properties": { "reversed": { "type": "string" } } }
    },
    "handlerCode": "echo-handler",
    "apiKeyId": "your-api-key-id"
  }"#;

#[tokio::test]
async fn the_seeds_example_installs_and_runs() {
    let gateway = Gateway::start().await;
    let install = request("POST", "/api/skills/install")
        .header("authorization", format!("Bearer {TOKEN}"))
        .header("content-type", "application/json");
    let made = gateway.send(install.body(Body::from(EXAMPLE)).unwrap()).await.ok();
    assert_eq!(made["success"], true);
    let id = made["id"].as_str().unwrap();
    let shown = gateway.manage("GET", &format!("/api/skills/{id}"), None).await.ok();
    assert_eq!((&shown["mode"], &shown["policy"]), (&json!("on"), &json!("auto")));
    assert_eq!(shown["apiKeyId"], "your-api-key-id");
    let run =
        json!({"skillName": "reverse-text@1.0.0", "input": {"text": "abc"}, "apiKeyId": "your-api-key-id"});
    let ran = gateway.manage("POST", "/api/skills/executions", Some(run)).await.ok();
    assert_eq!(ran["execution"]["status"], "success");
    assert_eq!(ran["execution"]["output"], json!({"text": "abc"}));
    // Management finds it without naming the owner as well.
    let run = json!({"skillName": "reverse-text", "input": {"text": "abc"}});
    let ran = gateway.manage("POST", "/api/skills/executions", Some(run)).await.ok();
    assert_eq!(ran["execution"]["apiKeyId"], "management");
}

#[tokio::test]
async fn defaults_are_those_of_the_spec() {
    let gateway = Gateway::start().await;
    let id = gateway.install("plain", json!({})).await.ok()["id"].clone();
    let shown = gateway.manage("GET", &format!("/api/skills/{}", id.as_str().unwrap()), None).await.ok();
    for (field, value) in [
        ("apiKeyId", json!("system")),
        ("version", json!("1.0.0")),
        ("mode", json!("on")),
        ("policy", json!("auto")),
        ("enabled", json!(true)),
        ("sourceProvider", json!("local")),
        ("broken", Value::Null),
        ("timeoutMs", Value::Null),
    ] {
        assert_eq!(shown[field], value, "{field}");
    }
}

#[tokio::test]
async fn every_option_is_kept() {
    let gateway = Gateway::start().await;
    let more = json!({
        "version": "2.1.0", "mode": "auto", "policy": "hybrid", "tags": [" Text ", "text", ""], "timeoutMs": 500,
        "maxRetries": 2, "annotations": {"readOnly": true},
    });
    let id = gateway.install("full", more).await.ok()["id"].clone();
    let shown = gateway.manage("GET", &format!("/api/skills/{}", id.as_str().unwrap()), None).await.ok();
    assert_eq!(shown["version"], "2.1.0");
    assert_eq!((&shown["mode"], &shown["policy"]), (&json!("auto"), &json!("hybrid")));
    assert_eq!(shown["tags"], json!(["text"]));
    assert_eq!((&shown["timeoutMs"], &shown["maxRetries"]), (&json!(500), &json!(2)));
    assert_eq!(shown["annotations"]["readOnly"], true);
}

#[tokio::test]
async fn nonsense_is_refused_with_the_field() {
    let gateway = Gateway::start().await;
    let cases = [
        (json!({"nonsense": 1}), 400, "invalid_field", "nonsense"),
        (json!({"version": "1"}), 400, "invalid_field", "version"),
        (json!({"version": "v1.0.0"}), 400, "invalid_field", "version"),
        (json!({"version": 1}), 422, "invalid_type", "version"),
        (json!({"mode": "sometimes"}), 400, "invalid_field", "mode"),
        (json!({"policy": "maybe"}), 400, "invalid_field", "policy"),
        (json!({"name": "a@b"}), 400, "invalid_field", "name"),
        (json!({"name": ""}), 400, "invalid_field", "name"),
        (json!({"name": " x"}), 400, "invalid_field", "name"),
        (json!({"name": null}), 400, "invalid_field", "name"),
        (json!({"name": ["x"]}), 422, "invalid_type", "name"),
        (json!({"tags": "x"}), 422, "invalid_type", "tags"),
        (json!({"tags": ["x", 1]}), 422, "invalid_type", "tags[1]"),
        (json!({"timeoutMs": 0}), 400, "invalid_field", "timeoutMs"),
        (json!({"timeoutMs": -1}), 400, "invalid_field", "timeoutMs"),
        (json!({"timeoutMs": "5"}), 422, "invalid_type", "timeoutMs"),
        (json!({"maxRetries": 4}), 400, "invalid_field", "maxRetries"),
        (json!({"annotations": {"safe": true}}), 400, "invalid_field", "annotations.safe"),
        (json!({"annotations": {"readOnly": 1}}), 422, "invalid_type", "annotations.readOnly"),
        (json!({"apiKeyId": ""}), 400, "invalid_field", "apiKeyId"),
        (json!({"schema": "text"}), 400, "invalid_field", "schema"),
        (json!({"schema": {"input": {"text": 7}}}), 400, "invalid_field", "schema.input.text"),
        (json!({"schema": {"inputs": {}}}), 400, "invalid_field", "schema.inputs"),
        (
            json!({"schema": {"input": {"type": "object", "properties": {"a": {"type": "string", "pattern": "("}}}}}),
            422,
            "invalid_schema",
            "schema.input",
        ),
        (
            json!({"schema": {"input": {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1/x"}}}}}),
            422,
            "invalid_schema",
            "schema.input",
        ),
        (json!({"handlerCode": "return 1"}), 422, "unknown_handler", "handlerCode"),
    ];
    for (more, status, code, field) in cases {
        let answer = gateway.install("x", more.clone()).await;
        assert_eq!((answer.status.as_u16(), answer.code().as_str()), (status, code), "{more} {answer:?}");
        assert_eq!(answer.json()["details"][0]["field"], field, "{more}");
    }
    assert_eq!(gateway.manage("GET", "/api/skills?owner=system&source=local", None).await.ok()["total"], 0);
}

#[tokio::test]
async fn an_unknown_handler_lists_the_known_ones() {
    let gateway = Gateway::start().await;
    let said =
        gateway.install("x", json!({"handlerCode": "nope"})).await.expect(422, "unknown_handler").json();
    let said = said["error"].as_str().unwrap();
    assert!(said.contains("echo-handler") && said.contains("slow-handler"), "{said}");
}

#[tokio::test]
async fn every_wrong_field_is_named_at_once() {
    let gateway = Gateway::start().await;
    let more = json!({"mode": "sometimes", "version": "1", "tags": 7, "extra": 1});
    let details = gateway.install("x", more).await.expect(400, "invalid_field").json()["details"].clone();
    let fields: Vec<_> = details.as_array().unwrap().iter().map(|d| d["field"].as_str().unwrap()).collect();
    for field in ["mode", "version", "tags", "extra"] {
        assert!(fields.contains(&field), "{fields:?}");
    }
}

#[tokio::test]
async fn reserved_and_taken_names_are_conflicts() {
    let gateway = Gateway::start().await;
    for name in ["file_write", "FILE_write"] {
        gateway.install(name, json!({})).await.expect(409, "reserved_name");
        gateway.install(name, json!({"replace": true})).await.expect(409, "reserved_name");
    }
    let first = gateway.install("mine", json!({})).await.ok();
    gateway.install("mine", json!({})).await.expect(409, "skill_exists");
    gateway.install("mine", json!({"apiKeyId": "alice"})).await.ok();
    gateway.install("mine", json!({"version": "1.0.1"})).await.ok();
    let again = gateway.install("mine", json!({"replace": true, "description": "new"})).await.ok();
    assert_eq!(first["id"], again["id"]);
    let shown =
        gateway.manage("GET", &format!("/api/skills/{}", again["id"].as_str().unwrap()), None).await.ok();
    assert_eq!(shown["description"], "new");
}

#[tokio::test]
async fn shorthand_and_empty_schemas_are_accepted() {
    let gateway = Gateway::start().await;
    for (place, schema) in
        [json!({"input": {"text": "string"}}), json!({"input": {}, "output": {}}), json!({}), Value::Null]
            .into_iter()
            .enumerate()
    {
        let name = format!("shorthand-{place}");
        gateway.install(&name, json!({"schema": schema})).await.ok();
        let run = json!({"skillName": name, "input": {"text": "x"}});
        let ran = gateway.manage("POST", "/api/skills/executions", Some(run)).await.ok();
        assert_eq!(ran["execution"]["status"], "success");
    }
}
