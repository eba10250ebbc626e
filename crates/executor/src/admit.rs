//! The questions before a run: may it begin, with what, and is there a place for it. Runs nothing and writes nothing.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use domain::{Door, Policy};
use serde_json::{Map, Value};

use crate::attempt::retries;
use crate::breaker::Leave;
use crate::executor::Shared;
use crate::handler::Handler;
use crate::places::Place;
use crate::refusal::{Refusal, whole_seconds};
use crate::run::Run;
use crate::schema::Violation;
use crate::schema_check::Compiled;

/// A call that may run.
pub(crate) struct Ready {
    pub(crate) handler: Arc<dyn Handler>,
    pub(crate) input: Map<String, Value>,
    pub(crate) output: Option<Arc<Compiled>>,
    pub(crate) timeout: Duration,
    /// Further runs of the handler at most.
    pub(crate) retries: u32,
    pub(crate) leave: Leave,
}

impl Shared {
    /// A place among the running and waiting runs of the run's owner.
    pub(crate) fn place(&self, run: &Run) -> Result<Place, Refusal> {
        let at_once = run.limits.concurrency.map(|most| usize::try_from(most).unwrap_or(usize::MAX));
        let at_once = at_once.or(self.config.concurrency_per_owner);
        let at_once = at_once.unwrap_or(self.config.global_concurrency / 2);
        let place = self.places.enter(&run.api_key_id, at_once);
        place.map_err(|retry_after_s| Refusal::Busy { retry_after_s })
    }

    /// Every question before a run, in the order in which the answers matter to the caller.
    pub(crate) fn admit(&self, run: &Run) -> Result<Ready, Refusal> {
        let skill = || run.skill.identity();
        if self.jobs.is_closed() {
            return Err(Refusal::ShuttingDown);
        }
        if !self.enabled.load(Ordering::Relaxed) {
            return Err(Refusal::SkillsDisabled);
        }
        if !run.skill.is_active() {
            return Err(Refusal::Inactive { skill: skill() });
        }
        if !run.custom_allowed && !run.skill.is_builtin() {
            return Err(Refusal::CustomDisabled { skill: skill() });
        }
        if run.door == Door::Loop && run.policy == Policy::Manual {
            return Err(Refusal::PolicyViolation { skill: skill() });
        }
        let handler = self
            .handler(&run.skill.handler)
            .ok_or_else(|| Refusal::NoHandler { handler: run.skill.handler.clone() })?;
        let input = self.valid_input(run, handler.as_ref())?;
        // A person's own act (REST) asks nobody; a model's call does, unless it touches nothing.
        let goes_ahead = |input| !self.config.ask_effect_free && handler.effect_free(input);
        if run.door == Door::Loop && run.policy == Policy::Hybrid && !goes_ahead(&input) {
            return Err(Refusal::ApprovalRequired { skill: skill() });
        }
        let output = match run.output_schema.as_deref() {
            Some(schema) if !is_empty(schema) => Some(self.validator(run, "output", schema)?),
            _ => None,
        };
        let retries = retries(run, self.default_max_retries.load(Ordering::Relaxed));
        let dependency = handler.dependency(&input).unwrap_or_default();
        let leave = self.breakers.enter(&run.api_key_id, &run.skill.id, &dependency);
        let leave = leave
            .map_err(|left| Refusal::Unavailable { skill: skill(), retry_after_s: whole_seconds(left) })?;
        Ok(Ready { handler, input, output, timeout: self.timeout(run), retries, leave })
    }

    fn valid_input(&self, run: &Run, handler: &dyn Handler) -> Result<Map<String, Value>, Refusal> {
        let violations = match &run.input {
            Value::Object(input) => {
                let input = Value::Object(handler.prepare(input.clone()));
                let wrong = self.validator(run, "input", &run.input_schema)?.violations(&input);
                match input {
                    Value::Object(input) if wrong.is_empty() => return Ok(input),
                    _ => wrong,
                }
            }
            _ => vec![Violation { pointer: String::new(), message: "has to be a JSON object".to_owned() }],
        };
        Err(Refusal::InvalidInput { violations })
    }

    fn validator(&self, run: &Run, side: &str, schema: &Value) -> Result<Arc<Compiled>, Refusal> {
        self.validators
            .get(&run.skill, side, schema)
            .map_err(|error| Refusal::InvalidSchema { skill: run.skill.identity(), message: error.message })
    }

    pub(crate) fn timeout(&self, run: &Run) -> Duration {
        let ms = run
            .timeout_ms
            .or(run.skill.timeout_ms)
            .or(run.limits.timeout_ms)
            .unwrap_or_else(|| self.default_timeout_ms.load(Ordering::Relaxed));
        Duration::from_millis(ms.min(self.config.max_timeout_ms).max(1))
    }
}

/// `{}`, `true` or nothing at all: a schema that says nothing.
fn is_empty(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => members.is_empty(),
        Value::Null | Value::Bool(true) => true,
        _ => false,
    }
}
