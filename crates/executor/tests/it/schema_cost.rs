//! Small schemas that ask for endless work are refused, and ordinary ones still validate.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use executor::{Refusal, check_schema};
use serde_json::{Map, Value, json};

use crate::fixture::{run_of, skill, standard};

/// Fails instead of hanging the whole run.
fn within_limits(work: impl FnOnce() + Send + 'static) {
    let (tell, told) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        work();
        tell.send(()).ok();
    });
    assert_ne!(told.recv_timeout(Duration::from_secs(20)), Err(mpsc::RecvTimeoutError::Timeout), "hangs");
    thread.join().unwrap();
}

fn pointing(to: &str) -> Value {
    json!({ "$ref": to })
}

/// Definitions `d0` to `d<last>`, each made of a `$ref` to the next one; the last is a string.
fn chain(last: usize, definition: impl Fn(Value) -> Value) -> Value {
    let each = (0..last).map(|at| (format!("d{at}"), definition(pointing(&format!("#/$defs/d{}", at + 1)))));
    let mut defs: Map<String, Value> = each.collect();
    defs.insert(format!("d{last}"), json!({ "type": "string" }));
    json!({ "properties": { "a": { "$ref": "#/$defs/d0" } }, "$defs": defs })
}

fn nested(depth: usize, inner: Value, level: impl Fn(Value) -> Value) -> Value {
    (0..depth).fold(inner, |inner, _| level(inner))
}

/// What is hostile, the schema, and what the refusal has to say.
type Hostile = Vec<(&'static str, Value, &'static str)>;

fn are_refused(hostile: Hostile) {
    within_limits(move || {
        for (what, schema, why) in hostile {
            let Err(refused) = check_schema(&schema) else { panic!("{what} is accepted") };
            assert!(refused.message.contains(why), "{what}: {refused}");
        }
    });
}

#[test]
fn schemas_that_multiply_are_refused() {
    let large = |count: usize| {
        (0..count).map(|at| json!({ "pattern": format!("x{at}(a|b){{4000}}") })).collect::<Vec<_>>()
    };
    are_refused(vec![
        ("all of both", chain(28, |next| json!({ "allOf": [next, next] })), "too large"),
        ("any of both", chain(28, |next| json!({ "anyOf": [next, next] })), "too large"),
        ("one of both", chain(28, |next| json!({ "oneOf": [next, next] })), "too large"),
        ("not and then", chain(28, |next| json!({ "if": next, "then": next, "not": next })), "too large"),
        (
            "overlapping names",
            chain(28, |next| json!({ "patternProperties": { "^a": next, "a$": next } })),
            "too large",
        ),
        (
            "beside a name",
            chain(28, |next| json!({ "properties": { "a": next }, "patternProperties": { "a": next } })),
            "too large",
        ),
        (
            "evaluated again",
            nested(
                28,
                json!({ "type": "object" }),
                |inner| json!({ "anyOf": [inner], "unevaluatedProperties": false }),
            ),
            "too large",
        ),
        ("contained too", chain(28, |next| json!({ "items": next, "contains": next })), "too large"),
        ("dependent", chain(28, |next| json!({ "dependentSchemas": { "a": next, "b": next } })), "too large"),
        ("many of few", json!({ "items": { "enum": (0..20_000).collect::<Vec<_>>() } }), "too large"),
        ("many", json!({ "prefixItems": vec![json!({}); 20_000] }), "too large"),
        ("patterns", json!({ "prefixItems": large(100) }), "too large"),
    ]);
}

