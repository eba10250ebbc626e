//! The contract of every store on `PostgreSQL`, and what only `PostgreSQL` can get wrong. Each test has a schema of its own
//! on the server that `OMNI_SKILLS_TEST_POSTGRES` names; `cargo xtask test` starts one. Without it they are skipped.

mod address;
mod contract;
mod crash;
mod lost;
mod migrations;
mod processes;
mod proxy;
mod texts;
mod tls;

use std::sync::{Arc, Once};

use async_trait::async_trait;
use domain::ids;
use store::Database;
use store_sql::PostgresStore;
use testkit::store_contract::Place;
use tokio_postgres::{Client, NoTls};

const VARIABLE: &str = "OMNI_SKILLS_TEST_POSTGRES";

/// The server's address; none, and it is said once, when there is no server.
#[expect(clippy::print_stderr, reason = "nobody else would say that tests did nothing")]
fn server() -> Option<String> {
    static SAID: Once = Once::new();
    let server = std::env::var(VARIABLE).ok().filter(|url| !url.is_empty());
    if server.is_none() {
        SAID.call_once(|| {
            eprintln!("SKIPPED, like every test of the PostgreSQL store: {VARIABLE} is not set");
        });
    }
    server
}

/// An empty schema, gone with the test.
struct Schema {
    name: String,
    server: String,
}

impl Schema {
    /// None without a server.
    async fn new() -> Option<Self> {
        let server = server()?;
        let name = format!("test_{}", ids::new_id().replace('-', ""));
        connect(&server).await.batch_execute(&format!("CREATE SCHEMA {name}")).await.unwrap();
        Some(Self { name, server })
    }

    /// What a store is opened with. Its connections bear the name of the schema.
    fn url(&self) -> String {
        self.url_at(&self.server)
    }

    /// The same by way of another address.
    fn url_at(&self, server: &str) -> String {
        let separator = if server.contains('?') { '&' } else { '?' };
        format!("{server}{separator}application_name={0}&options=-c%20search_path%3D{0}", self.name)
    }

    /// A connection beside the store.
    async fn client(&self) -> Client {
        let client = connect(&self.url()).await;
        client.batch_execute("SET application_name = 'beside'").await.unwrap();
        client
    }

    async fn store(&self) -> Arc<PostgresStore> {
        PostgresStore::open(&self.url()).await.unwrap()
    }
}

async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// Runs to its end outside of the test's own threads, which cannot wait for themselves.
fn aside(work: impl Future<Output = ()> + Send + 'static) {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    std::thread::spawn(move || runtime().block_on(work)).join().unwrap();
}

impl Drop for Schema {
    fn drop(&mut self) {
        let (name, server) = (self.name.clone(), self.server.clone());
        aside(async move {
            // Others may be in it still; they have a moment to end.
            let sql = format!("SET lock_timeout = '10s'; DROP SCHEMA {name} CASCADE");
            connect(&server).await.batch_execute(&sql).await.unwrap();
        });
    }
}

#[async_trait]
impl Place for Schema {
    async fn open(&self) -> Arc<dyn Database> {
        self.store().await
    }
}
