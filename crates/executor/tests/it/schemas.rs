//! Hostile schemas neither fetch anything nor take the process down.

use std::sync::Arc;

use executor::{Refusal, check_schema};
use serde_json::{Value, json};

use crate::fixture::{run_of, skill, standard};

#[test]
fn other_documents_are_never_fetched() {
    for reference in
        ["https://example.com/schema.json", "file:///proc/self/environ", "other.json", "json-schema:///x"]
    {
        let error = check_schema(&json!({ "$ref": reference })).unwrap_err();
        assert!(!error.message.is_empty(), "{reference}");
    }
    check_schema(&json!({ "$ref": "#/$defs/a", "$defs": { "a": { "type": "object" } } })).unwrap();
}

#[tokio::test]
async fn patterns_run_in_linear_time() {
    let mut run = run_of(skill("echo-handler"), json!({ "text": format!("{}!", "a".repeat(200_000)) }));
    run.input_schema = Arc::new(json!({ "properties": { "text": { "pattern": "^(a+)+$" } } }));
    let refused = standard().executor.execute(run).await;
    assert!(matches!(refused, Err(Refusal::InvalidInput { .. })), "{refused:?}");
    check_schema(&json!({ "pattern": "(?<=a)b" })).unwrap_err();
    check_schema(&json!({ "pattern": "((a{1000}){1000}){1000}" })).unwrap_err();
}

#[tokio::test]
async fn a_schema_that_refers_to_itself_ends() {
    let deep = (0..100).fold(json!({}), |inner, _| json!({ "next": inner }));
    for schema in [
        json!({ "$ref": "#" }),
        json!({ "allOf": [{ "$ref": "#" }] }),
        json!({ "$defs": { "a": { "$ref": "#/$defs/b" }, "b": { "anyOf": [{ "$ref": "#/$defs/a" }] } }, "$ref": "#/$defs/a" }),
        json!({ "$dynamicAnchor": "x", "not": { "$dynamicRef": "#x" } }),
        json!({ "properties": { "next": { "$ref": "#" } } }),
    ] {
        let mut run = run_of(skill("echo-handler"), deep.clone());
        run.input_schema = Arc::new(schema);
        // Whatever the answer: there is one.
        drop(standard().executor.execute(run).await);
    }
}

#[tokio::test]
async fn a_changed_skill_is_compiled_again() {
    let fixture = standard();
    let mut run = run_of(skill("echo-handler"), json!({ "a": 1 }));
    assert!(fixture.executor.execute(run.clone()).await.is_ok());
    run.input_schema = Arc::new(json!({ "required": ["b"] }));
    Arc::make_mut(&mut run.skill).updated_at = "2026-01-01T00:00:01.000Z".into();
    let refused = fixture.executor.execute(run).await;
    assert!(matches!(refused, Err(Refusal::InvalidInput { .. })), "{refused:?}");
}

#[test]
fn an_impossible_schema_is_explained_shortly() {
    let error = check_schema(&json!({ "properties": { "a": { "type": Value::from("x".repeat(9_000)) } } }))
        .unwrap_err();
    assert!(error.message.chars().count() <= 201, "{}", error.message);
}
