//! What goes into the executor: a run, or a call that never became one.

use std::sync::Arc;
use std::time::Duration;

use domain::{Door, Execution, KeySettings, Policy, Skill, Version};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::refusal::Refusal;

/// One call of a skill, resolved by the caller from the registry's current snapshot.
#[derive(Clone, Debug)]
pub struct Run {
    /// The skill as it stands now: whether it is active is asked at execution time.
    pub skill: Arc<Skill>,
    /// Normalised input schema.
    pub input_schema: Arc<Value>,
    /// Normalised output schema; absent or empty = not checked.
    pub output_schema: Option<Arc<Value>>,
    /// The input; anything but an object is refused as invalid.
    pub input: Value,
    /// Owner of the run: an API key id, or `anonymous` or `management`.
    pub api_key_id: String,
    /// The end user, when known.
    pub user: Option<String>,
    /// The conversation, when known.
    pub session_id: Option<String>,
    /// The turn, when a model called.
    pub turn_id: Option<String>,
    /// The way it came in.
    pub door: Door,
    /// The policy in force for this caller; the skill's own unless an operator said otherwise.
    pub policy: Policy,
    /// How long the run may wait for a person's word, where it needs one and somebody is there.
    pub approval_wait: Duration,
    /// Names this run, for requests that may be repeated: the first run of the name runs, every other gets what came
    /// of it. Lower-case hex sha256 over owner, `Idempotency-Key` and place.
    pub once: Option<String>,
    /// Milliseconds the caller gives it; the executor's maximum still holds.
    pub timeout_ms: Option<u64>,
    /// Ends the run as `error` "cancelled". Dropping the future of `execute` does the same, unless
    /// `outlives_caller`.
    pub cancel: CancellationToken,
    /// Whether the run goes on when nobody waits for it any more.
    pub outlives_caller: bool,
    /// Whether the caller may run skills that are not built in.
    pub custom_allowed: bool,
    /// What an operator set for the owner.
    pub limits: OwnerLimits,
}

/// What an operator set for the runs of one owner; absent fields are as for everybody.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnerLimits {
    /// Runs at the same time, at least 1; further ones wait. Never more than the executor has for all.
    pub concurrency: Option<u32>,
    /// Milliseconds a run gets where neither its skill nor its caller says otherwise.
    pub timeout_ms: Option<u64>,
    /// Retries of a run where its skill does not say otherwise.
    pub max_retries: Option<u32>,
}

impl From<&KeySettings> for OwnerLimits {
    fn from(settings: &KeySettings) -> Self {
        Self {
            concurrency: settings.limits.concurrency,
            timeout_ms: settings.skills.timeout_ms,
            max_retries: settings.skills.max_retries,
        }
    }
}

/// A model's call that was not run, for the history: an unknown skill, malformed arguments, a refused run.
#[derive(Clone, Debug)]
pub struct RefusedCall {
    /// Empty when there is no such skill.
    pub skill_id: String,
    /// The name as it was asked for.
    pub skill_name: String,
    /// `0.0.0` when there is no such skill.
    pub version: Version,
    /// The input, or the raw text of what could not be read as one (see [`RefusedCall::raw_input`]).
    pub input: Value,
    /// Owner of the call: an API key id, or `anonymous` or `management`.
    pub api_key_id: String,
    /// The end user, when known.
    pub user: Option<String>,
    /// The conversation, when known.
    pub session_id: Option<String>,
    /// The turn, when known.
    pub turn_id: Option<String>,
    /// The way it came in.
    pub door: Door,
    /// What the model is told.
    pub message: String,
}

impl RefusedCall {
    /// How arguments that are not JSON are kept: `{"raw": "..."}`.
    pub fn raw_input(arguments: &str) -> Value {
        json!({ "raw": arguments })
    }

    /// The call behind a run that was refused.
    pub fn of(run: &Run, refusal: &Refusal) -> Self {
        Self {
            skill_id: run.skill.id.clone(),
            skill_name: run.skill.name.clone(),
            version: run.skill.version,
            input: run.input.clone(),
            api_key_id: run.api_key_id.clone(),
            user: run.user.clone(),
            session_id: run.session_id.clone(),
            turn_id: run.turn_id.clone(),
            door: run.door,
            message: refusal.to_string(),
        }
    }
}

/// What [`crate::Executor::execute_recorded`] gives: always a row, and the refusal when it is the row of one.
#[derive(Debug)]
pub struct Recorded {
    /// The row.
    pub execution: Execution,
    /// Why it did not run, if it did not.
    pub refusal: Option<Refusal>,
    /// Time that was spent waiting for a person.
    pub waited: Duration,
}

/// Now, RFC 3339 UTC with milliseconds: of one length, so that text order is time order.
pub(crate) fn now() -> String {
    format!("{:.3}", jiff::Timestamp::now())
}
