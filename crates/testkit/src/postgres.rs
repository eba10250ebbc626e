//! Schemas on a `PostgreSQL` server for tests, one for each test. `OMNI_SKILLS_TEST_POSTGRES` names the server;
//! `cargo xtask test` starts one. Without it there are none, and tests skip themselves.
#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a test without its schema has nothing to report but this"
)]

use std::sync::Once;

use domain::ids;
use tokio_postgres::{Client, NoTls};

/// Names the server.
const VARIABLE: &str = "OMNI_SKILLS_TEST_POSTGRES";

/// An empty schema, gone with the test.
#[derive(Debug)]
pub struct Schema {
    /// Its name.
    pub name: String,
    /// The address of its database.
    pub server: String,
}

impl Schema {
    /// None without a server, which is said once.
    #[expect(clippy::print_stderr, reason = "nobody else would say that tests did nothing")]
    pub async fn new() -> Option<Self> {
        static SAID: Once = Once::new();
        let Some(server) = std::env::var(VARIABLE).ok().filter(|url| !url.is_empty()) else {
            SAID.call_once(|| eprintln!("SKIPPED, like every test on PostgreSQL: {VARIABLE} is not set"));
            return None;
        };
        let name = format!("test_{}", ids::new_id().replace('-', ""));
        let create = format!("CREATE SCHEMA {name}");
        connect(&server).await.batch_execute(&create).await.expect("the schema is created");
        Some(Self { name, server })
    }

    /// What a store is opened with. Its connections bear the name of the schema.
    pub fn url(&self) -> String {
        self.url_at(&self.server)
    }

    /// The same by way of another address.
    pub fn url_at(&self, server: &str) -> String {
        let separator = if server.contains('?') { '&' } else { '?' };
        format!("{server}{separator}application_name={0}&options=-c%20search_path%3D{0}", self.name)
    }

    /// A connection beside the store, of another name.
    pub async fn client(&self) -> Client {
        let client = connect(&self.url()).await;
        client.batch_execute("SET application_name = 'beside'").await.expect("the connection works");
        client
    }
}

async fn connect(url: &str) -> Client {
    let (client, connection) = match tokio_postgres::connect(url, NoTls).await {
        Ok(connected) => connected,
        Err(error) => panic!("the server that {VARIABLE} names cannot be reached: {error:?}"),
    };
    tokio::spawn(connection);
    client
}

impl Drop for Schema {
    fn drop(&mut self) {
        // Others may be in it still; they have a moment to end.
        let drop = format!("SET lock_timeout = '10s'; DROP SCHEMA {} CASCADE", self.name);
        let server = self.server.clone();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let work = async move { connect(&server).await.batch_execute(&drop).await };
        // The test's own threads cannot wait for themselves.
        let dropped = std::thread::spawn(move || runtime.expect("a runtime").block_on(work)).join();
        assert!(
            matches!(dropped, Ok(Ok(()))) || std::thread::panicking(),
            "the schema is not gone: {dropped:?}"
        );
    }
}
