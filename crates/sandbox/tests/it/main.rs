//! The wasm engine with the real runtimes, through real worker processes.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "these are helpers of tests")]

mod isolation;
mod limits;
mod programs;
mod support;
mod trust;
mod unsupported;
mod workers;
