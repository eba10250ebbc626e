//! The front: checks a call in a fixed order, then hands it to a lifecycle of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use domain::{Door, Execution, Policy, Status, ids};
use serde_json::{Map, Value};
use store::{ExecutionFilter, Page, PageRequest, Store, StoreError};
use tokio::sync::Mutex;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::bounds::{bound, bound_message};
use crate::config::ExecutorConfig;
use crate::events::Events;
use crate::handler::{Handler, HandlerTable};
use crate::lifecycle::{Entry, Job, pending};
use crate::once;
use crate::places::{Bounds, Place, Places};
use crate::refusal::Refusal;
use crate::run::{Recorded, RefusedCall, Run};
use crate::schema::{Validators, Violation};
use crate::schema_check::Compiled;

/// Message of a row that a stop of the gateway ended.
pub(crate) const INTERRUPTED: &str = "interrupted";
/// How long a shutdown waits for rows of cancelled runs to be written.
const LAST_WRITES: Duration = Duration::from_secs(5);

/// Runs skills. Cheap to clone; all clones are one executor.
#[derive(Clone)]
pub struct Executor {
    pub(crate) shared: Arc<Shared>,
}

/// What the front and every running job have in common.
pub(crate) struct Shared {
    pub(crate) config: ExecutorConfig,
    pub(crate) store: Arc<dyn Store>,
    handlers: HandlerTable,
    validators: Validators,
    enabled: AtomicBool,
    default_timeout_ms: AtomicU64,
    /// Running and waiting runs.
    places: Places,
    pub(crate) jobs: TaskTracker,
    /// Cancelled when the time for draining is over.
    pub(crate) stop: CancellationToken,
    pub(crate) events: Events,
    /// Held while it is found out whether a call waits for a person already.
    pub(crate) asking: Mutex<()>,
}

impl Executor {
    /// An executor over these handlers.
    pub fn new(config: ExecutorConfig, store: Arc<dyn Store>, handlers: HandlerTable) -> Self {
        let bounds = Bounds {
            slots: config.global_concurrency,
            queue: config.queue,
            owner_queue: config.queue_per_owner.unwrap_or(config.queue.div_ceil(2)),
        };
        let shared = Shared {
            enabled: AtomicBool::new(config.enabled),
            default_timeout_ms: AtomicU64::new(config.default_timeout_ms),
            places: Places::new(bounds),
            jobs: TaskTracker::new(),
            stop: CancellationToken::new(),
            validators: Validators::new(),
            events: Events::new(),
            asking: Mutex::new(()),
            config,
            store,
            handlers,
        };
        Self { shared: Arc::new(shared) }
    }

    /// Runs one call and returns its terminal row, whatever its status. A refused call leaves no row.
    ///
    /// The returned row holds input and output whole; what is stored is bounded. Dropping the future cancels the
    /// run, and the row is still finished.
    pub async fn execute(&self, run: Run) -> Result<Execution, Refusal> {
        // Taken before the question, so that a shutdown either refuses this run or waits for it.
        let held = self.shared.jobs.token();
        // What was done already needs no permission and is not done again, whatever has changed since.
        if let Some((claim, taken)) = once::earlier(&self.shared, &run).await? {
            return once::outcome(&self.shared, &claim, taken, self.shared.timeout(&run), &run.cancel).await;
        }
        let ready = self.shared.admit(&run)?;
        let place = self.shared.place(&run)?;
        let cancel = run.cancel.child_token();
        let gone = (!run.outlives_caller).then(|| cancel.clone().drop_guard());
        let shared = Arc::clone(&self.shared);
        let job = Job { shared, row: pending(&run), entry: Entry::of(&run), ready, cancel, place };
        let task = self.shared.jobs.spawn(job.run());
        drop(held);
        let ended = task.await;
        gone.map(DropGuard::disarm);
        ended.unwrap_or_else(|error| {
            tracing::error!(%error, "the task of an execution ended unexpectedly");
            Err(Refusal::Store(StoreError::Closed))
        })
    }

