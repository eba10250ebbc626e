//! Why a run was not started. Each variant is a decision of its own; nobody has to read the message.

use std::time::Duration;

use store::StoreError;

use crate::schema::Violation;

/// A wait in seconds, for callers: rounded up, 1 at least.
pub fn whole_seconds(wait: Duration) -> u64 {
    wait.as_secs().saturating_add(u64::from(wait.subsec_nanos() > 0)).max(1)
}

/// A run that was refused before its handler was called. `Display` is a sentence for the model or the person.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The master switch is off.
    #[error("Skills execution is disabled; an operator can switch it on in the settings")]
    SkillsDisabled,
    /// The gateway is stopping.
    #[error("the gateway is shutting down; try again later")]
    ShuttingDown,
    /// Disabled, or its mode is off.
    #[error(
        "the skill `{skill}` is switched off; it has to be enabled, with mode on or auto, before it can run"
    )]
    Inactive {
        /// `name@version`.
        skill: String,
    },
    /// A manual skill called by a model.
    #[error("the skill `{skill}` is manual: only a person can run it, tell the user")]
    PolicyViolation {
        /// `name@version`.
        skill: String,
    },
    /// A hybrid skill called by a model with effects outside itself.
    #[error(
        "this call of `{skill}` needs the approval of a person; do not repeat it, tell the user what you wanted to do"
    )]
    ApprovalRequired {
        /// `name@version`.
        skill: String,
    },
    /// A call that waits for a person.
    #[error(
        "this call of `{skill}` waits for the approval of a person (execution {execution}: approve or deny it with \
         `omni-skills executions approve {execution}` or over REST). It has not run. Do not repeat it now; tell the \
         user what you wanted to do. Once it is approved, the same call gives its result"
    )]
    ApprovalPending {
        /// `name@version`.
        skill: String,
        /// Id of the waiting execution.
        execution: String,
    },
    /// A call that a person did not want.
    #[error("a person denied this call of `{skill}`; do not repeat it, tell the user{}{reason}", if reason.is_empty() { "" } else { ". The reason: " })]
    Denied {
        /// `name@version`.
        skill: String,
        /// In the person's words; empty if none was given.
        reason: String,
    },
    /// An input that nobody can read before deciding.
    #[error("the input of this call of `{skill}` is too large to be put before a person; make it smaller")]
    TooLargeToApprove {
        /// `name@version`.
        skill: String,
    },
    /// Too many calls of this owner wait already.
    #[error(
        "too many calls of this API key wait for a person already; tell the user that they have to be decided about"
    )]
    TooManyWaiting,
    /// A decision about something that does not wait.
    #[error("this execution does not wait for a decision: {state}")]
    NotWaiting {
        /// Where it stands.
        state: &'static str,
    },
    /// A key that wanted to decide about its own call.
    #[error("a key cannot decide about its own calls; somebody else has to")]
    OwnCall,
    /// An `Idempotency-Key` that was used for something else.
    #[error("this Idempotency-Key was used for another skill or input; use a new one")]
    KeyReused,
    /// The run that this one repeats has not ended.
    #[error("the first run with this Idempotency-Key has not ended yet; ask again in {retry_after_s} s")]
    StillRunning {
        /// Seconds after which asking again makes sense.
        retry_after_s: u64,
    },
    /// The caller runs built-in skills only.
    #[error("the skill `{skill}` is not built in, and custom skills are switched off for this caller")]
    CustomDisabled {
        /// `name@version`.
        skill: String,
    },
    /// The input does not fit the skill's schema.
    #[error("the input does not fit the schema of the skill: {}", crate::schema::sentence(violations))]
    InvalidInput {
        /// What is wrong and where; never empty.
        violations: Vec<Violation>,
    },
    /// The schema of the skill itself cannot be used.
    #[error("the schema of the skill `{skill}` cannot be used: {message}")]
    InvalidSchema {
        /// `name@version`.
        skill: String,
        /// What is wrong with it.
        message: String,
    },
    /// The skill's handler is not in the table.
    #[error("the handler `{handler}` of the skill is not available here")]
    NoHandler {
        /// The name that was looked for.
        handler: String,
    },
    /// What the skill depends on has failed again and again.
    #[error(
        "the skill `{skill}` failed several times in a row and is not run for a moment; try again in {retry_after_s} s"
    )]
    Unavailable {
        /// `name@version`.
        skill: String,
        /// Seconds after which trying again makes sense.
        retry_after_s: u64,
    },
    /// Too many runs at once.
    #[error("too many skills run at the moment; try again in {retry_after_s} s")]
    Busy {
        /// Seconds after which trying again makes sense.
        retry_after_s: u64,
    },
    /// The run could not be recorded.
    #[error("the run could not be recorded: {0}")]
    Store(#[from] StoreError),
}

impl Refusal {
    /// Stable word for programs.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::SkillsDisabled => "skills_disabled",
            Self::ShuttingDown => "shutting_down",
            Self::Inactive { .. } => "skill_inactive",
            Self::PolicyViolation { .. } => "policy_violation",
            Self::ApprovalRequired { .. } => "approval_required",
            Self::ApprovalPending { .. } => "approval_pending",
            Self::Denied { .. } => "approval_denied",
            Self::TooLargeToApprove { .. } => "too_large_to_approve",
            Self::TooManyWaiting => "too_many_waiting",
            Self::NotWaiting { .. } => "not_waiting",
            Self::OwnCall => "own_call",
            Self::KeyReused => "idempotency_key_reused",
            Self::StillRunning { .. } => "execution_running",
            Self::CustomDisabled { .. } => "custom_skills_disabled",
            Self::InvalidInput { .. } => "invalid_input",
            Self::InvalidSchema { .. } => "invalid_schema",
            Self::NoHandler { .. } => "handler_missing",
            Self::Unavailable { .. } => "skill_unavailable",
            Self::Busy { .. } => "busy",
            Self::Store(_) => "store_failed",
        }
    }
}
