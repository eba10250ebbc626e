//! The other traits of [`store::Database`] on [`PostgresStore`]: which call goes which way.

use std::path::Path;

use async_trait::async_trait;
use domain::{Artifact, AuditEntry, ManagementToken, SkillDefault, SkillSet, TurnRecord};
use serde_json::Value;
use store::{
    Artifacts, Audit, AuditFilter, HistorySize, Instances, Page, PageRequest, Prune, Pruned, Result,
    Retention, Rows, Sets, Spending, Table, Tokens, Transfer, TurnFilter, Turns, UsageQuery, UsageRow,
};

use super::error::PgError;
use super::{PostgresStore, artifacts, audit, retention, sets, tokens, transfer, turns, usage};
use crate::error::SqlError;

#[async_trait]
impl Turns for PostgresStore {
    async fn record_turn(&self, turn: TurnRecord) -> Result<()> {
        Ok(turns::record(&self.lanes, turn).await?)
    }

    async fn turn(&self, id: &str) -> Result<Option<TurnRecord>> {
        Ok(turns::one(&self.lanes, id).await?)
    }

    async fn turns(&self, filter: &TurnFilter, page: PageRequest) -> Result<Page<TurnRecord>> {
        Ok(turns::page(&self.exclusive, filter, page).await?)
    }

    async fn usage(&self, query: &UsageQuery) -> Result<Vec<UsageRow>> {
        Ok(usage::usage(&self.exclusive, query).await?)
    }

    async fn spent_since(&self, api_key_id: &str, since: &str) -> Result<Spending> {
        Ok(usage::spent(&self.lanes, api_key_id, since).await?)
    }
}

#[async_trait]
impl Artifacts for PostgresStore {
    async fn put_artifact(&self, artifact: &Artifact, content: Vec<u8>) -> Result<()> {
        Ok(artifacts::put(&self.exclusive, artifact, &content).await?)
    }

    async fn artifact(&self, id: &str) -> Result<Option<Artifact>> {
        Ok(artifacts::one(&self.lanes, id).await?)
    }

    async fn artifact_content(&self, id: &str) -> Result<Option<Vec<u8>>> {
        Ok(artifacts::content(&self.exclusive, id).await?)
    }

    async fn artifacts_of(&self, execution_id: &str) -> Result<Vec<Artifact>> {
        Ok(artifacts::of(&self.lanes, execution_id).await?)
    }
}

#[async_trait]
impl Audit for PostgresStore {
    async fn append_audit(&self, entry: &AuditEntry) -> Result<()> {
        Ok(audit::append(&self.lanes, entry).await?)
    }

    async fn audit(&self, filter: &AuditFilter, page: PageRequest) -> Result<Page<AuditEntry>> {
        Ok(audit::page(&self.exclusive, filter, page).await?)
    }
}

#[async_trait]
impl Sets for PostgresStore {
    async fn put_set(&self, set: SkillSet) -> Result<SkillSet> {
        Ok(sets::put(&self.lanes, &set).await?)
    }

    async fn delete_set(&self, name: &str) -> Result<()> {
        Ok(sets::delete(&self.lanes, name).await?)
    }

    async fn put_default(&self, default: SkillDefault) -> Result<()> {
        Ok(sets::put_default(&self.lanes, &default).await?)
    }

    async fn delete_default(&self, api_key_id: &str, name: &str) -> Result<()> {
        Ok(sets::delete_default(&self.lanes, api_key_id, name).await?)
    }
}

#[async_trait]
impl Tokens for PostgresStore {
    async fn create_token(&self, token: &ManagementToken, secret_hash: &str) -> Result<()> {
        Ok(tokens::create(&self.lanes, token, secret_hash).await?)
    }

    async fn tokens(&self) -> Result<Vec<ManagementToken>> {
        Ok(tokens::all(&self.lanes).await?)
    }

    async fn token_by_hash(&self, secret_hash: &str) -> Result<Option<ManagementToken>> {
        Ok(tokens::by_hash(&self.lanes, secret_hash).await?)
    }

    async fn delete_token(&self, id: &str) -> Result<()> {
        Ok(tokens::delete(&self.lanes, id).await?)
    }

    async fn touch_token(&self, id: &str, now: &str) -> Result<()> {
        Ok(tokens::touch(&self.lanes, id, now).await?)
    }
}

#[async_trait]
impl Instances for PostgresStore {
    async fn register_instance(&self, id: &str) -> Result<()> {
        Ok(self.home.register(&self.lanes, id).await?)
    }

    async fn renew_instance(&self) -> Result<()> {
        Ok(self.home.renew(&self.lanes).await?)
    }

    async fn interrupt_orphans(&self, message: &str) -> Result<u64> {
        Ok(self.home.interrupt(&self.lanes, message).await?)
    }

    async fn changed(&self, seen: u64) -> Result<u64> {
        Ok(self.home.changed(seen).await?)
    }
}

#[async_trait]
impl Retention for PostgresStore {
    async fn prune(&self, prune: &Prune) -> Result<Pruned> {
        Ok(retention::prune(&self.exclusive, prune).await?)
    }

    /// The server's autovacuum does so by itself.
    async fn give_space_back(&self) -> Result<u64> {
        Ok(0)
    }

    async fn history_size(&self) -> Result<HistorySize> {
        Ok(retention::size(&self.exclusive).await?)
    }
}

#[async_trait]
impl Transfer for PostgresStore {
    async fn backup(&self, _to: &Path) -> Result<()> {
        Err(SqlError::from(PgError::OwnTools).into())
    }

    async fn export_rows(&self, table: Table, from: Option<&str>, limit: u32) -> Result<Rows> {
        Ok(transfer::export(&self.exclusive, table, from, limit).await?)
    }

    async fn import_rows(&self, table: Table, rows: Vec<Value>) -> Result<u64> {
        Ok(transfer::import(&self.exclusive, table, rows).await?)
    }
}
