//! Named management tokens.

use async_trait::async_trait;
use domain::ManagementToken;

use crate::Result;

/// Tokens. Only hashes (lower-case hex sha256) of their secrets are kept.
#[async_trait]
pub trait Tokens: Send + Sync {
    /// Writes a new token; a name that is taken is [`crate::StoreError::Conflict`].
    async fn create_token(&self, token: &ManagementToken, secret_hash: &str) -> Result<()>;

    /// Every token, newest first.
    async fn tokens(&self) -> Result<Vec<ManagementToken>>;

    /// The token with this secret hash.
    async fn token_by_hash(&self, secret_hash: &str) -> Result<Option<ManagementToken>>;

    /// Removes a token for good; [`crate::StoreError::NotFound`] for an unknown id.
    async fn delete_token(&self, id: &str) -> Result<()>;

    /// Notes that a token was used at `now` (RFC 3339 UTC). A token that is gone is no error.
    async fn touch_token(&self, id: &str, now: &str) -> Result<()>;
}
