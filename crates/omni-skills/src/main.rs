//! The program `omni-skills`: command line, configuration, and the wiring of the crates. No rule lives here.

mod access;
mod cli;
mod config;
mod database;
mod reload;
mod tls;
mod wire;

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    cli::main()
}
