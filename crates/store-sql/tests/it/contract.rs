//! The contract of every store, on `SQLite`.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use store::Database;
use store_sql::SqliteStore;
use tempfile::TempDir;
use testkit::store_contract::Place;

struct File {
    _folder: TempDir,
    path: PathBuf,
}

#[async_trait]
impl Place for File {
    async fn open(&self) -> Arc<dyn Database> {
        SqliteStore::open(&self.path).unwrap()
    }
}

pub(crate) async fn fresh() -> Option<Box<dyn Place>> {
    let (folder, path) = crate::folder();
    Some(Box::new(File { _folder: folder, path }))
}

testkit::store_contract!(crate::contract::fresh);
