//! Settings over REST: what holds, where it comes from, what cannot be changed, and reloads.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use server::{Pinned, Reloaded, Reloader, Source, restore_settings};

use crate::harness::{Gateway, Setup};

fn pinned(name: &'static str, value: impl Into<Value>, source: Source) -> Pinned {
    BTreeMap::from([(name, (value.into(), source))])
}

#[tokio::test]
async fn the_master_switch_refuses_every_run_and_nothing_else() {
    let gateway = Gateway::start().await;
    gateway.install("echo", json!({})).await.ok();
    assert_eq!(gateway.manage("GET", "/api/settings", None).await.ok()["skillsEnabled"], true);
    let off = gateway.manage("PATCH", "/api/settings", Some(json!({"skillsEnabled": false}))).await.ok();
    assert_eq!(off["skillsEnabled"], false);
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
async fn a_change_holds_at_once_and_is_read_again() {
    let gateway = Gateway::start().await;
    let change =
        json!({"selection": {"autoMaxSkills": 2}, "executor": {"timeoutMs": 7}, "skillsEnabled": false});
    let shown = gateway.manage("PATCH", "/api/settings", Some(change)).await.ok();
    assert_eq!(shown, gateway.manage("GET", "/api/settings", None).await.ok());
    assert_eq!(shown["selection"]["autoMaxSkills"], 2);
    assert_eq!(shown["sources"]["selection.autoMaxSkills"], json!({"source": "database", "pinned": false}));
    assert_eq!(shown["sources"]["selection.autoMinScore"], json!({"source": "default", "pinned": false}));
    assert_eq!(gateway.app.config().select.auto_skills, 2);
    assert!(!gateway.app.executor.is_enabled());
    restore_settings(&gateway.app).await.unwrap();
    assert_eq!(shown, gateway.manage("GET", "/api/settings", None).await.ok());

    let back = json!({"selection": {"autoMaxSkills": null}, "skillsEnabled": null});
    let shown = gateway.manage("PATCH", "/api/settings", Some(back)).await.ok();
    assert_eq!(shown["selection"]["autoMaxSkills"], domain::limits::AUTO_MAX_SKILLS);
    assert_eq!((&shown["skillsEnabled"], &shown["executor"]["timeoutMs"]), (&json!(true), &json!(7)));
    assert!(gateway.app.executor.is_enabled());
}

#[tokio::test]
async fn another_processs_change_is_taken_up() {
    let gateway = Gateway::start().await;
    gateway.app.store.set_value("skills_enabled", "false").await.unwrap();
    gateway.app.store.set_value("executor_timeout_ms", "no number").await.unwrap();
    restore_settings(&gateway.app).await.unwrap();
    let shown = gateway.manage("GET", "/api/settings", None).await.ok();
    assert_eq!(shown["skillsEnabled"], false);
    assert_eq!(shown["executor"]["timeoutMs"], domain::limits::EXECUTION_TIMEOUT_MS);
}

#[tokio::test]
async fn what_the_file_or_the_environment_says_cannot_be_changed() {
    for (source, name, word) in [
        (Source::File("a.toml".to_owned()), "a.toml", "file"),
        (Source::Environment("A_VARIABLE".to_owned()), "A_VARIABLE", "environment"),
    ] {
        let setup = Setup { pinned: pinned("selection.autoMaxSkills", 9, source), ..Setup::default() };
        let gateway = Gateway::with(setup).await;
        gateway.app.store.set_value("selection_auto_max_skills", "3").await.unwrap();
        restore_settings(&gateway.app).await.unwrap();
        assert_eq!(gateway.app.config().select.auto_skills, 9);
        let both = json!({"selection": {"autoMinScore": 8, "autoMaxSkills": 2}});
        let refused =
            gateway.manage("PATCH", "/api/settings", Some(both)).await.expect(409, "setting_pinned");
        assert!(refused.json()["error"].as_str().unwrap().contains(name), "{refused:?}");
        let shown = gateway.manage("GET", "/api/settings", None).await.ok();
        assert_eq!(
            shown["sources"]["selection.autoMaxSkills"],
            json!({"source": word, "pinned": true, "name": name})
        );
        assert_eq!(shown["selection"]["autoMinScore"], domain::limits::AUTO_MIN_SCORE, "all or nothing");
    }
}

#[tokio::test]
async fn nonsense_is_refused_with_its_field() {
    let gateway = Gateway::start().await;
    for (body, field) in [
        (json!({"executor": {"maxRetries": 4}}), "executor.maxRetries"),
        (json!({"skillsProvider": "elsewhere"}), "skillsProvider"),
        (json!({"skillsmpApiKey": " "}), "skillsmpApiKey"),
        (json!({"retention": {"weeks": 1}}), "retention.weeks"),
        (json!({"skillEnabled": true}), "skillEnabled"),
    ] {
        let refused = gateway.manage("PATCH", "/api/settings", Some(body)).await.expect(400, "invalid_field");
        assert_eq!(refused.json()["details"][0]["field"], field);
    }
    for (body, status, code) in [
        (json!({}), 400, "invalid_field"),
        (json!({"skillsEnabled": "yes"}), 422, "invalid_type"),
        (json!({"skillsEnabled": false, "x": 1}), 400, "invalid_field"),
    ] {
        gateway.manage("PATCH", "/api/settings", Some(body)).await.expect(status, code);
    }
    assert!(gateway.app.executor.is_enabled());
}

#[tokio::test]
async fn a_secret_is_written_and_never_shown() {
    let gateway = Gateway::start().await;
    let body = json!({"skillsmpApiKey": "canary-of-a-secret", "skillsProvider": "skillssh"});
    let shown = gateway.manage("PATCH", "/api/settings", Some(body)).await.ok();
    assert_eq!((&shown["skillsmpApiKeySet"], &shown["skillsProvider"]), (&json!(true), &json!("skillssh")));
    assert!(!shown.to_string().contains("canary"), "{shown}");
    assert_eq!(gateway.manage("GET", "/api/skills", None).await.ok()["provider"], "skillssh");
    let page = store::PageRequest { page: 1, limit: 10 };
    let audit = gateway.app.store.audit(&store::AuditFilter::default(), page).await.unwrap();
    assert_eq!(audit.data[0].action, "settings.update");
    assert_eq!(audit.data[0].after, Some(json!({"skillsmpApiKey": true, "skillsProvider": "skillssh"})));
    assert_eq!(audit.data[0].before, Some(json!({"skillsmpApiKey": false, "skillsProvider": "skillsmp"})));
}

#[tokio::test]
async fn a_reload_says_what_it_did_or_why_not() {
    let (reloader, mut asked) = Reloader::new();
    let gateway = Gateway::with(Setup { reloader: Some(reloader), ..Setup::default() }).await;
    let answers = tokio::spawn(async move {
        let done = Reloaded {
            applied: vec!["turn.rounds".to_owned()],
            needs_restart: vec!["server.port".to_owned()],
        };
        for answer in [Ok(done), Err("a.toml: line 1: no".to_owned())] {
            asked.recv().await.unwrap().send(answer).unwrap();
        }
    });
    let reload = || gateway.manage("POST", "/api/config/reload", None);
    assert_eq!(reload().await.ok(), json!({"applied": ["turn.rounds"], "needsRestart": ["server.port"]}));
    let refused = reload().await.expect(422, "invalid_configuration");
    assert_eq!(refused.json()["error"], "a.toml: line 1: no");
    answers.await.unwrap();
    reload().await.expect(503, "shutting_down");
}
