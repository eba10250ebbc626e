//! Every refusal: its own code, and no row except where one is asked for.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use domain::{Door, Mode, Policy, SourceProvider, Status, Version};
use executor::{ECHO_HANDLER, Refusal, RefusedCall, Run};
use serde_json::{Value, json};

use crate::fixture::{Fixture, run_of, skill, standard};

fn changed(change: impl FnOnce(&mut Run)) -> Run {
    let mut run = run_of(skill("puppet"), json!({}));
    change(&mut run);
    run
}

fn with_skill(change: impl FnOnce(&mut domain::Skill)) -> Run {
    changed(|run| change(Arc::make_mut(&mut run.skill)))
}

async fn code(fixture: &Fixture, run: Run) -> &'static str {
    match fixture.executor.execute(run).await {
        Ok(_) => "ran",
        Err(refusal) => refusal.code(),
    }
}

#[tokio::test]
async fn each_rule_has_its_own_answer() {
    let table: Vec<(Run, &str)> = vec![
        (changed(|_| {}), "ran"),
        (with_skill(|s| s.set_enabled(false)), "skill_inactive"),
        (with_skill(|s| s.mode = Mode::Off), "skill_inactive"),
        (changed(|r| r.policy = Policy::Manual), "policy_violation"),
        (changed(|r| r.policy = Policy::Hybrid), "approval_required"),
        (with_skill(|s| s.handler = "nobody".into()), "handler_missing"),
        (changed(|r| r.custom_allowed = false), "custom_skills_disabled"),
        (changed(|r| r.input = json!([1])), "invalid_input"),
        (changed(|r| r.input_schema = json!({ "required": ["path"] }).into()), "invalid_input"),
        (changed(|r| r.input_schema = json!({ "type": 5 }).into()), "invalid_schema"),
        (changed(|r| r.output_schema = Some(json!({ "pattern": "(" }).into())), "invalid_schema"),
    ];
    for (run, expected) in table {
        let fixture = standard();
        let (skill, input) = (Arc::clone(&run.skill), run.input.clone());
        assert_eq!(code(&fixture, run).await, expected, "{skill:?} {input}");
        assert_eq!(fixture.store.rows().is_empty(), expected != "ran", "{expected}");
    }
}

#[tokio::test]
async fn a_person_is_asked_nothing_and_an_effect_free_call_neither() {
    let fixture = standard();
    for policy in [Policy::Manual, Policy::Hybrid] {
        let mut run = changed(|r| r.policy = policy);
        run.door = Door::Rest;
        assert_eq!(code(&fixture, run).await, "ran");
    }
    let mut run = changed(|r| r.policy = Policy::Hybrid);
    run.input = json!({ "harmless": true });
    assert_eq!(code(&fixture, run).await, "ran");
}

#[tokio::test]
async fn a_built_in_runs_where_custom_skills_do_not() {
    let mut run = with_skill(|s| s.source_provider = SourceProvider::Builtin);
    run.custom_allowed = false;
    assert_eq!(code(&standard(), run).await, "ran");
}

#[tokio::test]
async fn the_master_switch_is_asked_first_and_works_at_run_time() {
    let fixture = standard();
    fixture.executor.set_enabled(false);
    assert_eq!(code(&fixture, with_skill(|s| s.mode = Mode::Off)).await, "skills_disabled");
    fixture.executor.set_enabled(true);
    assert_eq!(code(&fixture, changed(|_| {})).await, "ran");
}

#[tokio::test]
async fn violations_name_the_place_and_never_show_the_value() {
    let mut run = changed(|r| r.input = json!({ "path": 5, "note": "x".repeat(5_000) }));
    run.input_schema = Arc::new(json!({
        "type": "object",
        "properties": { "path": { "type": "string" }, "note": { "maxLength": 10 } },
        "required": ["content"]
    }));
    let Err(refusal) = standard().executor.execute(run).await else { panic!("it has to be refused") };
    let told = refusal.to_string();
    let Refusal::InvalidInput { violations } = refusal else { panic!("{told}") };
    let mut places: Vec<_> = violations.iter().map(|v| v.pointer.as_str()).collect();
    places.sort_unstable();
    assert_eq!(places, ["", "/note", "/path"]);
    assert!(told.contains("/path: value is not of type \"string\""), "{told}");
    assert!(told.contains("\"content\" is a required property"), "{told}");
    assert!(told.len() < 500, "{told}");
}

#[tokio::test]
async fn in_the_loop_a_refused_call_leaves_an_error_row() {
    let fixture = standard();
    let recorded = fixture.executor.execute_recorded(changed(|r| r.policy = Policy::Manual)).await.unwrap();
    assert_eq!(recorded.refusal.unwrap().code(), "policy_violation");
    assert_eq!(fixture.store.rows(), std::slice::from_ref(&recorded.execution));
    assert_eq!((recorded.execution.status, recorded.execution.attempts), (Status::Error, 0));
    assert!(recorded.execution.error_message.unwrap().contains("manual"));

    let recorded =
        fixture.executor.execute_recorded(run_of(skill(ECHO_HANDLER), json!({"a": 1}))).await.unwrap();
    assert!(recorded.refusal.is_none());
    assert_eq!(recorded.execution.output, Some(json!({"a": 1})));
}

#[tokio::test]
async fn malformed_arguments_are_kept_as_bounded_text() {
    let fixture = standard();
    let arguments = "é".repeat(400_000);
    let row = fixture
        .executor
        .record_refusal(RefusedCall {
            skill_id: String::new(),
            skill_name: "nobody".into(),
            version: Version::new(0, 0, 0),
            input: RefusedCall::raw_input(&arguments),
            api_key_id: "key-1".into(),
            user: None,
            session_id: None,
            turn_id: Some("turn-1".into()),
            door: Door::Loop,
            message: "the arguments are not JSON".into(),
        })
        .await
        .unwrap();
    assert_eq!(row.input.get("truncated"), Some(&Value::Bool(true)));
    assert!(row.input.to_string().len() < 300_000);
    assert_eq!(fixture.store.rows(), [row]);
}

#[tokio::test]
async fn without_a_row_nothing_runs() {
    let fixture = standard();
    fixture.store.broken.store(true, Ordering::Relaxed);
    assert_eq!(code(&fixture, changed(|_| {})).await, "store_failed");
    assert_eq!(fixture.probe.most.load(Ordering::SeqCst), 0);
}
