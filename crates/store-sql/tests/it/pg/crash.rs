//! As `crash` on `SQLite`: a killed process loses nothing that it was told is written, and leaves no half.

use std::path::Path;

use store::{Instances as _, Store as _};
use store_sql::PostgresStore;
use testkit::postgres::Schema;

use crate::{child, crash};

async fn open(url: &Path) -> std::sync::Arc<PostgresStore> {
    let store = PostgresStore::open(url.to_str().unwrap()).await.unwrap();
    store.register_instance(&domain::ids::new_id()).await.unwrap();
    store
}

#[test]
#[ignore = "started by a test below"]
fn child_that_writes_until_it_is_killed() {
    child::eight(open, crash::write_for_ever);
}

#[test]
#[ignore = "started by a test below"]
fn child_that_claims_and_decides_until_it_is_killed() {
    child::eight(open, crash::claim_and_decide_for_ever);
}

#[tokio::test]
async fn what_was_acknowledged_survives_a_kill() {
    let Some(schema) = Schema::new().await else { return };
    for round in 0..10 {
        let name = "pg::crash::child_that_writes_until_it_is_killed";
        let acknowledged = crash::kill_while_writing(Path::new(&schema.url()), name);
        assert!(!acknowledged.is_empty());
        let store = super::open(&schema).await;
        for (id, status) in &acknowledged {
            let row = store.execution(id).await.unwrap();
            let row = row.unwrap_or_else(|| panic!("round {round}: {id} was acknowledged and is gone"));
            assert!(crash::rank(row.status) >= crash::rank(*status), "round {round}: {id} was {status:?}");
        }
        store.close().await;
    }
    // Nobody runs them any more; the dead are known as such within seconds.
    let store = super::open(&schema).await;
    let open = "SELECT count(*) FROM skill_executions WHERE status IN ('pending', 'running')";
    let client = schema.client().await;
    let count = async || client.query_one(open, &[]).await.unwrap().get::<_, i64>(0);
    let start = std::time::Instant::now();
    while count().await > 0 {
        store.interrupt_orphans("interrupted").await.unwrap();
        assert!(start.elapsed() < std::time::Duration::from_secs(30), "rows stay open");
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
}

/// Rows that one transaction should have written together with another one, and did not.
const HALVES: [&str; 4] = [
    "SELECT count(*) FROM claims WHERE execution_id NOT IN (SELECT id FROM skill_executions)",
    "SELECT count(*) FROM skill_executions WHERE skill_name = 'once' AND id NOT IN (SELECT execution_id FROM claims)",
    "SELECT count(*) FROM skill_executions LEFT JOIN approvals ON execution_id = id
        WHERE skill_name = 'asked' AND approval IS NULL",
    "SELECT count(*) FROM approvals LEFT JOIN skill_executions ON execution_id = id
        WHERE status IS DISTINCT FROM CASE state WHEN 'waiting' THEN 'pending' ELSE 'error' END",
];

#[tokio::test]
async fn claims_and_decisions_survive_a_kill_whole() {
    let Some(schema) = Schema::new().await else { return };
    let client = schema.client().await;
    for round in 0..6 {
        let name = "pg::crash::child_that_claims_and_decides_until_it_is_killed";
        let acknowledged = crash::kill_while_writing(Path::new(&schema.url()), name);
        let store = super::open(&schema).await;
        crash::nothing_acknowledged_is_lost(store.as_ref(), acknowledged, round).await;
        store.close().await;
        for half in HALVES {
            let found: i64 = client.query_one(half, &[]).await.unwrap().get(0);
            assert_eq!(found, 0, "round {round}: {half}");
        }
    }
}
