//! A database of an older release, with rows in it, is brought up to date and keeps them.

use domain::ids::sha256_hex;
use domain::{Approval, ApprovalState, Execution, KeySettings, Version};
use rusqlite::Connection;
use store::{Claim, ExecutionFilter, PageRequest, Store as _};
use store_sql::SqliteStore;
use testkit::store_contract::sample;

/// What the first releases shipped, as they shipped it.
const OLD: [(u32, &str, &str); 2] = [
    (1, "init", include_str!("../../migrations/sqlite/0001_init.sql")),
    (2, "kept", include_str!("../../migrations/sqlite/0002_kept.sql")),
];

/// Rows of that release: a skill's worth of history, a key, a value.
const ROWS: &str = r#"
    INSERT INTO skill_executions (id, skill_id, skill_name, version, api_key_id, door, status, duration_ms, attempts,
            created_at, created_ns, input, output)
        VALUES ('e1', 's1', 'reverse-text', '1.0.0', 'k1', 'rest', 'success', 3, 1, '2025-01-01T00:00:00Z',
            1735689600000000000, '{"text":"abc"}', '{"text":"cba"}'),
        ('e2', 's1', 'reverse-text', '1.0.0', 'k1', 'loop', 'pending', NULL, 0, '2025-01-01T00:00:01Z',
            1735689601000000000, '{}', NULL),
        ('e3', 's1', 'reverse-text', '1.0.0', 'k1', 'loop', 'running', NULL, 0, '2025-01-01T00:00:02Z',
            1735689602000000000, '{}', NULL);
    INSERT INTO api_keys (id, name, secret_hash, scopes, custom_skill_execution_enabled, created_at)
        VALUES ('k1', 'old', 'aa', '["proxy"]', 1, '2025-01-01T00:00:00Z');
    INSERT INTO kv VALUES ('a', '1');
"#;

fn old_database(path: &std::path::Path) {
    let connection = Connection::open(path).unwrap();
    connection
        .execute_batch(
            "CREATE TABLE schema_migrations (number INTEGER NOT NULL PRIMARY KEY, name TEXT NOT NULL,
                sha256 TEXT NOT NULL, applied_at TEXT NOT NULL) STRICT;",
        )
        .unwrap();
    for (number, name, text) in OLD {
        connection.execute_batch(text).unwrap();
        let values = (number, name, sha256_hex(text), sample::CREATED);
        connection.execute("INSERT INTO schema_migrations VALUES (?1, ?2, ?3, ?4)", values).unwrap();
    }
    connection.execute_batch(ROWS).unwrap();
}

#[tokio::test]
async fn rows_of_an_older_release_are_kept_and_go_on() {
    let (_folder, path) = crate::folder();
    old_database(&path);
    let store = SqliteStore::open(&path).unwrap();

    let page = PageRequest { page: 1, limit: 10 };
    let rows = store.executions(&ExecutionFilter::default(), page).await.unwrap().data;
    let seen: Vec<_> = rows.iter().map(|row| (row.id.as_str(), row.approval.is_some())).collect();
    assert_eq!(seen, [("e3", false), ("e2", false), ("e1", false)]);
    assert_eq!(rows[2].version, Version::new(1, 0, 0));
    assert_eq!(rows[2].output, Some(serde_json::json!({"text": "cba"})));
    let waits = ExecutionFilter { approval: Some(ApprovalState::Waiting), ..ExecutionFilter::default() };
    assert_eq!(store.executions(&waits, page).await.unwrap().total, 0);
    let key = store.key_by_hash("aa").await.unwrap().unwrap();
    assert_eq!(key.settings, KeySettings::default());
    assert_eq!(store.value("a").await.unwrap().as_deref(), Some("1"));

    assert!(store.start_execution("e2").await.unwrap(), "an old row goes on");
    assert!(store.finish_execution("e2", sample::outcome()).await.unwrap());
    assert_eq!(store.interrupt_executions("interrupted").await.unwrap(), 1, "e3");

    let approval = Some(Approval::waiting(sample::CHANGED.to_owned()));
    let row = Execution { approval, ..sample::execution() };
    store.await_approval(&row, "call").await.unwrap();
    assert_eq!(store.execution_of_call("call").await.unwrap(), Some(row));
    let claim = Claim { key: "k".to_owned(), fingerprint: "f".to_owned(), now_ms: 0, expires_ms: 1 };
    assert_eq!(store.create_execution_once(&sample::execution(), &claim).await.unwrap(), None);
    store.close().await;
    drop(SqliteStore::open(&path).unwrap());
}
