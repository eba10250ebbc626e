//! Runs untrusted code. One file or folder per engine, all behind the trait [`Engine`].
//!
//! An engine takes one program with its input and limits and gives back what it printed and how it ended. A program
//! that fails, runs too long or eats too much is an [`Outcome`], not an error; [`SandboxError`] means that the engine
//! itself could not do its work. Nothing here ever runs a program weaker than asked, or on the bare host.

mod outcome;
mod runtimes;
mod spec;
mod wasm;

pub use outcome::{Outcome, Probe, Reason, SandboxError};
pub use runtimes::{Runtimes, find_runtimes};
pub use spec::{Language, Limits, MAX_OUTPUT_CHARS, MAX_PROGRAM_BYTES, Spec};
pub use wasm::{WasmConfig, WasmEngine, worker_main};

/// Something that runs programs under one kind of isolation.
#[async_trait::async_trait]
pub trait Engine: Send + Sync {
    /// The engine's name as callers write it.
    fn name(&self) -> &'static str;

    /// What this engine can do here and now, and if nothing, why.
    fn probe(&self) -> Probe;

    /// Runs one program to its end or its limit. Dropping the future ends the program for real.
    ///
    /// # Errors
    /// See [`SandboxError`]; never for something the program did.
    async fn run(&self, spec: Spec) -> Result<Outcome, SandboxError>;

    /// Ends every program of this engine; their callers get [`SandboxError::Cancelled`]. Returns when all are gone.
    async fn kill_all(&self);
}
