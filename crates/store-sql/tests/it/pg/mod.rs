//! The contract of every store on `PostgreSQL`, and what only `PostgreSQL` can get wrong. Each test has a schema of its own;
//! without a server they are skipped, see [`testkit::postgres`].

mod address;
mod contract;
mod crash;
mod lost;
mod migrations;
mod moves;
mod processes;
mod proxy;
mod texts;
mod tls;

use std::sync::Arc;

use store_sql::PostgresStore;
use testkit::postgres::Schema;

async fn open(schema: &Schema) -> Arc<PostgresStore> {
    PostgresStore::open(&schema.url()).await.unwrap()
}
