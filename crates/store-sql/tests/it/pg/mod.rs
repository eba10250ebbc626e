//! The contract of every store on `PostgreSQL`, and what only `PostgreSQL` can get wrong. Each test has a schema of its own
//! on the server that `OMNI_SKILLS_TEST_POSTGRES` names; `cargo xtask test` starts one. Without it they are skipped.

mod contract;

use std::sync::{Arc, Once};

use async_trait::async_trait;
use domain::ids;
use store::Database;
use store_sql::PostgresStore;
use testkit::store_contract::Place;
use tokio_postgres::{Client, NoTls};

const VARIABLE: &str = "OMNI_SKILLS_TEST_POSTGRES";

/// An empty schema, gone with the test.
pub(crate) struct Schema {
    name: String,
    server: String,
}

impl Schema {
    /// None without a server.
    pub(crate) async fn new() -> Option<Self> {
        static SAID: Once = Once::new();
        let Some(server) = std::env::var(VARIABLE).ok().filter(|url| !url.is_empty()) else {
            SAID.call_once(|| {
                eprintln!("SKIPPED, like every test of the PostgreSQL store: {VARIABLE} is not set")
            });
            return None;
        };
        let name = format!("test_{}", ids::new_id().replace('-', ""));
        connect(&server).await.batch_execute(&format!("CREATE SCHEMA {name}")).await.unwrap();
        Some(Self { name, server })
    }

    /// What a store is opened with.
    pub(crate) fn url(&self) -> String {
        let separator = if self.server.contains('?') { '&' } else { '?' };
        format!("{}{separator}options=-c%20search_path%3D{}", self.server, self.name)
    }

    /// A connection beside the store.
    pub(crate) async fn client(&self) -> Client {
        connect(&self.url()).await
    }

    pub(crate) async fn store(&self) -> Arc<PostgresStore> {
        PostgresStore::open(&self.url()).await.unwrap()
    }
}

async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

impl Drop for Schema {
    fn drop(&mut self) {
        let (name, server) = (self.name.clone(), self.server.clone());
        let drop = async move {
            // Others may be in it still; they have a moment to end.
            let sql = format!("SET lock_timeout = '10s'; DROP SCHEMA {name} CASCADE");
            connect(&server).await.batch_execute(&sql).await.unwrap();
        };
        let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        // A runtime cannot wait for another one on its own thread.
        std::thread::spawn(move || runtime().block_on(drop)).join().unwrap();
    }
}

#[async_trait]
impl Place for Schema {
    async fn open(&self) -> Arc<dyn Database> {
        self.store().await
    }
}
