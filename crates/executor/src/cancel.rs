//! Ends executions by their id: waiting for a person, waiting for a slot, or running.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use domain::{Approval, ApprovalState, Execution, Status};
use store::{ApprovalDecision, ExecutionOutcome, StoreError};
use tokio_util::sync::CancellationToken;

use crate::attempt::CANCELLED;
use crate::events::{Decider, EventKind};
use crate::executor::Executor;
use crate::lifecycle::stored;
use crate::run::now;

/// How long is waited for the row of a cancelled run; a handler that blocks its thread takes a second.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long the wait trusts that it heard everything.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// What became of a cancellation.
#[derive(Clone, Debug, PartialEq)]
pub struct Cancelled {
    /// The row as it is now.
    pub execution: Execution,
    /// Whether it had ended before, so that nothing was cancelled.
    pub was_over: bool,
}

/// Runs of this process that have not ended, by id.
#[derive(Clone, Default)]
pub(crate) struct Live {
    runs: Arc<Mutex<HashMap<String, CancellationToken>>>,
}

impl Live {
    /// Makes a run known until the guard is dropped.
    pub(crate) fn enlist(&self, id: &str, cancel: &CancellationToken) -> Enlisted {
        self.lock().insert(id.to_owned(), cancel.clone());
        Enlisted { live: self.clone(), id: id.to_owned() }
    }

    /// Tells a run to stop. False if this process has none of this id.
    pub(crate) fn cancel(&self, id: &str) -> bool {
        self.lock().get(id).map(CancellationToken::cancel).is_some()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, CancellationToken>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A run that is known.
pub(crate) struct Enlisted {
    live: Live,
    id: String,
}

impl Drop for Enlisted {
    fn drop(&mut self) {
        self.live.lock().remove(&self.id);
    }
}

impl Executor {
    /// Ends an execution, which becomes `error` "cancelled". Its owner may, and the management token; for everybody else
    /// it is not found. Returns when its row has ended, after ten seconds at the latest.
    ///
    /// A call that waits for a person counts as denied. A run of another process of the same database ends at once in
    /// the history, and for real when that process looks.
    pub async fn cancel(&self, id: &str, by: &Decider) -> Result<Cancelled, StoreError> {
        let mut heard = self.shared.events.subscribe();
        let begun = Instant::now();
        let mut told = false;
        loop {
            let row = stored(&self.shared, id).await?;
            if !by.is_token && by.id != row.api_key_id {
                return Err(StoreError::NotFound { what: "execution", id: id.to_owned() });
            }
            let left = PATIENCE.saturating_sub(begun.elapsed());
            if row.status.is_terminal() || left.is_zero() {
                let ended_so = told && row.error_message.as_deref() == Some(CANCELLED);
                return Ok(Cancelled { was_over: row.status.is_terminal() && !ended_so, execution: row });
            }
            if self.shared.live.cancel(id) {
                told = true;
                heard.news_of(id, left.min(LOOK_AGAIN)).await;
            } else {
                // False: it went on in this very moment, so one has to look again.
                told |= match row.approval.clone() {
                    Some(approval) if approval.state == ApprovalState::Waiting => {
                        self.withdraw(&row, approval, by).await?
                    }
                    _ => self.end_elsewhere(row).await?,
                };
            }
        }
    }

    async fn end_elsewhere(&self, row: Execution) -> Result<bool, StoreError> {
        let ended = self.shared.store.finish_execution(&row.id, cancelled()).await?;
        if ended {
            let message = Some(CANCELLED.to_owned());
            let row = Execution { status: Status::Error, error_message: message, ..row };
            self.shared.events.publish(EventKind::Finished, &row);
        }
        Ok(ended)
    }

    /// False if somebody else decided about it in this very moment.
    async fn withdraw(&self, row: &Execution, approval: Approval, by: &Decider) -> Result<bool, StoreError> {
        let approval = Approval {
            state: ApprovalState::Denied,
            reason: Some(CANCELLED.to_owned()),
            decided_by: Some(by.id.clone()),
            decided_at: Some(now()),
            ..approval
        };
        let decision = ApprovalDecision { approval, input: None, message: Some(CANCELLED.to_owned()) };
        let decided = self.shared.store.decide_approval(&row.id, decision).await?;
        if let Some(row) = &decided {
            self.shared.events.publish(EventKind::ApprovalDecided, row);
        }
        Ok(decided.is_some())
    }
}

/// How a run ends that no process here knows.
fn cancelled() -> ExecutionOutcome {
    ExecutionOutcome {
        status: Status::Error,
        output: None,
        parts: Vec::new(),
        error_message: Some(CANCELLED.to_owned()),
        duration_ms: 0,
        attempts: 0,
        engine: None,
        isolation: None,
    }
}
