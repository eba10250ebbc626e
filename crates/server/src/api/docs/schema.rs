//! A JSON Schema as rows of a table: one for each member, in order, with how deep it stands.

use serde_json::{Map, Value};

use super::page::{Piece, pieces};

/// One member.
pub(super) struct Row {
    /// How many objects it stands in.
    pub(super) depth: usize,
    /// Its name; empty for the whole.
    pub(super) name: String,
    /// Its type in words.
    pub(super) kind: String,
    /// The named schema that it is (or is a list of).
    pub(super) shape: Option<String>,
    pub(super) required: bool,
    pub(super) about: Vec<Piece>,
}

/// The rows of a schema. Named schemas are only named: they have tables of their own.
pub(super) fn rows(schema: &Value) -> Vec<Row> {
    let mut out = Vec::new();
    let members = members(schema);
    if members.is_none() {
        out.push(row("", schema, true, 0));
    }
    add(schema, 0, &mut out);
    out
}

fn add(schema: &Value, depth: usize, out: &mut Vec<Row>) {
    for choice in schema.get("anyOf").and_then(Value::as_array).into_iter().flatten() {
        if members(choice).is_some() {
            add(choice, depth, out);
        }
    }
    let inner = schema.get("items").filter(|items| items.is_object());
    let schema =
        inner.or_else(|| schema.get("additionalProperties")).filter(|s| s.is_object()).unwrap_or(schema);
    let required = schema.get("required").and_then(Value::as_array);
    for (name, member) in members(schema).into_iter().flatten() {
        let required = required.is_some_and(|names| names.iter().any(|n| n == name));
        out.push(row(name, member, required, depth));
        add(member, depth + 1, out);
    }
}

fn members(schema: &Value) -> Option<&Map<String, Value>> {
    schema.get("properties").and_then(Value::as_object).filter(|members| !members.is_empty())
}

fn row(name: &str, schema: &Value, required: bool, depth: usize) -> Row {
    let about = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    Row {
        depth,
        name: name.to_owned(),
        kind: kind(schema),
        shape: shape(schema),
        required,
        about: pieces(about),
    }
}

/// The named schema that is referred to, at whatever depth that needs no table of its own.
fn shape(schema: &Value) -> Option<String> {
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        return reference.rsplit('/').next().map(str::to_owned);
    }
    let inner = ["items", "additionalProperties"].iter().filter_map(|key| schema.get(*key));
    let choices = schema.get("anyOf").and_then(Value::as_array).into_iter().flatten();
    inner.chain(choices).find_map(shape)
}

/// The type in words: `string (uuid), may be null`.
pub(super) fn kind(schema: &Value) -> String {
    let text = |key: &str| schema.get(key).and_then(Value::as_str);
    let mut types: Vec<&str> = match schema.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let choices = schema.get("anyOf").and_then(Value::as_array);
    let null_choice = choices.is_some_and(|c| c.iter().any(|c| c.get("type").is_some_and(|t| t == "null")));
    let null = types.contains(&"null") || null_choice;
    types.retain(|t| *t != "null");
    let mut out = match types.as_slice() {
        [] if schema.get("$ref").is_some() => String::new(),
        [] if choices.is_some() && shape(schema).is_some() => String::new(),
        [] if choices.is_some() => "one of several".to_owned(),
        [] => "anything".to_owned(),
        ["array"] => format!("list of {}", schema.get("items").map(kind).unwrap_or_default()),
        ["object"] if schema.get("additionalProperties").is_some_and(Value::is_object) => {
            format!("map of {}", schema.get("additionalProperties").map(kind).unwrap_or_default())
        }
        several => several.join(" or "),
    };
    if let Some(words) = schema.get("enum").and_then(Value::as_array) {
        let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
        out = words.join(" | ");
    }
    let bounds = bounds(schema);
    let more = text("format").map(str::to_owned).into_iter().chain(bounds);
    let more: Vec<String> = more.chain(null.then(|| "may be null".to_owned())).collect();
    let gap = if out.is_empty() { "" } else { ", " };
    if more.is_empty() { out } else { format!("{out}{gap}{}", more.join(", ")) }
}

fn bounds(schema: &Value) -> Option<String> {
    let number = |key: &str| schema.get(key).and_then(Value::as_u64);
    let range = |least: Option<u64>, most: Option<u64>, what: &str| match (least, most) {
        (Some(least), Some(most)) => Some(format!("{least} to {most}{what}")),
        (None, Some(most)) => Some(format!("at most {most}{what}")),
        (Some(least), None) if least > 0 => Some(format!("at least {least}{what}")),
        _ => None,
    };
    range(number("minimum"), number("maximum"), "")
        .or_else(|| range(number("minLength"), number("maxLength"), " characters"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn types_read_as_words() {
        for (schema, words) in [
            (json!({"type": "string", "format": "uuid"}), "string, uuid"),
            (
                json!({"type": ["integer", "null"], "minimum": 1, "maximum": 9}),
                "integer, 1 to 9, may be null",
            ),
            (json!({"type": "string", "enum": ["on", "off"]}), "on | off"),
            (json!({"type": "array", "items": {"type": "string"}}), "list of string"),
            (json!({"type": "object", "additionalProperties": {"type": "boolean"}}), "map of boolean"),
            (json!({}), "anything"),
        ] {
            assert_eq!(kind(&schema), words);
        }
    }

    #[test]
    fn members_of_members_follow_indented() {
        let schema = json!({"type": "object", "required": ["a"], "properties": {
            "a": {"type": "object", "properties": {"b": {"$ref": "#/components/schemas/X"}}},
            "c": {"type": "array", "items": {"type": "object", "properties": {"d": {}}}},
        }});
        let rows = rows(&schema);
        let seen: Vec<_> = rows.iter().map(|r| (r.depth, r.name.as_str(), r.required)).collect();
        assert_eq!(seen, [(0, "a", true), (1, "b", false), (0, "c", false), (1, "d", false)]);
        assert_eq!(rows[1].shape.as_deref(), Some("X"));
    }
}