#[test]
fn recursion_into_one_value_twice_is_refused() {
    let me = || pointing("#");
    let down = || json!({ "properties": { "c": me() } });
    are_refused(vec![
        ("doubling", json!({ "properties": { "c": { "allOf": [me(), me()] } } }), "several subschemas"),
        ("doubling any", json!({ "properties": { "c": { "anyOf": [me(), me()] } } }), "several subschemas"),
        ("both branches", json!({ "allOf": [down(), down()] }), "several subschemas"),
        ("beside a branch", json!({ "properties": { "c": me() }, "anyOf": [down()] }), "several subschemas"),
        ("if and then", json!({ "if": down(), "then": down() }), "several subschemas"),
        (
            "dependent branches",
            json!({ "properties": { "c": me() }, "dependentSchemas": { "c": down() } }),
            "several subschemas",
        ),
        (
            "through a reference",
            json!({ "$ref": "#/$defs/a", "properties": { "c": me() }, "$defs": { "a": down() } }),
            "several subschemas",
        ),
        (
            "matched twice",
            json!({ "properties": { "c": me() }, "patternProperties": { "c": me() } }),
            "several subschemas",
        ),
        ("contains itself", json!({ "items": me(), "contains": me() }), "several subschemas"),
        (
            "elements twice",
            json!({ "allOf": [{ "items": me() }, { "prefixItems": [me()] }] }),
            "several subschemas",
        ),
        ("named by itself", json!({ "propertyNames": me() }), "several subschemas"),
        (
            "unevaluated itself",
            json!({ "properties": { "c": me() }, "unevaluatedProperties": me() }),
            "several subschemas",
        ),
        (
            "evaluated again and again",
            json!({ "anyOf": [down()], "unevaluatedProperties": false }),
            "several subschemas",
        ),
        ("for the same value", json!({ "$ref": "#", "properties": { "c": me() } }), "for the same value"),
        (
            "round",
            json!({ "$ref": "#/$defs/a", "$defs": { "a": { "anyOf": [{ "$ref": "#/$defs/b" }] }, "b": { "not": { "$ref": "#/$defs/a" } } } }),
            "for the same value",
        ),
        ("long", chain(5_000, |next| json!({ "items": next })), "too deep"),
        (
            "long on a level",
            json!({ "properties": { "c": nested(60, me(), |inner| json!({ "allOf": [inner] })) } }),
            "too deep",
        ),
    ]);
}

#[test]
fn what_cannot_be_followed_is_refused() {
    are_refused(vec![
        (
            "dynamic",
            json!({ "$dynamicAnchor": "x", "properties": { "c": { "$dynamicRef": "#x" } } }),
            "$dynamicRef",
        ),
        ("recursive", json!({ "properties": { "c": { "$recursiveRef": "#" } } }), "$recursiveRef"),
        (
            "named inside",
            json!({ "properties": { "c": { "$id": "http://x/y", "$ref": "#/$defs/a" } }, "$defs": { "a": {} } }),
            "inner `$id`",
        ),
        ("anchor", json!({ "$defs": { "a": { "$anchor": "a" } }, "$ref": "#a" }), "leads nowhere"),
        ("encoded", json!({ "$defs": { "a": {} }, "$ref": "#/%24defs/a" }), "leads nowhere"),
        ("nowhere", json!({ "$ref": "#/$defs/a" }), "leads nowhere"),
        ("elsewhere", json!({ "$ref": "http://127.0.0.1/x#/$defs/a" }), "leads nowhere"),
        ("large pattern", json!({ "pattern": "(a{1000}){1000}" }), "too large"),
        ("large name pattern", json!({ "patternProperties": { "(a{1000}){1000}": {} } }), "too large"),
        ("looking around", json!({ "pattern": "(?=a)b" }), "look-around"),
    ]);
}

#[tokio::test]
async fn a_stored_schema_of_endless_work_is_refused_when_it_runs() {
    let mut run = run_of(skill("echo-handler"), json!({ "a": "x" }));
    run.input_schema = Arc::new(chain(28, |next| json!({ "allOf": [next, next] })));
    let refused = standard().executor.execute(run).await;
    assert!(matches!(refused, Err(Refusal::InvalidSchema { .. })), "{refused:?}");
}

async fn fits(schema: &Value, input: Value) -> bool {
    let mut run = run_of(skill("echo-handler"), input);
    run.input_schema = Arc::new(schema.clone());
    match standard().executor.execute(run).await {
        Ok(_) => true,
        Err(Refusal::InvalidInput { .. }) => false,
        Err(other) => panic!("{other}: {schema}"),
    }
}

