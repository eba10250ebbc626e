//! The built program from outside: a strict fake upstream behind it, a linter on every stream.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests may stop at the first surprise"
)]

mod approvals;
mod budgets;
mod cli;
mod client;
mod config;
mod conversations;
mod faults;
mod gemini;
mod idempotency;
mod kept;
mod matrix;
mod program;
mod response_ids;
mod responses;
mod robustness;
mod schemas;
mod spliced;
mod sticky;
mod ten_turns;
mod threads;
mod tls;
mod turns;
mod two_processes;
mod upstreams;
