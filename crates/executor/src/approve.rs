//! Calls that need a person: written down, offered, decided about once, run once, and their outcome handed out once.
//!
//! A waiting call takes no slot and no time of its skill, and it outlives the turn that made it, a restart too. Who is
//! a person is not decided here; see `server`.

use std::time::{Duration, Instant};

use domain::{Approval, ApprovalState, Execution, limits};
use store::{ApprovalDecision, ExecutionFilter, StoreError};
use tokio_util::sync::CancellationToken;

use crate::events::{Decider, EventKind, Subscription};
use crate::executor::Executor;
use crate::fingerprint;
use crate::lifecycle::{Entry, Job, pending, stored};
use crate::once;
use crate::refusal::Refusal;
use crate::run::{Recorded, Run, now};

/// How long a waiting call trusts that it heard everything: another process may decide, too.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// Overdue approvals and expired claims that one step of the housekeeping touches.
const BATCH: u32 = 200;
/// Message of a row about which nobody decided in time.
const EXPIRED: &str = "nobody approved this call in time";

impl Executor {
    /// Listens to what happens to executions, for `owner`. A `decider` counts as present while it listens: turns then
    /// wait for it.
    pub fn subscribe(&self, owner: &str, decider: Option<Decider>) -> Subscription {
        self.shared.events.seat(owner, decider)
    }

    /// Ends all listening of this owner, whose rights have changed.
    pub fn end_listening(&self, owner: &str) {
        self.shared.events.end(owner);
    }

    /// For the stop of the gateway: every listener's stream ends, and no call waits for a person any more.
    pub fn close_events(&self) {
        self.shared.events.close();
    }

    /// Puts a call before a person and waits for the outcome as long as the run says, if somebody is there to decide.
    /// The same call that waits already, or was decided about meanwhile, is not put up again. `own` is the execution
    /// that an earlier run of the same name has put up: its outcome may be given to every repeat.
    pub(crate) async fn ask(&self, run: Run, mut own: Option<String>) -> Result<Recorded, Refusal> {
        let call = fingerprint::of_call(&run);
        let store = &self.shared.store;
        let mut heard = self.shared.events.subscribe();
        let begun = Instant::now();
        loop {
            let row = match &own {
                Some(id) => stored(&self.shared, id).await?,
                None => self.find_or_put_up(&run, &call, &mut own).await?,
            };
            let recorded = |row, refusal| Recorded { execution: row, refusal, waited: begun.elapsed() };
            let skill = || run.skill.identity();
            match row.approval.as_ref().map_or(ApprovalState::Expired, |approval| approval.state) {
                ApprovalState::Waiting => {
                    let patience = run.approval_wait.saturating_sub(begun.elapsed());
                    let nobody = !self.shared.events.has_decider(&run.api_key_id);
                    if patience.is_zero() || nobody {
                        let refusal = Refusal::ApprovalPending { skill: skill(), execution: row.id.clone() };
                        return Ok(recorded(row, Some(refusal)));
                    }
                    heard.news_of(&row.id, patience.min(LOOK_AGAIN)).await;
                }
                ApprovalState::Approved if !row.status.is_terminal() => {
                    heard.news_of(&row.id, LOOK_AGAIN).await;
                }
                ApprovalState::Approved => {
                    if store.take_outcome(&row.id).await? || own.is_some() {
                        self.remember(&run, &row.id).await?;
                        return Ok(recorded(row, None));
                    }
                }
                ApprovalState::Denied => {
                    let reason = row.approval.as_ref().and_then(|a| a.reason.clone()).unwrap_or_default();
                    return Ok(recorded(row, Some(Refusal::Denied { skill: skill(), reason })));
                }
                // Its time is over: the call may be put up anew, but not under a name that stands for this one.
                ApprovalState::Expired => {
                    store.take_outcome(&row.id).await?;
                    if own.is_some() {
                        let refusal = Refusal::NotWaiting { state: ApprovalState::Expired.as_str() };
                        return Ok(recorded(row, Some(refusal)));
                    }
                }
            }
        }
    }

    /// A run with a name that stands for this execution from now on.
    async fn remember(&self, run: &Run, id: &str) -> Result<(), Refusal> {
        if let Some(key) = &run.once {
            self.shared.store.take_claim(id, &once::claim(run, key)).await?;
        }
        Ok(())
    }

    async fn find_or_put_up(
        &self,
        run: &Run,
        call: &str,
        own: &mut Option<String>,
    ) -> Result<Execution, Refusal> {
        // Two equal calls of one round are one question.
        let _one_at_a_time = self.shared.asking.lock().await;
        if let Some(row) = self.shared.store.execution_of_call(call).await? {
            return if is_overdue(&row) { Ok(self.expire(row).await?) } else { Ok(row) };
        }
        if run.input.to_string().len() > limits::APPROVAL_INPUT_BYTES {
            return Err(Refusal::TooLargeToApprove { skill: run.skill.identity() });
        }
        let of_owner = ExecutionFilter {
            api_key_id: Some(run.api_key_id.clone()),
            approval: Some(ApprovalState::Waiting),
            ..ExecutionFilter::default()
        };
        if self.count_executions(&of_owner).await? >= limits::APPROVALS_PER_OWNER {
            return Err(Refusal::TooManyWaiting);
        }
        let expires_at = jiff::Timestamp::now().checked_add(self.shared.config.approval_expires);
        let expires_at = expires_at.unwrap_or(jiff::Timestamp::MAX);
        let approval = Approval::waiting(format!("{expires_at:.3}"));
        let row = Execution { approval: Some(approval), ..pending(run) };
        self.shared.store.await_approval(&row, call).await?;
        self.remember(run, &row.id).await?;
        *own = run.once.is_some().then(|| row.id.clone());
        self.shared.events.publish(EventKind::ApprovalWanted, &row);
        Ok(row)
    }

