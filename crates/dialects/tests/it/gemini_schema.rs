//! Any JSON Schema becomes words that Gemini takes, or none at all; arguments come back under their own names.

use domain::ToolDefinition;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::support::{GEMINI, dialect, target};

/// The declared parameters; null if there are none.
fn emitted(parameters: &Value) -> Option<Value> {
    let tool = ToolDefinition {
        wire_name: "f".to_owned(),
        description: "d".to_owned(),
        parameters: parameters.clone(),
    };
    let dialect = dialect(GEMINI);
    if !dialect.can_emit(&tool) {
        return None;
    }
    let request = dialect.read_request(&target(GEMINI, false), r#"{"contents":[]}"#.into()).unwrap();
    let body: Value = serde_json::from_slice(&dialect.inject(&request, &[tool])).unwrap();
    Some(body["tools"][0]["functionDeclarations"][0]["parameters"].clone())
}

fn property(schema: Value) -> Value {
    emitted(&json!({"type": "object", "properties": {"p": schema}})).unwrap()["properties"]["p"].clone()
}

#[test]
fn the_schema_of_fault_16() {
    let parameters = json!({
        "type": "object",
        "properties": {
            "r": {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "integer"}], "minItems": 2, "uniqueItems": true},
            "lvl": {"type": "integer", "enum": [1, 2]},
            "u": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "x": {"$ref": "#/$defs/t"},
            "k-ey": {"type": "string"},
        },
        "$defs": {"t": {"const": "a"}},
        "additionalProperties": false,
    });
    insta::assert_json_snapshot!(emitted(&parameters).unwrap(), @r#"
    {
      "type": "OBJECT",
      "properties": {
        "r": {
          "type": "ARRAY",
          "minItems": 2,
          "items": {
            "type": "INTEGER"
          }
        },
        "lvl": {
          "type": "INTEGER",
          "description": "One of: 1, 2."
        },
        "u": {
          "type": "STRING",
          "nullable": true
        },
        "x": {
          "type": "STRING",
          "enum": [
            "a"
          ]
        },
        "k_ey": {
          "type": "STRING"
        }
      }
    }
    "#);
    let arguments = json!({"k_ey": "v", "lvl": 1, "r": [1, 2]}).as_object().cloned().unwrap();
    let restored = dialect(GEMINI).restore_arguments(&parameters, arguments);
    assert_eq!(Value::Object(restored), json!({"k-ey": "v", "lvl": 1, "r": [1, 2]}));
}

#[test]
fn each_word_becomes_one_that_is_known() {
    let table = [
        (
            json!({"type": ["string", "null"], "maxLength": 5}),
            json!({"type": "STRING", "nullable": true, "maxLength": 5}),
        ),
        (
            json!({"type": ["string", "integer"], "description": "d"}),
            json!({"anyOf": [
                {"type": "STRING", "description": "d"}, {"type": "INTEGER", "description": "d"},
            ]}),
        ),
        (
            json!({"enum": ["a", "b", null, "a"]}),
            json!({"type": "STRING", "nullable": true, "enum": ["a", "b"]}),
        ),
        (
            json!({"enum": ["", "a"], "type": "string"}),
            json!({"type": "STRING", "description": "One of: \"\", \"a\"."}),
        ),
        (json!({"const": 5, "description": "n"}), json!({"type": "INTEGER", "description": "n One of: 5."})),
        (json!({"type": "array"}), json!({"type": "ARRAY", "items": {"type": "STRING"}})),
        (
            json!({"items": [{"type": "string"}, {"type": "number"}]}),
            json!({"type": "ARRAY", "items": {"anyOf": [
                {"type": "STRING"}, {"type": "NUMBER"},
            ]}}),
        ),
        (
            json!({"type": "string", "format": "uri", "default": "x"}),
            json!({"type": "STRING", "default": "x"}),
        ),
        (
            json!({"type": "integer", "format": "int64", "minimum": 1, "exclusiveMaximum": 9}),
            json!({
                "type": "INTEGER", "format": "int64", "minimum": 1,
            }),
        ),
        (json!({"type": "object", "additionalProperties": {"type": "string"}}), json!({"type": "OBJECT"})),
        (
            json!({"allOf": [
                {"properties": {"a": {"type": "string"}}, "required": ["a"]}, {"properties": {"b": {"type": "number"}}, "required": ["b", "zz"]},
            ]}),
            json!({"type": "OBJECT", "properties": {"a": {"type": "STRING"}, "b": {"type": "NUMBER"}}, "required": ["a", "b"]}),
        ),
        (
            json!({"oneOf": [{"type": "string", "pattern": "x"}, {"type": "boolean"}], "description": "d"}),
            json!({"anyOf": [
                {"type": "STRING", "description": "d", "pattern": "x"}, {"type": "BOOLEAN", "description": "d"},
            ]}),
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}),
            json!({"type": "OBJECT", "properties": {"a": {"type": "STRING"}, "b": {"type": "STRING"}}}),
        ),
        (json!({"type": "null"}), json!({"type": "STRING", "nullable": true})),
        (
            json!({"type": "object", "properties": {"never": false, "a": {"type": "string"}}, "required": ["never"]}),
            json!({"type": "OBJECT", "properties": {"a": {"type": "STRING"}}}),
        ),
    ];
    for (schema, wanted) in table {
        assert_eq!(property(schema.clone()), wanted, "{schema}");
    }
    assert_eq!(property(json!(true))["anyOf"].as_array().unwrap().len(), 5);
}

