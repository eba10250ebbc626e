//! The REST API: one file per resource. Handlers read a request, ask the crates below, and write JSON.
//!
//! No rule about skills, runs or keys is decided here, and who may call what stands in the route list.

pub(crate) mod artifacts;
pub(crate) mod audit;
pub(crate) mod config;
pub(crate) mod docs;
pub(crate) mod executions;
pub(crate) mod health;
mod key_settings;
pub(crate) mod keys;
pub(crate) mod openapi;
pub(crate) mod sets;
pub(crate) mod settings;
pub(crate) mod skills;
pub(crate) mod tokens;
pub(crate) mod turns;
pub(crate) mod upstreams;

mod page;
mod plain;
mod time;

/// Now, RFC 3339 UTC with milliseconds: of one length, so that text order is time order.
pub(crate) fn now() -> String {
    rfc3339(jiff::Timestamp::now())
}

/// A time as it is stored and compared.
pub(crate) fn rfc3339(time: jiff::Timestamp) -> String {
    format!("{time:.3}")
}
