//! The command line. Exit codes: 0 ok, 1 failed, 2 usage, 3 no gateway answers.

mod config;
mod database;
mod doctor;
mod executions;
mod failure;
mod keys;
mod print;
mod remote;
mod serve;
mod settings;
mod skills;

use std::future::Future;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;

use crate::config::Environment;

#[derive(Parser)]
#[command(
    name = "omni-skills",
    version,
    about = "Server-side skills for any LLM application",
    after_help = "Exit codes: 0 ok, 1 failed, 2 usage, 3 no gateway answers."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Start the gateway
    Serve(serve::Arguments),
    /// Look at skills of a running gateway, change and run them
    Skills(skills::Arguments),
    /// Look at executions of a running gateway, and decide about calls that wait for a person
    Executions(executions::Arguments),
    /// Make, list and revoke API keys
    Keys(keys::Arguments),
    /// Look at settings that hold at once, and change them
    Settings(settings::Arguments),
    /// Check a configuration, look settings up, or let a running gateway read its configuration again
    Config(config::Arguments),
    /// Make a new management token
    Token(database::TokenArguments),
    /// Write a copy of the database to a file; a running gateway goes on
    Backup(database::OneFile),
    /// Put a backup in the place of the database; the gateway has to be stopped
    Restore(database::OneFile),
    /// Write everything as JSON lines, for another database, of another kind too
    Export(database::OneFile),
    /// Read an export into the database; what is there stays
    Import(database::OneFile),
    /// Say what a gateway needs on this machine and whether one answers
    Doctor(doctor::Arguments),
    /// Print a script that completes commands
    Completions {
        /// For this shell
        shell: Shell,
    },
    /// Run sandboxed programs for a gateway; started by the gateway itself
    #[command(name = "wasm-worker", hide = true)]
    WasmWorker {
        /// Folder of the compiled runtimes
        runtimes: PathBuf,
    },
}

pub(crate) fn main() -> ExitCode {
    let command = Cli::parse().command;
    let env = Environment::of_process();
    let done = match command {
        Command::Serve(arguments) => serve::serve(arguments, env),
        Command::Skills(arguments) => block_on(skills::run(arguments, &env)),
        Command::Executions(arguments) => block_on(executions::run(arguments, &env)),
        Command::Keys(arguments) => block_on(keys::run(arguments, &env)),
        Command::Settings(arguments) => block_on(settings::run(arguments, &env)),
        Command::Config(arguments) => block_on(config::run(arguments, &env)),
        Command::Token(arguments) => block_on(database::token(arguments, &env)),
        Command::Backup(arguments) => block_on(database::backup(arguments, &env)),
        Command::Restore(arguments) => block_on(database::restore(arguments, &env)),
        Command::Export(arguments) => block_on(database::export(arguments, &env)),
        Command::Import(arguments) => block_on(database::import(arguments, &env)),
        Command::Doctor(arguments) => block_on(doctor::run(arguments, &env)),
        Command::Completions { shell } => {
            clap_complete::generate(shell, &mut Cli::command(), "omni-skills", &mut std::io::stdout());
            Ok(())
        }
        Command::WasmWorker { runtimes } => return sandbox::worker_main(&runtimes),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&format!("error: {error:#}"));
            failure::code(&error)
        }
    }
}

/// For commands that do one thing.
fn block_on(work: impl Future<Output = Result<()>>) -> Result<()> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work)
}

/// One TLS provider for the whole process; a second call changes nothing.
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
