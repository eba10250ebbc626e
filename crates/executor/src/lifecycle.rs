//! One run from its `pending` row to its terminal one. Lives in a task of its own, so that a caller that goes
//! away never leaves a row behind; the handler lives in another, so that its panic is only an `error`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use domain::{Execution, Part, Status, ids};
use serde_json::Value;
use store::{Claim, ExecutionOutcome, StoreError};
use tokio::task::JoinError;
use tokio_util::sync::CancellationToken;

use crate::bounds::{bound, bound_message, bound_parts};
use crate::events::EventKind;
use crate::executor::{INTERRUPTED, Ready, Shared};
use crate::handler::{HandlerError, Output, RunContext, Sandboxed};
use crate::once;
use crate::places::Place;
use crate::refusal::Refusal;
use crate::run::{Run, now};
use crate::schema::sentence;
use crate::schema_check::Compiled;

/// Message of a row whose caller went away or cancelled it.
const CANCELLED: &str = "cancelled";
/// Message of a row whose handler panicked.
const PANICKED: &str = "the handler failed unexpectedly";
/// How long a stopped handler may take to let go. Only one that blocks its thread needs it.
const LET_GO: Duration = Duration::from_secs(1);

pub(crate) struct Job {
    pub(crate) shared: Arc<Shared>,
    pub(crate) row: Execution,
    pub(crate) entry: Entry,
    pub(crate) ready: Ready,
    /// Cancelled by the caller, or when the caller is gone.
    pub(crate) cancel: CancellationToken,
    /// Held until the end: counts this run against concurrency and queue.
    pub(crate) place: Place,
}

/// How the row of a run comes into the history.
pub(crate) enum Entry {
    /// It is written now.
    New,
    /// It is written now, unless the claim is taken.
    Once(Claim),
    /// It is there, and somebody has approved it.
    Written,
}

impl Entry {
    pub(crate) fn of(run: &Run) -> Self {
        run.once.as_ref().map_or(Self::New, |key| Self::Once(once::claim(run, key)))
    }
}

/// How a run ended, before it is written.
struct End {
    status: Status,
    output: Option<Output>,
    message: Option<String>,
    attempts: u32,
}

impl End {
    fn error(message: impl Into<String>, output: Option<Output>) -> Self {
        Self { status: Status::Error, output, message: Some(message.into()), attempts: 1 }
    }

    fn timeout(message: impl Into<String>, output: Option<Output>) -> Self {
        Self { status: Status::Timeout, output, message: Some(message.into()), attempts: 1 }
    }
}

impl Job {
    /// The whole life. Errors only when a row could not be written.
    pub(crate) async fn run(self) -> Result<Execution, Refusal> {
        let Self { shared, row, entry, ready, cancel, place } = self;
        let stored_row =
            || Execution { input: bound(&row.input, shared.config.history_bytes), ..row.clone() };
        match &entry {
            Entry::New => shared.store.create_execution(&stored_row()).await?,
            Entry::Once(claim) => {
                if let Some(taken) = shared.store.create_execution_once(&stored_row(), claim).await? {
                    drop(place);
                    return once::outcome(&shared, claim, taken, ready.timeout, &cancel).await;
                }
            }
            Entry::Written => {}
        }
        let slot = tokio::select! {
            biased;
            message = stopped(&shared, &cancel) => {
                let end = End { attempts: 0, ..End::error(message, None) };
                return Ok(finish(&shared, row, end, Duration::ZERO).await?);
            }
            slot = place.slot() => slot,
        };
        if !shared.store.start_execution(&row.id).await? {
            return Ok(stored(&shared, &row.id).await?);
        }
        shared.events.publish(EventKind::Started, &Execution { status: Status::Running, ..row.clone() });
        let started = Instant::now();
        let end = work(&shared, &row, ready, &cancel).await;
        let ended = finish(&shared, row, end, started.elapsed()).await;
        drop((slot, place));
        Ok(ended?)
    }
}

/// Resolves when the run has to stop, with the message of its row.
async fn stopped(shared: &Shared, cancel: &CancellationToken) -> &'static str {
    tokio::select! {
        biased;
        () = shared.stop.cancelled() => INTERRUPTED,
        () = cancel.cancelled() => CANCELLED,
    }
}

