//! The contract of every store, on `PostgreSQL`.

use std::sync::Arc;

use async_trait::async_trait;
use store::Database;
use testkit::postgres::Schema;
use testkit::store_contract::Place;

struct Server(Schema);

#[async_trait]
impl Place for Server {
    async fn open(&self) -> Arc<dyn Database> {
        super::open(&self.0).await
    }
}

pub(super) async fn fresh() -> Option<Box<dyn Place>> {
    Some(Box::new(Server(Schema::new().await?)))
}

testkit::store_contract!(crate::pg::contract::fresh);
