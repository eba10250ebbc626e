//! The schemas of skills: compiled once per version of a skill, and what is told about wrong ones and wrong values.
//!
//! Never fetches anything, and refuses a schema that could take more than a bounded time per byte of input.

use std::fmt::Write as _;
use std::sync::Arc;

use moka::sync::Cache;
use serde_json::Value;

use crate::schema_check::Compiled;

/// Compiled schemas that are kept.
const COMPILED: u64 = 2_000;

/// One thing that is wrong with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// JSON pointer of the place; empty for the whole value.
    pub pointer: String,
    /// What is wrong there, short; never contains the value itself.
    pub message: String,
}

/// A schema that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SchemaError {
    /// What is wrong with it.
    pub message: String,
}

/// Whether this normalised schema can be used to validate: for installs, before a skill is stored.
pub fn check_schema(schema: &Value) -> Result<(), SchemaError> {
    Compiled::of(schema).map(drop)
}

/// The violations as one sentence.
pub(crate) fn sentence(violations: &[Violation]) -> String {
    let mut out = String::new();
    for violation in violations {
        let place = if violation.pointer.is_empty() { "the input" } else { &violation.pointer };
        let gap = if out.is_empty() { "" } else { "; " };
        // Writing to a String cannot fail.
        write!(out, "{gap}{place}: {}", violation.message).ok();
    }
    out
}

/// Compiled schemas, by skill and time of its last change.
pub(crate) struct Validators {
    cache: Cache<String, Result<Arc<Compiled>, SchemaError>>,
}

impl Validators {
    pub(crate) fn new() -> Self {
        Self { cache: Cache::new(COMPILED) }
    }

    /// The compiled schema; `side` tells input from output.
    pub(crate) fn get(
        &self,
        skill: &domain::Skill,
        side: &str,
        schema: &Value,
    ) -> Result<Arc<Compiled>, SchemaError> {
        let key = format!("{}\n{}\n{side}", skill.id, skill.updated_at);
        self.cache.get_with(key, || Compiled::of(schema).map(Arc::new))
    }
}
