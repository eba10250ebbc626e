//! Many callers at once.

use std::sync::Arc;

use domain::{Execution, Status, Version};
use futures_util::future::join_all;
use store::{ExecutionFilter, ExecutionOutcome, PageRequest, Store, StoreError};

use super::sample;

/// Each of 200 tasks records a whole execution.
pub async fn two_hundred_writers_lose_nothing(store: Arc<dyn Store>) {
    let lives = (0..200).map(|n| {
        let store = store.clone();
        tokio::spawn(async move {
            let execution = Execution { session_id: Some(format!("s{n}")), ..sample::execution() };
            store.create_execution(&execution).await.unwrap();
            assert!(store.start_execution(&execution.id).await.unwrap());
            assert!(store.finish_execution(&execution.id, sample::outcome()).await.unwrap());
            Execution { parts: Vec::new(), ..sample::finished(&execution, &sample::outcome()) }
        })
    });
    let mut expected: Vec<Execution> = join_all(lives).await.into_iter().map(|life| life.unwrap()).collect();
    expected.sort_by(|a, b| b.id.cmp(&a.id));
    let filter = ExecutionFilter { status: Some(Status::Success), ..ExecutionFilter::default() };
    let mut page = store.executions(&filter, PageRequest { page: 1, limit: 200 }).await.unwrap();
    page.data.sort_by(|a, b| b.id.cmp(&a.id));
    assert_eq!(page.total, 200);
    assert_eq!(page.data, expected);
}

/// The others are told that it exists.
pub async fn one_of_many_wins_an_identity(store: Arc<dyn Store>) {
    let inserts = (0..50).map(|_| {
        let store = store.clone();
        let skill = sample::skill("key-1", "reverse", Version::new(1, 0, 0));
        tokio::spawn(async move { store.insert_skill(skill, false).await })
    });
    let (won, lost): (Vec<_>, Vec<_>) =
        join_all(inserts).await.into_iter().map(|task| task.unwrap()).partition(Result::is_ok);
    assert_eq!((won.len(), lost.len()), (1, 49));
    assert!(lost.iter().all(|answer| matches!(answer, Err(StoreError::Conflict { .. }))));
    assert_eq!(store.load_skills().await.unwrap().skills.len(), 1);
}

/// A cancellation and a success may race; exactly one is told that it ended the run.
pub async fn one_of_many_ends_an_execution(store: Arc<dyn Store>) {
    let execution = sample::execution();
    store.create_execution(&execution).await.unwrap();
    let ends = (0..50).map(|n| {
        let (store, id) = (store.clone(), execution.id.clone());
        let outcome = ExecutionOutcome { duration_ms: n, ..sample::outcome() };
        tokio::spawn(async move { store.finish_execution(&id, outcome).await.unwrap().then_some(n) })
    });
    let winners: Vec<u64> = join_all(ends).await.into_iter().filter_map(|task| task.unwrap()).collect();
    assert_eq!(winners.len(), 1);
    let stored = store.execution(&execution.id).await.unwrap().unwrap();
    assert_eq!(stored.duration_ms, winners.first().copied());
}

/// On every connection, while others write.
pub async fn every_acknowledged_write_is_seen(store: Arc<dyn Store>) {
    let tasks = (0..20).map(|n| {
        let store = store.clone();
        tokio::spawn(async move {
            let name = format!("value-{n}");
            for round in 0..20 {
                let value = round.to_string();
                store.set_value(&name, &value).await.unwrap();
                assert_eq!(store.value(&name).await.unwrap(), Some(value));
            }
        })
    });
    for task in join_all(tasks).await {
        task.unwrap();
    }
}
