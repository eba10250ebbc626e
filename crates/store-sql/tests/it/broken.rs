//! Rows that other releases or people with a database tool left behind never stop the rest.

use std::error::Error as _;
use std::path::Path;

use domain::{Approval, ApprovalState, Execution, Status, Version};
use rusqlite::Connection;
use store::{ApprovalDecision, ExecutionFilter, KeyUpdate, PageRequest, Store as _, StoreError};
use store_sql::SqliteStore;
use testkit::store_contract::sample;

fn sql(path: &Path, statement: &str) {
    let connection = Connection::open(path).unwrap();
    connection.execute_batch(statement).unwrap();
}

/// Column, what is written into it, and a word of the reason.
const DAMAGE: [(&str, &str, &str); 16] = [
    ("schema", "'{\"input\":'", "column `schema` is not the JSON"),
    ("tags", "'{}'", "column `tags` is not the JSON"),
    ("tags", "'[1]'", "column `tags` is not the JSON"),
    ("annotations", "''", "column `annotations` is not the JSON"),
    ("annotations", "'{\"unknown\":true}'", "column `annotations` is not the JSON"),
    ("version", "'1.0'", "column `version` is wrong: `1.0` is not a version"),
    ("version", "'01.0.0'", "column `version`"),
    ("mode", "'loud'", "column `mode` has the unknown value `loud`"),
    ("mode_before", "'loud'", "column `mode_before` has the unknown value"),
    ("policy", "'never'", "column `policy` has the unknown value `never`"),
    ("source_provider", "''", "column `source_provider` has the unknown value"),
    ("enabled", "7", "column `enabled` is neither 0 nor 1"),
    ("timeout_ms", "-1", "column `timeout_ms` is out of range"),
    ("max_retries", "99999999999", "column `max_retries` is out of range"),
    ("name", "'a@b'", "column `name` is wrong"),
    ("description", "CAST(x'ff41' AS TEXT)", "column `description` is not UTF-8"),
];

#[tokio::test]
async fn broken_skills_are_reported_and_the_rest_loads() {
    let (_folder, path) = crate::folder();
    let store = SqliteStore::open(&path).unwrap();
    let good = sample::skill("key-1", "good", Version::new(1, 0, 0));
    store.insert_skill(good.clone(), false).await.unwrap();
    let mut expected = Vec::new();
    for (n, (column, value, reason)) in DAMAGE.into_iter().enumerate() {
        let skill = sample::skill("key-1", &format!("bad-{n:02}"), Version::new(1, 0, 0));
        store.insert_skill(skill.clone(), false).await.unwrap();
        sql(&path, &format!("UPDATE skills SET {column} = {value} WHERE id = '{}'", skill.id));
        expected.push((skill.id, reason));
    }
    let loaded = store.load_skills().await.unwrap();
    assert_eq!(loaded.skills, [good]);
    assert_eq!(loaded.broken.len(), expected.len());
    for (id, reason) in expected {
        let found = loaded.broken.iter().find(|(broken, _)| *broken == id).unwrap();
        assert!(found.1.contains(reason), "{found:?} should say {reason}");
    }
}

#[tokio::test]
async fn a_broken_skill_can_be_replaced_or_deleted_but_not_updated() {
    let (_folder, path) = crate::folder();
    let store = SqliteStore::open(&path).unwrap();
    let skill = sample::skill("key-1", "reverse", Version::new(1, 0, 0));
    store.insert_skill(skill.clone(), false).await.unwrap();
    sql(&path, "UPDATE skills SET schema = 'x'");

    let error = store.update_skill(&skill.id, sample::no_change()).await.unwrap_err();
    assert!(matches!(error, StoreError::Backend(_)));
    assert_eq!(error.to_string(), "the database failed");
    assert!(error.source().unwrap().to_string().contains("column `schema`"));

    store.insert_skill(skill.clone(), true).await.unwrap();
    assert_eq!(store.load_skills().await.unwrap().skills, std::slice::from_ref(&skill));
    sql(&path, "UPDATE skills SET schema = 'x'");
    store.delete_skill(&skill.id).await.unwrap();
    assert!(store.load_skills().await.unwrap().broken.is_empty());
}

