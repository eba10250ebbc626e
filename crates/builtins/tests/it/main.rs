//! The built-ins as the executor sees them: handlers by name, against real folders and a puppet engine.

mod eval_code;
mod files;
mod fixture;
mod list;
mod paths;
mod places;
mod quota;
mod races;
