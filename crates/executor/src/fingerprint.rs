//! Which calls count as the same call. Member order does not matter, everything else does.

use domain::ids::sha256_hex;
use serde_json::{Map, Value};

use crate::run::Run;

/// Names a call for approvals: owner, end user, conversation, skill and input. Without a conversation, the turn.
pub(crate) fn of_call(run: &Run) -> String {
    let place = run.session_id.as_deref().or(run.turn_id.as_deref()).unwrap_or_default();
    let user = run.user.as_deref().unwrap_or_default();
    hash(&[&run.api_key_id, user, place, &run.skill.id, &canonical(&run.input)])
}

/// Names what is done: skill and input.
pub(crate) fn of_work(run: &Run) -> String {
    hash(&[&run.skill.id, &canonical(&run.input)])
}

/// Lengths keep ("ab", "c") and ("a", "bc") apart.
fn hash(parts: &[&str]) -> String {
    let framed: Vec<String> = parts.iter().map(|part| format!("{} {part}", part.len())).collect();
    sha256_hex(framed.concat())
}

fn canonical(value: &Value) -> String {
    sorted(value).to_string()
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(name, _)| *name);
            Value::Object(members.into_iter().map(|(n, v)| (n.clone(), sorted(v))).collect::<Map<_, _>>())
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn member_order_does_not_make_another_call() {
        let one: Value = serde_json::from_str(r#"{"a":1,"b":{"c":[1,{"d":2,"e":3}]}}"#).unwrap();
        let two: Value = serde_json::from_str(r#"{"b":{"c":[1,{"e":3,"d":2}]},"a":1}"#).unwrap();
        assert_eq!(canonical(&one), canonical(&two));
        assert_ne!(canonical(&one), canonical(&json!({"a": 1, "b": {"c": [{"d": 2, "e": 3}, 1]}})));
    }

    #[test]
    fn parts_do_not_run_into_each_other() {
        assert_ne!(hash(&["ab", "c"]), hash(&["a", "bc"]));
    }
}
