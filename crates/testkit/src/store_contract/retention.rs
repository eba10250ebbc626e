//! How the history is kept from growing without end.

use std::sync::Arc;

use domain::{Approval, Execution, Status, TurnRecord};
use serde_json::json;
use store::{Claim, Database, ExecutionFilter, PageRequest, Prune, Pruned, TurnFilter};

use super::sample;

const OLD: &str = "2026-01-01T00:00:00Z";
const EDGE: &str = "2026-01-02T00:00:00Z";
const NEW: &str = "2026-01-03T00:00:00Z";

async fn ended(store: &Arc<dyn Database>, created_at: &str) -> Execution {
    let execution = Execution { created_at: created_at.to_owned(), ..sample::execution() };
    store.create_execution(&execution).await.unwrap();
    let outcome = sample::outcome();
    assert!(store.finish_execution(&execution.id, outcome.clone()).await.unwrap());
    sample::finished(&execution, &outcome)
}

async fn turn(store: &Arc<dyn Database>, created_at: &str) -> TurnRecord {
    let turn = TurnRecord { created_at: created_at.to_owned(), ..sample::turn() };
    store.record_turn(turn.clone()).await.unwrap();
    turn
}

fn batch(batch: u32) -> Prune {
    Prune { batch, ..Prune::default() }
}

async fn left(store: &Arc<dyn Database>) -> Vec<String> {
    let page =
        store.executions(&ExecutionFilter::default(), PageRequest { page: 1, limit: 200 }).await.unwrap();
    page.data.into_iter().map(|execution| execution.id).collect()
}

async fn turns_left(store: &Arc<dyn Database>) -> Vec<String> {
    let page = store.turns(&TurnFilter::default(), PageRequest { page: 1, limit: 200 }).await.unwrap();
    page.data.into_iter().map(|turn| turn.id).collect()
}

/// Executions and turns; what is exactly as old as the bound stays.
pub async fn what_is_old_goes_in_batches(store: Arc<dyn Database>) {
    for _ in 0..5 {
        ended(&store, OLD).await;
        turn(&store, OLD).await;
    }
    let (edge, new) = (ended(&store, EDGE).await, ended(&store, NEW).await);
    let (edge_turn, new_turn) = (turn(&store, EDGE).await, turn(&store, NEW).await);
    let prune = Prune { before: Some(EDGE.to_owned()), ..batch(3) };
    let full = Pruned { executions: 3, turns: 3, artifacts: 0, more: true };
    assert_eq!(store.prune(&prune).await.unwrap(), full);
    let rest = Pruned { executions: 2, turns: 2, artifacts: 0, more: false };
    assert_eq!(store.prune(&prune).await.unwrap(), rest);
    assert_eq!(store.prune(&prune).await.unwrap(), Pruned::default());
    assert_eq!(left(&store).await, [new.id, edge.id]);
    assert_eq!(turns_left(&store).await, [new_turn.id, edge_turn.id]);
    let nonsense = Prune { before: Some("x".to_owned()), ..batch(3) };
    assert!(store.prune(&nonsense).await.is_err());
}

/// So many executions, and so many turns, even when all are of one moment.
pub async fn the_newest_stay(store: Arc<dyn Database>) {
    let (mut executions, mut turns) = (Vec::new(), Vec::new());
    for _ in 0..6 {
        executions.insert(0, ended(&store, OLD).await.id);
        turns.insert(0, turn(&store, OLD).await.id);
    }
    let prune = Prune { keep: Some(4), ..batch(100) };
    let expected = Pruned { executions: 2, turns: 2, artifacts: 0, more: false };
    assert_eq!(store.prune(&prune).await.unwrap(), expected);
    assert_eq!(left(&store).await, executions[..4]);
    assert_eq!(turns_left(&store).await, turns[..4]);
    assert_eq!(store.prune(&prune).await.unwrap(), Pruned::default());
    let both = Prune { before: Some(OLD.to_owned()), keep: Some(1), ..batch(2) };
    assert!(store.prune(&both).await.unwrap().more);
    assert_eq!(store.prune(&both).await.unwrap().executions, 1);
    assert_eq!(left(&store).await, executions[..1]);
    let none = Prune { keep: Some(0), ..batch(100) };
    assert_eq!(store.prune(&none).await.unwrap().executions, 1);
}

