//! What can be kept: the [`Store`] trait and the shapes that go in and out.
//!
//! No SQL and no driver here, so that nobody above compiles a database. Every method that changes something
//! returns only when the change is durable (it survives a kill -9 of the process).

mod approvals;
mod artifacts;
mod audit;
mod claims;
mod error;
mod executions;
mod instances;
mod kept;
mod keys;
mod retention;
mod sets;
mod skills;
mod tokens;
mod transfer;
mod turns;

use async_trait::async_trait;
use domain::{ApiKey, Execution, Skill};

pub use approvals::ApprovalDecision;
pub use artifacts::Artifacts;
pub use audit::{Audit, AuditFilter};
pub use claims::{Claim, Claimed};
pub use error::StoreError;
pub use executions::{ExecutionFilter, ExecutionOutcome, Page, PageRequest};
pub use instances::Instances;
pub use kept::{KeptRounds, KeptScope, PruneKept, RecallKept, RecalledKept};
pub use keys::{KeyUpdate, NewKey};
pub use retention::{HistorySize, Prune, Pruned, Retention};
pub use sets::Sets;
pub use skills::{LoadedSkills, SkillUpdate};
pub use tokens::Tokens;
pub use transfer::{Rows, Table, Transfer};
pub use turns::{Spending, TurnFilter, Turns, UsageBy, UsageQuery, UsageRow};

/// Result of every store call.
pub type Result<T> = std::result::Result<T, StoreError>;

/// All that a database keeps. Those who need only a part ask for that trait; the binary hands out the whole.
pub trait Database:
    Store + Turns + Artifacts + Audit + Sets + Tokens + Instances + Retention + Transfer
{
}

impl<D> Database for D where
    D: Store + Turns + Artifacts + Audit + Sets + Tokens + Instances + Retention + Transfer
{
}

/// Skills, their history, keys, values and kept rounds. Cheap to share: implementations are behind an `Arc`.
#[async_trait]
pub trait Store: Send + Sync {
    /// Every skill of every owner. A row that cannot be read is reported, never fatal.
    async fn load_skills(&self) -> Result<LoadedSkills>;

    /// Writes a new skill. With `replace`, a row of the same owner, name and version is overwritten and keeps
    /// its id, creation time and install count; without, it is [`StoreError::Conflict`]. Returns the stored row.
    async fn insert_skill(&self, skill: Skill, replace: bool) -> Result<Skill>;

    /// Changes a skill as one transaction; [`StoreError::NotFound`] for an unknown id. Returns the stored row.
    async fn update_skill(&self, id: &str, update: SkillUpdate) -> Result<Skill>;

    /// Removes a skill; its history stays. [`StoreError::NotFound`] for an unknown id.
    async fn delete_skill(&self, id: &str) -> Result<()>;

    /// Brings the rows of the built-ins up to date: definition (description, schema, handler, annotations, tags)
    /// from the binary; mode, policy, enabled, limits and install count from the row where there is one. Built-in
    /// rows that the binary no longer ships are removed. The names are reserved: a `system` row of another source
    /// with the name and version of a built-in becomes that built-in and keeps only its id, creation time, install
    /// count, enabled and mode; its policy and limits become the binary's. Changes nothing, not even `updated_at`,
    /// when the definitions are the same.
    async fn sync_builtins(&self, builtins: Vec<Skill>) -> Result<()>;

    /// Writes the row of a new execution, usually `pending`. One with an approval is an error: that is
    /// [`Store::await_approval`].
    async fn create_execution(&self, execution: &Execution) -> Result<()>;

    /// `pending` to `running`. Returns false if the row is no longer pending, or gone.
    async fn start_execution(&self, id: &str) -> Result<bool>;

    /// To a terminal status; an outcome with another one is an error. Terminal rows never change: returns false if
    /// it already was, or if the row is gone.
    async fn finish_execution(&self, id: &str, outcome: ExecutionOutcome) -> Result<bool>;

    /// One execution.
    async fn execution(&self, id: &str) -> Result<Option<Execution>>;

    /// One page, newest first by their time, with the total of the filter (exact to 10,000). Page and limit are brought
    /// into their bounds; a bound of time that is not RFC 3339 is an error. Rows of a page have no parts: those may be
    /// large.
    async fn executions(&self, filter: &ExecutionFilter, page: PageRequest) -> Result<Page<Execution>>;

