//! The environment of the process, read once. Nothing else in the program reads it.

use std::collections::BTreeMap;

/// The environment, taken once at the start.
#[derive(Clone, Debug, Default)]
pub(crate) struct Environment(BTreeMap<String, String>);

impl Environment {
    /// The process's.
    pub(crate) fn of_process() -> Self {
        let pairs = std::env::vars_os();
        Self::of(
            pairs.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))),
        )
    }

    /// These variables.
    pub(crate) fn of(pairs: impl IntoIterator<Item = (String, String)>) -> Self {
        Self(pairs.into_iter().collect())
    }

    /// A variable that is set and not empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|v| v.trim()).filter(|v| !v.is_empty())
    }

    /// Variables whose names begin so.
    pub(crate) fn with_prefix(&self, prefix: &str) -> impl Iterator<Item = (&str, &str)> {
        let all = self.0.iter().filter(move |(name, _)| name.starts_with(prefix));
        all.map(|(name, value)| (name.as_str(), value.as_str()))
    }
}
