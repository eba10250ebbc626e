//! Sets of skills and defaults of names. [`crate::Store::load_skills`] reads them together with the skills.

use async_trait::async_trait;
use domain::{SkillDefault, SkillSet};

use crate::Result;

/// Sets and defaults.
#[async_trait]
pub trait Sets: Send + Sync {
    /// Writes a set, over one of the same name, which keeps its creation time. Returns the stored row.
    async fn put_set(&self, set: SkillSet) -> Result<SkillSet>;

    /// Removes a set; [`crate::StoreError::NotFound`] for an unknown name.
    async fn delete_set(&self, name: &str) -> Result<()>;

    /// Says which versions a name means, over what was said before.
    async fn put_default(&self, default: SkillDefault) -> Result<()>;

    /// Back to the highest version; [`crate::StoreError::NotFound`] where nothing was said.
    async fn delete_default(&self, api_key_id: &str, name: &str) -> Result<()>;
}
