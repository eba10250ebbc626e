//! The REST surface over a real store, called through the router without a socket; the listener over one.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests fail by panic, as tests do"
)]

mod access;
mod breaker;
mod conformance;
mod credentials;
mod docs;
mod executions;
mod fuzz;
mod generated;
mod harness;
mod http;
mod install;
mod key_settings;
mod keys;
mod listener;
mod nonsense;
mod openapi;
mod other_paths;
mod parts;
mod records;
mod reference;
mod semver;
mod settings;
mod skills;
mod upkeep;
