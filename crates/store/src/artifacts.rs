//! Files that executions leave behind.

use async_trait::async_trait;
use domain::Artifact;

use crate::Result;

/// Artifacts.
#[async_trait]
pub trait Artifacts: Send + Sync {
    /// Keeps one. An id that is there already is [`crate::StoreError::Conflict`].
    async fn put_artifact(&self, artifact: &Artifact, content: Vec<u8>) -> Result<()>;

    /// One, without its bytes.
    async fn artifact(&self, id: &str) -> Result<Option<Artifact>>;

    /// Its bytes.
    async fn artifact_content(&self, id: &str) -> Result<Option<Vec<u8>>>;

    /// Those of an execution, in the order in which they were written.
    async fn artifacts_of(&self, execution_id: &str) -> Result<Vec<Artifact>>;
}
