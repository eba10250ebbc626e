//! [`PostgresStore`]: a few connections that everybody shares, a few that transactions have for themselves, and one that
//! hears what other processes change.
//!
//! This file only says which call goes which way; statements live in the modules below it.

mod address;
mod approvals;
mod artifacts;
mod audit;
mod cells;
mod claims;
mod conditions;
mod connect;
mod database;
mod error;
mod exclusive;
mod executions;
mod filter;
mod home;
mod kept;
mod keys;
mod lanes;
mod migrate;
mod retention;
mod session;
mod sets;
mod skills;
mod text;
mod tls;
mod tokens;
mod transfer;
mod turns;
mod usage;
mod values;

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use domain::{ApiKey, Execution, Skill};
use store::{
    ApprovalDecision, Claim, Claimed, ExecutionFilter, ExecutionOutcome, KeptRounds, KeyUpdate, LoadedSkills,
    NewKey, Page, PageRequest, PruneKept, RecallKept, RecalledKept, Result, SkillUpdate, Store, StoreError,
};

use crate::error::SqlError;
use crate::totals::{Known, Totals};
use connect::Connector;
use exclusive::Exclusive;
use home::Home;
use lanes::Lanes;

pub(crate) use error::PgError;

/// How long the start of the program waits for a server that is not there yet.
const START: Duration = Duration::from_secs(20);

/// A `PostgreSQL` database. Dropping it ends its connections.
pub struct PostgresStore {
    lanes: Lanes,
    exclusive: Arc<Exclusive>,
    home: Home,
    totals: Arc<Totals>,
}

impl PostgresStore {
    /// Connects to `postgres://USER:PASSWORD@HOST:PORT/DATABASE` (libpq's `sslmode` and `sslrootcert` mean what they
    /// mean there; the schema is the first of the `search_path`) and brings the schema up to date. Waits a moment for a
    /// server that is not there yet.
    ///
    /// Errors: [`StoreError::TooNew`] for a database of a newer release, else [`StoreError::Backend`] with the reason
    /// as its source. None of them shows the address.
    pub async fn open(url: &str) -> Result<Arc<Self>> {
        Ok(Self::start(url).await?)
    }

    async fn start(url: &str) -> std::result::Result<Arc<Self>, SqlError> {
        let connector = Connector::new(url)?;
        let mut client = connector.open_patiently(START, |_| {}).await?;
        let schema = connect::check(&client).await?;
        migrate::apply(&mut client).await?;
        drop(client);
        let home = Home::open(Arc::clone(&connector), schema).await?;
        Ok(Arc::new(Self {
            lanes: Lanes::new(Arc::clone(&connector)),
            exclusive: Arc::new(Exclusive::new(connector)),
            home,
            totals: Arc::default(),
        }))
    }

    /// Lets running reads and writes end, then disconnects. Later calls get [`StoreError::Closed`].
    pub async fn close(&self) {
        self.lanes.close().await;
        self.exclusive.close().await;
        self.home.close().await;
    }

    /// Counts a large filter anew while its last total is still shown.
    fn count_again(&self, key: String, filter: ExecutionFilter) {
        let (exclusive, totals) = (Arc::clone(&self.exclusive), Arc::clone(&self.totals));
        tokio::spawn(async move {
            match executions::total_of(&exclusive, &filter).await {
                Ok(counted) => totals.counted(key, counted, Instant::now()),
                Err(SqlError::Store(StoreError::Closed)) => {}
                Err(error) => tracing::error!(%error, "executions could not be counted"),
            }
        });
    }
}

#[async_trait]
impl Store for PostgresStore {
    async fn load_skills(&self) -> Result<LoadedSkills> {
        Ok(skills::load(&self.exclusive).await?)
    }

    async fn insert_skill(&self, skill: Skill, replace: bool) -> Result<Skill> {
        Ok(skills::insert(&self.exclusive, &skill, replace).await?)
    }

    async fn update_skill(&self, id: &str, update: SkillUpdate) -> Result<Skill> {
        Ok(skills::update(&self.exclusive, id, update).await?)
    }

    async fn delete_skill(&self, id: &str) -> Result<()> {
        Ok(skills::delete(&self.lanes, id).await?)
    }

    async fn sync_builtins(&self, builtins: Vec<Skill>) -> Result<()> {
        Ok(skills::sync_builtins(&self.exclusive, &builtins).await?)
    }

