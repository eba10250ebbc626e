//! Why a run was not started. Each variant is a decision of its own; nobody has to read the message.

use store::StoreError;

use crate::schema::Violation;

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
            Self::CustomDisabled { .. } => "custom_skills_disabled",
            Self::InvalidInput { .. } => "invalid_input",
            Self::InvalidSchema { .. } => "invalid_schema",
            Self::NoHandler { .. } => "handler_missing",
            Self::Busy { .. } => "busy",
            Self::Store(_) => "store_failed",
        }
    }
}
