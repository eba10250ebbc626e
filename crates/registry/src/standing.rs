//! What stands before a request is scored: skills that the conversation was offered already, and policies that an
//! operator set in place of the skills' own.
//!
//! Both only say what there is to choose from; whether it goes into the request is decided by the selection.

use std::collections::HashSet;
use std::sync::Arc;

use domain::{Policy, Skill};

use crate::entry::Entry;
use crate::select::SelectRequest;
use crate::snapshot::Snapshot;

impl SelectRequest {
    /// The policy of a skill for this caller.
    pub(crate) fn policy(&self, skill: &Skill) -> Policy {
        self.policies.get(&skill.name).copied().unwrap_or(skill.policy)
    }
}

impl Snapshot {
    /// The skills of [`SelectRequest::offered`] that the owner still sees, one version per name, in their order.
    pub(crate) fn offered_before(&self, request: &SelectRequest) -> Vec<&Arc<Entry>> {
        let mut names = HashSet::new();
        let seen = |id: &String| {
            let entry = self.get(id)?;
            let versions = self.versions(&request.owner, &entry.skill.name);
            versions.iter().find(|version| version.skill.id == *id)
        };
        request.offered.iter().filter_map(seen).filter(|entry| names.insert(&entry.skill.name)).collect()
    }

    /// The version to offer of each name that is `manual` by itself, in one version at least, but not for this
    /// caller. The views leave such versions out.
    pub(crate) fn freed(&self, request: &SelectRequest) -> Vec<&Arc<Entry>> {
        let free = request.policies.iter().filter(|(_, policy)| **policy != Policy::Manual);
        let usable = |(name, _): (&String, &Policy)| {
            let versions = self.versions(&request.owner, name);
            let is_manual = versions.iter().any(|entry| entry.skill.policy == Policy::Manual);
            versions.iter().find(|entry| is_manual && entry.is_usable())
        };
        free.filter_map(usable).collect()
    }
}
