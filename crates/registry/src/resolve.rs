//! From a reference (`name`, `name@^1.2`) to the one skill it means for an owner.

use std::sync::Arc;

use domain::{Constraint, SkillRef, Version};

use crate::entry::Entry;
use crate::snapshot::Snapshot;

/// Nothing that the owner sees is meant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// No skill of that name.
    #[error("no skill `{0}`")]
    NotFound(String),
    /// The name is there, the version is not.
    #[error("no version of `{name}` satisfies `{constraint}`")]
    NoVersion {
        /// The name.
        name: String,
        /// What was asked for.
        constraint: Constraint,
        /// What there is, highest first.
        available: Vec<Version>,
    },
}

impl Snapshot {
    /// The highest version that satisfies the reference among the owner's own skills and those of `system`; an own
    /// skill hides a `system` one of the same `name@version`. Tells nothing about whether it may run: look at the
    /// entry.
    pub fn resolve(&self, owner: &str, wanted: &SkillRef) -> Result<Arc<Entry>, ResolveError> {
        let versions = self.versions(owner, &wanted.name);
        let fits = |entry: &&Arc<Entry>| {
            wanted.constraint.as_ref().is_none_or(|constraint| constraint.matches(&entry.skill.version))
        };
        match (versions.iter().find(fits), &wanted.constraint) {
            (Some(entry), _) => Ok(Arc::clone(entry)),
            (None, Some(constraint)) if !versions.is_empty() => Err(ResolveError::NoVersion {
                name: wanted.name.clone(),
                constraint: *constraint,
                available: versions.iter().map(|entry| entry.skill.version).collect(),
            }),
            (None, _) => Err(ResolveError::NotFound(wanted.name.clone())),
        }
    }
}
