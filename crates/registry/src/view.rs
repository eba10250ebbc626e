//! What one owner sees under each name, and which of it may be offered to a model.
//!
//! There is one view of `system` and one of each owner that has skills of its own. An owner's view holds only the
//! names of its own skills, with the `system` versions of those names merged in; all other names are looked up in
//! the view of `system`. So a request touches what its owner can see and nothing else.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::Mode;

use crate::entry::Entry;
use crate::error::RegistryError;
use crate::index::Index;

/// Versions of each name, highest first.
pub(crate) type Names = BTreeMap<String, Vec<Arc<Entry>>>;

/// One owner's view.
#[derive(Debug, Default)]
pub(crate) struct View {
    pub(crate) names: Names,
    /// The candidates that are always offered, one version per name, by name.
    pub(crate) on: Vec<Arc<Entry>>,
    /// The candidates that are scored, one version per name.
    pub(crate) auto: Index,
}

impl View {
    /// Builds a view, or takes the old one when it shows the very same entries.
    pub(crate) fn build(names: Names, old: Option<&Arc<Self>>) -> Result<Arc<Self>, RegistryError> {
        if let Some(old) = old
            && same(&names, &old.names)
        {
            return Ok(Arc::clone(old));
        }
        let offered =
            names.values().filter_map(|versions| versions.iter().find(|entry| entry.is_candidate()));
        let (on, auto): (Vec<_>, Vec<_>) = offered.cloned().partition(|entry| entry.skill.mode == Mode::On);
        Ok(Arc::new(Self { names, on, auto: Index::build(auto)? }))
    }
}

fn same(one: &Names, other: &Names) -> bool {
    let lists = |a: &[Arc<Entry>], b: &[Arc<Entry>]| {
        a.len() == b.len() && a.iter().zip(b).all(|(x, y)| Arc::ptr_eq(x, y))
    };
    one.len() == other.len() && one.iter().zip(other).all(|((n, a), (m, b))| n == m && lists(a, b))
}