/// Calls the handler and waits for the first of: its end, a stop, the time limit.
async fn work(shared: &Shared, row: &Execution, ready: Ready, cancel: &CancellationToken) -> End {
    let Ready { handler, input, output: schema, timeout } = ready;
    let token = cancel.child_token();
    let ctx = RunContext {
        execution_id: row.id.clone(),
        api_key_id: row.api_key_id.clone(),
        user: row.user.clone(),
        session_id: row.session_id.clone(),
        turn_id: row.turn_id.clone(),
        door: row.door,
        deadline: Instant::now() + timeout,
        cancel: token.clone(),
    };
    let mut task = tokio::spawn(async move { handler.run(input, &ctx).await });
    let end = tokio::select! {
        biased;
        joined = &mut task => return judge(row, joined, schema.as_deref()),
        message = stopped(shared, cancel) => End::error(message, None),
        () = tokio::time::sleep(timeout) => {
            End::timeout(format!("Skill execution timed out after {} ms", timeout.as_millis()), None)
        }
    };
    token.cancel();
    task.abort();
    // The row must not say that it is over while the work still goes on.
    if tokio::time::timeout(LET_GO, task).await.is_err() {
        tracing::error!(skill = %row.skill_name, execution = %row.id, "a stopped handler blocks its thread");
    }
    end
}

/// What the handler's own end means.
fn judge(
    row: &Execution,
    joined: Result<Result<Output, HandlerError>, JoinError>,
    schema: Option<&Compiled>,
) -> End {
    match joined {
        Err(error) => {
            tracing::error!(skill = %row.skill_name, execution = %row.id, %error, "a handler panicked");
            End::error(PANICKED, None)
        }
        Ok(Err(HandlerError::TimedOut { message, output })) => {
            End::timeout(message, output.map(|output| *output))
        }
        Ok(Err(HandlerError::Failed { message, output, .. })) => {
            End::error(message, output.map(|output| *output))
        }
        Ok(Ok(output)) => {
            let value = Value::Object(output.value.clone());
            let wrong = schema.map(|schema| schema.violations(&value)).unwrap_or_default();
            if wrong.is_empty() {
                return End { status: Status::Success, output: Some(output), message: None, attempts: 1 };
            }
            let message = format!("the output does not fit the schema of the skill: {}", sentence(&wrong));
            End::error(message, Some(output))
        }
    }
}

/// Writes the end and returns the row, whole.
async fn finish(
    shared: &Shared,
    mut row: Execution,
    end: End,
    took: Duration,
) -> Result<Execution, StoreError> {
    let Output { value, parts, sandboxed } = end.output.clone().unwrap_or_default();
    let (engine, isolation) =
        sandboxed.map_or((None, None), |Sandboxed { engine, isolation }| (Some(engine), Some(isolation)));
    row.status = end.status;
    row.output = end.output.is_some().then_some(Value::Object(value));
    row.parts = parts;
    row.error_message = end.message.as_deref().map(bound_message);
    row.duration_ms = Some(u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
    row.attempts = end.attempts;
    row.engine = engine;
    row.isolation = isolation;
    let history = shared.config.history_bytes;
    let parts: Vec<Part> = bound_parts(&row.parts, shared.config.history_part_bytes);
    let outcome = ExecutionOutcome {
        status: row.status,
        output: row.output.as_ref().map(|output| bound(output, history)),
        parts,
        error_message: row.error_message.clone(),
        duration_ms: row.duration_ms.unwrap_or_default(),
        attempts: row.attempts,
        engine: row.engine.clone(),
        isolation: row.isolation.clone(),
    };
    if shared.store.finish_execution(&row.id, outcome).await? {
        shared.events.publish(EventKind::Finished, &row);
        return Ok(row);
    }
    // Somebody else ended it first (another process marked it interrupted): what is stored is what counts.
    stored(shared, &row.id).await
}

pub(crate) async fn stored(shared: &Shared, id: &str) -> Result<Execution, StoreError> {
    let row = shared.store.execution(id).await?;
    row.ok_or_else(|| StoreError::NotFound { what: "execution", id: id.to_owned() })
}

/// The row that a run begins with.
pub(crate) fn pending(run: &Run) -> Execution {
    Execution {
        id: ids::new_id(),
        skill_id: run.skill.id.clone(),
        skill_name: run.skill.name.clone(),
        version: run.skill.version,
        api_key_id: run.api_key_id.clone(),
        user: run.user.clone(),
        session_id: run.session_id.clone(),
        turn_id: run.turn_id.clone(),
        door: run.door,
        status: Status::Pending,
        input: run.input.clone(),
        output: None,
        parts: Vec::new(),
        error_message: None,
        duration_ms: None,
        attempts: 0,
        engine: None,
        isolation: None,
        approval: None,
        created_at: now(),
    }
}
