//! The wasm engine with the real runtimes, through real worker processes.

mod isolation;
mod limits;
mod programs;
mod support;
mod trust;
mod unsupported;
mod workers;