#[tokio::test]
async fn ordinary_schemas_still_validate() {
    let or_null = |one: Value| json!({ "anyOf": [one, { "type": "null" }] });
    let tree = json!({ "type": "object", "required": ["value"], "properties": {
        "value": { "type": "integer" },
        "left": or_null(pointing("#/$defs/tree")),
        "right": { "$ref": "#/$defs/tree", "description": "the other side" },
    } });
    let document = json!({ "oneOf": [
        { "required": ["text"], "properties": { "text": { "type": "string" } }, "additionalProperties": false },
        { "required": ["children"], "properties": { "children": { "items": { "$ref": "#" }, "minItems": 1 } } },
    ] });
    let any_json = json!({ "anyOf": [
        { "type": ["string", "null"] },
        { "type": "array", "items": { "$ref": "#/$defs/json" } },
        { "type": "object", "additionalProperties": { "$ref": "#/$defs/json" } },
    ] });
    let extended = json!({
        "allOf": [{ "$ref": "#/$defs/base" }], "properties": { "b": true }, "unevaluatedProperties": false,
        "$defs": { "base": { "properties": { "a": { "type": "string" } } } },
    });
    let shared = chain(28, |next| json!({ "properties": { "a": next, "b": next } }));
    let deep = |end: Value| nested(29, end, |inner| json!({ "a": inner }));
    let email = r"^[a-z0-9!#$%&'*+/=?^_`{|}~.-]+@(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}$";
    let legal = [
        (
            json!({ "properties": { "next": { "$ref": "#" } }, "additionalProperties": false }),
            json!({ "next": { "next": {} } }),
            json!({ "next": { "next": { "x": 1 } } }),
        ),
        (
            json!({ "$ref": "#/$defs/tree", "$defs": { "tree": tree } }),
            json!({ "value": 1, "left": null, "right": { "value": 2, "left": { "value": 3 } } }),
            json!({ "value": 1, "right": { "value": 2, "left": { "value": "3" } } }),
        ),
        (
            document,
            json!({ "children": [{ "text": "a" }, { "children": [{ "text": "b" }] }] }),
            json!({ "children": [{ "children": [{ "text": 1 }] }] }),
        ),
        (
            json!({ "additionalProperties": { "$ref": "#/$defs/json" }, "$defs": { "json": any_json } }),
            json!({ "a": [[{ "b": ["x", null] }]] }),
            json!({ "a": [[{ "b": ["x", 1] }]] }),
        ),
        (
            json!({ "$id": "https://example.com/a", "$schema": "https://json-schema.org/draft/2020-12/schema",
            "properties": { "$id": { "$ref": "#/$defs/a~1b" }, "$ref": { "type": "string" } }, "$defs": { "a/b": { "type": "string" } } }),
            json!({ "$id": "x", "$ref": "y" }),
            json!({ "$id": 1 }),
        ),
        (extended, json!({ "a": "x", "b": 1 }), json!({ "a": "x", "c": 1 })),
        (shared, deep(json!("x")), deep(json!(1))),
        (
            json!({ "properties": { "to": { "pattern": email }, "n": { "enum": (0..600).collect::<Vec<_>>() } } }),
            json!({ "to": "ann@example.com", "n": 599 }),
            json!({ "to": "ann@example.com", "n": 600 }),
        ),
        (
            json!({ "properties": { "tags": { "type": "array", "uniqueItems": true } } }),
            json!({ "tags": (0..50_000).collect::<Vec<_>>() }),
            json!({ "tags": [1, 2, 1] }),
        ),
    ];
    for (schema, good, bad) in legal {
        assert!(fits(&schema, good).await, "{schema}");
        assert!(!fits(&schema, bad).await, "{schema}");
    }
}

#[tokio::test]
async fn the_deepest_legal_recursion_fits_the_stack_of_a_worker() {
    let longest = nested(7, pointing("#"), |inner| json!({ "anyOf": [inner, { "type": "null" }] }));
    let schema = json!({ "type": "object", "properties": { "c": longest } });
    let deep = |end: Value| nested(126, end, |inner| json!({ "c": inner }));
    assert!(fits(&schema, deep(json!({}))).await);
    assert!(!fits(&schema, deep(json!(1))).await);
}

async fn told(schema: Value, input: Value) -> String {
    let mut run = run_of(skill("echo-handler"), input);
    run.input_schema = Arc::new(schema);
    match standard().executor.execute(run).await {
        Err(Refusal::InvalidInput { violations }) => {
            assert_eq!(violations.len(), 1, "{violations:?}");
            violations.into_iter().map(|violation| violation.message).collect()
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_large_value_is_not_checked_against_a_costly_schema() {
    let many = json!({ "list": vec![1; 100_000] });
    let costly: Vec<Value> = (0..500).map(|at| json!({ "not": { "const": format!("x{at}") } })).collect();
    let message =
        told(json!({ "properties": { "list": { "items": { "allOf": costly } } } }), many.clone()).await;
    assert!(message.contains("too large or too deep"), "{message}");
    let slow = json!({ "properties": { "text": { "pattern": "[ab]*a[ab]{5000}c" } } });
    let message = told(slow, json!({ "text": "ab".repeat(500_000) })).await;
    assert!(message.contains("too large or too deep"), "{message}");
    let deep = json!({ "list": nested(200, json!(1), |inner| json!([inner])) });
    let message = told(json!({ "properties": { "list": {} } }), deep).await;
    assert!(message.contains("too large or too deep"), "{message}");
    // Half a million violations would take some 300 MB to collect.
    let message = told(json!({ "properties": { "list": { "items": { "type": "string" } } } }), many).await;
    assert!(message.contains("too large to tell where"), "{message}");
}
