//! What [`SqliteStore`] keeps beside skills and executions: which call reads and which writes. Statements live in the
//! modules beside this one.

use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use domain::{Artifact, AuditEntry, ManagementToken, SkillDefault, SkillSet, TurnRecord};
use serde_json::Value;
use store::{
    Artifacts, Audit, AuditFilter, HistorySize, Instances, Page, PageRequest, Prune, Pruned, Result,
    Retention, Rows, Sets, Spending, StoreError, Table, Tokens, Transfer, TurnFilter, Turns, UsageQuery,
    UsageRow,
};

use super::{
    SqliteStore, artifacts, audit, changes, instances, retention, sets, tokens, transfer, turns, usage,
};
use crate::error::SqlError;

/// How often somebody who waits for changes looks for them.
const LOOK: Duration = Duration::from_millis(300);

#[async_trait]
impl Turns for SqliteStore {
    async fn record_turn(&self, turn: TurnRecord) -> Result<()> {
        self.writer.run_one(move |c| turns::record(c, turn)).await
    }

    async fn turn(&self, id: &str) -> Result<Option<TurnRecord>> {
        let id = id.to_owned();
        self.readers.run(move |c| turns::one(c, &id)).await
    }

    async fn turns(&self, filter: &TurnFilter, page: PageRequest) -> Result<Page<TurnRecord>> {
        let filter = filter.clone();
        self.readers.run(move |c| turns::page(c, &filter, page)).await
    }

    async fn usage(&self, query: &UsageQuery) -> Result<Vec<UsageRow>> {
        let query = query.clone();
        self.readers.run(move |c| usage::usage(c, &query)).await
    }

    async fn spent_since(&self, api_key_id: &str, since: &str) -> Result<Spending> {
        let (owner, since) = (api_key_id.to_owned(), since.to_owned());
        self.readers.run(move |c| usage::spent(c, &owner, &since)).await
    }
}

#[async_trait]
impl Artifacts for SqliteStore {
    async fn put_artifact(&self, artifact: &Artifact, content: Vec<u8>) -> Result<()> {
        let artifact = artifact.clone();
        self.writer.run_one(move |c| artifacts::put(c, &artifact, &content)).await
    }

    async fn artifact(&self, id: &str) -> Result<Option<Artifact>> {
        let id = id.to_owned();
        self.readers.run(move |c| artifacts::one(c, &id)).await
    }

    async fn artifact_content(&self, id: &str) -> Result<Option<Vec<u8>>> {
        let id = id.to_owned();
        self.readers.run(move |c| artifacts::content(c, &id)).await
    }

    async fn artifacts_of(&self, execution_id: &str) -> Result<Vec<Artifact>> {
        let id = execution_id.to_owned();
        self.readers.run(move |c| artifacts::of(c, &id)).await
    }
}

#[async_trait]
impl Audit for SqliteStore {
    async fn append_audit(&self, entry: &AuditEntry) -> Result<()> {
        let entry = entry.clone();
        self.writer.run(move |c| audit::append(c, &entry)).await
    }

    async fn audit(&self, filter: &AuditFilter, page: PageRequest) -> Result<Page<AuditEntry>> {
        let filter = filter.clone();
        self.readers.run(move |c| audit::page(c, &filter, page)).await
    }
}

#[async_trait]
impl Sets for SqliteStore {
    async fn put_set(&self, set: SkillSet) -> Result<SkillSet> {
        self.writer.run(move |c| sets::put(c, &set)).await
    }

    async fn delete_set(&self, name: &str) -> Result<()> {
        let name = name.to_owned();
        self.writer.run(move |c| sets::delete(c, &name)).await
    }

    async fn put_default(&self, default: SkillDefault) -> Result<()> {
        self.writer.run(move |c| sets::put_default(c, &default)).await
    }

    async fn delete_default(&self, api_key_id: &str, name: &str) -> Result<()> {
        let (owner, name) = (api_key_id.to_owned(), name.to_owned());
        self.writer.run(move |c| sets::delete_default(c, &owner, &name)).await
    }
}

#[async_trait]
impl Tokens for SqliteStore {
    async fn create_token(&self, token: &ManagementToken, secret_hash: &str) -> Result<()> {
        let (token, secret_hash) = (token.clone(), secret_hash.to_owned());
        self.writer.run(move |c| tokens::create(c, &token, &secret_hash)).await
    }

    async fn tokens(&self) -> Result<Vec<ManagementToken>> {
        self.readers.run(tokens::all).await
    }

    async fn token_by_hash(&self, secret_hash: &str) -> Result<Option<ManagementToken>> {
        let secret_hash = secret_hash.to_owned();
        self.readers.run(move |c| tokens::by_hash(c, &secret_hash)).await
    }

    async fn delete_token(&self, id: &str) -> Result<()> {
        let id = id.to_owned();
        self.writer.run(move |c| tokens::delete(c, &id)).await
    }

    async fn touch_token(&self, id: &str, now: &str) -> Result<()> {
        let (id, now) = (id.to_owned(), now.to_owned());
        self.writer.run(move |c| tokens::touch(c, &id, &now)).await
    }
}

impl SqliteStore {
    /// Runs what asks the file system about processes, off the async threads.
    async fn processes<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&instances::Instances) -> std::result::Result<T, SqlError> + Send + 'static,
    {
        let instances = self.instances.clone();
        let answer = tokio::task::spawn_blocking(move || work(&instances)).await;
        Ok(answer.map_err(|_| StoreError::Closed)??)
    }
}

#[async_trait]
impl Instances for SqliteStore {
    async fn register_instance(&self, id: &str) -> Result<()> {
        let id = id.to_owned();
        self.processes(move |instances| instances.register(&id)).await
    }

    async fn renew_instance(&self) -> Result<()> {
        self.processes(instances::Instances::renew).await
    }

    async fn interrupt_orphans(&self, message: &str) -> Result<u64> {
        let message = message.to_owned();
        let ids = self.readers.run(instances::with_open_rows).await?;
        let dead = self.processes(move |instances| instances.dead(ids)).await?;
        self.writer.run(move |c| instances::interrupt(c, &message, &dead)).await
    }

    async fn changed(&self, seen: u64) -> Result<u64> {
        let mut last = None;
        loop {
            let all = self.readers.run(changes::of_all).await?;
            // Only the writer knows which of them are its own.
            if last != Some(all) {
                let others = self.writer.run(changes::of_others).await?;
                if others != seen {
                    return Ok(others);
                }
                last = Some(all);
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}

#[async_trait]
impl Retention for SqliteStore {
    async fn prune(&self, prune: &Prune) -> Result<Pruned> {
        let prune = prune.clone();
        self.writer.run(move |c| retention::prune(c, &prune)).await
    }

    async fn give_space_back(&self) -> Result<u64> {
        self.writer.run_alone(retention::give_back).await
    }

    async fn history_size(&self) -> Result<HistorySize> {
        let path = self.path.clone();
        self.readers.run(move |c| retention::size(c, &path)).await
    }
}

#[async_trait]
impl Transfer for SqliteStore {
    async fn backup(&self, to: &Path) -> Result<()> {
        let to = to.to_owned();
        self.readers.run(move |c| transfer::backup(c, &to)).await
    }

    async fn export_rows(&self, table: Table, from: Option<&str>, limit: u32) -> Result<Rows> {
        let from = from.map(str::to_owned);
        self.readers.run(move |c| transfer::export(c, table, from.as_deref(), limit)).await
    }

    async fn import_rows(&self, table: Table, rows: Vec<Value>) -> Result<u64> {
        self.writer.run(move |c| transfer::import(c, table, rows)).await
    }
}