    /// As [`Executor::execute`], but for the loop, where every call of the model gets a result: a refused call leaves
    /// an `error` row too, and one that needs a person is put before one. The only refusal returned as an error is
    /// [`Refusal::Store`].
    pub async fn execute_recorded(&self, run: Run) -> Result<Recorded, Refusal> {
        let call = run.clone();
        let ended = match self.run_or_ask(run).await {
            Err(Refusal::ApprovalRequired { .. }) => self.ask(call.clone(), None).await,
            ended => ended,
        };
        match ended {
            Ok(recorded) => Ok(recorded),
            Err(Refusal::Store(error)) => Err(Refusal::Store(error)),
            Err(refusal) => {
                let execution = self.record_refusal(RefusedCall::of(&call, &refusal)).await?;
                Ok(Recorded { execution, refusal: Some(refusal), waited: Duration::ZERO })
            }
        }
    }

    /// A repeat of a call that was put before a person goes on with that question.
    async fn run_or_ask(&self, run: Run) -> Result<Recorded, Refusal> {
        if let Some((_, taken)) = once::earlier(&self.shared, &run).await? {
            let row = self.shared.store.execution(&taken.execution_id).await?;
            if row.is_some_and(|row| row.approval.is_some()) {
                return self.ask(run, Some(taken.execution_id)).await;
            }
        }
        let execution = self.execute(run).await?;
        Ok(Recorded { execution, refusal: None, waited: Duration::ZERO })
    }

    /// Writes the `error` row of a call that was not run.
    pub async fn record_refusal(&self, call: RefusedCall) -> Result<Execution, StoreError> {
        let row = Execution {
            id: ids::new_id(),
            skill_id: call.skill_id,
            skill_name: call.skill_name,
            version: call.version,
            api_key_id: call.api_key_id,
            user: call.user,
            session_id: call.session_id,
            turn_id: call.turn_id,
            door: call.door,
            status: Status::Error,
            input: bound(&call.input, self.shared.config.history_bytes),
            output: None,
            parts: Vec::new(),
            error_message: Some(bound_message(&call.message)),
            duration_ms: Some(0),
            attempts: 0,
            engine: None,
            isolation: None,
            approval: None,
            created_at: crate::run::now(),
        };
        self.shared.store.create_execution(&row).await?;
        Ok(row)
    }

    /// The master switch: `false` refuses every further run. Runs under way go on.
    pub fn set_enabled(&self, enabled: bool) {
        self.shared.enabled.store(enabled, Ordering::Relaxed);
    }

    /// Whether the master switch is on.
    pub fn is_enabled(&self) -> bool {
        self.shared.enabled.load(Ordering::Relaxed)
    }

    /// Sets the default time of a run, in milliseconds; further runs see it. The maximum still holds.
    pub fn set_timeout(&self, ms: u64) {
        self.shared.default_timeout_ms.store(ms, Ordering::Relaxed);
    }

    /// What `handlerCode` may name.
    pub fn handlers(&self) -> &HandlerTable {
        &self.shared.handlers
    }

    /// One row.
    pub async fn get_execution(&self, id: &str) -> Result<Option<Execution>, StoreError> {
        self.shared.store.execution(id).await
    }

    /// One page, newest first.
    pub async fn list_executions(
        &self,
        filter: &ExecutionFilter,
        page: PageRequest,
    ) -> Result<Page<Execution>, StoreError> {
        self.shared.store.executions(filter, page).await
    }

    /// How many rows there are.
    pub async fn count_executions(&self, filter: &ExecutionFilter) -> Result<u64, StoreError> {
        Ok(self.shared.store.executions(filter, PageRequest { page: 1, limit: 1 }).await?.total)
    }

    /// For the start: rows that a dead process left behind become `error` "interrupted". Returns how many.
    pub async fn interrupt_stale(&self) -> Result<u64, StoreError> {
        self.shared.store.interrupt_executions(INTERRUPTED).await
    }

    /// Accepts nothing more, waits up to `grace` for what runs, then ends the rest as `error` "interrupted".
    pub async fn shutdown(&self, grace: Duration) {
        self.shared.jobs.close();
        if tokio::time::timeout(grace, self.shared.jobs.wait()).await.is_err() {
            self.shared.stop.cancel();
            if tokio::time::timeout(LAST_WRITES, self.shared.jobs.wait()).await.is_err() {
                tracing::error!("executions did not end in time; the next start marks their rows");
            }
        }
    }
}

/// A call that may run.
pub(crate) struct Ready {
    pub(crate) handler: Arc<dyn Handler>,
    pub(crate) input: Map<String, Value>,
    pub(crate) output: Option<Arc<Compiled>>,
    pub(crate) timeout: Duration,
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
            .handlers
            .get(&run.skill.handler)
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
        Ok(Ready { handler, input, output, timeout: self.timeout(run) })
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
