//! The file itself: that it becomes shorter again, and what a backup of it holds.

use std::path::Path;

use domain::Execution;
use rusqlite::Connection;
use serde_json::json;
use store::{
    Audit as _, ExecutionFilter, PageRequest, Prune, Retention as _, Store as _, StoreError, Transfer as _,
};
use store_sql::SqliteStore;
use testkit::store_contract::sample;

const FIRST: PageRequest = PageRequest { page: 1, limit: 200 };

/// Executions of 100 kB.
async fn fill(store: &SqliteStore, rows: usize) {
    let text: String = (0..100_000_u32)
        .map(|n| char::from(b'a' + (n.wrapping_mul(2_654_435_761) >> 27) as u8 % 26))
        .collect();
    for n in 0..rows {
        let execution = Execution { input: json!(format!("{n}{text}")), ..sample::execution() };
        store.create_execution(&execution).await.unwrap();
        store.finish_execution(&execution.id, sample::outcome()).await.unwrap();
    }
}

/// What the program does every hour.
async fn tidy(store: &SqliteStore) {
    let prune = Prune { keep: Some(5), batch: 50, ..Prune::default() };
    while store.prune(&prune).await.unwrap().more {}
    while store.give_space_back().await.unwrap() > 0 {}
}

fn bytes(path: &Path) -> u64 {
    let log = path.with_extension("db-wal");
    path.metadata().unwrap().len() + log.metadata().map_or(0, |log| log.len())
}

async fn left(store: &SqliteStore) -> u64 {
    store.executions(&ExecutionFilter::default(), FIRST).await.unwrap().total
}

#[tokio::test]
async fn the_file_becomes_shorter_when_the_history_does() {
    let (_folder, path) = crate::folder();
    let store = SqliteStore::open(&path).unwrap();
    fill(&store, 300).await;
    let before = bytes(&path);
    assert!(before > 30_000_000, "{before}");
    assert!(store.history_size().await.unwrap().bytes > 30_000_000);
    tidy(&store).await;
    let after = bytes(&path);
    assert!(after < 2_000_000, "{before} bytes became {after}");
    let size = store.history_size().await.unwrap();
    assert_eq!((size.executions, size.database_bytes), (5, after));
    assert!(size.bytes < 2_000_000, "{size:?}");
    fill(&store, 5).await;
    assert_eq!(left(&store).await, 10);
}

#[tokio::test]
async fn a_database_that_could_not_give_space_back_learns_it() {
    let (_folder, path) = crate::folder();
    let store = SqliteStore::open(&path).unwrap();
    fill(&store, 100).await;
    store.close().await;
    let mode = |path: &Path| -> u32 {
        Connection::open(path).unwrap().pragma_query_value(None, "auto_vacuum", |row| row.get(0)).unwrap()
    };
    Connection::open(&path).unwrap().execute_batch("PRAGMA auto_vacuum = NONE; VACUUM;").unwrap();
    assert_eq!(mode(&path), 0);
    let store = SqliteStore::open(&path).unwrap();
    assert_eq!(mode(&path), 2);
    assert_eq!(left(&store).await, 100);
    tidy(&store).await;
    assert!(bytes(&path) < 2_000_000);
}

#[tokio::test]
async fn somebody_who_reads_does_not_stop_it_for_good() {
    let (_folder, path) = crate::folder();
    let store = SqliteStore::open(&path).unwrap();
    fill(&store, 100).await;
    let reader = Connection::open(&path).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM skill_executions;").unwrap();
    tidy(&store).await;
    let rows: u32 = reader.query_row("SELECT count(*) FROM skill_executions", [], |row| row.get(0)).unwrap();
    assert_eq!(rows, 100, "the reader sees its moment");
    reader.execute_batch("COMMIT").unwrap();
    fill(&store, 1).await;
    tidy(&store).await;
    assert!(bytes(&path) < 2_000_000);
}

#[tokio::test]
async fn a_backup_is_whole_private_and_never_over_something() {
    let (folder, path) = crate::folder();
    let store = SqliteStore::open(&path).unwrap();
    fill(&store, 20).await;
    store.append_audit(&sample::audit("x")).await.unwrap();
    let copy = folder.path().join("backup ' \u{1f600}.db");
    let writing = {
        let store = store.clone();
        tokio::spawn(async move { fill(&store, 20).await })
    };
    store.backup(&copy).await.unwrap();
    writing.await.unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(copy.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
    let again = store.backup(&copy).await;
    assert!(matches!(again, Err(StoreError::Conflict { .. })), "{again:?}");
    assert!(store.backup(&folder.path().join("missing").join("x.db")).await.is_err());
    let restored = SqliteStore::open(&copy).unwrap();
    assert!((20..=40).contains(&left(&restored).await));
    let check: String =
        Connection::open(&copy).unwrap().query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(check, "ok");
    tidy(&restored).await;
    assert_eq!((left(&restored).await, left(&store).await), (5, 40));
    assert!(bytes(&copy) < 2_000_000);
}

#[tokio::test]
async fn the_database_itself_keeps_the_audit_as_it_is() {
    let (_folder, path) = crate::folder();
    let store = SqliteStore::open(&path).unwrap();
    let entry = sample::audit("skill.update");
    store.append_audit(&entry).await.unwrap();
    let tool = Connection::open(&path).unwrap();
    for sql in ["UPDATE audit SET actor = 'x'", "DELETE FROM audit", "UPDATE audit SET id = 'x' WHERE 1"] {
        let error = tool.execute_batch(sql).unwrap_err();
        assert!(error.to_string().contains("append-only"), "{sql}: {error}");
    }
    let replace = format!(
        "INSERT OR REPLACE INTO audit (id, actor, action, target, created_at, created_ns) VALUES ('{}', 'x', 'x', 'x', '', 0)",
        entry.id
    );
    tool.execute_batch(&replace).unwrap();
    assert_eq!(store.audit(&store::AuditFilter::default(), FIRST).await.unwrap().data, [entry]);
}
