//! Executions that wait for a person's word.

use std::sync::Arc;

use domain::{Approval, ApprovalState, Execution, Status};
use futures_util::future::join_all;
use serde_json::json;
use store::{ApprovalDecision, ExecutionFilter, PageRequest, Store};

use super::sample;

const EXPIRES: &str = "2026-01-03T00:00:00.000Z";

/// Waits under `call`.
async fn waiting(store: &Arc<dyn Store>, call: &str) -> Execution {
    let approval = Some(Approval::waiting(EXPIRES.to_owned()));
    let row = Execution { approval, ..sample::execution() };
    store.await_approval(&row, call).await.unwrap();
    row
}

fn decision(state: ApprovalState) -> ApprovalDecision {
    let approval = Approval {
        state,
        decided_by: Some("key-9".to_owned()),
        decided_at: Some(sample::CHANGED.to_owned()),
        reason: Some("because".to_owned()),
        original_input: Some(json!({"a": 1})),
        ..Approval::waiting(EXPIRES.to_owned())
    };
    ApprovalDecision { approval, input: None, message: Some("no".to_owned()) }
}

async fn with_state(store: &Arc<dyn Store>, state: ApprovalState) -> Vec<String> {
    let filter = ExecutionFilter { approval: Some(state), ..ExecutionFilter::default() };
    let page = store.executions(&filter, PageRequest { page: 1, limit: 50 }).await.unwrap();
    page.data.into_iter().map(|row| row.id).collect()
}

/// By id, by call, in pages and by filter; rows that asked nobody are not mixed in.
pub async fn a_waiting_row_is_whole_and_found_by_its_call(store: Arc<dyn Store>) {
    let plain = sample::execution();
    store.create_execution(&plain).await.unwrap();
    let first = waiting(&store, "call").await;
    let other = waiting(&store, "other").await;
    assert_eq!(store.execution(&first.id).await.unwrap().as_ref(), Some(&first));
    assert_eq!(store.execution_of_call("call").await.unwrap().as_ref(), Some(&first));
    assert_eq!(store.execution_of_call("Call").await.unwrap(), None);
    assert_eq!(with_state(&store, ApprovalState::Waiting).await, [other.id.clone(), first.id.clone()]);
    assert_eq!(with_state(&store, ApprovalState::Approved).await, Vec::<String>::new());
    let all =
        store.executions(&ExecutionFilter::default(), PageRequest { page: 1, limit: 50 }).await.unwrap();
    assert_eq!(all.data, [other, first, plain]);
    let newer = waiting(&store, "call").await;
    assert_eq!(store.execution_of_call("call").await.unwrap(), Some(newer), "the newest of a call");
}

/// Nobody but a person moves it.
pub async fn a_waiting_row_neither_starts_nor_ends_by_itself(store: Arc<dyn Store>) {
    let row = waiting(&store, "call").await;
    assert!(!store.start_execution(&row.id).await.unwrap());
    assert!(!store.finish_execution(&row.id, sample::outcome()).await.unwrap());
    assert_eq!(store.execution(&row.id).await.unwrap(), Some(row));
}

/// The row keeps its place in the history and goes through an ordinary life.
pub async fn an_approval_lets_it_run_with_the_input_it_gives(store: Arc<dyn Store>) {
    let row = waiting(&store, "call").await;
    let edited = json!({"text": "edited"});
    let decision =
        ApprovalDecision { input: Some(edited.clone()), message: None, ..decision(ApprovalState::Approved) };
    let expected = Execution { input: edited, approval: Some(decision.approval.clone()), ..row.clone() };
    assert_eq!(store.decide_approval(&row.id, decision.clone()).await.unwrap().as_ref(), Some(&expected));
    assert_eq!(store.decide_approval(&row.id, decision).await.unwrap(), None, "decided once");
    assert!(store.start_execution(&row.id).await.unwrap());
    assert!(store.finish_execution(&row.id, sample::outcome()).await.unwrap());
    let ended = store.execution(&row.id).await.unwrap().unwrap();
    assert_eq!(ended, sample::finished(&expected, &sample::outcome()));
    assert_eq!(with_state(&store, ApprovalState::Approved).await, [row.id]);
}

