//! [`SqliteStore`]: one file, one writer thread with group commit, a few read-only connections.
//!
//! This file only says which call reads and which writes; statements live in the modules below it.

mod approvals;
mod artifacts;
mod audit;
mod cells;
mod changes;
mod claims;
mod conditions;
mod connect;
mod database;
mod executions;
mod filter;
mod instances;
mod kept;
mod keys;
mod migrate;
mod prepared;
mod readers;
mod retention;
mod sets;
mod skills;
mod tokens;
mod transfer;
mod turns;
mod usage;
mod values;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use domain::{ApiKey, Execution, Skill};
use rusqlite::Connection;
use store::{
    ApprovalDecision, Claim, Claimed, ExecutionFilter, ExecutionOutcome, KeptRounds, KeyUpdate, LoadedSkills,
    NewKey, Page, PageRequest, PruneKept, RecallKept, RecalledKept, Result, SkillUpdate, Store, StoreError,
};

use crate::error::SqlError;
use crate::totals::{Known, Totals};
use instances::Instances;
use prepared::{Ended, NewRow};
use readers::Readers;
use writer::Writer;

pub use connect::Synchronous;

/// A `SQLite` database. Dropping it writes what waits first; [`SqliteStore::close`] does the same without blocking the
/// async threads.
pub struct SqliteStore {
    // Dropped in this order: readers go first, so that the writer leaves a tidy file behind; this process counts as alive
    // until all is written.
    readers: Readers,
    writer: Writer,
    instances: Arc<Instances>,
    totals: Arc<Totals>,
    path: PathBuf,
}

impl SqliteStore {
    /// As [`SqliteStore::open_with`], with [`Synchronous::Normal`].
    pub fn open(path: &Path) -> Result<Arc<Self>> {
        Self::open_with(path, Synchronous::Normal)
    }

    /// Opens the file, creating it (not its folder) with permissions 0600 if there is none, and brings its schema up
    /// to date. Blocks while it does; meant for the start of the program.
    ///
    /// Errors: [`StoreError::TooNew`] for a database of a newer release, else [`StoreError::Backend`] with the reason
    /// as its source.
    pub fn open_with(path: &Path, synchronous: Synchronous) -> Result<Arc<Self>> {
        let writer = Self::start(path, synchronous).map_err(StoreError::from)?;
        Ok(Arc::new(Self {
            readers: Readers::new(path),
            writer,
            instances: Arc::new(Instances::beside(path)),
            totals: Arc::default(),
            path: path.to_owned(),
        }))
    }

    fn start(path: &Path, synchronous: Synchronous) -> std::result::Result<Writer, SqlError> {
        let mut connection = connect::read_write(path, synchronous)?;
        migrate::apply(&mut connection)?;
        retention::convert(&connection, path)?;
        changes::count_along(&connection)?;
        Writer::start(connection)
    }

    /// Lets running reads and waiting writes end, then closes the file. Later calls get [`StoreError::Closed`].
    pub async fn close(&self) {
        self.readers.stop().await;
        self.writer.stop().await;
        self.instances.release();
    }

