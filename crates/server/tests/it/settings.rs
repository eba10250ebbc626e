//! The master switch.

use serde_json::json;

use crate::harness::Gateway;

#[tokio::test]
async fn the_master_switch_refuses_every_run_and_nothing_else() {
    let gateway = Gateway::start().await;
    gateway.install("echo", json!({})).await.ok();
    assert_eq!(gateway.manage("GET", "/api/settings", None).await.ok(), json!({"skillsEnabled": true}));
    let off = gateway.manage("PATCH", "/api/settings", Some(json!({"skillsEnabled": false}))).await.ok();
    assert_eq!(off, json!({"skillsEnabled": false}));
    // Before any other question: a body that makes no sense gets the same answer.
    for body in [json!({"skillName": "echo", "input": {"text": "x"}}), json!({"nonsense": 1})] {
        let answer = gateway.call("", "POST", "/api/skills/executions", Some(body)).await;
        let said = answer.expect(503, "skills_disabled").json()["error"].as_str().unwrap().to_owned();
        assert!(said.starts_with("Skills execution is disabled"), "{said}");
    }
    gateway.call("", "GET", "/api/skills/executions", None).await.ok();
    gateway.install("another", json!({})).await.ok();
    // What is kept holds in the next process.
    gateway.app.executor.set_enabled(true);
    server::restore_settings(&gateway.app).await.unwrap();
    assert!(!gateway.app.executor.is_enabled());
    gateway.manage("PATCH", "/api/settings", Some(json!({"skillsEnabled": true}))).await.ok();
    let body = json!({"skillName": "echo", "input": {"text": "x"}});
    gateway.call("", "POST", "/api/skills/executions", Some(body)).await.ok();
}

#[tokio::test]
async fn nonsense_is_refused() {
    let gateway = Gateway::start().await;
    for (body, status, code) in [
        (json!({}), 400, "invalid_field"),
        (json!({"skillsEnabled": "yes"}), 422, "invalid_type"),
        (json!({"skillsEnabled": false, "x": 1}), 400, "invalid_field"),
    ] {
        gateway.manage("PATCH", "/api/settings", Some(body)).await.expect(status, code);
    }
    assert!(gateway.app.executor.is_enabled());
}
