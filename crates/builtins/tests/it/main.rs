//! The built-ins as the executor sees them: handlers by name, against real folders and a puppet engine.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests fail by panic, as tests do"
)]

mod eval_code;
mod files;
mod fixture;
mod list;
mod paths;
mod places;
mod quota;
mod races;
