//! Values against JSON Schema 2020-12, within a bounded amount of work.
//!
//! Never checks a value whose size times the schema's cost is too much: that alone is then what is wrong with it.

use domain::text::excerpt;
use jsonschema::Validator;
use serde_json::Value;

use crate::schema::{SchemaError, Violation};
use crate::schema_cost::cost;
use crate::schema_parts::Cost;
use crate::schema_pattern::compile_options;

/// Most work of one check, in single checks; it took 1 to 3 seconds at the very worst.
const WORK: u64 = 64_000_000;
/// Single checks that one byte of a string takes per unit of patterns.
const PATTERN_WORK: u64 = 16;
/// Bytes of a string that are read as fast as one single check.
const FAST_BYTES: u64 = 16;
/// Most work when all violations are collected, which repeats checks on every level of the value.
const COLLECT_WORK: u64 = 16_000_000;
/// Most violations that can exist when they are collected; each takes some 500 bytes for a moment.
const COLLECTED: u64 = 200_000;
/// Deepest value. Bounds the stack.
const DEPTH: u64 = 128;
/// Violations that are told; more do not help anybody.
const TOLD: usize = 8;
/// Characters of one violation's message, or of a schema's.
const MESSAGE_CHARS: usize = 200;

/// A schema that can be checked against.
#[derive(Debug)]
pub(crate) struct Compiled {
    validator: Validator,
    cost: Cost,
}

impl Compiled {
    pub(crate) fn of(schema: &Value) -> Result<Self, SchemaError> {
        let cost = cost(schema).map_err(|message| SchemaError { message })?;
        let validator = compile_options()
            .build(schema)
            .map_err(|error| SchemaError { message: excerpt(&error.masked().to_string(), MESSAGE_CHARS) })?;
        Ok(Self { validator, cost })
    }

    /// What is wrong with `value`; empty when nothing is.
    pub(crate) fn violations(&self, value: &Value) -> Vec<Violation> {
        let size = Size::of(value);
        let work = size.work(self.cost);
        if work > WORK || size.depth > DEPTH {
            return vec![whole("is too large or too deep to be checked against its schema; use less of it")];
        }
        if self.validator.is_valid(value) {
            return Vec::new();
        }
        let few = size.values.saturating_mul(self.cost.checks) <= COLLECTED;
        if !few || work.saturating_mul(size.depth) > COLLECT_WORK {
            return vec![whole("does not fit, and is too large to tell where; try less of it")];
        }
        let told = |error: jsonschema::ValidationError<'_>| Violation {
            pointer: error.instance_path().as_str().to_owned(),
            message: excerpt(&error.masked().to_string(), MESSAGE_CHARS),
        };
        self.validator.iter_errors(value).take(TOLD).map(told).collect()
    }
}

fn whole(message: &str) -> Violation {
    Violation { pointer: String::new(), message: message.to_owned() }
}

/// How large a value is.
#[derive(Default)]
struct Size {
    /// Values in one another, names of members included.
    values: u64,
    /// Bytes of all strings and names.
    bytes: u64,
    /// Deepest nesting; 1 for a single value.
    depth: u64,
}

impl Size {
    fn of(value: &Value) -> Self {
        let mut size = Self::default();
        let mut rest = vec![(value, 1)];
        while let Some((value, depth)) = rest.pop() {
            size.values += 1;
            size.depth = size.depth.max(depth);
            match value {
                Value::String(text) => size.bytes += text.len() as u64,
                Value::Array(list) => rest.extend(list.iter().map(|inner| (inner, depth + 1))),
                Value::Object(map) => {
                    size.values += map.len() as u64;
                    size.bytes += map.keys().map(|name| name.len() as u64).sum::<u64>();
                    rest.extend(map.values().map(|inner| (inner, depth + 1)));
                }
                _ => {}
            }
        }
        size
    }

    fn work(&self, cost: Cost) -> u64 {
        let values = self.values.saturating_add(self.bytes / FAST_BYTES).saturating_mul(cost.checks);
        values.saturating_add(self.bytes.saturating_mul(PATTERN_WORK).saturating_mul(cost.patterns))
    }
}