    /// Every row that is `pending` or `running` becomes `error` with `message`, whichever process it belongs to; those
    /// that wait for a person stay. Returns how many. Beside living processes, see [`Instances::interrupt_orphans`].
    async fn interrupt_executions(&self, message: &str) -> Result<u64>;

    /// As [`Store::create_execution`], once for each claim: row and claim are written together. If the claim was
    /// taken before and has not expired, nothing is written and what it was taken for is returned.
    async fn create_execution_once(&self, execution: &Execution, claim: &Claim) -> Result<Option<Claimed>>;

    /// What a claim was taken for, if it was and has not expired at `now_ms`.
    async fn claimed(&self, key: &str, now_ms: i64) -> Result<Option<Claimed>>;

    /// Takes a claim for an execution that is there already. If it was taken before and has not expired, nothing is
    /// written and what it was taken for is returned.
    async fn take_claim(&self, execution_id: &str, claim: &Claim) -> Result<Option<Claimed>>;

    /// Forgets claims that have expired at `now_ms`, at most `batch`. Returns how many. What they were taken for
    /// stays in the history.
    async fn prune_claims(&self, now_ms: i64, batch: u32) -> Result<u64>;

    /// Writes the row of an execution that waits for a person: `pending`, its approval `waiting`. It is found again
    /// by `call`, see [`Store::execution_of_call`]. Such a row cannot be started before it is approved.
    async fn await_approval(&self, execution: &Execution, call: &str) -> Result<()>;

    /// The newest execution that was written by [`Store::await_approval`] for this call, and whose outcome nobody
    /// has taken yet.
    async fn execution_of_call(&self, call: &str) -> Result<Option<Execution>>;

    /// Decides about a waiting execution, in one transaction. A denial or an expiry also ends the row as `error` with
    /// the decision's message. Returns the row as it is then; none if it does not wait (any more) or is gone.
    async fn decide_approval(&self, id: &str, decision: ApprovalDecision) -> Result<Option<Execution>>;

    /// Takes the outcome of an execution that needed a person, to hand it to a model. True for the first alone.
    async fn take_outcome(&self, id: &str) -> Result<bool>;

    /// Ids of executions that still wait although their time was over at `now` (RFC 3339 UTC); at most `batch`.
    async fn overdue_approvals(&self, now: &str, batch: u32) -> Result<Vec<String>>;

    /// Writes a new key with the hash (lower-case hex sha256) of its secret.
    async fn create_key(&self, key: NewKey) -> Result<ApiKey>;

    /// Every key, newest first.
    async fn keys(&self) -> Result<Vec<ApiKey>>;

    /// The key with this secret hash, revoked or not.
    async fn key_by_hash(&self, secret_hash: &str) -> Result<Option<ApiKey>>;

    /// Changes a key; [`StoreError::NotFound`] for an unknown id. A revoked key stays revoked.
    async fn update_key(&self, id: &str, update: KeyUpdate) -> Result<ApiKey>;

    /// Removes a key for good; what it owned stays. [`StoreError::NotFound`] for an unknown id.
    async fn delete_key(&self, id: &str) -> Result<()>;

    /// Notes that a key was used at `now` (RFC 3339 UTC). A key that is gone is no error.
    async fn touch_key(&self, id: &str, now: &str) -> Result<()>;

    /// A value of the key-value table of small things (token hashes, settings).
    async fn value(&self, name: &str) -> Result<Option<String>>;

    /// Sets such a value.
    async fn set_value(&self, name: &str, value: &str) -> Result<()>;

    /// Keeps hidden rounds of a turn.
    async fn keep_rounds(&self, rounds: KeptRounds) -> Result<()>;

    /// Finds kept rounds by their keys, in one look-up. What is found and not expired counts as used now, to a
    /// tenth of its time to live. Rounds that nobody kept are absent, never an error.
    async fn recall_rounds(&self, recall: RecallKept) -> Result<Vec<RecalledKept>>;

    /// Forgets kept rounds that have expired. Returns how many it touched: with a full batch there may be more.
    async fn prune_rounds(&self, prune: PruneKept) -> Result<u64>;
}
