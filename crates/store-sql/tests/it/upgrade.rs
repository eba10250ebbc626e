//! A database of an older release, with rows in it, is brought up to date and keeps them.

use domain::ids::sha256_hex;
use domain::{
    Annotations, Approval, ApprovalState, Execution, KeySettings, Mode, Policy, Skill, SourceProvider,
    Version,
};
use rusqlite::Connection;
use store::{Claim, ExecutionFilter, Instances as _, PageRequest, Store as _};
use store_sql::SqliteStore;
use testkit::store_contract::sample;

use crate::child;

/// What releases shipped, as they shipped it, the first one first.
const SHIPPED: [(u32, &str, &str); 3] = [
    (1, "init", include_str!("../../migrations/sqlite/0001_init.sql")),
    (2, "kept", include_str!("../../migrations/sqlite/0002_kept.sql")),
    (3, "approvals", include_str!("../../migrations/sqlite/0003_approvals.sql")),
];

/// Rows of the first release, of every kind that it knew.
const ROWS: &str = r#"
    INSERT INTO skills (id, api_key_id, name, version, description, schema, handler, enabled, mode, mode_before, policy,
            timeout_ms, max_retries, annotations, source_provider, source_url, content_sha256, tags, install_count,
            created_at, updated_at)
        VALUES ('s1', 'k1', 'reverse-text', '1.0.0', 'Reverses', '{"input":{"text":"string"}}', 'echo-handler', 0, 'off',
            'auto', 'hybrid', 500, 1, '{"readOnly":true}', 'local', NULL, NULL, '["text"]', 4, '2025-01-01T00:00:00Z',
            '2025-01-01T00:00:00.5Z');
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

/// A database as the release with so many migrations left it.
fn old_database(path: &std::path::Path, migrations: usize) {
    let connection = Connection::open(path).unwrap();
    connection
        .execute_batch(
            "PRAGMA journal_mode = WAL;
            CREATE TABLE schema_migrations (number INTEGER NOT NULL PRIMARY KEY, name TEXT NOT NULL,
                sha256 TEXT NOT NULL, applied_at TEXT NOT NULL) STRICT;",
        )
        .unwrap();
    for (number, name, text) in SHIPPED.iter().take(migrations) {
        connection.execute_batch(text).unwrap();
        let values = (number, name, sha256_hex(text), sample::CREATED);
        connection.execute("INSERT INTO schema_migrations VALUES (?1, ?2, ?3, ?4)", values).unwrap();
    }
    connection.execute_batch(ROWS).unwrap();
}

fn skill() -> Skill {
    Skill {
        id: "s1".to_owned(),
        api_key_id: "k1".to_owned(),
        name: "reverse-text".to_owned(),
        version: Version::new(1, 0, 0),
        description: "Reverses".to_owned(),
        schema: serde_json::json!({"input": {"text": "string"}}),
        handler: "echo-handler".to_owned(),
        mode: Mode::Off,
        policy: Policy::Hybrid,
        enabled: false,
        mode_before: Some(Mode::Auto),
        timeout_ms: Some(500),
        max_retries: Some(1),
        annotations: Annotations { read_only: true, ..Annotations::default() },
        source_provider: SourceProvider::Local,
        source_url: None,
        content_sha256: None,
        tags: vec!["text".to_owned()],
        install_count: 4,
        created_at: "2025-01-01T00:00:00Z".to_owned(),
        updated_at: "2025-01-01T00:00:00.5Z".to_owned(),
    }
}

/// Numbers and hashes that the database has noted, in order.
fn noted(path: &std::path::Path) -> Vec<(u32, String)> {
    let connection = Connection::open(path).unwrap();
    let mut statement =
        connection.prepare("SELECT number, sha256 FROM schema_migrations ORDER BY number").unwrap();
    statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap).collect()
}

#[tokio::test]
async fn rows_of_every_older_release_are_kept_and_go_on() {
    for migrations in 1..=SHIPPED.len() {
        goes_on(migrations).await;
    }
}

async fn goes_on(migrations: usize) {
    let (_folder, path) = crate::folder();
    old_database(&path, migrations);
    let store = SqliteStore::open(&path).unwrap();
    assert_eq!(store.load_skills().await.unwrap().skills, [skill()]);

    let page = PageRequest { page: 1, limit: 10 };
    let rows = store.executions(&ExecutionFilter::default(), page).await.unwrap().data;
    let seen: Vec<_> = rows.iter().map(|row| (row.id.as_str(), row.approval.is_some())).collect();
    assert_eq!(seen, [("e3", false), ("e2", false), ("e1", false)]);
    let first = rows.last().unwrap();
    assert_eq!(first.version, Version::new(1, 0, 0));
    assert_eq!(first.output, Some(serde_json::json!({"text": "cba"})));
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
    assert_eq!(store.interrupt_orphans("interrupted").await.unwrap(), 1, "of nobody who lives");
    store.close().await;
    let numbers: Vec<_> = noted(&path).iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, [1, 2, 3, 4]);
    drop(SqliteStore::open(&path).unwrap());
}

/// A child. Ignored, because alone it has nothing to open.
#[test]
#[ignore = "started by the test below"]
fn child_that_opens() {
    drop(SqliteStore::open(&child::path()).unwrap());
}

#[test]
fn everybody_who_upgrades_at_once_succeeds() {
    for _ in 0..3 {
        let (_folder, path) = crate::folder();
        old_database(&path, 1);
        let children: Vec<_> = (0..4).map(|_| child::start(&path, "upgrade::child_that_opens")).collect();
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let path = path.clone();
                std::thread::spawn(move || SqliteStore::open(&path).map(drop))
            })
            .collect();
        for thread in threads {
            thread.join().unwrap().unwrap();
        }
        for child in children {
            let ended = child.wait_with_output().unwrap();
            assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stdout));
        }
        let found = noted(&path);
        assert_eq!(found.len(), 4);
        for ((number, _, text), (noted, sha256)) in SHIPPED.iter().zip(&found) {
            assert_eq!((number, &sha256_hex(text)), (noted, sha256));
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let loaded =
            runtime.block_on(async { SqliteStore::open(&path).unwrap().load_skills().await.unwrap() });
        assert_eq!(loaded.skills, [skill()]);
    }
}