    /// Lets a waiting call run, as `run` says: its skill as it is now, and the input, which the decider may have
    /// changed. Returns once the decision is durable; the run itself goes on by itself.
    pub async fn approve(&self, id: &str, run: Run, by: &Decider) -> Result<Execution, Refusal> {
        let held = self.shared.jobs.token();
        let row = self.waiting(id, by).await?;
        if run.input.to_string().len() > limits::APPROVAL_INPUT_BYTES {
            return Err(Refusal::TooLargeToApprove { skill: run.skill.identity() });
        }
        let ready = self.shared.admit(&run)?;
        let place = self.shared.place(&run)?;
        let edited = run.input != row.input;
        let approval = Approval {
            state: ApprovalState::Approved,
            original_input: edited.then(|| row.input.clone()),
            ..decided(&row, by)
        };
        let decision = ApprovalDecision { approval, input: edited.then_some(run.input), message: None };
        // Known before it is decided, so that there is no moment in which it cannot be cancelled.
        let mut job = Job::new(&self.shared, row, Entry::Written, ready, CancellationToken::new(), place);
        let row = self.decide(id, decision).await?;
        job.row = row.clone();
        let run = job.run();
        self.shared.jobs.spawn(async move {
            if let Err(error) = run.await {
                tracing::error!(error = &error as &dyn std::error::Error, "an approved run is not recorded");
            }
        });
        drop(held);
        Ok(row)
    }

    /// Ends a waiting call without running it. The reason is told to the model.
    pub async fn deny(&self, id: &str, reason: Option<String>, by: &Decider) -> Result<Execution, Refusal> {
        let row = self.waiting(id, by).await?;
        let message = match &reason {
            Some(reason) => format!("a person denied this call: {reason}"),
            None => "a person denied this call".to_owned(),
        };
        let approval = Approval { state: ApprovalState::Denied, reason, ..decided(&row, by) };
        self.decide(id, ApprovalDecision { approval, input: None, message: Some(message) }).await
    }

    /// The row, if it waits and this decider may decide.
    async fn waiting(&self, id: &str, by: &Decider) -> Result<Execution, Refusal> {
        let row = self.shared.store.execution(id).await?;
        let row = row.ok_or_else(|| StoreError::NotFound { what: "execution", id: id.to_owned() })?;
        let Some(state) = row.approval.as_ref().map(|approval| approval.state) else {
            return Err(Refusal::NotWaiting { state: "it asked nobody" });
        };
        if !by.may_decide(&row.api_key_id) {
            return Err(Refusal::OwnCall);
        }
        match state {
            ApprovalState::Waiting if is_overdue(&row) => {
                self.expire(row).await?;
                Err(Refusal::NotWaiting { state: ApprovalState::Expired.as_str() })
            }
            ApprovalState::Waiting => Ok(row),
            decided => Err(Refusal::NotWaiting { state: decided.as_str() }),
        }
    }

    async fn decide(&self, id: &str, decision: ApprovalDecision) -> Result<Execution, Refusal> {
        let row = self.shared.store.decide_approval(id, decision).await?;
        let row = row.ok_or(Refusal::NotWaiting { state: "somebody else was faster" })?;
        self.shared.events.publish(EventKind::ApprovalDecided, &row);
        Ok(row)
    }

    async fn expire(&self, row: Execution) -> Result<Execution, StoreError> {
        let approval = Approval {
            state: ApprovalState::Expired,
            ..row.approval.clone().unwrap_or_else(|| Approval::waiting(now()))
        };
        let decision = ApprovalDecision { approval, input: None, message: Some(EXPIRED.to_owned()) };
        match self.shared.store.decide_approval(&row.id, decision).await? {
            Some(expired) => {
                self.shared.events.publish(EventKind::ApprovalDecided, &expired);
                Ok(expired)
            }
            // Somebody decided in this very moment: that is what counts.
            None => Ok(self.shared.store.execution(&row.id).await?.unwrap_or(row)),
        }
    }

    /// For ever, once a minute: ends calls about which nobody decided in time, and forgets expired claims.
    pub async fn keep_tidy(self) {
        let mut every = tokio::time::interval(Duration::from_mins(1));
        loop {
            every.tick().await;
            match self.tidy().await {
                Ok(()) => {}
                Err(StoreError::Closed) => return,
                Err(error) => {
                    tracing::error!(
                        error = &error as &dyn std::error::Error,
                        "overdue approvals are not ended"
                    );
                }
            }
        }
    }

    async fn tidy(&self) -> Result<(), StoreError> {
        let store = &self.shared.store;
        for id in store.overdue_approvals(&now(), BATCH).await? {
            if let Some(row) = store.execution(&id).await? {
                self.expire(row).await?;
            }
        }
        while store.prune_claims(jiff::Timestamp::now().as_millisecond(), BATCH).await? >= u64::from(BATCH) {}
        Ok(())
    }
}

fn decided(row: &Execution, by: &Decider) -> Approval {
    Approval {
        decided_by: Some(by.id.clone()),
        decided_at: Some(now()),
        ..row.approval.clone().unwrap_or_else(|| Approval::waiting(now()))
    }
}

/// Texts of one length and zone: their order is that of time.
fn is_overdue(row: &Execution) -> bool {
    let now = now();
    row.approval.as_ref().is_some_and(|a| a.state == ApprovalState::Waiting && a.expires_at <= now)
}
