//! How a program ended, what an engine can do, and why an engine failed. Plain data.

use serde::{Deserialize, Serialize};

/// Why a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// It came to its end with exit code 0.
    Ok,
    /// It came to its end with another exit code.
    Nonzero,
    /// It reached the time limit.
    Timeout,
    /// It failed because it was refused more memory.
    Oom,
    /// It printed a multiple of the output limit.
    OutputLimit,
    /// It failed because it needs something that this engine does not have.
    Unsupported,
    /// Its interpreter crashed.
    EngineError,
}

impl Reason {
    /// The reason as it is stored and sent, for example `output_limit`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Nonzero => "nonzero",
            Self::Timeout => "timeout",
            Self::Oom => "oom",
            Self::OutputLimit => "output_limit",
            Self::Unsupported => "unsupported",
            Self::EngineError => "engine_error",
        }
    }
}

/// The result of one run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// Exit code; `None` when the program was stopped.
    pub exit_code: Option<i32>,
    /// Name of the signal that ended it, where the engine has signals.
    pub signal: Option<String>,
    /// Why it ended.
    pub reason: Reason,
    /// Standard output, cut at the limit between two characters; invalid UTF-8 shows as U+FFFD.
    pub stdout: String,
    /// Standard error, treated in the same way.
    pub stderr: String,
    /// Whether any output was cut.
    pub truncated: bool,
    /// What the caller can do about it, in one or two sentences.
    pub hint: Option<String>,
    /// Milliseconds that the program ran, rounded down.
    pub duration_ms: u64,
    /// Name of the engine that ran it.
    pub engine: &'static str,
    /// What the program was isolated by, for people.
    pub isolation: String,
}

/// What an engine can do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Probe {
    /// Whether it can run programs now.
    pub available: bool,
    /// What programs are isolated by, for people.
    pub isolation: String,
    /// Which limits hold, for people.
    pub limits: String,
    /// Languages it runs, in lowercase.
    pub languages: Vec<String>,
    /// Why it is not available.
    pub reason: Option<String>,
}

/// Why an engine did not run a program to a result.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The engine cannot run anything until somebody repairs its installation.
    #[error("the {engine} engine is not available: {reason}")]
    Unavailable {
        /// Name of the engine.
        engine: &'static str,
        /// What is wrong and what to do.
        reason: String,
    },
    /// The run was ended by [`kill_all`](crate::Engine::kill_all).
    #[error("the program was stopped because its engine was told to stop")]
    Cancelled,
    /// This run failed inside the engine; the next one may work.
    #[error("the {engine} engine failed: {reason}")]
    Engine {
        /// Name of the engine.
        engine: &'static str,
        /// What happened.
        reason: String,
    },
}

#[cfg(test)]
mod tests {
    use super::Reason;

    #[test]
    fn reasons_are_serialised_as_they_are_named() {
        use Reason::{EngineError, Nonzero, Ok, Oom, OutputLimit, Timeout, Unsupported};
        for reason in [Ok, Nonzero, Timeout, Oom, OutputLimit, Unsupported, EngineError] {
            let json = serde_json::to_value(reason).unwrap();
            assert_eq!(json, reason.as_str());
        }
    }
}
