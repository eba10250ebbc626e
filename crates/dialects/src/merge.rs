//! Puts the deltas of a stream together: texts grow, objects merge, lists grow by their elements' `index`.

use serde_json::map::Entry;
use serde_json::{Map, Value};

/// Members that name a thing and therefore replace instead of growing.
const LABELS: [&str; 6] = ["id", "type", "index", "role", "format", "name"];

/// Adds `delta` to `whole`.
pub(crate) fn object(whole: &mut Map<String, Value>, delta: Map<String, Value>) {
    for (key, value) in delta {
        match whole.entry(key) {
            Entry::Vacant(slot) => {
                slot.insert(value);
            }
            Entry::Occupied(mut slot) => {
                let label = LABELS.contains(&slot.key().as_str());
                member(label, slot.get_mut(), value);
            }
        }
    }
}

fn member(label: bool, whole: &mut Value, delta: Value) {
    match (whole, delta) {
        (_, Value::Null) => {}
        (Value::String(whole), Value::String(delta)) if !label => whole.push_str(&delta),
        (Value::Object(whole), Value::Object(delta)) => object(whole, delta),
        (Value::Array(whole), Value::Array(delta)) => delta.into_iter().for_each(|one| element(whole, one)),
        (whole, delta) => *whole = delta,
    }
}

fn element(whole: &mut Vec<Value>, delta: Value) {
    let index = delta.get("index").cloned();
    let same = index.and_then(|index| whole.iter_mut().find(|one| one.get("index") == Some(&index)));
    match (same, delta) {
        (Some(Value::Object(whole)), Value::Object(delta)) => object(whole, delta),
        (_, delta) => whole.push(delta),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn merged(deltas: Vec<Value>) -> Value {
        let mut whole = Map::new();
        for delta in deltas {
            object(&mut whole, delta.as_object().cloned().unwrap());
        }
        Value::Object(whole)
    }

    #[test]
    fn texts_grow_labels_and_the_rest_replace() {
        let deltas = vec![
            json!({"role": "assistant", "content": null, "reasoning_content": "a", "n": 1}),
            json!({"role": "assistant", "content": "x", "reasoning_content": "b", "n": 2}),
            json!({"content": null, "reasoning_content": null}),
            json!({"content": "y"}),
        ];
        let whole = json!({"role": "assistant", "content": "xy", "reasoning_content": "ab", "n": 2});
        assert_eq!(merged(deltas), whole);
    }

    #[test]
    fn lists_grow_by_index() {
        let deltas = vec![
            json!({"details": [{"index": 0, "type": "t", "text": "a"}], "audio": {"id": "x", "data": "A"}}),
            json!({"details": [{"index": 0, "type": "t", "text": "b"}], "audio": {"id": "x", "data": "B"}}),
            json!({"details": [{"index": 1, "text": "c"}, {"plain": true}]}),
        ];
        assert_eq!(
            merged(deltas),
            json!({
                "details": [{"index": 0, "type": "t", "text": "ab"}, {"index": 1, "text": "c"}, {"plain": true}],
                "audio": {"id": "x", "data": "AB"},
            })
        );
    }
}
