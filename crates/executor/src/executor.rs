//! The front: checks a call in a fixed order, then hands it to a lifecycle of its own.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use domain::{Execution, Status, ids};
use store::{Store, StoreError};
use tokio::sync::Mutex;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::bounds::{bound, bound_message};
use crate::breakers::Breakers;
use crate::cancel::Live;
use crate::config::ExecutorConfig;
use crate::events::{EventKind, Events};
use crate::handler::{Handler, HandlerTable};
use crate::lifecycle::{Entry, Job, pending};
use crate::once;
use crate::places::{Bounds, Places};
use crate::refusal::Refusal;
use crate::run::{Recorded, RefusedCall, Run};
use crate::schema::Validators;

/// Message of a row that a stop of the gateway ended.
pub const INTERRUPTED: &str = "interrupted";
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
    handlers: RwLock<HandlerTable>,
    pub(crate) validators: Validators,
    pub(crate) enabled: AtomicBool,
    pub(crate) default_timeout_ms: AtomicU64,
    pub(crate) default_max_retries: AtomicU32,
    /// Running and waiting runs.
    pub(crate) places: Places,
    pub(crate) breakers: Breakers,
    pub(crate) live: Live,
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
            default_max_retries: AtomicU32::new(config.max_retries),
            places: Places::new(bounds),
            breakers: Breakers::new(config.breaker_failures, config.breaker_pause),
            live: Live::default(),
            jobs: TaskTracker::new(),
            stop: CancellationToken::new(),
            validators: Validators::new(),
            events: Events::new(),
            asking: Mutex::new(()),
            config,
            store,
            handlers: RwLock::new(handlers),
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
        let job = Job::new(&self.shared, pending(&run), Entry::of(&run), ready, cancel, place);
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
        self.shared.events.publish(EventKind::Finished, &row);
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

    /// Sets how often a run is tried again where neither its skill nor its owner says otherwise; further runs see it.
    /// Never more than [`domain::limits::MAX_RETRIES`], and never a skill that may do harm by running twice.
    pub fn set_max_retries(&self, n: u32) {
        self.shared.default_max_retries.store(n, Ordering::Relaxed);
    }

    /// Adds a handler, which skills may name from now on; a later one of the same name replaces it.
    pub fn register_handler(&self, name: impl Into<String>, handler: impl Handler + 'static) {
        let mut handlers = self.shared.handlers.write().unwrap_or_else(PoisonError::into_inner);
        handlers.register(name, Arc::new(handler));
    }

    /// What `handlerCode` may name, as it is now.
    pub fn handlers(&self) -> HandlerTable {
        self.shared.handlers.read().unwrap_or_else(PoisonError::into_inner).clone()
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

impl Shared {
    pub(crate) fn handler(&self, name: &str) -> Option<Arc<dyn Handler>> {
        self.handlers.read().unwrap_or_else(PoisonError::into_inner).get(name)
    }
}
