//! A killed process loses nothing that it was told is written.
//!
//! The test starts its own binary again; that child writes and prints a line for each acknowledged step until it is
//! killed with SIGKILL.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use domain::{Approval, ApprovalState, Execution, Status};
use rusqlite::Connection;
use store::{ApprovalDecision, Claim, Claimed, Store};
use store_sql::SqliteStore;
use testkit::store_contract::sample;

use crate::child;

/// The child. Ignored, because alone it has nothing to write to.
#[test]
#[ignore = "started by the test below"]
fn child_that_writes_until_it_is_killed() {
    child::eight(async |path| SqliteStore::open(path).unwrap(), write_for_ever);
}

#[expect(clippy::print_stdout, reason = "how the parent learns what was acknowledged")]
pub(crate) async fn write_for_ever<S: Store>(store: Arc<S>) {
    loop {
        let execution = sample::execution();
        store.create_execution(&execution).await.unwrap();
        println!("\nack {} pending", execution.id);
        assert!(store.start_execution(&execution.id).await.unwrap());
        println!("\nack {} running", execution.id);
        assert!(store.finish_execution(&execution.id, sample::outcome()).await.unwrap());
        println!("\nack {} success", execution.id);
    }
}

/// A claim named after its row.
pub(crate) fn claim(id: &str) -> Claim {
    Claim { key: id.to_owned(), fingerprint: "work".to_owned(), now_ms: 0, expires_ms: 1_000 }
}

/// The second child. Ignored like the first.
#[test]
#[ignore = "started by a test below"]
fn child_that_claims_and_decides_until_it_is_killed() {
    child::eight(async |path| SqliteStore::open(path).unwrap(), claim_and_decide_for_ever);
}

/// Acknowledges a claimed row as pending, one that waits for a person as running, one that was denied as an error.
#[expect(clippy::print_stdout, reason = "how the parent learns what was acknowledged")]
pub(crate) async fn claim_and_decide_for_ever<S: Store>(store: Arc<S>) {
    loop {
        let once = Execution { skill_name: "once".to_owned(), ..sample::execution() };
        assert_eq!(store.create_execution_once(&once, &claim(&once.id)).await.unwrap(), None);
        println!("\nack {} pending", once.id);
        let approval = Approval::waiting(sample::CHANGED.to_owned());
        let asked = Execution {
            skill_name: "asked".to_owned(),
            approval: Some(approval.clone()),
            ..sample::execution()
        };
        store.await_approval(&asked, &asked.id).await.unwrap();
        println!("\nack {} running", asked.id);
        let denied = Approval { state: ApprovalState::Denied, ..approval };
        let decision = ApprovalDecision { approval: denied, input: None, message: Some("no".to_owned()) };
        assert!(store.decide_approval(&asked.id, decision).await.unwrap().is_some());
        println!("\nack {} error", asked.id);
    }
}

/// The last acknowledged status of each execution.
pub(crate) fn kill_while_writing(path: &Path, name: &str) -> HashMap<String, Status> {
    let acknowledged = child::kill_while_writing(path, name);
    acknowledged.into_iter().map(|(id, status)| (id, Status::parse(&status).unwrap())).collect()
}

/// Where in its life an execution is.
pub(crate) fn rank(status: Status) -> Option<usize> {
    [Status::Pending, Status::Running, Status::Success].into_iter().position(|s| s == status)
}

#[tokio::test]
async fn what_was_acknowledged_survives_a_kill() {
    let (_folder, path) = crate::folder();
    let mut all: HashMap<String, Status> = HashMap::new();
    for round in 0..10 {
        let acknowledged = kill_while_writing(&path, "crash::child_that_writes_until_it_is_killed");
        assert!(!acknowledged.is_empty());
        let store = SqliteStore::open(&path).unwrap();
        for (id, status) in &acknowledged {
            let row = store.execution(id).await.unwrap();
            let stored =
                row.unwrap_or_else(|| panic!("round {round}: {id} was acknowledged and is gone")).status;
            assert!(rank(stored) >= rank(*status), "round {round}: {id} was {status:?} and is {stored:?}");
        }
        all.extend(acknowledged);
        // What the next start of the program does.
        store.interrupt_executions("interrupted").await.unwrap();
        assert_eq!(store.interrupt_executions("interrupted").await.unwrap(), 0);
        store.close().await;
    }
    let store = SqliteStore::open(&path).unwrap();
    for (id, status) in all {
        let stored = store.execution(&id).await.unwrap().unwrap();
        let interrupted = stored.error_message.as_deref() == Some("interrupted");
        assert!(stored.status == Status::Success || (interrupted && status != Status::Success), "{stored:?}");
    }
    let check: String =
        Connection::open(&path).unwrap().query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(check, "ok");
}

/// Every claim and every decision that a killed child has reported.
pub(crate) async fn nothing_acknowledged_is_lost(
    store: &dyn Store,
    acknowledged: HashMap<String, Status>,
    round: usize,
) {
    for (id, status) in acknowledged {
        if status == Status::Pending {
            let taken = store.create_execution_once(&sample::execution(), &claim(&id)).await.unwrap();
            let first = Claimed { execution_id: id, fingerprint: "work".to_owned() };
            assert_eq!(taken, Some(first), "round {round}");
            continue;
        }
        let row = store.execution_of_call(&id).await.unwrap();
        assert!(row.is_some(), "round {round}: {id} was acknowledged and is gone");
        let decided =
            row.and_then(|row| row.approval).is_some_and(|approval| approval.state == ApprovalState::Denied);
        assert!(decided || status != Status::Error, "round {round}: the denial of {id} is lost");
    }
}

/// Rows that one transaction should have written together with another one, and did not.
const HALVES: [&str; 4] = [
    "SELECT count(*) FROM claims WHERE execution_id NOT IN (SELECT id FROM skill_executions)",
    "SELECT count(*) FROM skill_executions WHERE skill_name = 'once' AND id NOT IN (SELECT execution_id FROM claims)",
    "SELECT count(*) FROM skill_executions LEFT JOIN approvals ON execution_id = id
        WHERE skill_name = 'asked' AND approval IS NULL",
    "SELECT count(*) FROM approvals LEFT JOIN skill_executions ON execution_id = id
        WHERE status IS NOT CASE state WHEN 'waiting' THEN 'pending' ELSE 'error' END",
];

#[tokio::test]
async fn claims_and_decisions_survive_a_kill_whole() {
    let (_folder, path) = crate::folder();
    for round in 0..6 {
        let acknowledged =
            kill_while_writing(&path, "crash::child_that_claims_and_decides_until_it_is_killed");
        let store = SqliteStore::open(&path).unwrap();
        nothing_acknowledged_is_lost(store.as_ref(), acknowledged, round).await;
        store.close().await;
        let connection = Connection::open(&path).unwrap();
        for half in HALVES {
            let found: u32 = connection.query_row(half, [], |row| row.get(0)).unwrap();
            assert_eq!(found, 0, "round {round}: {half}");
        }
    }
}
