//! The environment of the process, read once. Nothing else in the program reads it.

use std::collections::BTreeMap;

use anyhow::Context;

/// The environment, taken once at the start.
#[derive(Debug, Default)]
pub(crate) struct Environment(pub(crate) BTreeMap<String, String>);

impl Environment {
    /// The process's.
    pub(crate) fn of_process() -> Self {
        let pairs = std::env::vars_os();
        Self(pairs.filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?))).collect())
    }

    /// A variable that is set and not empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|v| v.trim()).filter(|v| !v.is_empty())
    }

    /// A number within bounds.
    pub(crate) fn number(
        &self,
        name: &str,
        default: u64,
        bounds: std::ops::RangeInclusive<u64>,
    ) -> anyhow::Result<u64> {
        let Some(text) = self.get(name) else { return Ok(default) };
        let number = text.parse::<u64>().ok().filter(|n| bounds.contains(n));
        number.with_context(|| format!("{name} must be a number from {} to {}", bounds.start(), bounds.end()))
    }
}