#[tokio::test]
async fn a_sync_repairs_the_definition_of_a_builtin() {
    let (_folder, path) = crate::folder();
    let store = SqliteStore::open(&path).unwrap();
    let builtin = sample::builtin("alpha");
    store.sync_builtins(vec![builtin.clone()]).await.unwrap();
    sql(&path, "UPDATE skills SET schema = 'x', tags = 'y'");
    store.sync_builtins(vec![builtin.clone()]).await.unwrap();
    assert_eq!(store.load_skills().await.unwrap().skills, [builtin]);
}

#[tokio::test]
async fn the_history_and_the_keys_stay_readable() {
    let (_folder, path) = crate::folder();
    let store = SqliteStore::open(&path).unwrap();
    let (good, bad) = (sample::execution(), sample::execution());
    store.create_execution(&good).await.unwrap();
    store.create_execution(&bad).await.unwrap();
    sql(&path, &format!("UPDATE skill_executions SET door = 'window' WHERE id = '{}'", bad.id));
    let page =
        store.executions(&ExecutionFilter::default(), PageRequest { page: 1, limit: 10 }).await.unwrap();
    assert_eq!(page.data, [good]);
    assert!(store.execution(&bad.id).await.is_err());

    let key = store.create_key(sample::key("aa")).await.unwrap();
    store.create_key(sample::key("bb")).await.unwrap();
    sql(&path, "UPDATE api_keys SET scopes = '[\"fly\"]' WHERE secret_hash = 'bb'");
    assert_eq!(store.keys().await.unwrap(), [key]);
    assert!(store.key_by_hash("bb").await.is_err(), "what cannot be read opens nothing");
}

/// Damage is never taken for settings that restrict nothing.
#[tokio::test]
async fn a_key_with_unreadable_settings_opens_nothing() {
    let (_folder, path) = crate::folder();
    let store = SqliteStore::open(&path).unwrap();
    let good = store.create_key(sample::key("aa")).await.unwrap();
    let bad = store.create_key(sample::key("bb")).await.unwrap();
    let values = ["", "null", "[]", "{", "{\"requireUser\":\"yes\"}", "{\"policies\":{\"x\":\"never\"}}"];
    for value in values {
        sql(&path, &format!("UPDATE api_keys SET settings = '{value}' WHERE secret_hash = 'bb'"));
        assert_eq!(store.keys().await.unwrap(), std::slice::from_ref(&good), "{value}");
        let error = store.key_by_hash("bb").await.unwrap_err();
        assert!(error.source().unwrap().to_string().contains("column `settings`"), "{value}");
    }
    let repair = KeyUpdate { settings: Some(sample::settings()), ..KeyUpdate::default() };
    assert_eq!(store.update_key(&bad.id, repair).await.unwrap(), bad);
}

#[tokio::test]
async fn an_unreadable_approval_can_still_be_denied_and_never_starts() {
    let (_folder, path) = crate::folder();
    let store = SqliteStore::open(&path).unwrap();
    let approval = Approval::waiting(sample::CHANGED.to_owned());
    let row = Execution { approval: Some(approval.clone()), ..sample::execution() };
    store.await_approval(&row, "call").await.unwrap();
    sql(&path, "UPDATE approvals SET approval = '{}'");
    assert!(store.execution(&row.id).await.is_err());
    assert!(!store.start_execution(&row.id).await.unwrap());
    let page =
        store.executions(&ExecutionFilter::default(), PageRequest { page: 1, limit: 10 }).await.unwrap();
    assert_eq!(page.data, []);
    let denied = Approval { state: ApprovalState::Denied, ..approval };
    let decision = ApprovalDecision { approval: denied.clone(), input: None, message: Some("no".to_owned()) };
    let ended = store.decide_approval(&row.id, decision).await.unwrap().unwrap();
    assert_eq!((ended.status, ended.approval), (Status::Error, Some(denied)));
}

#[tokio::test]
async fn the_database_itself_refuses_an_unknown_status() {
    let (_folder, path) = crate::folder();
    let store = SqliteStore::open(&path).unwrap();
    store.create_execution(&sample::execution()).await.unwrap();
    let connection = Connection::open(&path).unwrap();
    assert!(connection.execute("UPDATE skill_executions SET status = 'done'", []).is_err());
}
