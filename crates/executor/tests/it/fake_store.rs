//! Rows in memory, and a log of every status a row ever had. Knows executions only.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use domain::{ApiKey, ApprovalState, Execution, Skill, Status};
use store::{
    ApprovalDecision, Claim, Claimed, ExecutionFilter, ExecutionOutcome, KeptRounds, KeyUpdate, LoadedSkills,
    NewKey, Page, PageRequest, PruneKept, RecallKept, RecalledKept, Result, SkillUpdate, Store, StoreError,
};

#[derive(Default)]
pub(crate) struct FakeStore {
    rows: Mutex<Vec<Execution>>,
    lives: Mutex<HashMap<String, Vec<Status>>>,
    pub(crate) broken: AtomicBool,
    /// Calls that were put before a person, with the id of their row; newest last.
    calls: Mutex<Vec<(String, String)>>,
    /// Rows whose outcome was taken.
    taken: Mutex<HashSet<String>>,
    claims: Mutex<HashMap<String, Claimed>>,
}

impl FakeStore {
    pub(crate) fn rows(&self) -> Vec<Execution> {
        self.rows.lock().unwrap().clone()
    }

    /// Every status the row had, in order.
    pub(crate) fn life(&self, id: &str) -> Vec<Status> {
        self.lives.lock().unwrap().get(id).cloned().unwrap_or_default()
    }

    /// The first row, once it is terminal.
    pub(crate) async fn settled(&self) -> Execution {
        loop {
            if let Some(row) = self.rows().into_iter().find(|row| row.status.is_terminal()) {
                return row;
            }
            tokio::task::yield_now().await;
        }
    }

    fn change(&self, id: &str, from: &[Status], change: impl FnOnce(&mut Execution)) -> Result<bool> {
        if self.broken.load(Ordering::Relaxed) {
            return Err(StoreError::Closed);
        }
        let mut rows = self.rows.lock().unwrap();
        let Some(row) = rows.iter_mut().find(|row| row.id == id && from.contains(&row.status)) else {
            return Ok(false);
        };
        change(row);
        self.lives.lock().unwrap().entry(id.to_owned()).or_default().push(row.status);
        Ok(true)
    }
}

#[async_trait]
impl Store for FakeStore {
    async fn create_execution(&self, execution: &Execution) -> Result<()> {
        if self.broken.load(Ordering::Relaxed) {
            return Err(StoreError::Closed);
        }
        self.lives.lock().unwrap().insert(execution.id.clone(), vec![execution.status]);
        self.rows.lock().unwrap().push(execution.clone());
        Ok(())
    }

    async fn start_execution(&self, id: &str) -> Result<bool> {
        self.change(id, &[Status::Pending], |row| row.status = Status::Running)
    }

    async fn finish_execution(&self, id: &str, outcome: ExecutionOutcome) -> Result<bool> {
        self.change(id, &[Status::Pending, Status::Running], |row| {
            row.status = outcome.status;
            row.output = outcome.output;
            row.parts = outcome.parts;
            row.error_message = outcome.error_message;
            row.duration_ms = Some(outcome.duration_ms);
            row.attempts = outcome.attempts;
            row.engine = outcome.engine;
            row.isolation = outcome.isolation;
        })
    }

    async fn execution(&self, id: &str) -> Result<Option<Execution>> {
        Ok(self.rows().into_iter().find(|row| row.id == id))
    }

    async fn executions(&self, filter: &ExecutionFilter, page: PageRequest) -> Result<Page<Execution>> {
        let all = self.rows();
        let fits = |row: &Execution| {
            filter.status.is_none_or(|status| row.status == status)
                && filter.api_key_id.as_ref().is_none_or(|owner| row.api_key_id == *owner)
                && filter.approval.is_none_or(|state| row.approval.as_ref().is_some_and(|a| a.state == state))
        };
        let data: Vec<_> = all.into_iter().filter(fits).collect();
        let total = data.len() as u64;
        Ok(Page::new(data.into_iter().take(page.limit as usize).collect(), total, page))
    }

    async fn interrupt_executions(&self, message: &str) -> Result<u64> {
        let mut interrupted = 0;
        for row in self.rows().into_iter().filter(|row| !is_waiting(row)) {
            let changed = self.change(&row.id, &[Status::Pending, Status::Running], |row| {
                row.status = Status::Error;
                row.error_message = Some(message.to_owned());
            })?;
            interrupted += u64::from(changed);
        }
        Ok(interrupted)
    }

    async fn create_execution_once(&self, execution: &Execution, claim: &Claim) -> Result<Option<Claimed>> {
        let taken = self.take_claim(&execution.id, claim).await?;
        if taken.is_none() {
            self.create_execution(execution).await?;
        }
        Ok(taken)
    }

