//! The audit table: only ever appended to, read newest first.

use async_trait::async_trait;
use domain::AuditEntry;

use crate::{Page, PageRequest, Result};

/// Which entries; absent fields do not restrict.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AuditFilter {
    /// Who.
    pub actor: Option<String>,
    /// What was done, exact.
    pub action: Option<String>,
    /// Id of what it was done to.
    pub target: Option<String>,
    /// Created at or after, RFC 3339 UTC.
    pub since: Option<String>,
    /// Created before, RFC 3339 UTC.
    pub until: Option<String>,
}

/// The audit table.
#[async_trait]
pub trait Audit: Send + Sync {
    /// Appends an entry. The database itself refuses to change or remove one.
    async fn append_audit(&self, entry: &AuditEntry) -> Result<()>;

    /// One page, newest first.
    async fn audit(&self, filter: &AuditFilter, page: PageRequest) -> Result<Page<AuditEntry>>;
}
