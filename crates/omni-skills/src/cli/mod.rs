//! The command line. Exit codes: 0 ok, 1 failed, 2 usage.

mod serve;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

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
    /// Run sandboxed programs for a gateway; started by the gateway itself
    #[command(name = "wasm-worker", hide = true)]
    WasmWorker {
        /// Folder of the compiled runtimes
        runtimes: PathBuf,
    },
}

pub(crate) fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Serve(arguments) => match serve::serve(arguments) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                complain(&format!("error: {error:#}"));
                ExitCode::FAILURE
            }
        },
        Command::WasmWorker { runtimes } => sandbox::worker_main(&runtimes),
    }
}

/// For the person at the terminal. A reader who has gone is no reason to stop.
fn say(line: &str) {
    writeln!(std::io::stdout(), "{line}").ok();
}

fn complain(line: &str) {
    writeln!(std::io::stderr(), "{line}").ok();
}
