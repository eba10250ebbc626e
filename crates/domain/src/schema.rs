//! The schema of a skill brought into one shape: JSON Schema with an object at the top, whatever shorthand was written.
//!
//! Works on a copy; the stored schema stays as installed. Understood shorthand: nothing (no parameters), bare
//! property maps, `{"text":"string"}`, both also inside `properties`, and `required: true` on a property.
//! Never guesses at what is none of these: it says where, as `schema.input.text`, and what to write instead.

use serde_json::{Map, Value, json};

/// Deepest nesting of schemas in one another.
const DEPTH: usize = 64;

/// The types of JSON Schema.
const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "object", "array", "null"];

/// Keywords whose value is one schema.
const ONE: [&str; 12] = [
    "items",
    "additionalProperties",
    "unevaluatedProperties",
    "unevaluatedItems",
    "additionalItems",
    "contains",
    "propertyNames",
    "not",
    "if",
    "then",
    "else",
    "contentSchema",
];

/// Keywords whose value is a list of schemas.
const LIST: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];

/// Keywords whose value maps names to schemas.
const NAMED: [&str; 5] = ["properties", "patternProperties", "dependentSchemas", "$defs", "definitions"];

/// All other keywords: what tells a schema from a bare map of properties.
const OTHER: [&str; 37] = [
    "type",
    "required",
    "enum",
    "const",
    "default",
    "description",
    "title",
    "examples",
    "example",
    "format",
    "pattern",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minContains",
    "maxContains",
    "minProperties",
    "maxProperties",
    "dependentRequired",
    "dependencies",
    "readOnly",
    "writeOnly",
    "deprecated",
    "nullable",
    "discriminator",
    "contentEncoding",
    "contentMediaType",
    "propertyOrdering",
    "externalDocs",
    "xml",
];

/// A schema that is neither JSON Schema nor a known shorthand.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{pointer}: {message}")]
pub struct SchemaError {
    /// Where, with dots: `schema.input.text`.
    pub pointer: String,
    /// What is wrong there and what to write instead.
    pub message: String,
}

impl SchemaError {
    fn new(pointer: &str, message: impl Into<String>) -> Self {
        Self { pointer: pointer.to_owned(), message: message.into() }
    }
}

/// The input schema out of a skill's whole `{input, output}`.
pub fn normalise_input(schema: &Value) -> Result<Value, SchemaError> {
    normalise_at(side(schema, "input")?, "schema.input")
}

/// The output schema out of a skill's whole `{input, output}`; nothing when outputs are not checked.
pub fn normalise_output(schema: &Value) -> Result<Option<Value>, SchemaError> {
    let side = side(schema, "output")?;
    let empty = side.is_null() || side.as_object().is_some_and(Map::is_empty);
    if empty { Ok(None) } else { normalise_at(side, "schema.output").map(Some) }
}

/// One side, `{}` and `null` standing for "no parameters". Idempotent.
pub fn normalise(side: &Value) -> Result<Value, SchemaError> {
    normalise_at(side, "schema")
}

/// `input` or `output` of the whole; nothing else may stand beside them.
fn side<'a>(schema: &'a Value, name: &str) -> Result<&'a Value, SchemaError> {
    match schema {
        Value::Null => Ok(&Value::Null),
        Value::Object(sides) => match sides.keys().find(|key| *key != "input" && *key != "output") {
            None => Ok(sides.get(name).unwrap_or(&Value::Null)),
            Some(other) => Err(SchemaError::new(
                &join("schema", other),
                "a skill's schema has only `input` and `output`; put the parameters under `input`",
            )),
        },
        _ => Err(SchemaError::new("schema", "write an object with `input` and `output`")),
    }
}

fn normalise_at(side: &Value, pointer: &str) -> Result<Value, SchemaError> {
    let empty = Map::new();
    let map = match side {
        Value::Null => &empty,
        Value::Object(map) => map,
        _ => {
            let message = "write an object: a JSON Schema with `type: object`, or a map of properties";
            return Err(SchemaError::new(pointer, message));
        }
    };
    let mut schema = object(map, pointer, 0)?;
    match schema.get("type") {
        None => {}
        Some(Value::String(word)) if word == "object" => {}
        Some(Value::Array(words)) if words.iter().any(|word| word == "object") => {}
        Some(other) => {
            let other = crate::text::excerpt(&other.to_string(), 40);
            let message = format!("the top must be an object, not {other}; make it a property of one");
            return Err(SchemaError::new(pointer, message));
        }
    }
    let mut out = named_type("object");
    out.insert("properties".to_owned(), schema.remove("properties").unwrap_or_else(|| json!({})));
    schema.remove("type");
    out.append(&mut schema);
    Ok(Value::Object(out))
}

