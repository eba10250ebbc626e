//! Claims on doing something once.

use std::sync::Arc;

use domain::Execution;
use futures_util::future::join_all;
use store::{Claim, Claimed, Store};

use super::sample;

fn claim(key: &str, now_ms: i64) -> Claim {
    Claim { key: key.to_owned(), fingerprint: format!("work at {now_ms}"), now_ms, expires_ms: now_ms + 100 }
}

fn for_row(row: &Execution, claim: &Claim) -> Claimed {
    Claimed { execution_id: row.id.clone(), fingerprint: claim.fingerprint.clone() }
}

/// The others learn what it was taken for, and write nothing.
pub async fn one_of_many_takes_a_claim(store: Arc<dyn Store>) {
    let tasks = (0..16).map(|_| {
        let store = store.clone();
        tokio::spawn(async move {
            let row = sample::execution();
            let taken = store.create_execution_once(&row, &claim("k", 0)).await.unwrap();
            (row, taken)
        })
    });
    let all: Vec<_> = join_all(tasks).await.into_iter().map(|task| task.unwrap()).collect();
    let (won, lost): (Vec<_>, Vec<_>) = all.into_iter().partition(|(_, taken)| taken.is_none());
    assert_eq!((won.len(), lost.len()), (1, 15));
    let winner = &won[0].0;
    assert_eq!(store.execution(&winner.id).await.unwrap().as_ref(), Some(winner));
    for (row, taken) in lost {
        assert_eq!(taken, Some(for_row(winner, &claim("k", 0))));
        assert_eq!(store.execution(&row.id).await.unwrap(), None);
    }
    let other = sample::execution();
    assert_eq!(store.create_execution_once(&other, &claim("K", 0)).await.unwrap(), None, "keys are exact");
}

/// From its very end on.
pub async fn an_expired_claim_can_be_taken_anew(store: Arc<dyn Store>) {
    let (first, second, third) = (sample::execution(), sample::execution(), sample::execution());
    assert_eq!(store.create_execution_once(&first, &claim("k", 0)).await.unwrap(), None);
    let late = store.create_execution_once(&second, &claim("k", 99)).await.unwrap();
    assert_eq!(late, Some(for_row(&first, &claim("k", 0))));
    assert_eq!(store.create_execution_once(&second, &claim("k", 100)).await.unwrap(), None);
    let after = store.create_execution_once(&third, &claim("k", 101)).await.unwrap();
    assert_eq!(after, Some(for_row(&second, &claim("k", 100))));
}

/// In batches; their rows stay.
pub async fn pruning_forgets_expired_claims_alone(store: Arc<dyn Store>) {
    let rows = [sample::execution(), sample::execution(), sample::execution()];
    for (row, (key, now_ms)) in rows.iter().zip([("a", 0), ("b", 1), ("c", 500)]) {
        store.create_execution_once(row, &claim(key, now_ms)).await.unwrap();
    }
    assert_eq!(store.prune_claims(99, 10).await.unwrap(), 0);
    assert_eq!(store.prune_claims(200, 1).await.unwrap(), 1);
    assert_eq!(store.prune_claims(200, 10).await.unwrap(), 1);
    assert!(store.create_execution_once(&sample::execution(), &claim("c", 501)).await.unwrap().is_some());
    for row in rows {
        assert_eq!(store.execution(&row.id).await.unwrap(), Some(row));
    }
}

/// Both or neither.
pub async fn a_claim_without_its_row_is_not_taken(store: Arc<dyn Store>) {
    let row = sample::execution();
    store.create_execution(&row).await.unwrap();
    assert!(store.create_execution_once(&row, &claim("k", 0)).await.is_err(), "the id is there already");
    assert_eq!(store.create_execution_once(&sample::execution(), &claim("k", 0)).await.unwrap(), None);
}

/// A claim on what is there already; the first counts, whichever way it was taken.
pub async fn a_claim_is_taken_for_a_row_that_is_there(store: Arc<dyn Store>) {
    let (row, other) = (sample::execution(), sample::execution());
    store.create_execution(&row).await.unwrap();
    assert_eq!(store.claimed("k", 0).await.unwrap(), None);
    assert_eq!(store.take_claim(&row.id, &claim("k", 0)).await.unwrap(), None);
    let expected = Some(for_row(&row, &claim("k", 0)));
    assert_eq!(store.claimed("k", 99).await.unwrap(), expected);
    assert_eq!(store.take_claim(&other.id, &claim("k", 1)).await.unwrap(), expected);
    assert_eq!(store.create_execution_once(&other, &claim("k", 1)).await.unwrap(), expected);
    assert_eq!(store.claimed("k", 100).await.unwrap(), None, "expired");
    assert_eq!(store.take_claim(&other.id, &claim("k", 100)).await.unwrap(), None);
}
