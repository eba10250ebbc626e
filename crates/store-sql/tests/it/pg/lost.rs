//! Connections that are lost, and servers that are away for a while.

use std::time::Duration;

use store::{Instances as _, Store as _, StoreError};
use store_sql::PostgresStore;
use testkit::postgres::Schema;
use testkit::store_contract::sample;
use tokio::time::timeout;

use super::proxy::Proxy;

/// Longest wait for what has to come.
const PATIENCE: Duration = Duration::from_secs(20);

async fn behind(schema: &Schema) -> (Proxy, std::sync::Arc<PostgresStore>) {
    let proxy = Proxy::start(&schema.server, None).await;
    let url = schema.url_at(&format!("postgres://postgres@127.0.0.1:{}/postgres", proxy.port));
    (proxy, PostgresStore::open(&url).await.unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_follows_a_lost_connection_goes_over_a_new_one() {
    let Some(schema) = Schema::new().await else { return };
    let store = super::open(&schema).await;
    let client = schema.client().await;
    let cut = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = current_schema()";
    for round in 0..5 {
        store.set_value("round", &round.to_string()).await.unwrap();
        store
            .insert_skill(sample::skill("key-1", &format!("s{round}"), domain::Version::new(1, 0, 0)), false)
            .await
            .unwrap();
        client.query(cut, &[]).await.unwrap();
        // Reads never show that anything happened, on whatever connection.
        assert_eq!(store.value("round").await.unwrap(), Some(round.to_string()));
        assert_eq!(store.load_skills().await.unwrap().skills.len(), round + 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_away_is_an_error_and_then_no_more() {
    let Some(schema) = Schema::new().await else { return };
    let (proxy, store) = behind(&schema).await;
    store.set_value("a", "1").await.unwrap();
    let seen = store.changed(0);
    tokio::pin!(seen);
    assert!(timeout(Duration::from_millis(100), &mut seen).await.is_err(), "nothing has changed");
    proxy.set_open(false);
    // Many who wait fail together, not one after the other.
    let reads: Vec<_> = (0..200)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move { store.value("a").await })
        })
        .collect();
    for read in reads {
        let refused = timeout(PATIENCE, read).await.unwrap().unwrap();
        assert!(matches!(refused, Err(StoreError::Backend(_))), "{refused:?}");
    }
    proxy.set_open(true);
    let back = async {
        while store.value("a").await.is_err() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(PATIENCE, back).await.unwrap();
    // Whatever was missed meanwhile counts as a change.
    timeout(PATIENCE, &mut seen).await.unwrap().unwrap();
    let seen = store.changed(0).await.unwrap();
    let other = super::open(&schema).await;
    other.set_value("b", "1").await.unwrap();
    timeout(PATIENCE, store.changed(seen)).await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_callers_than_connections_all_get_through() {
    let Some(schema) = Schema::new().await else { return };
    let store = super::open(&schema).await;
    let tasks: Vec<_> = (0..1_500)
        .map(|n| {
            let store = store.clone();
            tokio::spawn(async move {
                match n % 50 {
                    0 => store.load_skills().await.map(drop),
                    _ => store.set_value(&n.to_string(), "1").await,
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    let client = schema.client().await;
    let sql = "SELECT (SELECT count(*) FROM kv),
        (SELECT count(*) FROM pg_stat_activity WHERE application_name = current_schema())";
    let row = client.query_one(sql, &[]).await.unwrap();
    assert_eq!(row.get::<_, i64>(0), 1_470);
    assert!(row.get::<_, i64>(1) <= 21, "{row:?}");
}

/// Whoever gives up in the middle of a transaction leaves nothing of it, and nobody waits for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_that_is_given_up_leaves_nothing() {
    let Some(schema) = Schema::new().await else { return };
    let store = super::open(&schema).await;
    let mut client = schema.client().await;
    let skill =
        store.insert_skill(sample::skill("key-1", "a", domain::Version::new(1, 0, 0)), false).await.unwrap();
    let hold = client.transaction().await.unwrap();
    hold.batch_execute("SELECT 1 FROM skills FOR UPDATE").await.unwrap();
    let update = store::SkillUpdate { description: Some("changed".to_owned()), ..sample::no_change() };
    for _ in 0..6 {
        let waits = store.update_skill(&skill.id, update.clone());
        assert!(timeout(Duration::from_millis(50), waits).await.is_err());
        timeout(PATIENCE, store.load_skills()).await.unwrap().unwrap();
    }
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE application_name = current_schema() AND wait_event_type = 'Lock'";
    let none = async {
        while hold.query_one(waiting, &[]).await.unwrap().get::<_, i64>(0) > 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, none).await.expect("statements of those who gave up are ended");
    hold.rollback().await.unwrap();
    assert_eq!(store.load_skills().await.unwrap().skills, std::slice::from_ref(&skill));
    let changed = store.update_skill(&skill.id, update).await.unwrap();
    assert_eq!(changed.description, "changed");
}
