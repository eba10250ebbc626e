//! The contract of every store, on `PostgreSQL`.

use testkit::store_contract::Place;

async fn fresh() -> Option<Box<dyn Place>> {
    Some(Box::new(super::Schema::new().await?))
}

testkit::store_contract!(crate::pg::contract::fresh);
