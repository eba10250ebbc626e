//! Executions: one way from pending to an end that never changes.

use std::sync::Arc;

use domain::{Execution, Status};
use serde_json::{Value, json};
use store::{ExecutionOutcome, Store, StoreError};

use super::sample;

async fn created(store: &Arc<dyn Store>) -> Execution {
    let execution = sample::execution();
    store.create_execution(&execution).await.unwrap();
    execution
}

async fn stored(store: &Arc<dyn Store>, id: &str) -> Execution {
    store.execution(id).await.unwrap().unwrap()
}

/// pending, running, success; each step is seen at once.
pub async fn a_whole_life(store: Arc<dyn Store>) {
    let mut execution = created(&store).await;
    assert_eq!(stored(&store, &execution.id).await, execution);
    assert!(store.start_execution(&execution.id).await.unwrap());
    execution.status = Status::Running;
    assert_eq!(stored(&store, &execution.id).await, execution);
    for status in [Status::Success, Status::Error, Status::Timeout] {
        let other = created(&store).await;
        assert!(store.start_execution(&other.id).await.unwrap());
        let outcome = ExecutionOutcome { status, ..sample::outcome() };
        assert!(store.finish_execution(&other.id, outcome.clone()).await.unwrap());
        assert_eq!(stored(&store, &other.id).await, sample::finished(&other, &outcome));
    }
    assert_eq!(store.execution("nothing").await.unwrap(), None);
}

/// In the loop a refused call is written once, as an error.
pub async fn a_refused_call_is_written_terminal(store: Arc<dyn Store>) {
    let refused = sample::finished(&sample::execution(), &sample::failure("not allowed"));
    store.create_execution(&refused).await.unwrap();
    assert_eq!(stored(&store, &refused.id).await, refused);
    assert!(!store.finish_execution(&refused.id, sample::outcome()).await.unwrap());
    assert_eq!(stored(&store, &refused.id).await, refused);
}

/// A late success does not hide a timeout.
pub async fn finishing_twice_keeps_the_first_end(store: Arc<dyn Store>) {
    let execution = created(&store).await;
    let timeout = ExecutionOutcome { status: Status::Timeout, ..sample::failure("timed out") };
    assert!(store.finish_execution(&execution.id, timeout.clone()).await.unwrap());
    assert!(!store.finish_execution(&execution.id, sample::outcome()).await.unwrap());
    assert_eq!(stored(&store, &execution.id).await, sample::finished(&execution, &timeout));
    assert!(!store.finish_execution("nothing", sample::outcome()).await.unwrap());
}

/// Not running, not terminal, not unknown.
pub async fn starting_needs_a_pending_row(store: Arc<dyn Store>) {
    let execution = created(&store).await;
    assert!(store.start_execution(&execution.id).await.unwrap());
    assert!(!store.start_execution(&execution.id).await.unwrap());
    assert!(store.finish_execution(&execution.id, sample::outcome()).await.unwrap());
    assert!(!store.start_execution(&execution.id).await.unwrap());
    assert_eq!(stored(&store, &execution.id).await.status, Status::Success);
    assert!(!store.start_execution("nothing").await.unwrap());
}

/// Anything else is an error of the caller and changes nothing.
pub async fn only_terminal_statuses_finish(store: Arc<dyn Store>) {
    let execution = created(&store).await;
    for status in [Status::Pending, Status::Running] {
        let outcome = ExecutionOutcome { status, ..sample::outcome() };
        assert!(store.finish_execution(&execution.id, outcome).await.is_err());
        assert_eq!(stored(&store, &execution.id).await, execution);
    }
}

/// The first row stays.
pub async fn the_same_id_twice_is_a_conflict(store: Arc<dyn Store>) {
    let execution = created(&store).await;
    let again = Execution { input: json!("other"), ..execution.clone() };
    let answer = store.create_execution(&again).await;
    assert!(matches!(answer, Err(StoreError::Conflict { .. })), "{answer:?}");
    assert_eq!(stored(&store, &execution.id).await, execution);
}

/// Rows that ended keep their end.
pub async fn interrupting_ends_open_rows_only(store: Arc<dyn Store>) {
    let pending = created(&store).await;
    let running = created(&store).await;
    store.start_execution(&running.id).await.unwrap();
    let mut ended = Vec::new();
    for status in [Status::Success, Status::Error, Status::Timeout] {
        let execution = created(&store).await;
        let outcome = ExecutionOutcome { status, ..sample::outcome() };
        store.finish_execution(&execution.id, outcome.clone()).await.unwrap();
        ended.push(sample::finished(&execution, &outcome));
    }
    assert_eq!(store.interrupt_executions("interrupted").await.unwrap(), 2);
    for open in [pending, running] {
        let expected = Execution {
            status: Status::Error,
            error_message: Some("interrupted".to_owned()),
            ..open.clone()
        };
        assert_eq!(stored(&store, &open.id).await, expected);
        assert!(!store.finish_execution(&open.id, sample::outcome()).await.unwrap());
    }
    for execution in ended {
        assert_eq!(stored(&store, &execution.id).await, execution);
    }
    assert_eq!(store.interrupt_executions("again").await.unwrap(), 0);
}

/// A handler may return JSON's null.
pub async fn null_and_absent_outputs_differ(store: Arc<dyn Store>) {
    for output in [None, Some(Value::Null)] {
        let execution = created(&store).await;
        let outcome = ExecutionOutcome { output: output.clone(), ..sample::outcome() };
        store.finish_execution(&execution.id, outcome).await.unwrap();
        assert_eq!(stored(&store, &execution.id).await.output, output);
    }
}
