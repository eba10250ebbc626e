//! Many runs at once: a cap, a queue, and a refusal beyond it.

use std::sync::atomic::Ordering;

use domain::Status::{Error, Running, Success};
use executor::{ExecutorConfig, OwnerLimits, Refusal, Run};

use crate::fixture::{Fixture, doing, fixture};

fn narrow(global_concurrency: usize, queue: usize) -> Fixture {
    fixture(ExecutorConfig {
        global_concurrency,
        concurrency_per_owner: Some(global_concurrency),
        queue,
        queue_per_owner: Some(queue),
        ..ExecutorConfig::default()
    })
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

async fn start_of(
    fixture: &Fixture,
    owner: &str,
    concurrency: Option<u32>,
) -> tokio::task::JoinHandle<Result<domain::Execution, Refusal>> {
    let rows = fixture.store.rows().len();
    let executor = fixture.executor.clone();
    let limits = OwnerLimits { concurrency, ..OwnerLimits::default() };
    let run = Run { api_key_id: owner.into(), limits, ..doing("hold") };
    let task = tokio::spawn(async move { executor.execute(run).await });
    while fixture.store.rows().len() == rows {
        tokio::task::yield_now().await;
    }
    task
}

#[tokio::test]
async fn a_hundred_runs_of_one_key_do_not_keep_another_key_waiting() {
    let fixture = fixture(ExecutorConfig { global_concurrency: 4, ..ExecutorConfig::default() });
    let mut greedy = Vec::new();
    for _ in 0..100 {
        greedy.push(start_of(&fixture, "greedy", None).await);
    }
    let running = || fixture.store.rows().iter().filter(|row| row.status == Running).count();
    while running() < 2 {
        tokio::task::yield_now().await;
    }
    // Nothing has ended, and yet the other key's run runs to its end.
    let modest = Run { api_key_id: "modest".into(), ..doing("succeed") };
    assert_eq!(fixture.executor.execute(modest).await.unwrap().status, Success);
    assert_eq!(running(), 2, "half of the slots are the most of one key");
    fixture.probe.release.add_permits(100);
    for task in greedy {
        assert_eq!(task.await.unwrap().unwrap().status, Success);
    }
    assert_eq!(fixture.probe.most.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn an_operator_says_how_much_one_key_may_do_at_once() {
    let fixture = fixture(ExecutorConfig { global_concurrency: 8, ..ExecutorConfig::default() });
    let mut tasks = Vec::new();
    for _ in 0..10 {
        tasks.push(start_of(&fixture, "narrow", Some(1)).await);
    }
    fixture.probe.release.add_permits(10);
    for task in tasks {
        assert_eq!(task.await.unwrap().unwrap().status, Success);
    }
    assert_eq!(fixture.probe.most.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_full_queue_of_one_key_leaves_room_for_the_others() {
    let fixture = fixture(ExecutorConfig {
        global_concurrency: 2,
        queue: 2,
        queue_per_owner: Some(1),
        ..ExecutorConfig::default()
    });
    let mut tasks = vec![start_of(&fixture, "greedy", None).await, start_of(&fixture, "greedy", None).await];
    let again = Run { api_key_id: "greedy".into(), ..doing("hold") };
    let refused = fixture.executor.execute(again).await;
    assert!(matches!(refused, Err(Refusal::Busy { .. })), "{refused:?}");
    tasks.push(start_of(&fixture, "modest", None).await);
    fixture.probe.release.add_permits(3);
    for task in tasks {
        assert_eq!(task.await.unwrap().unwrap().status, Success);
    }
}