    async fn claimed(&self, key: &str, _now_ms: i64) -> Result<Option<Claimed>> {
        Ok(self.claims.lock().unwrap().get(key).cloned())
    }

    async fn take_claim(&self, execution_id: &str, claim: &Claim) -> Result<Option<Claimed>> {
        let mine = Claimed { execution_id: execution_id.to_owned(), fingerprint: claim.fingerprint.clone() };
        let mut claims = self.claims.lock().unwrap();
        if let Some(taken) = claims.get(&claim.key) {
            return Ok(Some(taken.clone()));
        }
        claims.insert(claim.key.clone(), mine);
        Ok(None)
    }

    async fn prune_claims(&self, _now_ms: i64, _batch: u32) -> Result<u64> {
        Ok(0)
    }

    async fn await_approval(&self, execution: &Execution, call: &str) -> Result<()> {
        self.create_execution(execution).await?;
        self.calls.lock().unwrap().push((call.to_owned(), execution.id.clone()));
        Ok(())
    }

    async fn execution_of_call(&self, call: &str) -> Result<Option<Execution>> {
        let calls = self.calls.lock().unwrap().clone();
        let taken = self.taken.lock().unwrap().clone();
        let open = calls.iter().rev().find(|(name, id)| name == call && !taken.contains(id));
        Ok(open.and_then(|(_, id)| self.rows().into_iter().find(|row| row.id == *id)))
    }

    async fn decide_approval(&self, id: &str, decision: ApprovalDecision) -> Result<Option<Execution>> {
        let Some(row) = self.rows().into_iter().find(|row| row.id == id && is_waiting(row)) else {
            return Ok(None);
        };
        self.change(&row.id, &[Status::Pending], |row| {
            if decision.approval.state != ApprovalState::Approved {
                row.status = Status::Error;
            }
            row.approval = Some(decision.approval);
            row.error_message = decision.message;
            if let Some(input) = decision.input {
                row.input = input;
            }
        })?;
        self.execution(id).await
    }

    async fn take_outcome(&self, id: &str) -> Result<bool> {
        Ok(self.taken.lock().unwrap().insert(id.to_owned()))
    }

    async fn overdue_approvals(&self, now: &str, _batch: u32) -> Result<Vec<String>> {
        let overdue = |row: &Execution| row.approval.as_ref().is_some_and(|a| a.expires_at.as_str() <= now);
        Ok(self.rows().into_iter().filter(|r| is_waiting(r) && overdue(r)).map(|row| row.id).collect())
    }

    async fn load_skills(&self) -> Result<LoadedSkills> {
        Err(StoreError::Closed)
    }
    async fn insert_skill(&self, _skill: Skill, _replace: bool) -> Result<Skill> {
        Err(StoreError::Closed)
    }
    async fn update_skill(&self, _id: &str, _update: SkillUpdate) -> Result<Skill> {
        Err(StoreError::Closed)
    }
    async fn delete_skill(&self, _id: &str) -> Result<()> {
        Err(StoreError::Closed)
    }
    async fn sync_builtins(&self, _builtins: Vec<Skill>) -> Result<()> {
        Err(StoreError::Closed)
    }
    async fn create_key(&self, _key: NewKey) -> Result<ApiKey> {
        Err(StoreError::Closed)
    }
    async fn keys(&self) -> Result<Vec<ApiKey>> {
        Err(StoreError::Closed)
    }
    async fn key_by_hash(&self, _secret_hash: &str) -> Result<Option<ApiKey>> {
        Err(StoreError::Closed)
    }
    async fn update_key(&self, _id: &str, _update: KeyUpdate) -> Result<ApiKey> {
        Err(StoreError::Closed)
    }
    async fn delete_key(&self, _id: &str) -> Result<()> {
        Err(StoreError::Closed)
    }
    async fn touch_key(&self, _id: &str, _now: &str) -> Result<()> {
        Err(StoreError::Closed)
    }
    async fn value(&self, _name: &str) -> Result<Option<String>> {
        Err(StoreError::Closed)
    }
    async fn set_value(&self, _name: &str, _value: &str) -> Result<()> {
        Err(StoreError::Closed)
    }
    async fn keep_rounds(&self, _rounds: KeptRounds) -> Result<()> {
        Err(StoreError::Closed)
    }
    async fn recall_rounds(&self, _recall: RecallKept) -> Result<Vec<RecalledKept>> {
        Err(StoreError::Closed)
    }
    async fn prune_rounds(&self, _prune: PruneKept) -> Result<u64> {
        Err(StoreError::Closed)
    }
}

fn is_waiting(row: &Execution) -> bool {
    row.approval.as_ref().is_some_and(|approval| approval.state == ApprovalState::Waiting)
}
