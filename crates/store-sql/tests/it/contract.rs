//! The contract of every store, on `SQLite`.

use std::sync::Arc;

use store::Store;
use store_sql::SqliteStore;
use tempfile::TempDir;

#[expect(clippy::unused_async, reason = "other stores open a connection here")]
async fn fresh() -> (Arc<dyn Store>, TempDir) {
    let (folder, path) = crate::folder();
    (SqliteStore::open(&path).unwrap(), folder)
}

testkit::store_contract!(crate::contract::fresh);
