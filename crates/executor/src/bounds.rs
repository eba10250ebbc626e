//! How much of an input or output the history keeps. Cuts fall between characters, never inside one.

use domain::Part;
use domain::text::{prefix_bytes, prefix_chars};
use serde_json::{Value, json};

/// Longest error message of a row, in characters.
const MESSAGE_CHARS: usize = 2_000;

/// The value itself, or `{"truncated":true,"bytes":N,"preview":"..."}` when its JSON text is longer than `max`
/// bytes. The preview is at most half of `max`, since escaping may double it.
pub(crate) fn bound(value: &Value, max: usize) -> Value {
    let text = value.to_string();
    if text.len() <= max {
        return value.clone();
    }
    json!({ "truncated": true, "bytes": text.len(), "preview": prefix_bytes(&text, max / 2) })
}

/// The parts themselves, or one text in their place when together they are longer than `max` bytes.
pub(crate) fn bound_parts(parts: &[Part], max: usize) -> Vec<Part> {
    let bytes: usize = parts.iter().map(part_bytes).sum();
    if bytes <= max {
        return parts.to_vec();
    }
    vec![Part::Text { text: format!("[{} parts of {bytes} bytes together are not kept]", parts.len()) }]
}

/// The message, cut when it is a document.
pub(crate) fn bound_message(message: &str) -> String {
    prefix_chars(message, MESSAGE_CHARS).to_owned()
}

fn part_bytes(part: &Part) -> usize {
    match part {
        Part::Text { text } => text.len(),
        Part::Image { data, .. } | Part::File { data, .. } => data.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn what_is_kept_is_whole_or_a_marked_prefix(text in ".{0,60}", max in 0usize..120) {
            let value = json!({ "text": text });
            let whole = value.to_string();
            let kept = bound(&value, max);
            if whole.len() <= max {
                prop_assert_eq!(kept, value);
            } else {
                prop_assert_eq!(&kept["truncated"], &json!(true));
                prop_assert_eq!(&kept["bytes"], &json!(whole.len()));
                let preview = kept["preview"].as_str().unwrap();
                prop_assert!(whole.starts_with(preview));
                prop_assert!(preview.len() <= max / 2);
                prop_assert!(preview.len() + 4 > max / 2, "cut more than one character too early");
            }
        }
    }

    #[test]
    fn parts_over_the_bound_leave_a_note() {
        let parts = vec![Part::Text { text: "é".repeat(10) }];
        assert_eq!(bound_parts(&parts, 20), parts);
        assert!(matches!(&bound_parts(&parts, 19)[..], [Part::Text { text }] if text.contains("20 bytes")));
    }
}
