//! A store in memory that knows skills only, counts its loads and can be told to fail or to wait.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_trait::async_trait;
use domain::{ApiKey, Execution, Skill};
use store::{
    ApprovalDecision, Claim, Claimed, ExecutionFilter, ExecutionOutcome, KeptRounds, KeyUpdate, LoadedSkills,
    NewKey, Page, PageRequest, PruneKept, RecallKept, RecalledKept, Result, SkillUpdate, Store, StoreError,
};
use tokio::sync::RwLock;

#[derive(Default)]
pub(crate) struct FakeStore {
    pub(crate) rows: Mutex<LoadedSkills>,
    pub(crate) loads: AtomicUsize,
    /// Loads that have begun finish only while nobody holds it for writing.
    pub(crate) gate: RwLock<()>,
    pub(crate) broken: AtomicBool,
}

fn missing(id: &str) -> StoreError {
    StoreError::NotFound { what: "skill", id: id.to_owned() }
}

#[async_trait]
impl Store for FakeStore {
    async fn load_skills(&self) -> Result<LoadedSkills> {
        self.loads.fetch_add(1, Ordering::SeqCst);
        let rows = self.rows.lock().unwrap().clone();
        drop(self.gate.read().await);
        if self.broken.load(Ordering::SeqCst) { Err(StoreError::Closed) } else { Ok(rows) }
    }

    async fn insert_skill(&self, skill: Skill, replace: bool) -> Result<Skill> {
        let mut rows = self.rows.lock().unwrap();
        let same = |row: &Skill| row.api_key_id == skill.api_key_id && row.identity() == skill.identity();
        match rows.skills.iter_mut().find(|row| same(row)) {
            None => rows.skills.push(skill.clone()),
            Some(row) if replace => *row = Skill { id: row.id.clone(), ..skill.clone() },
            Some(row) => return Err(StoreError::Conflict { what: format!("skill {}", row.identity()) }),
        }
        Ok(skill)
    }

    async fn update_skill(&self, id: &str, update: SkillUpdate) -> Result<Skill> {
        let mut rows = self.rows.lock().unwrap();
        let row = rows.skills.iter_mut().find(|row| row.id == id).ok_or_else(|| missing(id))?;
        if let Some(enabled) = update.enabled {
            row.set_enabled(enabled);
        }
        if let Some(mode) = update.mode {
            row.set_mode(mode);
        }
        row.tags = update.tags.unwrap_or_else(|| row.tags.clone());
        Ok(row.clone())
    }

    async fn delete_skill(&self, id: &str) -> Result<()> {
        let mut rows = self.rows.lock().unwrap();
        let at = rows.skills.iter().position(|row| row.id == id).ok_or_else(|| missing(id))?;
        rows.skills.remove(at);
        Ok(())
    }

    async fn sync_builtins(&self, _: Vec<Skill>) -> Result<()> {
        Err(StoreError::Closed)
    }
    async fn create_execution(&self, _: &Execution) -> Result<()> {
        Err(StoreError::Closed)
    }
    async fn start_execution(&self, _: &str) -> Result<bool> {
        Err(StoreError::Closed)
    }
    async fn finish_execution(&self, _: &str, _: ExecutionOutcome) -> Result<bool> {
        Err(StoreError::Closed)
    }
    async fn execution(&self, _: &str) -> Result<Option<Execution>> {
        Err(StoreError::Closed)
    }
    async fn executions(&self, _: &ExecutionFilter, _: PageRequest) -> Result<Page<Execution>> {
        Err(StoreError::Closed)
    }
    async fn interrupt_executions(&self, _: &str) -> Result<u64> {
        Err(StoreError::Closed)
    }
    async fn create_key(&self, _: NewKey) -> Result<ApiKey> {
        Err(StoreError::Closed)
    }
    async fn keys(&self) -> Result<Vec<ApiKey>> {
        Err(StoreError::Closed)
    }
    async fn key_by_hash(&self, _: &str) -> Result<Option<ApiKey>> {
        Err(StoreError::Closed)
    }
    async fn update_key(&self, _: &str, _: KeyUpdate) -> Result<ApiKey> {
        Err(StoreError::Closed)
    }
    async fn delete_key(&self, _: &str) -> Result<()> {
        Err(StoreError::Closed)
    }
    async fn touch_key(&self, _: &str, _: &str) -> Result<()> {
        Err(StoreError::Closed)
    }
    async fn value(&self, _: &str) -> Result<Option<String>> {
        Err(StoreError::Closed)
    }
    async fn set_value(&self, _: &str, _: &str) -> Result<()> {
        Err(StoreError::Closed)
    }
    async fn create_execution_once(&self, _: &Execution, _: &Claim) -> Result<Option<Claimed>> {
        Err(StoreError::Closed)
    }
    async fn claimed(&self, _: &str, _: i64) -> Result<Option<Claimed>> {
        Err(StoreError::Closed)
    }
    async fn take_claim(&self, _: &str, _: &Claim) -> Result<Option<Claimed>> {
        Err(StoreError::Closed)
    }
    async fn prune_claims(&self, _: i64, _: u32) -> Result<u64> {
        Err(StoreError::Closed)
    }
    async fn await_approval(&self, _: &Execution, _: &str) -> Result<()> {
        Err(StoreError::Closed)
    }
    async fn execution_of_call(&self, _: &str) -> Result<Option<Execution>> {
        Err(StoreError::Closed)
    }
    async fn decide_approval(&self, _: &str, _: ApprovalDecision) -> Result<Option<Execution>> {
        Err(StoreError::Closed)
    }
    async fn take_outcome(&self, _: &str) -> Result<bool> {
        Err(StoreError::Closed)
    }
    async fn overdue_approvals(&self, _: &str, _: u32) -> Result<Vec<String>> {
        Err(StoreError::Closed)
    }
    async fn keep_rounds(&self, _: KeptRounds) -> Result<()> {
        Err(StoreError::Closed)
    }
    async fn recall_rounds(&self, _: RecallKept) -> Result<Vec<RecalledKept>> {
        Err(StoreError::Closed)
    }
    async fn prune_rounds(&self, _: PruneKept) -> Result<u64> {
        Err(StoreError::Closed)
    }
}