/// So does an expiry.
pub async fn a_denial_ends_it(store: Arc<dyn Store>) {
    for state in [ApprovalState::Denied, ApprovalState::Expired] {
        let row = waiting(&store, state.as_str()).await;
        let decision = decision(state);
        let expected = Execution {
            status: Status::Error,
            error_message: Some("no".to_owned()),
            duration_ms: Some(0),
            approval: Some(decision.approval.clone()),
            ..row.clone()
        };
        assert_eq!(store.decide_approval(&row.id, decision).await.unwrap().as_ref(), Some(&expected));
        assert!(!store.start_execution(&row.id).await.unwrap());
        assert!(!store.finish_execution(&row.id, sample::outcome()).await.unwrap());
        assert_eq!(store.execution_of_call(state.as_str()).await.unwrap(), Some(expected));
    }
    assert_eq!(store.decide_approval("nothing", decision(ApprovalState::Denied)).await.unwrap(), None);
}

/// Two people, two answers: the first counts.
pub async fn one_of_many_decides(store: Arc<dyn Store>) {
    let row = waiting(&store, "call").await;
    let deciders = (0..20).map(|n| {
        let (store, id) = (store.clone(), row.id.clone());
        let state = if n % 2 == 0 { ApprovalState::Approved } else { ApprovalState::Denied };
        tokio::spawn(async move { store.decide_approval(&id, decision(state)).await.unwrap() })
    });
    let won: Vec<_> = join_all(deciders).await.into_iter().filter_map(|task| task.unwrap()).collect();
    assert_eq!(won.len(), 1);
    assert_eq!(store.execution(&row.id).await.unwrap().as_ref(), won.first());
}

/// Then the call is a new one.
pub async fn an_outcome_is_taken_once(store: Arc<dyn Store>) {
    let row = waiting(&store, "call").await;
    let takers = (0..20).map(|_| {
        let (store, id) = (store.clone(), row.id.clone());
        tokio::spawn(async move { store.take_outcome(&id).await.unwrap() })
    });
    let taken = join_all(takers).await.into_iter().filter(|task| *task.as_ref().unwrap()).count();
    assert_eq!(taken, 1);
    assert_eq!(store.execution_of_call("call").await.unwrap(), None);
    assert!(store.execution(&row.id).await.unwrap().is_some());
    assert!(!store.take_outcome("nothing").await.unwrap());
}

/// At the very moment too, in batches, and never what was decided.
pub async fn what_waits_too_long_is_found(store: Arc<dyn Store>) {
    let (first, second) = (waiting(&store, "a").await, waiting(&store, "b").await);
    let decided = waiting(&store, "c").await;
    store.decide_approval(&decided.id, decision(ApprovalState::Approved)).await.unwrap();
    assert_eq!(store.overdue_approvals("2026-01-02T23:59:59.999Z", 10).await.unwrap(), Vec::<String>::new());
    let mut found = store.overdue_approvals(EXPIRES, 10).await.unwrap();
    found.sort();
    assert_eq!(found, [first.id, second.id]);
    assert_eq!(store.overdue_approvals("2026-01-03T00:00:00Z", 1).await.unwrap().len(), 1);
}

/// What was approved and not run to its end is interrupted like any other.
pub async fn a_restart_leaves_waiting_rows_alone(store: Arc<dyn Store>) {
    let waits = waiting(&store, "a").await;
    let approved = waiting(&store, "b").await;
    store.decide_approval(&approved.id, decision(ApprovalState::Approved)).await.unwrap();
    assert_eq!(store.interrupt_executions("interrupted").await.unwrap(), 1);
    assert_eq!(store.execution(&waits.id).await.unwrap(), Some(waits));
    assert_eq!(store.execution(&approved.id).await.unwrap().unwrap().status, Status::Error);
}

/// Anything else is a mistake of the caller's, and changes nothing.
pub async fn only_waiting_approvals_wait_and_only_decisions_decide(store: Arc<dyn Store>) {
    let without = sample::execution();
    assert!(store.await_approval(&without, "call").await.is_err());
    assert_eq!(store.execution(&without.id).await.unwrap(), None);
    for state in [ApprovalState::Approved, ApprovalState::Denied, ApprovalState::Expired] {
        let decided = Execution { approval: Some(decision(state).approval), ..sample::execution() };
        assert!(store.await_approval(&decided, "call").await.is_err());
        assert_eq!(store.execution(&decided.id).await.unwrap(), None);
    }
    let ordinary = Execution { approval: Some(Approval::waiting(EXPIRES.to_owned())), ..sample::execution() };
    assert!(store.create_execution(&ordinary).await.is_err(), "it could be started");
    assert_eq!(store.execution(&ordinary.id).await.unwrap(), None);
    let row = waiting(&store, "call").await;
    assert!(store.decide_approval(&row.id, decision(ApprovalState::Waiting)).await.is_err());
    assert_eq!(store.execution(&row.id).await.unwrap(), Some(row));
}