/// One schema in a place where a schema may stand.
fn schema(value: &Value, pointer: &str, depth: usize) -> Result<Value, SchemaError> {
    if depth > DEPTH {
        return Err(SchemaError::new(pointer, format!("nested more than {DEPTH} deep; make it flatter")));
    }
    match value {
        Value::String(word) => object(&named_type(word), pointer, depth).map(Value::Object),
        Value::Object(map) => object(map, pointer, depth).map(Value::Object),
        Value::Bool(true) => Ok(json!({})),
        Value::Bool(false) => Ok(json!({"not": {}})),
        _ => Err(SchemaError::new(pointer, "write a JSON Schema object or a type such as \"string\"")),
    }
}

fn named_type(word: &str) -> Map<String, Value> {
    Map::from_iter([("type".to_owned(), json!(word))])
}

fn is_type(value: &Value) -> bool {
    value.as_str().is_some_and(|word| TYPES.contains(&word))
}

/// A schema or a bare map of properties.
fn object(map: &Map<String, Value>, pointer: &str, depth: usize) -> Result<Map<String, Value>, SchemaError> {
    if !is_property_map(map) {
        return keywords(map, pointer, depth);
    }
    let is_list = |key: &str, value: &Value| key == "required" && (value.is_array() || value.is_boolean());
    let (list, properties): (Map<_, _>, Map<_, _>) =
        map.clone().into_iter().partition(|(key, value)| is_list(key, value));
    let mut full = named_type("object");
    full.insert("properties".to_owned(), Value::Object(properties));
    full.extend(list);
    keywords(&full, pointer, depth)
}

/// Whether a map is a bare map of properties. A map whose keys are all keywords is a schema; one without any is a
/// map of properties; a mixture is one when every value could be a property (`{"type":"string","name":"string"}`).
fn is_property_map(map: &Map<String, Value>) -> bool {
    if map.get("type").is_some_and(Value::is_object) {
        return true;
    }
    let has = |list: &[&str], fits: fn(&Value) -> bool| list.iter().any(|k| map.get(*k).is_some_and(fits));
    if map.get("type").is_some_and(|t| t == "object")
        || has(&NAMED, Value::is_object)
        || has(&LIST, Value::is_array)
    {
        return false;
    }
    let mut rest = map.iter().filter(|(key, value)| *key != "required" || value.is_object());
    let keyword_free = rest.clone().all(|(key, _)| !is_keyword(key));
    let mixed = rest.clone().any(|(key, _)| !is_keyword(key));
    mixed && (keyword_free || rest.all(|(_, value)| is_type(value) || value.is_object()))
}

fn is_keyword(key: &str) -> bool {
    let known = [&ONE[..], &LIST, &NAMED, &OTHER].iter().any(|list| list.contains(&key));
    known || key.starts_with('$') || key.starts_with("x-")
}

