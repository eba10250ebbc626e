//! The file: who may read it, opening and closing, and what happens when several open it.

use std::error::Error as _;
use std::sync::{Arc, Barrier};

use rusqlite::Connection;
use store::{Store as _, StoreError};
use store_sql::SqliteStore;
use testkit::store_contract::sample;

/// Number of the newest migration.
const NEWEST: u32 = 4;

#[cfg(unix)]
#[test]
fn only_the_owner_can_read_the_files() {
    use std::os::unix::fs::PermissionsExt as _;
    let (folder, path) = crate::folder();
    let _store = SqliteStore::open(&path).unwrap();
    let mut files = 0;
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let mode = entry.unwrap().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        files += 1;
    }
    assert!(files >= 2, "the database and its write-ahead log");
}

#[test]
fn everybody_who_opens_a_new_file_at_once_succeeds() {
    for _ in 0..5 {
        let (_folder, path) = crate::folder();
        let barrier = Arc::new(Barrier::new(8));
        let threads: Vec<_> = (0..8)
            .map(|_| {
                let (path, barrier) = (path.clone(), barrier.clone());
                std::thread::spawn(move || {
                    barrier.wait();
                    SqliteStore::open(&path).map(drop)
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap().unwrap();
        }
        let applied: u32 = Connection::open(&path)
            .unwrap()
            .query_row("SELECT count(*) FROM schema_migrations", [], |row| row.get(0))
            .unwrap();
        assert_eq!(applied, NEWEST);
    }
}

#[tokio::test]
async fn two_stores_on_one_file_see_and_spare_one_another() {
    let (_folder, path) = crate::folder();
    let (one, two) = (SqliteStore::open(&path).unwrap(), SqliteStore::open(&path).unwrap());
    for n in 0..50 {
        let (writer, reader) = if n % 2 == 0 { (&one, &two) } else { (&two, &one) };
        writer.set_value("n", &n.to_string()).await.unwrap();
        assert_eq!(reader.value("n").await.unwrap(), Some(n.to_string()));
    }
    let (a, b) = tokio::join!(
        async {
            for _ in 0..50 {
                one.create_execution(&sample::execution()).await.unwrap();
            }
        },
        async {
            for _ in 0..50 {
                two.create_execution(&sample::execution()).await.unwrap();
            }
        }
    );
    assert_eq!((a, b), ((), ()));
    assert_eq!(two.interrupt_executions("interrupted").await.unwrap(), 100);
}

#[tokio::test]
async fn a_closed_store_refuses_and_leaves_one_tidy_file() {
    let (folder, path) = crate::folder();
    let store = SqliteStore::open(&path).unwrap();
    store.set_value("a", "1").await.unwrap();
    assert_eq!(store.value("a").await.unwrap().as_deref(), Some("1"));
    store.close().await;
    store.close().await;
    assert!(matches!(store.set_value("a", "2").await, Err(StoreError::Closed)));
    assert!(matches!(store.value("a").await, Err(StoreError::Closed)));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no write-ahead log is left");
    let again = SqliteStore::open(&path).unwrap();
    assert_eq!(again.value("a").await.unwrap().as_deref(), Some("1"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dropping_the_store_writes_what_waits() {
    let (_folder, path) = crate::folder();
    let store = SqliteStore::open(&path).unwrap();
    let tasks: Vec<_> = (0..100)
        .map(|n| {
            let store = store.clone();
            tokio::spawn(async move { store.set_value(&format!("v{n}"), "x").await })
        })
        .collect();
    drop(store);
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    let again = SqliteStore::open(&path).unwrap();
    for n in 0..100 {
        assert_eq!(again.value(&format!("v{n}")).await.unwrap().as_deref(), Some("x"));
    }
}

#[test]
fn a_newer_database_is_left_alone() {
    let (_folder, path) = crate::folder();
    drop(SqliteStore::open(&path).unwrap());
    let connection = Connection::open(&path).unwrap();
    connection.execute("INSERT INTO schema_migrations VALUES (99, 'later', 'x', 'y')", []).unwrap();
    let error = SqliteStore::open(&path).map(drop).unwrap_err();
    assert!(matches!(error, StoreError::TooNew { found: 99, known: NEWEST }), "{error:?}");
}

#[test]
fn a_changed_migration_is_refused_with_the_reason_inside() {
    let (_folder, path) = crate::folder();
    drop(SqliteStore::open(&path).unwrap());
    let connection = Connection::open(&path).unwrap();
    connection.execute("UPDATE schema_migrations SET sha256 = 'x'", []).unwrap();
    let error = SqliteStore::open(&path).map(drop).unwrap_err();
    assert_eq!(error.to_string(), "the database failed");
    assert!(error.source().unwrap().to_string().contains("migration 1 was changed"));
}

#[test]
fn what_is_no_database_is_an_error_without_its_path() {
    let (folder, path) = crate::folder();
    std::fs::write(&path, "this is not a database, but long enough to be taken for one".repeat(20)).unwrap();
    let missing = folder.path().join("missing").join("x.db");
    for path in [&path, &missing] {
        let error = SqliteStore::open(path).map(drop).unwrap_err();
        assert!(matches!(error, StoreError::Backend(_)), "{error:?}");
        assert!(!error.to_string().contains("missing"));
    }
    assert!(std::fs::read_to_string(&path).unwrap().starts_with("this is not"), "and it was not touched");
}
