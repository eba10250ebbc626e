//! Calls that need a person: offered once, decided once, run once, told once.

use std::time::Duration;

use domain::{ApprovalState, Execution, Policy, Status};
use executor::{Decider, EventKind, ExecutorConfig, Heard, Recorded, Refusal, Run};
use serde_json::{Value, json};

use crate::fixture::{Fixture, doing, fixture, run_of, skill, standard};

fn token() -> Decider {
    Decider { id: "management".into(), is_token: true }
}

/// A call of a hybrid skill that does `what`.
fn hybrid(skill: &domain::Skill, input: Value) -> Run {
    Run { policy: Policy::Hybrid, ..run_of(skill.clone(), input) }
}

/// The same call, patient enough to wait for a person.
fn patient(run: Run) -> Run {
    Run { approval_wait: Duration::from_mins(1), ..run }
}

fn state(row: &Execution) -> ApprovalState {
    row.approval.as_ref().unwrap().state
}

async fn put_up(fixture: &Fixture, run: Run) -> Execution {
    let Recorded { execution, refusal, .. } = fixture.executor.execute_recorded(run).await.unwrap();
    assert!(matches!(refusal, Some(Refusal::ApprovalPending { .. })), "{refusal:?}");
    execution
}

async fn until_over(fixture: &Fixture, id: &str) -> Execution {
    loop {
        let row = fixture.executor.get_execution(id).await.unwrap().unwrap();
        if row.status.is_terminal() {
            return row;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn nobody_there_means_pending_at_once_and_the_same_call_is_not_put_up_twice() {
    let fixture = standard();
    let skill = skill("puppet");
    let run = patient(hybrid(&skill, json!({"do": "it", "a": 1})));
    let first = put_up(&fixture, run.clone()).await;
    assert_eq!((first.status, state(&first)), (Status::Pending, ApprovalState::Waiting));
    let same = Run { input: json!({"a": 1, "do": "it"}), ..run.clone() };
    assert_eq!(put_up(&fixture, same).await.id, first.id);
    let other = Run { session_id: Some("session-2".into()), ..run };
    assert_ne!(put_up(&fixture, other).await.id, first.id);
    assert_eq!(fixture.store.rows().len(), 2);
}

#[tokio::test]
async fn a_late_approval_runs_once_and_its_result_is_told_once() {
    let fixture = standard();
    let skill = skill("puppet");
    let run = hybrid(&skill, json!({"do": "it"}));
    let waiting = put_up(&fixture, run.clone()).await;
    let approved = Run { policy: Policy::Auto, ..run.clone() };
    let decided = fixture.executor.approve(&waiting.id, approved.clone(), &token()).await.unwrap();
    assert_eq!(state(&decided), ApprovalState::Approved);
    assert_eq!(decided.approval.unwrap().decided_by.as_deref(), Some("management"));
    let again = fixture.executor.approve(&waiting.id, approved, &token()).await;
    assert!(matches!(again, Err(Refusal::NotWaiting { state: "approved" })), "{again:?}");
    assert_eq!(until_over(&fixture, &waiting.id).await.status, Status::Success);

    let told = fixture.executor.execute_recorded(run.clone()).await.unwrap();
    assert_eq!((told.execution.id, told.execution.status), (waiting.id.clone(), Status::Success));
    assert!(told.refusal.is_none());
    // The second time it is a new question.
    assert_ne!(put_up(&fixture, run).await.id, waiting.id);
    assert_eq!(fixture.store.life(&waiting.id).iter().filter(|s| **s == Status::Running).count(), 1);
}

#[tokio::test]
async fn a_turn_waits_while_somebody_is_there_and_gets_the_outcome() {
    let fixture = standard();
    let skill = skill("puppet");
    let run = hybrid(&skill, json!({"do": "it"}));
    let mut seat = fixture.executor.subscribe("management", Some(token()));
    let executor = fixture.executor.clone();
    let turn = tokio::spawn({
        let run = patient(run.clone());
        async move { executor.execute_recorded(run).await }
    });
    let id = loop {
        if let Some(Heard::Event(event)) = seat.next().await
            && event.event == EventKind::ApprovalWanted
        {
            assert_eq!(event.input, Some(json!({"do": "it"})));
            break event.execution_id.clone();
        }
    };
    let edited = Run { policy: Policy::Auto, input: json!({"do": "that"}), ..run.clone() };
    fixture.executor.approve(&id, edited, &token()).await.unwrap();
    let told = turn.await.unwrap().unwrap();
    assert!(told.refusal.is_none());
    assert_eq!(told.execution.input, json!({"do": "that"}));
    assert_eq!(told.execution.output.unwrap()["seen"], json!({"do": "that"}));
    assert_eq!(told.execution.approval.unwrap().original_input, Some(json!({"do": "it"})));
}

#[tokio::test]
async fn a_denial_stands_and_carries_its_reason() {
    let fixture = standard();
    let skill = skill("puppet");
    let run = hybrid(&skill, json!({"do": "it"}));
    let waiting = put_up(&fixture, run.clone()).await;
    let denied = fixture.executor.deny(&waiting.id, Some("not on a Friday".into()), &token()).await.unwrap();
    assert_eq!((denied.status, state(&denied)), (Status::Error, ApprovalState::Denied));
    for _ in 0..2 {
        let told = fixture.executor.execute_recorded(run.clone()).await.unwrap();
        assert_eq!(told.execution.id, waiting.id);
        assert!(told.refusal.unwrap().to_string().ends_with("The reason: not on a Friday"));
    }
    assert!(!fixture.store.life(&waiting.id).contains(&Status::Running));
}

#[tokio::test]
async fn a_key_decides_about_others_calls_only() {
    let fixture = standard();
    let skill = skill("puppet");
    let run = hybrid(&skill, json!({"do": "it"}));
    let waiting = put_up(&fixture, run.clone()).await;
    let own = Decider { id: "key-1".into(), is_token: false };
    let refused = fixture.executor.approve(&waiting.id, run.clone(), &own).await;
    assert!(matches!(refused, Err(Refusal::OwnCall)));
    assert!(matches!(fixture.executor.deny(&waiting.id, None, &own).await, Err(Refusal::OwnCall)));
    let other = Decider { id: "key-2".into(), is_token: false };
    let approved = Run { policy: Policy::Auto, ..run };
    fixture.executor.approve(&waiting.id, approved, &other).await.unwrap();
}

#[tokio::test]
async fn an_edited_input_is_validated_and_a_bad_one_leaves_the_call_waiting() {
    let fixture = standard();
    let skill = skill("puppet");
    let schema = json!({"type": "object", "properties": {"do": {"type": "string"}}});
    let run = Run { input_schema: schema.into(), ..hybrid(&skill, json!({"do": "it"})) };
    let waiting = put_up(&fixture, run.clone()).await;
    let bad = Run { input: json!({"do": 5}), policy: Policy::Auto, ..run };
    let refused = fixture.executor.approve(&waiting.id, bad, &token()).await;
    assert!(matches!(refused, Err(Refusal::InvalidInput { .. })), "{refused:?}");
    let row = fixture.executor.get_execution(&waiting.id).await.unwrap().unwrap();
    assert_eq!(state(&row), ApprovalState::Waiting);
}

#[tokio::test]
async fn an_expired_call_cannot_be_approved_and_may_be_put_up_anew() {
    let fixture = fixture(ExecutorConfig { approval_expires: Duration::ZERO, ..ExecutorConfig::default() });
    let skill = skill("puppet");
    let run = hybrid(&skill, json!({"do": "it"}));
    let waiting = put_up(&fixture, run.clone()).await;
    let late = fixture.executor.approve(&waiting.id, run.clone(), &token()).await;
    assert!(matches!(late, Err(Refusal::NotWaiting { state: "expired" })), "{late:?}");
    let row = fixture.executor.get_execution(&waiting.id).await.unwrap().unwrap();
    assert_eq!((row.status, state(&row)), (Status::Error, ApprovalState::Expired));
    assert_ne!(put_up(&fixture, run).await.id, waiting.id);
}

#[tokio::test]
async fn waiting_calls_outlive_a_restart() {
    let fixture = standard();
    let waiting = put_up(&fixture, hybrid(&skill("puppet"), json!({"do": "it"}))).await;
    assert_eq!(fixture.executor.interrupt_stale().await.unwrap(), 0);
    let row = fixture.executor.get_execution(&waiting.id).await.unwrap().unwrap();
    assert_eq!((row.status, state(&row)), (Status::Pending, ApprovalState::Waiting));
}

#[tokio::test]
async fn effect_free_calls_go_ahead_unless_an_operator_says_ask() {
    let harmless = json!({"harmless": true});
    let ran = standard().executor.execute_recorded(hybrid(&skill("puppet"), harmless.clone())).await.unwrap();
    assert_eq!(ran.execution.status, Status::Success);
    let strict = fixture(ExecutorConfig { ask_effect_free: true, ..ExecutorConfig::default() });
    put_up(&strict, hybrid(&skill("puppet"), harmless)).await;
}

#[tokio::test]
async fn an_input_nobody_can_read_is_refused() {
    let fixture = standard();
    let large = json!({"do": "x".repeat(domain::limits::APPROVAL_INPUT_BYTES)});
    let told = fixture.executor.execute_recorded(hybrid(&skill("puppet"), large)).await.unwrap();
    assert!(matches!(told.refusal, Some(Refusal::TooLargeToApprove { .. })));
    assert_eq!(told.execution.status, Status::Error);
}

#[tokio::test]
async fn a_stop_ends_all_waiting() {
    let fixture = standard();
    let mut seat = fixture.executor.subscribe("management", Some(token()));
    let executor = fixture.executor.clone();
    let run = patient(hybrid(&skill("puppet"), json!({"do": "it"})));
    let turn = tokio::spawn(async move { executor.execute_recorded(run).await });
    assert!(seat.next().await.is_some());
    fixture.executor.close_events();
    let told = turn.await.unwrap().unwrap();
    assert!(matches!(told.refusal, Some(Refusal::ApprovalPending { .. })));
    assert!(seat.next().await.is_none());
}

#[tokio::test]
async fn a_policy_of_the_caller_counts_and_not_the_skills_own() {
    let fixture = standard();
    let told =
        fixture.executor.execute_recorded(Run { policy: Policy::Manual, ..doing("it") }).await.unwrap();
    assert!(matches!(told.refusal, Some(Refusal::PolicyViolation { .. })));
}

#[tokio::test]
async fn one_owner_cannot_bury_everybody_under_questions() {
    let fixture = standard();
    let skill = skill("puppet");
    let call = |n: u64| hybrid(&skill, json!({"n": n}));
    for n in 0..domain::limits::APPROVALS_PER_OWNER {
        put_up(&fixture, call(n)).await;
    }
    let told = fixture.executor.execute_recorded(call(1000)).await.unwrap();
    assert!(matches!(told.refusal, Some(Refusal::TooManyWaiting)), "{told:?}");
    put_up(&fixture, Run { api_key_id: "key-2".into(), ..call(1000) }).await;
}

#[tokio::test]
async fn an_edited_input_is_no_larger_than_a_models() {
    let fixture = standard();
    let run = hybrid(&skill("puppet"), json!({"do": "it"}));
    let waiting = put_up(&fixture, run.clone()).await;
    let large = json!({"do": "x".repeat(domain::limits::APPROVAL_INPUT_BYTES)});
    let approved = Run { policy: Policy::Auto, input: large, ..run };
    let refused = fixture.executor.approve(&waiting.id, approved, &token()).await;
    assert!(matches!(refused, Err(Refusal::TooLargeToApprove { .. })));
}
