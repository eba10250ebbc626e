//! The messages between gateway and worker. One request at a time, one answer to each; a run is
//! announced before it is answered.

use serde::{Deserialize, Serialize};

use crate::{Language, Reason};

/// Gateway to worker.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Request {
    /// Load the runtime of a language, so that a run does not have to.
    Load(Language),
    /// Run a program; its runtime was loaded before.
    Run(Job),
}

/// One program to run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    pub language: Language,
    pub code: String,
    pub stdin: String,
    pub memory_bytes: u64,
    pub timeout_ms: u64,
    pub output_chars: usize,
}

/// Worker to gateway.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Response {
    /// The runtime is loaded.
    Loaded,
    /// The runtime cannot be loaded, and why.
    LoadFailed(String),
    /// The program is about to start: before this, nothing of it has run.
    Started,
    /// The program ended.
    Done(Done),
}

/// How a program ended.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Done {
    pub reason: Reason,
    pub exit_code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    pub truncated: bool,
    /// What the program asked for that the engine does not have.
    pub missing: Option<String>,
    pub duration_ms: u64,
    /// The worker ends itself after this answer.
    pub last: bool,
}