/// Pending, running and waiting, whatever is asked for.
pub async fn what_has_not_ended_stays(store: Arc<dyn Database>) {
    let pending = Execution { created_at: OLD.to_owned(), ..sample::execution() };
    store.create_execution(&pending).await.unwrap();
    let running = Execution { created_at: OLD.to_owned(), status: Status::Running, ..sample::execution() };
    store.create_execution(&running).await.unwrap();
    let approval = Some(Approval::waiting(NEW.to_owned()));
    let waiting = Execution { created_at: OLD.to_owned(), approval, ..sample::execution() };
    store.await_approval(&waiting, "call").await.unwrap();
    ended(&store, OLD).await;
    let all = Prune {
        before: Some(NEW.to_owned()),
        keep: Some(0),
        keep_bytes: Some(0),
        artifacts_before: Some(NEW.to_owned()),
        batch: 100,
    };
    assert_eq!(store.prune(&all).await.unwrap().executions, 1);
    assert_eq!(store.prune(&all).await.unwrap(), Pruned::default());
    assert_eq!(left(&store).await, [waiting.id.clone(), running.id, pending.id]);
    assert_eq!(store.execution(&waiting.id).await.unwrap(), Some(waiting));
}

/// Nothing of it is left anywhere.
pub async fn approvals_claims_and_artifacts_go_with_their_execution(store: Arc<dyn Database>) {
    let claim = Claim { key: "k".to_owned(), fingerprint: "f".to_owned(), now_ms: 0, expires_ms: 1_000 };
    let claimed = Execution { created_at: OLD.to_owned(), ..sample::execution() };
    assert_eq!(store.create_execution_once(&claimed, &claim).await.unwrap(), None);
    store.finish_execution(&claimed.id, sample::outcome()).await.unwrap();
    let approval = Approval::waiting(NEW.to_owned());
    let asked =
        Execution { created_at: OLD.to_owned(), approval: Some(approval.clone()), ..sample::execution() };
    store.await_approval(&asked, "call").await.unwrap();
    let denied = Approval { state: domain::ApprovalState::Denied, ..approval };
    let decision = store::ApprovalDecision { approval: denied, input: None, message: Some("no".to_owned()) };
    store.decide_approval(&asked.id, decision).await.unwrap();
    let (gone, kept) = (sample::artifact(&claimed.id, b"x"), ended(&store, NEW).await);
    store.put_artifact(&gone, b"x".to_vec()).await.unwrap();
    let stays = sample::artifact(&kept.id, b"y");
    store.put_artifact(&stays, b"y".to_vec()).await.unwrap();

    let pruned = store.prune(&Prune { before: Some(EDGE.to_owned()), ..batch(100) }).await.unwrap();
    assert_eq!(pruned, Pruned { executions: 2, turns: 0, artifacts: 1, more: false });
    assert_eq!(left(&store).await, [kept.id]);
    assert_eq!(store.claimed("k", 1).await.unwrap(), None);
    assert_eq!(store.execution_of_call("call").await.unwrap(), None);
    assert_eq!(store.artifact(&gone.id).await.unwrap(), None);
    assert_eq!(store.artifact(&stays.id).await.unwrap(), Some(stays));
}

/// And those whose execution is gone, whatever their age.
pub async fn artifacts_go_by_their_own_age(store: Arc<dyn Database>) {
    let execution = ended(&store, OLD).await;
    let mut old = sample::artifact(&execution.id, b"x");
    old.created_at = OLD.to_owned();
    let mut new = sample::artifact(&execution.id, b"y");
    new.created_at = NEW.to_owned();
    let mut lost = sample::artifact("gone", b"z");
    lost.created_at = NEW.to_owned();
    for artifact in [&old, &new, &lost] {
        store.put_artifact(artifact, b"x".to_vec()).await.unwrap();
    }
    let prune = Prune { artifacts_before: Some(EDGE.to_owned()), ..batch(100) };
    assert_eq!(store.prune(&prune).await.unwrap(), Pruned { artifacts: 2, ..Pruned::default() });
    assert_eq!(store.artifacts_of(&execution.id).await.unwrap(), [new]);
    assert_eq!(left(&store).await, [execution.id]);
}

