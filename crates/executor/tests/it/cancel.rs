//! Ending executions by their id, wherever they stand, and handlers that do not let go.

use std::sync::atomic::Ordering;
use std::time::Duration;

use domain::Status::{Error, Running, Success};
use domain::{ApprovalState, Execution, Policy};
use executor::{Cancelled, Decider, Executor, ExecutorConfig, Refusal, Run};
use store::{Store, StoreError};

use crate::fixture::{Fixture, doing, fixture, standard};

fn token() -> Decider {
    Decider { id: "management".into(), is_token: true }
}

fn key(id: &str) -> Decider {
    Decider { id: id.into(), is_token: false }
}

type Task = tokio::task::JoinHandle<Result<Execution, Refusal>>;

/// Starts a run in a task and returns when it has its row.
async fn start(executor: &Executor, fixture: &Fixture, run: Run) -> (Task, String) {
    let rows = fixture.store.rows().len();
    let executor = executor.clone();
    let task = tokio::spawn(async move { executor.execute(run).await });
    loop {
        if let Some(row) = fixture.store.rows().get(rows) {
            return (task, row.id.clone());
        }
        tokio::task::yield_now().await;
    }
}

fn is_cancelled(cancelled: &Cancelled) -> bool {
    let row = &cancelled.execution;
    !cancelled.was_over && row.status == Error && row.error_message.as_deref() == Some("cancelled")
}

#[tokio::test]
async fn a_running_one_ends_for_real() {
    let fixture = standard();
    let (task, id) = start(&fixture.executor, &fixture, doing("forever")).await;
    fixture.probe.started.notified().await;
    let cancelled = fixture.executor.cancel(&id, &key("key-1")).await.unwrap();
    assert!(is_cancelled(&cancelled), "{cancelled:?}");
    assert_eq!(fixture.probe.alive.load(Ordering::SeqCst), 0);
    assert_eq!(task.await.unwrap().unwrap().error_message.as_deref(), Some("cancelled"));
    let again = fixture.executor.cancel(&id, &token()).await.unwrap();
    assert!(again.was_over);
}

#[tokio::test]
async fn a_queued_one_never_starts() {
    let fixture = fixture(ExecutorConfig { global_concurrency: 1, ..ExecutorConfig::default() });
    let (first, _) = start(&fixture.executor, &fixture, doing("hold")).await;
    let (queued, id) = start(&fixture.executor, &fixture, doing("it")).await;
    let cancelled = fixture.executor.cancel(&id, &token()).await.unwrap();
    assert!(is_cancelled(&cancelled), "{cancelled:?}");
    assert_eq!(queued.await.unwrap().unwrap().attempts, 0);
    assert!(!fixture.store.life(&id).contains(&Running));
    fixture.probe.release.add_permits(1);
    assert_eq!(first.await.unwrap().unwrap().status, Success);
}

#[tokio::test]
async fn one_that_waits_for_a_person_counts_as_denied() {
    let fixture = standard();
    let run = Run { policy: Policy::Hybrid, ..doing("it") };
    let waiting = fixture.executor.execute_recorded(run.clone()).await.unwrap().execution;
    let cancelled = fixture.executor.cancel(&waiting.id, &key("key-1")).await.unwrap();
    assert!(is_cancelled(&cancelled), "{cancelled:?}");
    let approval = cancelled.execution.approval.unwrap();
    assert_eq!((approval.state, approval.decided_by.as_deref()), (ApprovalState::Denied, Some("key-1")));
    let told = fixture.executor.execute_recorded(run).await.unwrap();
    assert!(matches!(told.refusal, Some(Refusal::Denied { .. })), "{told:?}");
}

#[tokio::test]
async fn one_that_was_approved_and_runs_can_be_cancelled_too() {
    let fixture = standard();
    let run = Run { policy: Policy::Hybrid, ..doing("forever") };
    let waiting = fixture.executor.execute_recorded(run.clone()).await.unwrap().execution;
    let approved = Run { policy: Policy::Auto, ..run };
    fixture.executor.approve(&waiting.id, approved, &token()).await.unwrap();
    let cancelled = fixture.executor.cancel(&waiting.id, &key("key-1")).await.unwrap();
    assert!(is_cancelled(&cancelled), "{cancelled:?}");
}

#[tokio::test]
async fn somebody_elses_and_nobodys_are_not_found() {
    let fixture = standard();
    let row = fixture.executor.execute(doing("it")).await.unwrap();
    for (id, by) in [(row.id.as_str(), key("key-2")), ("nothing", token())] {
        let refused = fixture.executor.cancel(id, &by).await;
        assert!(matches!(refused, Err(StoreError::NotFound { what: "execution", .. })), "{refused:?}");
    }
    let over = fixture.executor.cancel(&row.id, &key("key-1")).await.unwrap();
    assert!(over.was_over && over.execution.status == Success);
}

#[tokio::test]
async fn one_of_another_process_ends_in_the_history() {
    let fixture = standard();
    let elsewhere = crate::fixture::beside(&fixture);
    let (task, id) = start(&elsewhere, &fixture, doing("hold")).await;
    fixture.probe.started.notified().await;
    let cancelled = fixture.executor.cancel(&id, &token()).await.unwrap();
    assert!(is_cancelled(&cancelled), "{cancelled:?}");
    fixture.probe.release.add_permits(1);
    let row = task.await.unwrap().unwrap();
    assert_eq!(row.error_message.as_deref(), Some("cancelled"), "what is stored is what counts");
    assert_eq!(fixture.store.execution(&id).await.unwrap().unwrap().status, Error);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_that_blocks_its_thread_does_not_keep_its_row_open() {
    let fixture = standard();
    let run = Run { timeout_ms: Some(20), ..doing("block") };
    let row = fixture.executor.execute(run).await.unwrap();
    assert_eq!(row.error_message.as_deref(), Some("Skill execution timed out after 20 ms"));
    let next = fixture.executor.execute(doing("it")).await.unwrap();
    assert_eq!(next.status, Success, "the process goes on");
}

#[tokio::test]
async fn panics_do_not_use_anything_up() {
    let fixture = fixture(ExecutorConfig { global_concurrency: 1, queue: 0, ..ExecutorConfig::default() });
    for _ in 0..20 {
        let row = fixture.executor.execute(doing("panic")).await.unwrap();
        assert_eq!(row.error_message.as_deref(), Some("the handler failed unexpectedly"));
    }
    assert_eq!(fixture.executor.execute(doing("it")).await.unwrap().status, Success);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drain_ends_queued_running_and_blocking_ones() {
    let fixture = fixture(ExecutorConfig {
        global_concurrency: 2,
        concurrency_per_owner: Some(2),
        ..ExecutorConfig::default()
    });
    let mut tasks = Vec::new();
    for what in ["forever", "block", "it"] {
        tasks.push(start(&fixture.executor, &fixture, doing(what)).await.0);
    }
    while fixture.probe.calls.load(Ordering::SeqCst) < 2 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    fixture.executor.shutdown(Duration::ZERO).await;
    assert!(fixture.store.rows().iter().all(|row| row.error_message.as_deref() == Some("interrupted")));
    for task in tasks {
        assert_eq!(task.await.unwrap().unwrap().status, Error);
    }
    let late = fixture.executor.execute(doing("it")).await;
    assert!(matches!(late, Err(Refusal::ShuttingDown)));
}
