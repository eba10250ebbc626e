//! Processes beside this one: who is alive, and what may not be touched.

use std::time::{Duration, Instant};

use domain::ids;
use store::{Audit as _, Instances as _, Prune, Retention as _, Store as _};
use testkit::postgres::Schema;
use testkit::store_contract::sample;

/// Longest wait for what has to come.
const PATIENCE: Duration = Duration::from_secs(20);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_lost_its_connections_is_no_dead_one() {
    let Some(schema) = Schema::new().await else { return };
    let lives = super::open(&schema).await;
    lives.register_instance(&ids::new_id()).await.unwrap();
    let row = sample::execution();
    lives.create_execution(&row).await.unwrap();
    assert!(lives.start_execution(&row.id).await.unwrap());
    let client = schema.client().await;
    let cut =
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = current_schema()";
    for _ in 0..5 {
        client.query(cut, &[]).await.unwrap();
        let asks = super::open(&schema).await;
        assert_eq!(asks.interrupt_orphans("interrupted").await.unwrap(), 0);
        asks.close().await;
    }
    // It takes its lock again by itself.
    let locks = "SELECT count(*) FROM pg_locks l JOIN instances i
        ON locktype = 'advisory' AND objsubid = 1 AND (classid::bigint << 32) | objid::bigint = i.lock_key";
    let start = Instant::now();
    while client.query_one(locks, &[]).await.unwrap().get::<_, i64>(0) != 1 {
        assert!(start.elapsed() < PATIENCE, "the lock was not taken again");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(lives.finish_execution(&row.id, sample::outcome()).await.unwrap());
}

#[tokio::test]
async fn closing_is_known_at_once() {
    let Some(schema) = Schema::new().await else { return };
    let (leaves, asks) = (super::open(&schema).await, super::open(&schema).await);
    leaves.register_instance(&ids::new_id()).await.unwrap();
    let row = sample::execution();
    leaves.create_execution(&row).await.unwrap();
    assert_eq!(asks.interrupt_orphans("interrupted").await.unwrap(), 0);
    leaves.close().await;
    assert_eq!(asks.interrupt_orphans("interrupted").await.unwrap(), 1);
    assert!(leaves.value("a").await.is_err(), "it is closed");
}

/// A second life under another name.
#[tokio::test]
async fn registering_anew_leaves_the_old_name() {
    let Some(schema) = Schema::new().await else { return };
    let (changes, asks) = (super::open(&schema).await, super::open(&schema).await);
    changes.register_instance("one").await.unwrap();
    let row = sample::execution();
    changes.create_execution(&row).await.unwrap();
    changes.register_instance("two").await.unwrap();
    changes.create_execution(&sample::execution()).await.unwrap();
    assert_eq!(asks.interrupt_orphans("interrupted").await.unwrap(), 1);
}

#[tokio::test]
async fn the_audit_table_takes_nothing_back() {
    let Some(schema) = Schema::new().await else { return };
    let store = super::open(&schema).await;
    store.append_audit(&sample::audit("a")).await.unwrap();
    let client = schema.client().await;
    for sql in
        ["UPDATE audit SET actor = 'x'", "DELETE FROM audit", "TRUNCATE audit", "TRUNCATE audit CASCADE"]
    {
        let refused = client.batch_execute(sql).await.unwrap_err();
        assert!(refused.as_db_error().unwrap().message().contains("append-only"), "{sql}");
    }
}

/// Each would take what is too much, and together they would take it twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_that_prune_at_once_remove_no_more_than_one() {
    let Some(schema) = Schema::new().await else { return };
    let store = super::open(&schema).await;
    for _ in 0..40 {
        let row = sample::execution();
        store.create_execution(&row).await.unwrap();
        store.finish_execution(&row.id, sample::outcome()).await.unwrap();
    }
    let size = store.history_size().await.unwrap();
    let prune = Prune { keep_bytes: Some(size.bytes / 2), batch: 100, ..Prune::default() };
    let others: Vec<_> = (0..6)
        .map(|_| {
            let (url, prune) = (schema.url(), prune.clone());
            tokio::spawn(async move {
                let store = store_sql::PostgresStore::open(&url).await.unwrap();
                store.prune(&prune).await.unwrap().executions
            })
        })
        .collect();
    let mut gone = 0;
    for other in others {
        gone += other.await.unwrap();
    }
    assert!((19..=21).contains(&gone), "{gone} of 40 were removed");
}
