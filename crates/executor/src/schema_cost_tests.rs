//! The promise of the cost, against an evaluator that counts: no value of any input is checked more often.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::mpsc;
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use crate::schema_check::Compiled;
use crate::schema_cost::cost;

/// Visits of each value by each schema, nothing skipped. Stops once a value has too many.
struct Counter<'a> {
    root: &'a Value,
    visits: HashMap<usize, u64>,
    most: u64,
    stop: u64,
}

impl<'a> Counter<'a> {
    fn visit(&mut self, schema: &'a Value, value: &Value) {
        let visits = self.visits.entry(std::ptr::from_ref(value).addr()).or_default();
        *visits += 1;
        self.most = self.most.max(*visits);
        if self.most > self.stop || !schema.is_object() {
            return;
        }
        let again = ["unevaluatedProperties", "unevaluatedItems"].iter().any(|key| schema.get(key).is_some());
        for _ in 0..=u8::from(again) {
            self.same(schema, value);
        }
        let part = |key: &str| schema.get(key);
        for (index, element) in value.as_array().into_iter().flatten().enumerate() {
            let first = part("prefixItems").and_then(|list| list.get(index));
            let parts = [first.or(part("items")), part("contains"), part("unevaluatedItems")];
            parts.into_iter().flatten().for_each(|schema| self.visit(schema, element));
        }
        for (name, member) in value.as_object().into_iter().flatten() {
            let named = part("properties").and_then(|named| named.get(name));
            let prefixed = part("patternProperties").and_then(|named| named.get(format!("^{name}")));
            let rest = part("additionalProperties").filter(|_| named.is_none() && prefixed.is_none());
            let parts = [named, prefixed, rest, part("propertyNames"), part("unevaluatedProperties")];
            parts.into_iter().flatten().for_each(|schema| self.visit(schema, member));
        }
    }

    fn same(&mut self, schema: &'a Value, value: &Value) {
        if let Some(to) = schema.get("$ref").and_then(Value::as_str) {
            self.visit(self.root.pointer(to.trim_start_matches('#')).unwrap(), value);
        }
        for list in ["allOf", "anyOf", "oneOf"].iter().filter_map(|key| schema.get(key)) {
            list.as_array().unwrap().iter().for_each(|schema| self.visit(schema, value));
        }
        for one in ["not", "if", "then", "else"].iter().filter_map(|key| schema.get(key)) {
            self.visit(one, value);
        }
        for (_, one) in schema.get("dependentSchemas").and_then(Value::as_object).into_iter().flatten() {
            self.visit(one, value);
        }
    }
}

fn name() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "c"]).prop_map(str::to_owned)
}

fn schemas() -> impl Strategy<Value = Value> {
    let reference = prop::sample::select(vec!["#", "#/$defs/a", "#/$defs/b", "#/$defs/c"]);
    let leaf = prop_oneof![
        3 => reference.prop_map(|to| json!({ "$ref": to })),
        1 => Just(json!({ "type": "object" })),
        1 => Just(json!({ "enum": [1, "x", null] })),
        1 => Just(json!(true)),
    ];
    let inner = leaf.prop_recursive(3, 12, 3, |inner| {
        let one = ["not", "if", "then", "items", "contains", "additionalProperties", "propertyNames",
            "unevaluatedProperties", "unevaluatedItems"];
        let two = vec!["allOf", "anyOf", "oneOf", "prefixItems"];
        let keyword = prop_oneof![
            2 => (prop::sample::select(one.to_vec()), inner.clone()).prop_map(|(key, one)| json!({ key: one })),
            2 => (prop::sample::select(two), prop::collection::vec(inner.clone(), 1..3))
                .prop_map(|(key, list)| json!({ key: list })),
            4 => prop::collection::btree_map(name(), inner.clone(), 1..3).prop_map(|map| json!({ "properties": map })),
            1 => (name(), inner.clone()).prop_map(|(name, one)| json!({ "dependentSchemas": { name: one } })),
            1 => (name(), inner).prop_map(|(name, one)| json!({ "patternProperties": { format!("^{name}"): one } })),
        ];
        prop::collection::vec(keyword, 1..3).prop_map(merged)
    });
    prop::collection::vec(inner, 4).prop_map(|mut parts| {
        let (c, b, a) = (parts.pop(), parts.pop(), parts.pop());
        let defs = json!({ "$defs": { "a": a, "b": b, "c": c } });
        merged(vec![parts.pop().unwrap(), defs])
    })
}

fn merged(parts: Vec<Value>) -> Value {
    let members = parts.into_iter().filter_map(|part| part.as_object().cloned()).flatten();
    Value::Object(members.collect())
}

/// Values up to 12 deep that go on where recursion would.
fn values() -> impl Strategy<Value = Value> {
    let leaf = prop::sample::select(vec![json!(1), json!("x"), json!(null), json!({}), json!([])]);
    let level =
        (0..3usize, name(), name(), prop::sample::select(vec![json!(1), json!({ "a": {} }), json!([[]])]));
    (leaf, prop::collection::vec(level, 0..11)).prop_map(|(leaf, levels)| {
        levels.into_iter().fold(leaf, |inner, (kind, name, other, beside)| match kind {
            0 => json!([inner, beside]),
            1 => json!({ name: inner }),
            _ => merged(vec![json!({ other: beside }), json!({ name: inner })]),
        })
    })
}

#[test]
fn what_every_level_of_a_recursion_leaves_is_counted() {
    let finite = (0..20).fold(json!(true), |inner, _| json!({ "properties": { "c": inner } }));
    let schema = json!({ "allOf": [finite, { "properties": { "c": { "$ref": "#" } } }] });
    let value = (0..40).fold(json!(1), |inner, _| json!({ "c": inner }));
    let cost = cost(&schema).unwrap();
    let mut counter = Counter { root: &schema, visits: HashMap::new(), most: 0, stop: u64::MAX };
    counter.visit(&schema, &value);
    assert!((20..=cost.checks).contains(&counter.most), "{} visits, {cost:?}", counter.most);
}

#[test]
fn no_value_is_checked_more_often_than_the_cost_says() {
    let (tell, told) = mpsc::channel();
    let all = std::thread::spawn(move || {
        let legal = Cell::new(0);
        let mut runner = TestRunner::new(Config::with_cases(800));
        let result = runner.run(&(schemas(), values()), |(schema, value)| {
            tell.send(schema.to_string()).unwrap();
            let Ok(cost) = cost(&schema) else { return Ok(()) };
            legal.set(legal.get() + u32::from(schema.to_string().contains("$ref")));
            let mut counter = Counter { root: &schema, visits: HashMap::new(), most: 0, stop: cost.checks };
            counter.visit(&schema, &value);
            prop_assert!(counter.most <= cost.checks, "more than {} visits of a value", cost.checks);
            if let Ok(compiled) = Compiled::of(&schema) {
                compiled.violations(&value);
            }
            Ok(())
        });
        result.unwrap();
        legal.get()
    });
    // A case that hangs is told, instead of hanging the whole run.
    let mut last = String::new();
    loop {
        match told.recv_timeout(Duration::from_secs(20)) {
            Ok(schema) => last = schema,
            Err(mpsc::RecvTimeoutError::Timeout) => panic!("checking takes too long: {last}"),
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
        }
    }
    let legal = all.join().unwrap();
    assert!(legal > 100, "only {legal} schemas with references were legal");
}
