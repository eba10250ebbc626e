//! Failures that a program which calls this one can tell apart by the exit code.

use std::process::ExitCode;

/// Why a command ended early, where that has an exit code of its own.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    /// No gateway answered.
    #[error("no gateway answers at {address}; is it running? Give its address with --url or OMNI_SKILLS_URL")]
    Unreachable {
        /// Where it was asked.
        address: String,
        /// Why.
        #[source]
        source: reqwest::Error,
    },
    /// The command line makes no sense.
    #[error("{0}")]
    Usage(String),
}

/// 0 ok, 1 failed, 2 usage, 3 not reachable.
pub(super) fn code(error: &anyhow::Error) -> ExitCode {
    match error.downcast_ref::<Failure>() {
        Some(Failure::Unreachable { .. }) => ExitCode::from(3),
        Some(Failure::Usage(_)) => ExitCode::from(2),
        None => ExitCode::FAILURE,
    }
}
