//! Fakes and checks that tests of all crates share. Only ever a dev-dependency; never part of the product.

pub mod fake_upstream;
pub mod gateway;
pub mod held;
pub mod postgres;
pub mod script;
pub mod sse_lint;
pub mod store_contract;
