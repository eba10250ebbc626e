//! Token usage over the rounds of a turn: numbers add up, member by member, however deep they lie.

use serde_json::{Map, Value};

use crate::answer::Tokens;

/// What the rounds so far have used.
#[derive(Clone, Debug, Default)]
pub(crate) struct Totals {
    sum: Map<String, Value>,
    last: Map<String, Value>,
}

impl Totals {
    /// Adds the usage of one round. Anything but an object counts as nothing.
    pub(crate) fn add(&mut self, usage: Option<&Value>) {
        self.last = usage.and_then(Value::as_object).cloned().unwrap_or_default();
        plus(&mut self.sum, &self.last);
    }

    /// The sums; of the members in `input` the last round's value if that is asked for. None if no round said
    /// anything.
    pub(crate) fn report(&self, input_of_last: bool, input: &[&str]) -> Option<Map<String, Value>> {
        let mut report = self.sum.clone();
        if input_of_last {
            for (key, value) in self.last.iter().filter(|(key, _)| input.contains(&key.as_str())) {
                report.insert(key.clone(), value.clone());
            }
        }
        (!report.is_empty()).then_some(report)
    }

    /// The sums of these members over all rounds.
    pub(crate) fn tokens(&self, input: &[&str], output: &[&str]) -> Tokens {
        let count = |member: &&str| self.sum.get(*member).and_then(Value::as_u64);
        let sum = |members: &[&str]| members.iter().filter_map(count).fold(0, u64::saturating_add);
        Tokens { input: sum(input), output: sum(output) }
    }

    /// [`Totals::report`] where `total_tokens` is the sum of these two members.
    pub(crate) fn with_total(&self, input_of_last: bool, input: &[&str], parts: [&str; 2]) -> Option<Value> {
        let mut report = self.report(input_of_last, input)?;
        let [a, b] = parts.map(|key| report.get(key).and_then(Value::as_u64));
        if input_of_last
            && report.contains_key("total_tokens")
            && let (Some(a), Some(b)) = (a, b)
        {
            report.insert("total_tokens".to_owned(), a.saturating_add(b).into());
        }
        Some(Value::Object(report))
    }
}

fn plus(sum: &mut Map<String, Value>, more: &Map<String, Value>) {
    for (key, value) in more {
        match (sum.get_mut(key), value) {
            (Some(Value::Object(sum)), Value::Object(more)) => plus(sum, more),
            (Some(Value::Number(sum)), Value::Number(more)) => *sum = add(sum, more),
            (Some(_), Value::Null) => {}
            (Some(sum), value) => *sum = value.clone(),
            (None, value) => {
                sum.insert(key.clone(), value.clone());
            }
        }
    }
}

fn add(a: &serde_json::Number, b: &serde_json::Number) -> serde_json::Number {
    if let (Some(a), Some(b)) = (a.as_u64(), b.as_u64()) {
        return a.saturating_add(b).into();
    }
    let sum = a.as_f64().unwrap_or_default() + b.as_f64().unwrap_or_default();
    serde_json::Number::from_f64(sum).unwrap_or_else(|| a.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_add_up_at_every_depth() {
        let mut totals = Totals::default();
        totals.add(Some(&json!({"in": 100, "out": 10, "details": {"cached": 5, "tier": null}, "cost": 0.5})));
        totals.add(None);
        totals.add(Some(&json!({"in": 150, "out": 20, "details": {"cached": 1, "audio": 2}, "cost": 1})));
        let sum =
            json!({"in": 250, "out": 30, "details": {"cached": 6, "tier": null, "audio": 2}, "cost": 1.5});
        assert_eq!(Value::Object(totals.report(false, &["in"]).unwrap()), sum);
        assert_eq!(totals.report(true, &["in"]).unwrap()["in"], 150);
        assert_eq!(Totals::default().report(true, &["in"]), None);
        let tokens = totals.tokens(&["in", "details", "absent"], &["out"]);
        assert_eq!((tokens.input, tokens.output, tokens.total()), (250, 30, 280));
    }

    #[test]
    fn hostile_numbers_do_not_overflow() {
        let mut totals = Totals::default();
        for _ in 0..3 {
            totals.add(Some(&json!({"a": u64::MAX, "b": f64::MAX, "c": -1, "d": "x"})));
        }
        let report = totals.report(false, &[]).unwrap();
        assert_eq!(report["a"], u64::MAX);
        assert_eq!(totals.tokens(&["a", "a", "c", "d"], &["a"]).total(), u64::MAX);
        assert_eq!(report["b"], f64::MAX);
        assert_eq!(report["c"], -3.0);
    }
}