/// A schema proper: every keyword that holds schemas is walked, the others are copied.
fn keywords(
    map: &Map<String, Value>,
    pointer: &str,
    depth: usize,
) -> Result<Map<String, Value>, SchemaError> {
    let mut out = Map::new();
    let mut needed: Vec<Value> = Vec::new();
    no_strays(map, pointer)?;
    for (key, value) in map {
        let here = join(pointer, key);
        let written = match (key.as_str(), value) {
            ("required", _) => {
                needed.splice(0..0, required(value, &here)?);
                continue;
            }
            ("type", _) => checked_type(value, &here)?,
            ("properties", Value::Object(properties)) => {
                let is_needed = |property: &Value| property.get("required") == Some(&Value::Bool(true));
                needed.extend(properties.iter().filter(|(_, p)| is_needed(p)).map(|(name, _)| json!(name)));
                // The place of a property is told as people see it: `schema.input.text`.
                named(properties, pointer, depth)?
            }
            ("properties", _) => {
                return Err(SchemaError::new(&here, "write an object that maps property names to schemas"));
            }
            (key, Value::Object(inner)) if NAMED.contains(&key) => named(inner, &here, depth)?,
            (key, Value::Array(inner)) if LIST.contains(&key) => listed(inner, &here, depth)?,
            (key, Value::Object(_) | Value::String(_)) if ONE.contains(&key) => {
                schema(value, &here, depth + 1)?
            }
            _ => value.clone(),
        };
        out.insert(key.clone(), written);
    }
    let mut unique: Vec<Value> = Vec::new();
    for name in needed {
        if !unique.contains(&name) {
            unique.push(name);
        }
    }
    if !unique.is_empty() {
        out.insert("required".to_owned(), Value::Array(unique));
    }
    // Says nothing new in JSON Schema, but providers refuse a list without it.
    if out.get("type").is_some_and(|t| t == "array") && !out.contains_key("items") {
        out.insert("items".to_owned(), json!({}));
    }
    Ok(out)
}

/// `{"type":"object","text":"string"}` would silently be a skill without parameters.
fn no_strays(map: &Map<String, Value>, pointer: &str) -> Result<(), SchemaError> {
    if map.get("type").is_none_or(|t| t != "object") || map.contains_key("properties") {
        return Ok(());
    }
    let stray = |value: &Value| is_type(value) || value.get("type").is_some_and(is_type);
    match map.iter().find(|(key, value)| !is_keyword(key) && stray(value)) {
        Some((key, _)) => Err(SchemaError::new(&join(pointer, key), "put properties under `properties`")),
        None => Ok(()),
    }
}

fn named(map: &Map<String, Value>, pointer: &str, depth: usize) -> Result<Value, SchemaError> {
    let walk = |(name, inner): (&String, &Value)| {
        Ok((name.clone(), schema(inner, &join(pointer, name), depth + 1)?))
    };
    map.iter().map(walk).collect::<Result<Map<_, _>, _>>().map(Value::Object)
}

fn listed(list: &[Value], pointer: &str, depth: usize) -> Result<Value, SchemaError> {
    let walk = |(at, inner): (usize, &Value)| schema(inner, &join(pointer, &at.to_string()), depth + 1);
    list.iter().enumerate().map(walk).collect::<Result<Vec<_>, _>>().map(Value::Array)
}

/// The list of an object; the `true` or `false` of a property is the parent's business and goes.
fn required(value: &Value, pointer: &str) -> Result<Vec<Value>, SchemaError> {
    match value {
        Value::Bool(_) | Value::Null => Ok(Vec::new()),
        Value::Array(names) if names.iter().all(Value::is_string) => Ok(names.clone()),
        _ => Err(SchemaError::new(pointer, "write a list of property names, or true on a property")),
    }
}

fn checked_type(value: &Value, pointer: &str) -> Result<Value, SchemaError> {
    let legal = match value {
        Value::Array(words) => !words.is_empty() && words.iter().all(is_type),
        other => is_type(other),
    };
    if legal {
        return Ok(value.clone());
    }
    let found = crate::text::excerpt(&value.to_string(), 40);
    // `"text":"strng"` was written as a property, so the property is what is wrong.
    let pointer = pointer.strip_suffix(".type").unwrap_or(pointer);
    Err(SchemaError::new(pointer, format!("{found} is not a type; write one of {}", TYPES.join(", "))))
}

