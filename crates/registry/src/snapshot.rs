//! All skills of all owners at one moment. Built off the request path, never changed, swapped as a whole.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use domain::{SYSTEM_OWNER, SkillSet};
use store::LoadedSkills;

use crate::entry::Entry;
use crate::error::RegistryError;
use crate::known::Known;
use crate::view::{Names, View};

/// A row that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenRow {
    /// Its id.
    pub id: String,
    /// What is wrong with it.
    pub reason: String,
}

/// Everything the registry knows at one moment.
#[derive(Debug, Default)]
pub struct Snapshot {
    by_id: BTreeMap<String, Arc<Entry>>,
    system: Arc<View>,
    owners: HashMap<String, Arc<View>>,
    broken_rows: Vec<BrokenRow>,
    sets: Vec<SkillSet>,
}

impl Snapshot {
    /// Builds a snapshot. What did not change since `old` is shared with it instead of being worked out again.
    /// Takes about a second for 100,000 new skills: call it where blocking is allowed.
    pub fn build(loaded: LoadedSkills, known: &Known, old: Option<&Self>) -> Result<Self, RegistryError> {
        let mut by_id = BTreeMap::new();
        for skill in loaded.skills {
            let entry = match old.and_then(|old| old.by_id.get(&skill.id)) {
                Some(entry) if entry.skill == skill => Arc::clone(entry),
                _ => Arc::new(Entry::new(skill, known)),
            };
            by_id.insert(entry.skill.id.clone(), entry);
        }
        let mut names: HashMap<String, Names> = HashMap::new();
        for entry in by_id.values() {
            let of_owner = names.entry(entry.skill.api_key_id.clone()).or_default();
            of_owner.entry(entry.skill.name.clone()).or_default().push(Arc::clone(entry));
        }
        let mut system = names.remove(SYSTEM_OWNER).unwrap_or_default();
        for versions in system.values_mut() {
            highest_first(versions);
        }
        let mut owners = HashMap::new();
        for (owner, mut own) in names {
            for (name, versions) in &mut own {
                let shared = system.get(name).map(Vec::as_slice).unwrap_or_default();
                let visible = shared.iter().filter(|entry| !hidden(entry, versions)).cloned();
                let visible: Vec<_> = visible.collect();
                versions.extend(visible);
                highest_first(versions);
            }
            let before = old.and_then(|old| old.owners.get(&owner));
            owners.insert(owner, View::build(own, before)?);
        }
        let system = View::build(system, old.map(|old| &old.system))?;
        let broken_rows = loaded.broken.into_iter().map(|(id, reason)| BrokenRow { id, reason }).collect();
        Ok(Self { by_id, system, owners, broken_rows, sets: loaded.sets })
    }

    /// One skill by id, whoever owns it.
    pub fn get(&self, id: &str) -> Option<&Arc<Entry>> {
        self.by_id.get(id)
    }

    /// Every skill, ordered by id.
    pub fn entries(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.by_id.values()
    }

    /// Number of readable skills.
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Whether there is no readable skill.
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// The rows that could not be read. Skills that were read but cannot be used are entries with `broken` set.
    pub fn broken_rows(&self) -> &[BrokenRow] {
        &self.broken_rows
    }

    /// Every set, ordered by name.
    pub fn sets(&self) -> &[SkillSet] {
        &self.sets
    }

    /// The versions of a name that an owner sees, highest first.
    pub fn versions(&self, owner: &str, name: &str) -> &[Arc<Entry>] {
        let own = self.owners.get(owner).and_then(|view| view.names.get(name));
        own.or_else(|| self.system.names.get(name)).map(Vec::as_slice).unwrap_or_default()
    }

    /// The view of an owner, if it has skills of its own.
    pub(crate) fn own_view(&self, owner: &str) -> Option<&View> {
        self.owners.get(owner).map(AsRef::as_ref)
    }

    /// The view everybody shares.
    pub(crate) fn system_view(&self) -> &View {
        &self.system
    }
}

fn hidden(entry: &Entry, own: &[Arc<Entry>]) -> bool {
    own.iter().any(|other| other.skill.version == entry.skill.version)
}

fn highest_first(versions: &mut [Arc<Entry>]) {
    versions.sort_by_key(|entry| std::cmp::Reverse(entry.skill.version));
}
