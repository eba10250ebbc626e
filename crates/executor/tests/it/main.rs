//! The executor against a store in memory that keeps every write, so that whole lives can be looked at.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panic, as tests do")]

mod approvals;
mod cancel;
mod fake_store;
mod fixture;
mod lifecycle;
mod load;
mod once;
mod refusals;
mod retries;
mod schema_cost;
mod schemas;
mod shutdown;
