//! Cutting text without splitting a character.
//!
//! Every place that bounds a string goes through here: a byte index into UTF-8 is how servers panic.

/// The longest prefix of `text` that has at most `max` bytes and ends on a character boundary.
pub fn prefix_bytes(text: &str, max: usize) -> &str {
    let end = text.floor_char_boundary(max);
    text.get(..end).unwrap_or_default()
}

/// The first `max` characters of `text`.
pub fn prefix_chars(text: &str, max: usize) -> &str {
    match text.char_indices().nth(max) {
        Some((end, _)) => text.get(..end).unwrap_or_default(),
        None => text,
    }
}

/// At most `max` characters for a message, control characters made visible, `…` where it was cut.
pub fn excerpt(text: &str, max: usize) -> String {
    let kept = prefix_chars(text, max);
    let mut out: String =
        kept.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect();
    if kept.len() < text.len() {
        out.push('…');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_cut_is_a_prefix(text in ".{0,40}", max in 0usize..200) {
            prop_assert!(text.starts_with(prefix_bytes(&text, max)));
            prop_assert!(prefix_bytes(&text, max).len() <= max);
            prop_assert!(text.starts_with(prefix_chars(&text, max)));
            prop_assert!(prefix_chars(&text, max).chars().count() <= max);
            prop_assert!(excerpt(&text, max).chars().count() <= max + 1);
        }
    }
}
