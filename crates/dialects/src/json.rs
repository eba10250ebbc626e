//! Decoding of JSON that may hold half surrogate pairs, which providers and clients do send.
//!
//! Such halves become U+FFFD in what the gateway reads; what it passes on are the original bytes.

use std::fmt;

use serde::de::{Deserializer, Error, Visitor};
use serde_json::Value;

/// The text of a JSON string; none if `raw` is something else.
pub(crate) fn string(raw: &str) -> Option<String> {
    let mut reader = serde_json::Deserializer::from_str(raw);
    reader.deserialize_bytes(Lossy).ok()
}

struct Lossy;

impl Visitor<'_> for Lossy {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<String, E> {
        Ok(String::from_utf8_lossy(bytes).into_owned())
    }
}

/// The value of a JSON text.
pub(crate) fn value(raw: &str) -> serde_json::Result<Value> {
    serde_json::from_str(raw).or_else(|error| match mend(raw) {
        Some(mended) => serde_json::from_str(&mended),
        None => Err(error),
    })
}

/// What an event says, as text if it is not JSON.
pub(crate) fn event(data: &[u8]) -> Value {
    let text = String::from_utf8_lossy(data);
    value(&text).unwrap_or_else(|_| Value::from(text.as_ref()))
}

/// A JSON string literal.
pub(crate) fn quote(text: &str) -> String {
    Value::from(text).to_string()
}

/// Replaces escapes that are half of a surrogate pair; none if there are none.
fn mend(raw: &str) -> Option<String> {
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    let mut changed = false;
    while let Some((before, after)) = rest.split_once('\\') {
        out.push_str(before);
        let (escape, tail) = match unit(after) {
            Some(high) if (0xD800..0xDC00).contains(&high) && low_follows(after) => {
                after.split_at_checked(11)?
            }
            Some(half) if (0xD800..0xE000).contains(&half) => {
                changed = true;
                ("ufffd", after.get(5..)?)
            }
            _ => after.split_at_checked(after.chars().next().map_or(0, char::len_utf8))?,
        };
        out.push('\\');
        out.push_str(escape);
        rest = tail;
    }
    out.push_str(rest);
    changed.then_some(out)
}

/// The code unit of `uXXXX`.
fn unit(escape: &str) -> Option<u16> {
    u16::from_str_radix(escape.strip_prefix('u')?.get(..4)?, 16).ok()
}

fn low_follows(escape: &str) -> bool {
    let next = escape.get(5..).and_then(|rest| rest.strip_prefix('\\')).and_then(unit);
    next.is_some_and(|low| (0xDC00..0xE000).contains(&low))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn halves_of_pairs_do_not_spoil_the_rest() {
        assert_eq!(string(r#""a\ud83d""#).unwrap().trim_end_matches('\u{FFFD}'), "a");
        assert_eq!(string("7"), None);
        assert_eq!(
            value(r#"{"a":"\ud83d","b":"\\ud83d","c":"\ud83d\ude42"}"#).unwrap(),
            serde_json::json!({
                "a": "\u{FFFD}", "b": "\\ud83d", "c": "🙂"
            })
        );
        assert_eq!(value(r#""\ude42\ud83d\n""#).unwrap(), "\u{FFFD}\u{FFFD}\n");
        assert!(value(r#"{"a":"\ud83d"#).is_err());
    }

    proptest! {
        #[test]
        fn never_panics(raw in r#"(\\|u|d83d|de42|"|é|x){0,12}"#) {
            let mended = mend(&raw);
            prop_assert!(mended.is_none() || raw.contains("\\u"));
            prop_assert!(value(&raw).is_err() || string(&raw).is_some() || !raw.starts_with('"'));
        }

        #[test]
        fn quoting_round_trips(text in "\\PC*") {
            prop_assert_eq!(string(&quote(&text)), Some(text));
        }
    }
}
