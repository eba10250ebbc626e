//! JSON Schema (2020-12) as the document needs it: a few words that are put together.
//!
//! Members of an object are required with [`Schema::with`] and may be absent with [`Schema::maybe`]. Nothing is
//! validated here; the tests hold every answer against what is described.

use std::ops::RangeInclusive;

use serde_json::{Map, Value, json};

/// A schema, and the named ones that it refers to.
#[derive(Clone, Debug)]
pub(crate) struct Schema {
    json: Map<String, Value>,
    uses: Vec<Shape>,
}

/// A schema with a name in the document, described once and referred to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// In `CamelCase`; unique in the document.
    pub(crate) name: &'static str,
    /// Its description.
    pub(crate) schema: fn() -> Schema,
}

impl Shape {
    pub(crate) const fn new(name: &'static str, schema: fn() -> Schema) -> Self {
        Self { name, schema }
    }

    /// A reference to it.
    pub(crate) fn refer(self) -> Schema {
        let reference = json!({"$ref": format!("#/components/schemas/{}", self.name)});
        Schema { uses: vec![self], ..Schema::of(reference) }
    }
}

/// Anything.
pub(crate) fn any() -> Schema {
    Schema::of(json!({}))
}

/// A string.
pub(crate) fn text() -> Schema {
    Schema::of(json!({"type": "string"}))
}

/// A UUID.
pub(crate) fn uuid() -> Schema {
    text().format("uuid")
}

/// A time, RFC 3339.
pub(crate) fn time() -> Schema {
    text().format("date-time")
}

/// One word of a few.
pub(crate) fn word(words: &[&str]) -> Schema {
    Schema::of(json!({"type": "string", "enum": words}))
}

/// `true` or `false`.
pub(crate) fn flag() -> Schema {
    Schema::of(json!({"type": "boolean"}))
}

/// A whole number between two bounds.
pub(crate) fn whole(range: RangeInclusive<u64>) -> Schema {
    let schema = json!({"type": "integer", "minimum": range.start(), "maximum": range.end()});
    if *range.end() == u64::MAX { count_from(*range.start()) } else { Schema::of(schema) }
}

/// How many of something.
pub(crate) fn count() -> Schema {
    count_from(0)
}

fn count_from(least: u64) -> Schema {
    Schema::of(json!({"type": "integer", "minimum": least}))
}

/// An array.
pub(crate) fn list(items: Schema) -> Schema {
    Schema { json: of_one("array", "items", items.json), uses: items.uses }
}

/// An object whose member names are free.
pub(crate) fn map(values: Schema) -> Schema {
    Schema { json: of_one("object", "additionalProperties", values.json), uses: values.uses }
}

/// An object of which nothing is said.
pub(crate) fn free_object() -> Schema {
    Schema::of(json!({"type": "object", "additionalProperties": true}))
}

/// An object; its members follow.
pub(crate) fn object() -> Schema {
    Schema::of(json!({"type": "object", "properties": {}}))
}

/// One of several.
pub(crate) fn either(schemas: Vec<Schema>) -> Schema {
    let uses = schemas.iter().flat_map(|schema| schema.uses.clone()).collect();
    let any_of = schemas.into_iter().map(|schema| Value::Object(schema.json)).collect();
    Schema { json: Map::from_iter([("anyOf".to_owned(), Value::Array(any_of))]), uses }
}

fn of_one(kind: &str, key: &str, inner: Map<String, Value>) -> Map<String, Value> {
    Map::from_iter([("type".to_owned(), kind.into()), (key.to_owned(), Value::Object(inner))])
}

impl Schema {
    fn of(json: Value) -> Self {
        let Value::Object(json) = json else { return any() };
        Self { json, uses: Vec::new() }
    }

    fn set(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.json.insert(key.to_owned(), value.into());
        self
    }

    /// A member that is always there.
    pub(crate) fn with(mut self, name: &str, schema: Self) -> Self {
        let required = self.json.entry("required").or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(required) = required {
            required.push(name.into());
        }
        self.maybe(name, schema)
    }

    /// A member that may be absent.
    pub(crate) fn maybe(mut self, name: &str, schema: Self) -> Self {
        let properties = self.json.entry("properties").or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(properties) = properties {
            properties.insert(name.to_owned(), Value::Object(schema.json));
        }
        self.uses.extend(schema.uses);
        self
    }

    /// No other members: for bodies, where unknown ones are refused.
    pub(crate) fn closed(self) -> Self {
        self.set("additionalProperties", false)
    }

    /// Or `null`.
    pub(crate) fn or_null(mut self) -> Self {
        if let Some(Value::Array(words)) = self.json.get_mut("enum") {
            words.push(Value::Null);
        }
        match self.json.get("type").cloned() {
            Some(kind) => self.set("type", vec![kind, "null".into()]),
            None => either(vec![self, Self::of(json!({"type": "null"}))]),
        }
    }

    /// What it is, for people.
    pub(crate) fn about(self, description: &str) -> Self {
        self.set("description", description)
    }

    /// What it looks like.
    pub(crate) fn example(self, example: impl Into<Value>) -> Self {
        self.set("examples", vec![example.into()])
    }

    /// What is meant where it is absent.
    pub(crate) fn default(self, value: impl Into<Value>) -> Self {
        self.set("default", value)
    }

    /// Characters of a string.
    pub(crate) fn length(self, least: usize, most: usize) -> Self {
        self.set("minLength", least).set("maxLength", most)
    }

    /// Items of an array.
    pub(crate) fn items_at_most(self, most: usize) -> Self {
        self.set("maxItems", most)
    }

    /// Members of an object, at least.
    pub(crate) fn members_at_least(self, least: usize) -> Self {
        self.set("minProperties", least)
    }

    /// What the free member names of an object look like.
    pub(crate) fn named(self, names: Self) -> Self {
        self.set("propertyNames", Value::Object(names.json))
    }

    /// A regular expression for a string.
    pub(crate) fn pattern(self, pattern: &str) -> Self {
        self.set("pattern", pattern)
    }

    /// A word for what a string holds: `uri`, `byte`...
    pub(crate) fn format(self, format: &str) -> Self {
        self.set("format", format)
    }

    /// As JSON.
    pub(super) fn json(&self) -> Value {
        Value::Object(self.json.clone())
    }

    /// What it refers to.
    pub(super) fn uses(&self) -> &[Shape] {
        &self.uses
    }
}
