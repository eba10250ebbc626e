//! Where each value comes from, and what differs between two configurations.

use std::collections::{BTreeMap, BTreeSet};

use super::section::{Section, Shape, When};
use super::{Config, sections};

/// Where a value comes from; a later one wins over an earlier one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Source {
    /// Nobody said anything.
    #[default]
    Default,
    /// The file.
    File(String),
    /// This variable.
    Variable(String),
}

/// Sources by `section.key`; what is absent is the default.
pub(crate) type Sources = BTreeMap<String, Source>;

/// A setting that is not what it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    /// `section.key`, or the section where it is not a plain one.
    pub(crate) path: String,
    /// Whether only a start takes it up.
    pub(crate) needs_restart: bool,
}

/// What is different, in the order of the reference.
pub(crate) fn changes(old: &Config, new: &Config) -> Vec<Change> {
    let table = |config| toml::Table::try_from(config).unwrap_or_default();
    let (old, new) = (table(old), table(new));
    sections().iter().flat_map(|section| of_section(section, &old, &new)).collect()
}

fn of_section(section: &Section, old: &toml::Table, new: &toml::Table) -> Vec<Change> {
    let (old, new) = (old.get(section.name), new.get(section.name));
    if old == new {
        return Vec::new();
    }
    if section.shape != Shape::Table {
        return vec![Change { path: section.name.to_owned(), needs_restart: false }];
    }
    let keys = |table: Option<&toml::Value>| -> BTreeSet<String> {
        table.and_then(toml::Value::as_table).into_iter().flat_map(|t| t.keys().cloned()).collect()
    };
    let get = |table: Option<&toml::Value>, key: &str| table.and_then(|t| t.get(key)).cloned();
    let changed: BTreeSet<_> =
        keys(old).union(&keys(new)).filter(|k| get(old, k) != get(new, k)).cloned().collect();
    let rows = section.rows.iter().filter(|row| changed.contains(row.key));
    rows.map(|row| Change {
        path: format!("{}.{}", section.name, row.key),
        needs_restart: row.when == When::Restart,
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_says_whether_it_can_wait() {
        let old = Config::default();
        assert_eq!(changes(&old, &old), []);
        let new = "[server]\nport = 1\npublic_url = 'https://a.example'\n[policy]\na = 'auto'\n";
        let new: Config = toml::from_str(new).unwrap();
        let change = |path: &str, needs_restart| Change { path: path.to_owned(), needs_restart };
        assert_eq!(
            changes(&old, &new),
            [change("server.port", true), change("server.public_url", false), change("policy", false)]
        );
    }
}
