//! One schema taken apart: the subschemas it applies, to which values, and what its own keywords cost.
//!
//! Follows a `$ref` only within the document. Never judges a keyword of the wrong shape: compiling does.

use domain::text::excerpt;
use serde_json::{Map, Value};

use crate::schema_pattern::pattern_units;

/// `uniqueItems` compares values of equal hash pairwise. The worst found, neighbouring integers above 2^63, took a
/// quarter of a second for 60,000 of them.
const UNIQUE: u64 = 128;
/// Deepest nesting of the document itself.
const DEPTH: usize = 128;

/// Which schema: its address, since a `$ref` and its target are one value of one document.
pub(crate) type SchemaId = usize;

/// The identity of a schema within its document.
pub(crate) fn schema_id(schema: &Value) -> SchemaId {
    std::ptr::from_ref(schema).addr()
}

/// To which values a subschema applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The same value.
    Same,
    /// Members of an object, each name one such subschema at most.
    Member,
    /// Elements of an array, each index one such subschema at most.
    Element,
    /// Members or elements, whatever else applies to them.
    Overlap,
}

/// The most work for one value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cost {
    /// Checks of one value.
    pub(crate) checks: u64,
    /// Regular expressions over one string, in units of 8 KiB of their programs.
    pub(crate) patterns: u64,
}

impl Cost {
    pub(crate) fn plus(self, other: Self) -> Self {
        let checks = self.checks.saturating_add(other.checks);
        Self { checks, patterns: self.patterns.saturating_add(other.patterns) }
    }

    pub(crate) fn times(self, by: u64) -> Self {
        Self { checks: self.checks.saturating_mul(by), patterns: self.patterns.saturating_mul(by) }
    }

    pub(crate) fn max(self, other: Self) -> Self {
        Self { checks: self.checks.max(other.checks), patterns: self.patterns.max(other.patterns) }
    }
}

/// A schema taken apart.
#[derive(Debug, Default)]
pub(crate) struct Parts<'a> {
    /// The subschemas.
    pub(crate) list: Vec<(Place, &'a Value)>,
    /// What its own keywords cost for a value.
    pub(crate) own: Cost,
    /// What they cost for each member or element of it.
    pub(crate) each: Cost,
    /// Whether it evaluates the rest again to know what is left.
    pub(crate) unevaluated: bool,
    /// Whether it has a `$ref`.
    pub(crate) refers: bool,
}

impl<'a> Parts<'a> {
    /// The parts of `schema` in the document `root`, or what to change in it.
    pub(crate) fn of(schema: &'a Value, root: &'a Value) -> Result<Self, String> {
        let mut parts = Self::default();
        let Value::Object(map) = schema else { return Ok(parts) };
        parts.own.checks = 1 + map.len() as u64;
        for (key, value) in map {
            match (key.as_str(), value) {
                ("$ref", Value::String(to)) => {
                    parts.refers = true;
                    parts.list.push((Place::Same, target(to, root)?));
                }
                ("allOf" | "anyOf" | "oneOf", Value::Array(list)) => parts.add(Place::Same, list),
                ("not" | "if" | "then" | "else", one) => parts.list.push((Place::Same, one)),
                ("dependentSchemas" | "dependencies", Value::Object(named)) => {
                    parts.add(Place::Same, named.values());
                    parts.own.checks += count(value);
                }
                ("properties", Value::Object(named)) => parts.add(Place::Member, named.values()),
                ("additionalProperties", one) => parts.list.push((Place::Member, one)),
                ("items" | "prefixItems", Value::Array(list)) => parts.add(Place::Element, list),
                ("items" | "additionalItems", one) => parts.list.push((Place::Element, one)),
                ("patternProperties", Value::Object(named)) => parts.names(named)?,
                ("contains" | "propertyNames", one) => parts.list.push((Place::Overlap, one)),
                ("unevaluatedProperties" | "unevaluatedItems", one) => {
                    parts.unevaluated = true;
                    parts.list.push((Place::Overlap, one));
                }
                ("pattern", Value::String(pattern)) => parts.own.patterns += pattern_units(pattern)?,
                ("uniqueItems", Value::Bool(true)) => parts.each.checks += UNIQUE,
                ("enum" | "const" | "required" | "dependentRequired", _) => parts.own.checks += count(value),
                _ => {}
            }
        }
        Ok(parts)
    }

    fn add(&mut self, place: Place, list: impl IntoIterator<Item = &'a Value>) {
        self.list.extend(list.into_iter().map(|schema| (place, schema)));
    }

    /// Every name of an object runs through every pattern, and once more for `additionalProperties`.
    fn names(&mut self, named: &'a Map<String, Value>) -> Result<(), String> {
        for (pattern, schema) in named {
            self.list.push((Place::Overlap, schema));
            self.each = self.each.plus(Cost { checks: 2, patterns: 2 * pattern_units(pattern)? });
        }
        Ok(())
    }
}

/// The schema that a `$ref` means.
fn target<'a>(to: &str, root: &'a Value) -> Result<&'a Value, String> {
    let local = to.strip_prefix('#').filter(|at| at.is_empty() || at.starts_with('/'));
    // Percent signs would have to be decoded exactly as compiling does.
    local.filter(|at| !at.contains('%')).and_then(|at| root.pointer(at)).ok_or_else(|| {
        let to = excerpt(to, 80);
        format!("the `$ref` {to} leads nowhere; refer to a place of the same schema, such as `#/$defs/name`")
    })
}

/// Values in one another.
fn count(value: &Value) -> u64 {
    let mut values = 0;
    let mut rest = vec![value];
    while let Some(value) = rest.pop() {
        values += 1;
        match value {
            Value::Array(list) => rest.extend(list),
            Value::Object(map) => rest.extend(map.values()),
            _ => {}
        }
    }
    values
}

/// Refuses what would make `$ref`s mean something else than places of the document: the keywords that refer by
/// other means, and names within it when there are `$ref`s. Looks everywhere, since a `$ref` may lead anywhere.
pub(crate) fn no_other_names(root: &Value, refers: bool) -> Result<(), String> {
    let mut rest = vec![(root, 0)];
    while let Some((value, depth)) = rest.pop() {
        if depth > DEPTH {
            return Err("the schema is nested too deep; make it flatter".to_owned());
        }
        match value {
            Value::Array(list) => rest.extend(list.iter().map(|inner| (inner, depth + 1))),
            Value::Object(map) => {
                let has = |key: &str| map.get(key).is_some_and(Value::is_string);
                let nested = depth > 0 && refers && (has("$id") || has("$schema"));
                if nested || has("$dynamicRef") || has("$recursiveRef") {
                    return Err(
                        "the schema uses `$dynamicRef`, `$recursiveRef` or an inner `$id` or `$schema`; \
                                refer only by `$ref` to a place of the same schema, such as `#/$defs/name`"
                            .to_owned(),
                    );
                }
                rest.extend(map.values().map(|inner| (inner, depth + 1)));
            }
            _ => {}
        }
    }
    Ok(())
}
