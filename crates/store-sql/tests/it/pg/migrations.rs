//! How a schema comes to be, and which ones are left alone.

use std::error::Error as _;
use std::sync::Arc;

use store::{Artifacts as _, Store as _, StoreError};
use store_sql::PostgresStore;
use testkit::postgres::Schema;
use testkit::store_contract::sample;

fn reason(result: store::Result<Arc<PostgresStore>>) -> String {
    let error = result.err().unwrap();
    error.source().map_or_else(|| error.to_string(), ToString::to_string)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_that_start_at_once_make_one_schema() {
    let Some(schema) = Schema::new().await else { return };
    let starts: Vec<_> = (0..8)
        .map(|n| {
            let url = schema.url();
            tokio::spawn(async move {
                let store = PostgresStore::open(&url).await.unwrap();
                store.sync_builtins(vec![sample::builtin("a"), sample::builtin("b")]).await.unwrap();
                store.set_value(&format!("{n}"), "1").await.unwrap();
                store
            })
        })
        .collect();
    for start in starts {
        let store = start.await.unwrap();
        assert_eq!(store.load_skills().await.unwrap().skills.len(), 2);
        store.close().await;
    }
    let client = schema.client().await;
    let row = client
        .query_one("SELECT count(*), min(number), (SELECT count(*) FROM kv) FROM schema_migrations", &[]);
    let row = row.await.unwrap();
    assert_eq!((row.get::<_, i64>(0), row.get::<_, i64>(1), row.get::<_, i64>(2)), (1, 1, 8));
}

#[tokio::test]
async fn a_newer_or_changed_schema_is_left_alone() {
    let Some(schema) = Schema::new().await else { return };
    super::open(&schema).await.close().await;
    let client = schema.client().await;
    let newer = "INSERT INTO schema_migrations VALUES (7, 'later', 'x', 'x')";
    client.batch_execute(newer).await.unwrap();
    let refused = PostgresStore::open(&schema.url()).await;
    assert!(matches!(refused, Err(StoreError::TooNew { found: 7, known: 1 })));
    client.batch_execute("DELETE FROM schema_migrations WHERE number = 7").await.unwrap();
    client.batch_execute("UPDATE schema_migrations SET sha256 = 'x'").await.unwrap();
    let refused = reason(PostgresStore::open(&schema.url()).await);
    assert!(refused.contains("migration 1 was changed"), "{refused}");
}

#[tokio::test]
async fn what_cannot_be_made_whole_is_not_made_at_all() {
    let Some(schema) = Schema::new().await else { return };
    let client = schema.client().await;
    client.batch_execute("CREATE TABLE turns (something text)").await.unwrap();
    let refused = reason(PostgresStore::open(&schema.url()).await);
    assert!(refused.contains("turns") && refused.contains("42P07"), "{refused}");
    let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()
        AND tablename NOT IN ('turns', 'schema_migrations')";
    assert_eq!(client.query_one(tables, &[]).await.unwrap().get::<_, i64>(0), 0);
    client.batch_execute("DROP TABLE turns").await.unwrap();
    super::open(&schema).await;
}

#[tokio::test]
async fn a_database_that_cannot_hold_every_text_is_refused() {
    let Some(schema) = Schema::new().await else { return };
    let client = schema.client().await;
    let create =
        format!("CREATE DATABASE {} TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE 'C'", schema.name);
    client.batch_execute(&create).await.unwrap();
    let (server, _) = schema.server.rsplit_once('/').unwrap();
    let refused = reason(PostgresStore::open(&format!("{server}/{}", schema.name)).await);
    client.batch_execute(&format!("DROP DATABASE {} WITH (FORCE)", schema.name)).await.unwrap();
    assert!(refused.contains("SQL_ASCII") && refused.contains("UTF8"), "{refused}");
}

#[tokio::test]
async fn two_schemas_of_one_database_do_not_meet() {
    let (Some(one), Some(two)) = (Schema::new().await, Schema::new().await) else { return };
    let (here, there) = (super::open(&one).await, super::open(&two).await);
    here.set_value("a", "1").await.unwrap();
    assert_eq!(there.value("a").await.unwrap(), None);
    let artifact = sample::artifact("x", b"x");
    here.put_artifact(&artifact, b"x".to_vec()).await.unwrap();
    assert_eq!(there.artifact(&artifact.id).await.unwrap(), None);
}