    async fn create_execution(&self, execution: &Execution) -> Result<()> {
        Ok(executions::create(&self.lanes, execution, self.home.id().as_deref()).await?)
    }

    async fn start_execution(&self, id: &str) -> Result<bool> {
        Ok(executions::start(&self.lanes, id, self.home.id().as_deref()).await?)
    }

    async fn finish_execution(&self, id: &str, outcome: ExecutionOutcome) -> Result<bool> {
        Ok(executions::finish(&self.lanes, id, &outcome).await?)
    }

    async fn execution(&self, id: &str) -> Result<Option<Execution>> {
        Ok(executions::one(&self.lanes, id).await?)
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
        let (page, counted) = executions::page(&self.exclusive, filter, page, known).await?;
        if known.is_none() {
            self.totals.counted(key, counted, Instant::now());
        }
        Ok(page)
    }

    async fn interrupt_executions(&self, message: &str) -> Result<u64> {
        Ok(executions::interrupt(&self.lanes, message).await?)
    }

    async fn create_execution_once(&self, execution: &Execution, claim: &Claim) -> Result<Option<Claimed>> {
        Ok(claims::create_once(&self.lanes, execution, claim, self.home.id().as_deref()).await?)
    }

    async fn claimed(&self, key: &str, now_ms: i64) -> Result<Option<Claimed>> {
        Ok(claims::claimed(&self.lanes, key, now_ms).await?)
    }

    async fn take_claim(&self, execution_id: &str, claim: &Claim) -> Result<Option<Claimed>> {
        Ok(claims::take(&self.lanes, execution_id, claim).await?)
    }

    async fn prune_claims(&self, now_ms: i64, batch: u32) -> Result<u64> {
        Ok(claims::prune(&self.lanes, now_ms, batch).await?)
    }

    async fn await_approval(&self, execution: &Execution, call: &str) -> Result<()> {
        Ok(approvals::wait(&self.lanes, execution, call, self.home.id().as_deref()).await?)
    }

    async fn execution_of_call(&self, call: &str) -> Result<Option<Execution>> {
        Ok(approvals::of_call(&self.lanes, call).await?)
    }

    async fn decide_approval(&self, id: &str, decision: ApprovalDecision) -> Result<Option<Execution>> {
        Ok(approvals::decide(&self.exclusive, id, &decision, self.home.id().as_deref()).await?)
    }

    async fn take_outcome(&self, id: &str) -> Result<bool> {
        Ok(approvals::take(&self.lanes, id).await?)
    }

    async fn overdue_approvals(&self, now: &str, batch: u32) -> Result<Vec<String>> {
        Ok(approvals::overdue(&self.lanes, now, batch).await?)
    }

    async fn create_key(&self, key: NewKey) -> Result<ApiKey> {
        Ok(keys::create(&self.lanes, &key).await?)
    }

    async fn keys(&self) -> Result<Vec<ApiKey>> {
        Ok(keys::all(&self.lanes).await?)
    }

    async fn key_by_hash(&self, secret_hash: &str) -> Result<Option<ApiKey>> {
        Ok(keys::by_hash(&self.lanes, secret_hash).await?)
    }

    async fn update_key(&self, id: &str, update: KeyUpdate) -> Result<ApiKey> {
        Ok(keys::update(&self.exclusive, id, &update).await?)
    }

    async fn delete_key(&self, id: &str) -> Result<()> {
        Ok(keys::delete(&self.lanes, id).await?)
    }

    async fn touch_key(&self, id: &str, now: &str) -> Result<()> {
        Ok(keys::touch(&self.lanes, id, now).await?)
    }

    async fn value(&self, name: &str) -> Result<Option<String>> {
        Ok(values::get(&self.lanes, name).await?)
    }

    async fn set_value(&self, name: &str, value: &str) -> Result<()> {
        Ok(values::set(&self.lanes, name, value).await?)
    }

    async fn keep_rounds(&self, rounds: KeptRounds) -> Result<()> {
        Ok(kept::keep(&self.exclusive, &rounds).await?)
    }

    async fn recall_rounds(&self, recall: RecallKept) -> Result<Vec<RecalledKept>> {
        Ok(kept::recall(&self.lanes, &recall).await?)
    }

    async fn prune_rounds(&self, prune: PruneKept) -> Result<u64> {
        Ok(kept::prune(&self.exclusive, prune).await?)
    }
}
