//! Property names that the provider takes: `^[A-Za-z_][A-Za-z0-9_]{0,63}$`, each only once.

use std::collections::HashSet;

/// Longest name in bytes.
const MAX: usize = 64;

/// A legal name for each property of one object, in order. A name that is legal stays.
pub(super) fn legal<'a>(originals: impl Iterator<Item = &'a str> + Clone) -> Vec<String> {
    let mut taken: HashSet<String> =
        originals.clone().filter(|name| is_legal(name)).map(str::to_owned).collect();
    let mut name = |original: &str| {
        if is_legal(original) {
            return original.to_owned();
        }
        let made = free(&made(original), &taken);
        taken.insert(made.clone());
        made
    };
    originals.map(&mut name).collect()
}

fn is_legal(name: &str) -> bool {
    name.len() <= MAX && name.starts_with(is_first) && name.chars().all(|c| is_first(c) || c.is_ascii_digit())
}

fn is_first(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_'
}

fn made(original: &str) -> String {
    let mut made = String::new();
    if !original.starts_with(is_first) {
        made.push('_');
    }
    made.extend(original.chars().map(|c| if is_first(c) || c.is_ascii_digit() { c } else { '_' }));
    made.truncate(MAX);
    made
}

/// The name, or the name with the first number behind it that nobody has.
fn free(name: &str, taken: &HashSet<String>) -> String {
    let numbered = |number: usize| {
        let tail = format!("_{number}");
        let mut head = name.to_owned();
        head.truncate(MAX.saturating_sub(tail.len()));
        head + &tail
    };
    let candidates = std::iter::once(name.to_owned()).chain((2..).map(numbered));
    candidates.into_iter().find(|candidate| !taken.contains(candidate)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_legal_stays_and_nothing_meets() {
        let names = ["k-ey", "k_ey", "k ey", "", "1", "_1", "é"];
        assert_eq!(legal(names.into_iter()), ["k_ey_2", "k_ey", "k_ey_3", "_", "_1_2", "_1", "__"]);
        let long = ["a".repeat(70), "a".repeat(71)];
        let made = legal(long.iter().map(String::as_str));
        assert_eq!(made, ["a".repeat(64), "a".repeat(62) + "_2"]);
    }

    proptest! {
        #[test]
        fn always_legal_and_unique(names in prop::collection::hash_set("[a-c_ -9é]{0,4}|[ab]{63,66}", 0..12)) {
            let made = legal(names.iter().map(String::as_str));
            prop_assert!(made.iter().all(|name| is_legal(name)));
            let unique: HashSet<_> = made.iter().collect();
            prop_assert_eq!(unique.len(), names.len());
            prop_assert!(names.iter().zip(&made).all(|(name, made)| !is_legal(name) || name == made));
        }
    }
}
