//! The command line. Exit codes: 0 ok, 1 failed, 2 usage.

mod config;
mod executions;
mod remote;
mod serve;

use std::future::Future;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::config::Environment;

#[derive(Parser)]
#[command(name = "omni-skills", version, about = "Server-side skills for any LLM application")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Start the gateway
    Serve(serve::Arguments),
    /// Check a configuration, or look settings up
    Config(config::Arguments),
    /// Look at executions of a running gateway, and decide about calls that wait for a person
    Executions(executions::Arguments),
    /// Run sandboxed programs for a gateway; started by the gateway itself
    #[command(name = "wasm-worker", hide = true)]
    WasmWorker {
        /// Folder of the compiled runtimes
        runtimes: PathBuf,
    },
}

pub(crate) fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Serve(arguments) => serve::serve(arguments),
        Command::Config(arguments) => config::run(arguments, &Environment::of_process()),
        Command::Executions(arguments) => block_on(executions::run(arguments, &Environment::of_process())),
        Command::WasmWorker { runtimes } => return sandbox::worker_main(&runtimes),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// For commands that only ask a gateway.
fn block_on(work: impl Future<Output = Result<()>>) -> Result<()> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work)
}

/// One TLS provider for the whole process; a second call would fail, and there is none.
fn install_tls() {
    if rustls::crypto::ring::default_provider().install_default().is_err() {
        tracing::debug!("a TLS provider is installed already");
    }
}

/// For the person at the terminal. A reader who has gone is no reason to stop.
fn say(line: &str) {
    writeln!(std::io::stdout(), "{line}").ok();
}

fn complain(line: &str) {
    writeln!(std::io::stderr(), "{line}").ok();
}
