//! The list of skills for people: filtered, sorted, paged. It walks all rows; requests of models never come here.

use std::cmp::Reverse;
use std::sync::Arc;

use domain::tokens::fold;
use domain::{Mode, SourceProvider};
use store::{Page, PageRequest};

use crate::entry::Entry;
use crate::snapshot::Snapshot;

/// Which skills; absent fields do not restrict.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SkillFilter {
    /// Part of the name, the description or a tag, without regard to case.
    pub q: Option<String>,
    /// Mode.
    pub mode: Option<Mode>,
    /// Where it came from.
    pub source: Option<SourceProvider>,
    /// Owner, exact.
    pub owner: Option<String>,
    /// The switch.
    pub enabled: Option<bool>,
    /// Order.
    pub sort: SkillSort,
}

/// Order of a list. Equals are ordered by name, then version, highest first, then owner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SkillSort {
    /// By name.
    #[default]
    Name,
    /// Newest first.
    Created,
    /// Most installed first.
    Installs,
}

impl SkillSort {
    /// Reads the word of the API: `name`, `created`, `installs`.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "name" => Some(Self::Name),
            "created" => Some(Self::Created),
            "installs" => Some(Self::Installs),
            _ => None,
        }
    }
}

impl SkillFilter {
    fn fits(&self, entry: &Entry, q: Option<&str>) -> bool {
        let skill = &entry.skill;
        let named = |q: &str| {
            fold(&skill.name).contains(q)
                || fold(&skill.description).contains(q)
                || skill.tags.iter().any(|tag| fold(tag).contains(q))
        };
        self.mode.is_none_or(|mode| skill.mode == mode)
            && self.source.is_none_or(|source| skill.source_provider == source)
            && self.owner.as_ref().is_none_or(|owner| skill.api_key_id == *owner)
            && self.enabled.is_none_or(|enabled| skill.enabled == enabled)
            && q.is_none_or(named)
    }
}

impl Snapshot {
    /// One page of the skills of all owners, broken ones included.
    pub fn list(&self, filter: &SkillFilter, page: PageRequest) -> Page<Arc<Entry>> {
        let q = filter.q.as_deref().map(fold).filter(|q| !q.is_empty());
        let mut found: Vec<&Arc<Entry>> =
            self.entries().filter(|entry| filter.fits(entry, q.as_deref())).collect();
        let by_name = |entry: &Entry| {
            let skill = &entry.skill;
            (skill.name.clone(), Reverse(skill.version), skill.api_key_id.clone())
        };
        match filter.sort {
            SkillSort::Name => found.sort_by_cached_key(|entry| by_name(entry)),
            SkillSort::Created => {
                found.sort_by_cached_key(|entry| (Reverse(entry.skill.created_at.clone()), by_name(entry)));
            }
            SkillSort::Installs => {
                found.sort_by_cached_key(|entry| (Reverse(entry.skill.install_count), by_name(entry)));
            }
        }
        let total = found.len() as u64;
        let skip = (page.page.max(1) - 1) as usize * page.limit as usize;
        let data = found.into_iter().skip(skip).take(page.limit as usize).cloned().collect();
        Page::new(data, total, page)
    }
}
