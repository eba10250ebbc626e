//! Values against JSON Schema 2020-12: compiled once per version of a skill, never fetching anything.
//!
//! Patterns run in linear time; a `$ref` to another document is refused, be it a URL or a file.

use std::fmt::Write as _;
use std::sync::Arc;

use domain::text::excerpt;
use jsonschema::{Draft, PatternOptions, Validator};
use moka::sync::Cache;
use serde_json::Value;

/// Violations that are told; more do not help anybody.
const VIOLATIONS: usize = 8;
/// Characters of one violation's message.
const MESSAGE_CHARS: usize = 200;
/// Compiled schemas that are kept.
const COMPILED: u64 = 2_000;
/// Longest regular expression program, in bytes: bounds memory for patterns such as `(a{1000}){1000}`.
const PATTERN_BYTES: usize = 1024 * 1024;

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
    compile(schema).map(drop)
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

/// What is wrong with `value`; empty when nothing is.
pub(crate) fn violations(validator: &Validator, value: &Value) -> Vec<Violation> {
    validator
        .iter_errors(value)
        .take(VIOLATIONS)
        .map(|error| Violation {
            pointer: error.instance_path().as_str().to_owned(),
            message: excerpt(&error.masked().to_string(), MESSAGE_CHARS),
        })
        .collect()
}

/// Compiled schemas, by skill and time of its last change.
pub(crate) struct Validators {
    cache: Cache<String, Result<Arc<Validator>, SchemaError>>,
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
    ) -> Result<Arc<Validator>, SchemaError> {
        let key = format!("{}\n{}\n{side}", skill.id, skill.updated_at);
        self.cache.get_with(key, || compile(schema).map(Arc::new))
    }
}

fn compile(schema: &Value) -> Result<Validator, SchemaError> {
    jsonschema::options()
        .with_draft(Draft::Draft202012)
        .offline()
        .with_pattern_options(PatternOptions::regex().size_limit(PATTERN_BYTES))
        .build(schema)
        .map_err(|error| SchemaError { message: excerpt(&error.masked().to_string(), MESSAGE_CHARS) })
}
