//! `[demo]`: the built-in stand-in for a model.

use serde::Deserialize;

/// `[demo]`
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Demo {
    /// Whether the model `demo` is answered by the built-in stand-in.
    pub(crate) enabled: bool,
}

impl Default for Demo {
    fn default() -> Self {
        Self { enabled: true }
    }
}