#[test]
fn no_parameters_where_there_are_no_properties() {
    for parameters in [
        json!({"type": "object"}),
        json!({}),
        json!({"type": "object", "properties": {}, "additionalProperties": false}),
    ] {
        assert_eq!(emitted(&parameters), Some(Value::Null));
    }
    let union = json!({"oneOf": [
        {"properties": {"a": {"type": "string"}}, "required": ["a"]}, {"properties": {"b": {"type": "string"}}, "required": ["b"]},
    ]});
    assert_eq!(
        emitted(&union).unwrap(),
        json!({"type": "OBJECT", "properties": {"a": {"type": "STRING"}, "b": {"type": "STRING"}}})
    );
}

#[test]
fn what_cannot_be_reduced_is_not_emitted() {
    for parameters in [
        json!(true),
        json!({"type": "string"}),
        json!({"type": "word"}),
        json!({"type": 7}),
        json!({"properties": {"a": {"$ref": "other.json"}}}),
        json!({"properties": {"a": {"$ref": "#/$defs/missing"}}}),
        json!({"properties": {"a": {"$ref": 7}}}),
        json!({"properties": {"a": 7}}),
    ] {
        assert_eq!(emitted(&parameters), None, "{parameters}");
    }
    // References that double at every step.
    let doubling: Map<String, Value> = (0..40)
        .map(|n| {
            let next = format!("#/$defs/d{}", n + 1);
            (format!("d{n}"), json!({"properties": {"a": {"$ref": next}, "b": {"$ref": next}}}))
        })
        .chain([("d40".to_owned(), json!({"type": "string"}))])
        .collect();
    assert_eq!(emitted(&json!({"$ref": "#/$defs/d0", "$defs": doubling})), None);
    let deep = (0..60).fold(json!({"type": "string"}), |inner, _| json!({"type": "array", "items": inner}));
    assert_eq!(emitted(&json!({"properties": {"a": deep}})), None);
}

