//! One run from its `pending` row to its terminal one. Lives in a task of its own, so that a caller that goes
//! away never leaves a row behind.

use std::sync::Arc;
use std::time::{Duration, Instant};

use domain::{Execution, Part, Status, ids};
use serde_json::Value;
use store::{Claim, ExecutionOutcome, StoreError};
use tokio_util::sync::CancellationToken;

use crate::admit::Ready;
use crate::attempt::{End, stopped, work};
use crate::bounds::{bound, bound_message, bound_parts};
use crate::cancel::Enlisted;
use crate::events::EventKind;
use crate::executor::Shared;
use crate::handler::{Output, Sandboxed};
use crate::once;
use crate::places::Place;
use crate::refusal::Refusal;
use crate::run::{Run, now};

pub(crate) struct Job {
    pub(crate) shared: Arc<Shared>,
    pub(crate) row: Execution,
    pub(crate) entry: Entry,
    pub(crate) ready: Ready,
    /// Cancelled by the caller, or when the caller is gone.
    pub(crate) cancel: CancellationToken,
    /// Held until the end: counts this run against concurrency and queue.
    pub(crate) place: Place,
    live: Enlisted,
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

impl Job {
    pub(crate) fn new(
        shared: &Arc<Shared>,
        row: Execution,
        entry: Entry,
        ready: Ready,
        cancel: CancellationToken,
        place: Place,
    ) -> Self {
        let live = shared.live.enlist(&row.id, &cancel);
        Self { shared: Arc::clone(shared), row, entry, ready, cancel, place, live }
    }

    /// The whole life. Errors only when a row could not be written.
    pub(crate) async fn run(self) -> Result<Execution, Refusal> {
        let Self { shared, row, entry, ready, cancel, place, live } = self;
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
                return Ok(finish(&shared, row, End::error(message, None), Duration::ZERO).await?);
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
        drop((slot, place, live));
        Ok(ended?)
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