/// The newest that fit stay, to a tenth or so.
pub async fn bytes_are_bounded(store: Arc<dyn Database>) {
    let text: String = (0..100_000_u32)
        .map(|n| char::from(b'a' + (n.wrapping_mul(2_654_435_761) >> 27) as u8 % 26))
        .collect();
    let mut all = Vec::new();
    for n in 0..60 {
        let execution = Execution { input: json!({ "text": format!("{n}{text}") }), ..sample::execution() };
        store.create_execution(&execution).await.unwrap();
        store.finish_execution(&execution.id, sample::outcome()).await.unwrap();
        all.insert(0, execution.id);
    }
    let size = store.history_size().await.unwrap();
    assert_eq!(size.executions, 60);
    assert!(size.database_bytes >= size.bytes, "{size:?}");
    let prune = Prune { keep_bytes: Some(3_000_000), ..batch(7) };
    let mut gone = 0;
    loop {
        let pruned = store.prune(&prune).await.unwrap();
        gone += pruned.executions;
        if !pruned.more {
            break;
        }
        assert_eq!(pruned.executions, 7);
    }
    let kept = 60 - usize::try_from(gone).unwrap();
    assert!((24..=33).contains(&kept), "{kept} of 60 rows of 100 kB in 3 MB");
    assert_eq!(left(&store).await, all[..kept]);
    let roomy = Prune { keep_bytes: Some(u64::MAX), ..batch(100) };
    assert_eq!(store.prune(&roomy).await.unwrap(), Pruned::default());
}

/// Large turns take no room from executions.
pub async fn bytes_are_those_of_executions(store: Arc<dyn Database>) {
    let row = ended(&store, OLD).await;
    let candidate =
        |n: u32| domain::TurnCandidate { skill: format!("skill-{n}@1.0.0"), score: Some(1), skipped: None };
    for _ in 0..200 {
        let candidates = (0..200).map(candidate).collect();
        store.record_turn(TurnRecord { candidates, ..sample::turn() }).await.unwrap();
    }
    let size = store.history_size().await.unwrap();
    assert!(size.bytes < 1_000_000, "{size:?}");
    let prune = Prune { keep_bytes: Some(1_000_000), ..batch(100) };
    assert_eq!(store.prune(&prune).await.unwrap(), Pruned::default());
    assert_eq!(left(&store).await, [row.id]);
}

/// Absent bounds remove nothing, and neither does an empty batch.
pub async fn nothing_is_asked_and_nothing_goes(store: Arc<dyn Database>) {
    assert_eq!(store.prune(&batch(100)).await.unwrap(), Pruned::default());
    let row = ended(&store, OLD).await;
    turn(&store, OLD).await;
    store.put_artifact(&sample::artifact("gone", b"x"), b"x".to_vec()).await.unwrap();
    assert_eq!(store.prune(&batch(100)).await.unwrap(), Pruned::default());
    let all = Prune { before: Some(NEW.to_owned()), keep: Some(0), ..batch(0) };
    assert_eq!(store.prune(&all).await.unwrap(), Pruned::default());
    assert_eq!(left(&store).await, [row.id]);
}

/// It ends, and the history is as it was.
pub async fn space_is_given_back_until_there_is_none(store: Arc<dyn Database>) {
    for _ in 0..20 {
        let execution = Execution {
            created_at: OLD.to_owned(),
            input: json!("x".repeat(200_000)),
            ..sample::execution()
        };
        store.create_execution(&execution).await.unwrap();
        store.finish_execution(&execution.id, sample::outcome()).await.unwrap();
    }
    let kept = ended(&store, NEW).await;
    store.prune(&Prune { before: Some(EDGE.to_owned()), ..batch(100) }).await.unwrap();
    let mut calls = 0;
    while store.give_space_back().await.unwrap() > 0 {
        calls += 1;
        assert!(calls < 1_000, "there is always more");
    }
    assert_eq!(store.execution(&kept.id).await.unwrap(), Some(kept));
    assert_eq!(store.history_size().await.unwrap().executions, 1);
}