#[test]
fn a_schema_that_contains_itself_ends() {
    let tree = json!({"type": "object", "properties": {"name": {"type": "string"}, "kids": {"type": "array", "items": {"$ref": "#"}}}});
    let tree = emitted(&tree).unwrap();
    let deepest = tree.pointer("/properties/kids/items/properties/kids/items/properties/kids/items").unwrap();
    assert_eq!(*deepest, json!({"type": "OBJECT"}));
    let looped = json!({"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}]}}});
    assert!(emitted(&looped).is_some());
}

/// Every word of a schema must be known; written without the product's own reader.
fn judge(schema: &Value) -> Result<(), String> {
    let words = [
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
        "pattern",
        "anyOf",
        "default",
    ];
    let members = schema.as_object().ok_or("no object")?;
    if let Some(word) = members.keys().find(|word| !words.contains(&word.as_str())) {
        return Err(format!("unknown word {word}"));
    }
    if let Some(branches) = members.get("anyOf") {
        if members.len() > 1 {
            return Err("a word beside anyOf".to_owned());
        }
        return branches.as_array().ok_or("anyOf is no list")?.iter().try_for_each(judge);
    }
    let kind = members.get("type").and_then(Value::as_str).ok_or("no type")?;
    if (kind == "ARRAY") != members.contains_key("items") {
        return Err(format!("items of {kind}"));
    }
    if members.contains_key("enum") && kind != "STRING" {
        return Err(format!("enum of {kind}"));
    }
    members.get("items").map_or(Ok(()), judge)?;
    for (name, member) in members.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let legal = name.len() <= 64
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && !name.is_empty()
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        if !legal {
            return Err(format!("property {name}"));
        }
        judge(member)?;
    }
    for name in members.get("required").and_then(Value::as_array).into_iter().flatten() {
        if !members["properties"].as_object().is_some_and(|all| all.contains_key(name.as_str().unwrap())) {
            return Err(format!("required {name}"));
        }
    }
    Ok(())
}

/// Schemas with every word that there is, sensible or not.
fn schema() -> impl Strategy<Value = Value> {
    let words = [
        "type",
        "format",
        "title",
        "description",
        "nullable",
        "enum",
        "const",
        "properties",
        "required",
        "items",
        "prefixItems",
        "additionalItems",
        "additionalProperties",
        "patternProperties",
        "propertyNames",
        "minItems",
        "maxItems",
        "uniqueItems",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "multipleOf",
        "minLength",
        "maxLength",
        "pattern",
        "anyOf",
        "oneOf",
        "allOf",
        "not",
        "if",
        "then",
        "else",
        "$ref",
        "$defs",
        "$schema",
        "$id",
        "default",
        "examples",
        "dependentRequired",
        "deprecated",
    ];
    let leaf = prop_oneof![
        Just(json!(true)),
        Just(json!(null)),
        any::<i8>().prop_map(Value::from),
        Just(json!("x")),
        Just(json!("#")),
        Just(json!("#/$defs/a")),
        prop::sample::select(vec!["string", "integer", "number", "boolean", "array", "object", "null"])
            .prop_map(|kind| json!({"type": kind})),
        prop::sample::select(vec![
            json!(["a", "b"]),
            json!([1, 2]),
            json!(["string", "null"]),
            json!("string"),
            json!("object")
        ]),
    ];
    leaf.prop_recursive(5, 40, 5, move |inner| {
        let named = prop::collection::vec(("[a-c$ -]{0,3}", inner.clone()), 0..4)
            .prop_map(|members| Value::Object(members.into_iter().collect()));
        let list = prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from);
        let value = prop_oneof![inner, named, list];
        prop::collection::vec((prop::sample::select(words.to_vec()), value), 1..6).prop_map(|members| {
            Value::Object(members.into_iter().map(|(word, value)| (word.to_owned(), value)).collect())
        })
    })
}

/// An object whose properties have odd names, and arguments for it under those names.
fn odd_names() -> impl Strategy<Value = (Value, Value)> {
    let leaf = any::<u8>().prop_map(|value| (json!({"type": "integer"}), json!(value))).boxed();
    leaf.prop_recursive(3, 20, 4, |inner| {
        let object =
            prop::collection::btree_map("[a-c_ .1é-]{0,4}", inner.clone(), 0..4).prop_map(|members| {
                let schemas: Map<String, Value> =
                    members.iter().map(|(name, (schema, _))| (name.clone(), schema.clone())).collect();
                let values: Map<String, Value> =
                    members.into_iter().map(|(name, (_, value))| (name, value)).collect();
                (json!({"type": "object", "properties": schemas}), Value::Object(values))
            });
        let list =
            inner.prop_map(|(schema, value)| (json!({"type": "array", "items": schema}), json!([value])));
        prop_oneof![2 => object, 1 => list]
    })
    .prop_map(|(schema, value)| {
        (json!({"type": "object", "properties": {"p-p": schema}}), json!({"p-p": value}))
    })
}

/// Arguments as a model would name them.
fn renamed(original: &Value, wire: &Value, value: &Value) -> Value {
    match value {
        Value::Object(values) => {
            let originals = original["properties"].as_object().unwrap();
            let wires = wire["properties"].as_object().cloned().unwrap_or_default();
            let pairs = originals.iter().zip(&wires);
            let pair = |((name, schema), (wire_name, wire)): ((&String, &Value), (&String, &Value))| {
                (wire_name.clone(), renamed(schema, wire, &values[name]))
            };
            Value::Object(pairs.map(pair).collect())
        }
        Value::Array(values) => {
            values.iter().map(|value| renamed(&original["items"], &wire["items"], value)).collect()
        }
        other => other.clone(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_schema_yields_an_unknown_word(schema in schema()) {
        let wrapped = json!({"type": "object", "properties": {"p": schema}, "$defs": {"a": schema}});
        for parameters in [&schema, &wrapped] {
            if let Some(emitted) = emitted(parameters).filter(|emitted| !emitted.is_null()) {
                prop_assert_eq!(judge(&emitted), Ok(()), "{} from {}", emitted, parameters);
            }
        }
    }

    #[test]
    fn arguments_come_back_under_their_own_names((schema, arguments) in odd_names()) {
        let wire = emitted(&schema).unwrap();
        prop_assert_eq!(judge(&wire), Ok(()));
        let said = renamed(&schema, &wire, &arguments);
        let restored = dialect(GEMINI).restore_arguments(&schema, said.as_object().cloned().unwrap());
        prop_assert_eq!(Value::Object(restored), arguments);
    }
}
