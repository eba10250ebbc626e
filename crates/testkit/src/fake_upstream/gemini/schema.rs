//! The provider's own schema language: one word that is not in it has the whole request refused.

use serde_json::Value;

use crate::fake_upstream::provider::Refusal;

const WORDS: [&str; 21] = [
    "type",
    "format",
    "title",
    "description",
    "nullable",
    "enum",
    "properties",
    "required",
    "items",
    "minItems",
    "maxItems",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minProperties",
    "maxProperties",
    "pattern",
    "anyOf",
    "propertyOrdering",
    "default",
];
const TYPES: [&str; 6] = ["STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT"];

/// The parameters of a function: an object with properties.
pub(super) fn parameters(schema: &Value, at: &str) -> Result<(), Refusal> {
    if kind(schema) != "OBJECT" || schema["properties"].as_object().is_none_or(serde_json::Map::is_empty) {
        return Err(Refusal::bad(format!("{at}.properties"), "should be non-empty for OBJECT type"));
    }
    check(schema, at)
}

fn kind(schema: &Value) -> String {
    schema["type"].as_str().unwrap_or_default().to_ascii_uppercase()
}

fn check(schema: &Value, at: &str) -> Result<(), Refusal> {
    let wrong = |what: &str| Err(Refusal::bad(at, what));
    let Some(members) = schema.as_object() else {
        return wrong("Invalid value (schema), expected an object");
    };
    if let Some(word) = members.keys().find(|word| !WORDS.contains(&word.as_str())) {
        let message =
            format!("Invalid JSON payload received. Unknown name \"{word}\" at '{at}': Cannot find field.");
        return Err(Refusal::bad(format!("{at}.{word}"), message));
    }
    if let Some(branches) = members.get("anyOf") {
        if members.len() > 1 {
            return wrong("when using any_of, it must be the only field set");
        }
        let Some(branches) = branches.as_array().filter(|branches| !branches.is_empty()) else {
            return wrong("any_of is a non-empty list");
        };
        return branches.iter().try_for_each(|branch| check(branch, &format!("{at}.anyOf")));
    }
    let kind = kind(schema);
    if !TYPES.contains(&kind.as_str()) {
        return wrong("type must be specified");
    }
    members.iter().try_for_each(|(word, value)| one_word(word, value, &kind, at))?;
    match (kind.as_str(), members.get("items")) {
        ("ARRAY", None) => wrong("items: missing field"),
        ("ARRAY", Some(items)) => check(items, &format!("{at}.items")),
        (_, Some(_)) => wrong("items: only allowed for ARRAY type"),
        (_, None) => Ok(()),
    }?;
    properties(schema, at)
}

fn one_word(word: &str, value: &Value, kind: &str, at: &str) -> Result<(), Refusal> {
    let formats: &[&str] = match kind {
        "STRING" => &["enum", "date-time"],
        "NUMBER" => &["float", "double"],
        "INTEGER" => &["int32", "int64"],
        _ => &[],
    };
    let is_count = |value: &Value| {
        value.as_i64().or_else(|| value.as_str()?.parse().ok()).is_some_and(|count: i64| count >= 0)
    };
    let texts = |value: &Value| {
        let list = value.as_array().filter(|list| !list.is_empty());
        list.is_some_and(|list| list.iter().all(|one| one.as_str().is_some_and(|text| !text.is_empty())))
    };
    let fits = match word {
        "type" | "title" | "description" => value.is_string(),
        "pattern" => value.is_string() && kind == "STRING",
        "format" => value.as_str().is_some_and(|format| formats.contains(&format)),
        "nullable" => value.is_boolean(),
        "enum" => kind == "STRING" && texts(value),
        "minimum" | "maximum" => value.is_number() && matches!(kind, "NUMBER" | "INTEGER"),
        "minItems" | "maxItems" => is_count(value) && kind == "ARRAY",
        "minLength" | "maxLength" => is_count(value) && kind == "STRING",
        "minProperties" | "maxProperties" => is_count(value) && kind == "OBJECT",
        _ => true,
    };
    if fits { Ok(()) } else { Err(Refusal::bad(format!("{at}.{word}"), format!("invalid for {kind} type"))) }
}

fn properties(schema: &Value, at: &str) -> Result<(), Refusal> {
    let members = schema["properties"].as_object();
    if members.is_some_and(serde_json::Map::is_empty) {
        return Err(Refusal::bad(format!("{at}.properties"), "should be non-empty for OBJECT type"));
    }
    for (name, member) in members.into_iter().flatten() {
        let mut bytes = name.bytes();
        let first = bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
        if !first || name.len() > 64 || !bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            return Err(Refusal::bad(
                format!("{at}.properties"),
                format!("Property keys should match pattern '^[a-zA-Z_][a-zA-Z0-9_]{{0,63}}$': {name}"),
            ));
        }
        check(member, &format!("{at}.properties[{name}]"))?;
    }
    let known =
        |name: &Value| name.as_str().is_some_and(|name| members.is_some_and(|all| all.contains_key(name)));
    match schema.get("required") {
        None => Ok(()),
        Some(Value::Array(names)) if names.iter().all(known) => Ok(()),
        Some(_) => Err(Refusal::bad(format!("{at}.required"), "property is not defined")),
    }
}
