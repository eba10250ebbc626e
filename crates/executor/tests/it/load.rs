//! Many runs at once: a cap, a queue, and a refusal beyond it.

use std::sync::atomic::Ordering;

use domain::Status::{Error, Success};
use executor::{ExecutorConfig, Refusal};

use crate::fixture::{Fixture, doing, fixture};

fn narrow(global_concurrency: usize, queue: usize) -> Fixture {
    fixture(ExecutorConfig { global_concurrency, queue, ..ExecutorConfig::default() })
}

/// Starts a run in a task and returns when it has its row.
async fn start(fixture: &Fixture, what: &str) -> tokio::task::JoinHandle<Result<domain::Execution, Refusal>> {
    let rows = fixture.store.rows().len();
    let executor = fixture.executor.clone();
    let run = doing(what);
    let task = tokio::spawn(async move { executor.execute(run).await });
    while fixture.store.rows().len() == rows {
        tokio::task::yield_now().await;
    }
    task
}

#[tokio::test]
async fn beyond_the_queue_is_busy_and_the_queue_drains_in_order() {
    let fixture = narrow(1, 2);
    let mut tasks = Vec::new();
    for _ in 0..3 {
        tasks.push(start(&fixture, "hold").await);
    }
    let refused = fixture.executor.execute(doing("hold")).await;
    assert!(matches!(refused, Err(Refusal::Busy { retry_after_s: 1 })), "{refused:?}");
    for task in tasks {
        fixture.probe.release.add_permits(1);
        // Only the first of the queue can end: the one slot is its own.
        assert_eq!(task.await.unwrap().unwrap().status, Success);
    }
    fixture.probe.release.add_permits(1);
    assert_eq!(fixture.executor.execute(doing("hold")).await.unwrap().status, Success);
    assert_eq!(fixture.probe.most.load(Ordering::SeqCst), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn never_more_at_once_than_the_cap() {
    let fixture = narrow(3, 100);
    let mut tasks = Vec::new();
    for _ in 0..40 {
        tasks.push(start(&fixture, "hold").await);
    }
    fixture.probe.release.add_permits(40);
    for task in tasks {
        assert_eq!(task.await.unwrap().unwrap().status, Success);
    }
    assert_eq!(fixture.probe.most.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn a_run_can_be_cancelled_while_it_waits() {
    let fixture = narrow(1, 1);
    let first = start(&fixture, "hold").await;
    let mut waiting = doing("hold");
    waiting.user = Some("waiting".into());
    let cancel = waiting.cancel.clone();
    cancel.cancel();
    let row = fixture.executor.execute(waiting).await.unwrap();
    assert_eq!((row.status, row.attempts), (Error, 0));
    fixture.probe.release.add_permits(1);
    assert_eq!(first.await.unwrap().unwrap().status, Success);
}