fn join(pointer: &str, name: &str) -> String {
    format!("{pointer}.{}", crate::text::excerpt(name, 60))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn input(side: &Value) -> Result<Value, SchemaError> {
        normalise_input(&json!({"input": side}))
    }

    #[test]
    fn every_shorthand_becomes_an_object_schema() {
        let text = json!({"type": "object", "properties": {"text": {"type": "string"}}});
        let required =
            json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]});
        let nothing = json!({"type": "object", "properties": {}});
        for (written, expected) in [
            (json!({}), &nothing),
            (json!(null), &nothing),
            (json!({"type": "object"}), &nothing),
            (json!({"text": "string"}), &text),
            (json!({"text": {"type": "string"}}), &text),
            (json!({"properties": {"text": "string"}}), &text),
            (json!({"type": ["object", "null"], "properties": {"text": "string"}}), &text),
            (json!({"text": {"type": "string", "required": false}}), &text),
            (json!({"text": {"type": "string", "required": true}}), &required),
            (json!({"text": "string", "required": ["text"]}), &required),
            (
                json!({"type": "object", "properties": {"text": {"type": "string", "required": true}}, "required": ["text"]}),
                &required,
            ),
        ] {
            assert_eq!(&input(&written).unwrap(), expected, "{written}");
        }
        assert_eq!(normalise_input(&json!(null)).unwrap(), nothing);
        assert_eq!(normalise_input(&json!({"output": {}})).unwrap(), nothing);
    }

    #[test]
    fn properties_named_like_keywords_and_nested_shorthand() {
        let written =
            json!({"type": "string", "name": "string", "address": {"street": "string", "tags": "array"}});
        let expected = json!({"type": "object", "properties": {
            "type": {"type": "string"},
            "name": {"type": "string"},
            "address": {"type": "object", "properties": {
                "street": {"type": "string"},
                "tags": {"type": "array", "items": {}},
            }},
        }});
        assert_eq!(input(&written).unwrap(), expected);
        let described = json!({"type": "object", "description": "takes nothing"});
        assert_eq!(input(&described).unwrap()["properties"], json!({}));
    }

    #[test]
    fn what_is_no_object_is_refused_with_its_place() {
        for (written, pointer) in [
            (json!([]), "schema.input"),
            (json!("string"), "schema.input"),
            (json!(5), "schema.input"),
            (json!(true), "schema.input"),
            (json!({"type": "string"}), "schema.input"),
            (json!({"type": "array", "items": "string"}), "schema.input"),
            (json!({"text": 5}), "schema.input.text"),
            (json!({"text": "strng"}), "schema.input.text"),
            (json!({"text": null}), "schema.input.text"),
            (json!({"properties": {"a": "b"}}), "schema.input.a"),
            (json!({"properties": []}), "schema.input.properties"),
            (json!({"text": {"items": "b", "type": "array"}}), "schema.input.text.items"),
            (json!({"type": "object", "text": "string"}), "schema.input.text"),
            (json!({"type": "object", "required": "text"}), "schema.input.required"),
        ] {
            assert_eq!(input(&written).unwrap_err().pointer, pointer, "{written}");
        }
        assert_eq!(normalise_input(&json!({"text": "string"})).unwrap_err().pointer, "schema.text");
        assert_eq!(normalise_output(&json!("string")).unwrap_err().pointer, "schema");
    }

    #[test]
    fn an_empty_output_is_not_checked() {
        for empty in [json!({}), json!({"output": {}}), json!({"output": null}), json!(null)] {
            assert_eq!(normalise_output(&empty).unwrap(), None);
        }
        let checked = normalise_output(&json!({"output": {"text": "string"}})).unwrap().unwrap();
        assert_eq!(checked["properties"]["text"], json!({"type": "string"}));
        assert_eq!(normalise_output(&json!({"output": []})).unwrap_err().pointer, "schema.output");
    }

    #[test]
    fn depth_is_bounded() {
        let mut deep = json!({"type": "string"});
        for _ in 0..100 {
            deep = json!({"type": "object", "properties": {"a": deep}});
        }
        assert!(input(&deep).unwrap_err().message.contains("deep"));
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let word = prop::sample::select(vec![
            "string",
            "object",
            "array",
            "type",
            "properties",
            "required",
            "items",
            "anyOf",
            "text",
            "x-a",
            "additionalProperties",
        ]);
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            word.clone().prop_map(Value::from),
            ".{0,3}".prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 48, 5, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((word.clone(), inner), 0..5).prop_map(|pairs| Value::Object(
                    pairs.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()
                )),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_json_is_an_object_schema_or_an_error_and_stays_put(value in any_json()) {
            if let Ok(once) = normalise(&value) {
                prop_assert_eq!(&once["type"], &json!("object"));
                prop_assert!(once["properties"].is_object());
                prop_assert_eq!(normalise(&once).unwrap(), once);
            }
        }
    }
}