    /// Counts a large filter anew while its last total is still shown.
    fn count_again(&self, key: String, filter: ExecutionFilter) {
        let (readers, totals) = (self.readers.clone(), self.totals.clone());
        tokio::spawn(async move {
            let count = move |c: &Connection| {
                // One transaction, so that all it counts is of the same moment.
                let snapshot = c.unchecked_transaction()?;
                executions::total(&snapshot, &filter)
            };
            match readers.run(count).await {
                Ok(counted) => totals.counted(key, counted, Instant::now()),
                Err(StoreError::Closed) => {}
                Err(error) => tracing::error!(%error, "executions could not be counted"),
            }
        });
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn load_skills(&self) -> Result<LoadedSkills> {
        self.readers.run(skills::load).await
    }

    async fn insert_skill(&self, skill: Skill, replace: bool) -> Result<Skill> {
        self.writer.run(move |c| skills::insert(c, &skill, replace)).await
    }

    async fn update_skill(&self, id: &str, update: SkillUpdate) -> Result<Skill> {
        let id = id.to_owned();
        self.writer.run(move |c| skills::update(c, &id, update)).await
    }

    async fn delete_skill(&self, id: &str) -> Result<()> {
        let id = id.to_owned();
        self.writer.run(move |c| skills::delete(c, &id)).await
    }

    async fn sync_builtins(&self, builtins: Vec<Skill>) -> Result<()> {
        self.writer.run(move |c| skills::sync_builtins(c, &builtins)).await
    }

    async fn create_execution(&self, execution: &Execution) -> Result<()> {
        let (row, instance) = (NewRow::ordinary(execution)?, self.instances.id());
        self.writer.run_one(move |c| executions::insert(c, &row, instance.as_deref())).await
    }

    async fn start_execution(&self, id: &str) -> Result<bool> {
        let (id, instance) = (id.to_owned(), self.instances.id());
        self.writer.run_one(move |c| executions::start(c, &id, instance.as_deref())).await
    }

    async fn finish_execution(&self, id: &str, outcome: ExecutionOutcome) -> Result<bool> {
        let (id, ended) = (id.to_owned(), Ended::of(outcome)?);
        self.writer.run_one(move |c| executions::finish(c, &id, &ended)).await
    }

    async fn execution(&self, id: &str) -> Result<Option<Execution>> {
        let id = id.to_owned();
        self.readers.run(move |c| executions::one(c, &id)).await
    }

    async fn executions(&self, filter: &ExecutionFilter, page: PageRequest) -> Result<Page<Execution>> {
        let key = Totals::key(filter);
        let known = match self.totals.look(&key, Instant::now()) {
            Known::Nothing => None,
            Known::Fresh(total) => Some(total),
            Known::Stale(total) => {
                self.count_again(key.clone(), filter.clone());
                Some(total)
            }
        };
        let filter = filter.clone();
        let (page, counted) = self.readers.run(move |c| executions::page(c, &filter, page, known)).await?;
        if known.is_none() {
            self.totals.counted(key, counted, Instant::now());
        }
        Ok(page)
    }

    async fn interrupt_executions(&self, message: &str) -> Result<u64> {
        let message = message.to_owned();
        self.writer.run(move |c| executions::interrupt(c, &message)).await
    }

    async fn create_execution_once(&self, execution: &Execution, claim: &Claim) -> Result<Option<Claimed>> {
        let (row, claim, instance) = (NewRow::ordinary(execution)?, claim.clone(), self.instances.id());
        self.writer.run(move |c| claims::create_once(c, &row, &claim, instance.as_deref())).await
    }

    async fn claimed(&self, key: &str, now_ms: i64) -> Result<Option<Claimed>> {
        let key = key.to_owned();
        self.readers.run(move |c| claims::claimed(c, &key, now_ms)).await
    }

    async fn take_claim(&self, execution_id: &str, claim: &Claim) -> Result<Option<Claimed>> {
        let (id, claim) = (execution_id.to_owned(), claim.clone());
        self.writer.run(move |c| claims::take(c, &id, &claim)).await
    }

    async fn prune_claims(&self, now_ms: i64, batch: u32) -> Result<u64> {
        self.writer.run(move |c| claims::prune(c, now_ms, batch)).await
    }

    async fn await_approval(&self, execution: &Execution, call: &str) -> Result<()> {
        let (execution, call, instance) = (execution.clone(), call.to_owned(), self.instances.id());
        self.writer.run(move |c| approvals::wait(c, &execution, &call, instance.as_deref())).await
    }

    async fn execution_of_call(&self, call: &str) -> Result<Option<Execution>> {
        let call = call.to_owned();
        self.readers.run(move |c| approvals::of_call(c, &call)).await
    }

    async fn decide_approval(&self, id: &str, decision: ApprovalDecision) -> Result<Option<Execution>> {
        let (id, instance) = (id.to_owned(), self.instances.id());
        self.writer.run(move |c| approvals::decide(c, &id, &decision, instance.as_deref())).await
    }

    async fn take_outcome(&self, id: &str) -> Result<bool> {
        let id = id.to_owned();
        self.writer.run(move |c| approvals::take(c, &id)).await
    }

    async fn overdue_approvals(&self, now: &str, batch: u32) -> Result<Vec<String>> {
        let now = now.to_owned();
        self.readers.run(move |c| approvals::overdue(c, &now, batch)).await
    }

    async fn create_key(&self, key: NewKey) -> Result<ApiKey> {
        self.writer.run(move |c| keys::create(c, &key)).await
    }

    async fn keys(&self) -> Result<Vec<ApiKey>> {
        self.readers.run(keys::all).await
    }

    async fn key_by_hash(&self, secret_hash: &str) -> Result<Option<ApiKey>> {
        let secret_hash = secret_hash.to_owned();
        self.readers.run(move |c| keys::by_hash(c, &secret_hash)).await
    }

    async fn update_key(&self, id: &str, update: KeyUpdate) -> Result<ApiKey> {
        let id = id.to_owned();
        self.writer.run(move |c| keys::update(c, &id, &update)).await
    }

    async fn delete_key(&self, id: &str) -> Result<()> {
        let id = id.to_owned();
        self.writer.run(move |c| keys::delete(c, &id)).await
    }

    async fn touch_key(&self, id: &str, now: &str) -> Result<()> {
        let (id, now) = (id.to_owned(), now.to_owned());
        self.writer.run(move |c| keys::touch(c, &id, &now)).await
    }

    async fn value(&self, name: &str) -> Result<Option<String>> {
        let name = name.to_owned();
        self.readers.run(move |c| values::get(c, &name)).await
    }

    async fn set_value(&self, name: &str, value: &str) -> Result<()> {
        let (name, value) = (name.to_owned(), value.to_owned());
        self.writer.run(move |c| values::set(c, &name, &value)).await
    }

    async fn keep_rounds(&self, rounds: KeptRounds) -> Result<()> {
        self.writer.run(move |c| kept::keep(c, &rounds)).await
    }

    async fn recall_rounds(&self, recall: RecallKept) -> Result<Vec<RecalledKept>> {
        let now_ms = recall.now_ms;
        let (found, used) = self.readers.run(move |c| kept::recall(c, &recall)).await?;
        if !used.is_empty() {
            self.writer.run(move |c| kept::touch(c, &used, now_ms)).await?;
        }
        Ok(found)
    }

    async fn prune_rounds(&self, prune: PruneKept) -> Result<u64> {
        self.writer.run(move |c| kept::prune(c, prune)).await
    }
}
