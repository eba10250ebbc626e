//! Usage over the rounds of a turn. Details are lists by modality here; they add up modality by modality.

use serde_json::{Map, Value, json};

use crate::answer::Tokens;
use crate::usage::Totals;

/// Members that count what went in.
const INPUT: [&str; 6] = [
    "promptTokenCount",
    "promptTokensDetails",
    "cachedContentTokenCount",
    "cacheTokensDetails",
    "toolUsePromptTokenCount",
    "toolUsePromptTokensDetails",
];

/// Adds the usage of one round.
pub(super) fn add(totals: &mut Totals, usage: Map<String, Value>) {
    let by_modality = |(word, value): (String, Value)| match value {
        Value::Array(list) if word.ends_with("Details") => (word, Value::Object(keyed(list))),
        value => (word, value),
    };
    totals.add(Some(&Value::Object(usage.into_iter().map(by_modality).collect())));
}

/// Tokens over all rounds; thoughts are not in the candidates' count.
pub(super) fn tokens(totals: &Totals) -> Tokens {
    totals.tokens(
        &["promptTokenCount", "toolUsePromptTokenCount"],
        &["candidatesTokenCount", "thoughtsTokenCount"],
    )
}

fn keyed(list: Vec<Value>) -> Map<String, Value> {
    let entry = |one: Value| {
        let modality = one.get("modality").and_then(Value::as_str).unwrap_or("MODALITY_UNSPECIFIED");
        (modality.to_owned(), one.get("tokenCount").cloned().unwrap_or_else(|| 0.into()))
    };
    list.into_iter().map(entry).collect()
}

/// Usage over all rounds; the total follows its parts.
pub(super) fn report(totals: &Totals, input_of_last: bool) -> Option<Value> {
    let mut report = totals.report(input_of_last, &INPUT)?;
    let count = |report: &Map<String, Value>, word: &str| report.get(word).and_then(Value::as_u64);
    let sums = totals.report(false, &INPUT)?;
    if let Some(total) = count(&sums, "totalTokenCount") {
        let of = |report, word| count(report, word).unwrap_or_default();
        let input =
            |report| of(report, "promptTokenCount").saturating_add(of(report, "toolUsePromptTokenCount"));
        let total = total.saturating_sub(input(&sums)).saturating_add(input(&report));
        report.insert("totalTokenCount".to_owned(), total.into());
    }
    let listed = |(word, value): (String, Value)| match value {
        Value::Object(counts) if word.ends_with("Details") => {
            let one = |(modality, count): (String, Value)| json!({"modality": modality, "tokenCount": count});
            (word, counts.into_iter().map(one).collect())
        }
        value => (word, value),
    };
    Some(Value::Object(report.into_iter().map(listed).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_details_add_up() {
        let mut totals = Totals::default();
        let details = |text: u64, image: Option<u64>| {
            let image = image.map(|count| json!({"modality": "IMAGE", "tokenCount": count}));
            let text = json!({"modality": "TEXT", "tokenCount": text});
            std::iter::once(text).chain(image).collect::<Value>()
        };
        for (prompt, image) in [(10, None), (20, Some(5))] {
            let usage = json!({
                "promptTokenCount": prompt, "candidatesTokenCount": 3, "thoughtsTokenCount": 4,
                "totalTokenCount": prompt + 7, "promptTokensDetails": details(prompt, image), "trafficType": "X",
            });
            add(&mut totals, usage.as_object().unwrap().clone());
        }
        let usage = report(&totals, false).unwrap();
        assert_eq!(
            usage,
            json!({
                "promptTokenCount": 30, "candidatesTokenCount": 6, "thoughtsTokenCount": 8, "totalTokenCount": 44,
                "promptTokensDetails": details(30, Some(5)), "trafficType": "X",
            })
        );
        let last = report(&totals, true).unwrap();
        assert_eq!((&last["promptTokenCount"], &last["totalTokenCount"]), (&json!(20), &json!(34)));
        assert_eq!(last["promptTokensDetails"], details(20, Some(5)));
        assert_eq!(report(&Totals::default(), true), None);
    }
}
