//! What the program ships, told to the registry at start: handlers, built-in names, summaries of built-ins.

use std::collections::{BTreeMap, BTreeSet};

use domain::tokens::fold;

/// Facts about the running binary. Never read from the database, so that no row can widen them.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Names a skill's `handler` may have; any other makes the skill broken.
    pub handlers: BTreeSet<String>,
    /// Summary of each built-in by name: what it is scored on. Its names are reserved against installs.
    pub builtins: BTreeMap<String, String>,
}

impl Known {
    /// Whether an install may not take this name: that of a built-in, in any case.
    pub fn is_reserved(&self, name: &str) -> bool {
        let folded = fold(name);
        self.builtins.keys().any(|builtin| fold(builtin) == folded)
    }
}
