//! Text made comparable: case folding and tokens. The index and the reference score both see text only through here.
//!
//! A token is a word of at least three characters, or two neighbouring characters of Chinese, Japanese or Korean
//! text, which has no spaces to cut at. Never stemmed, never filtered by a list of stop words.

use std::collections::BTreeSet;

use unicode_segmentation::UnicodeSegmentation;

/// Shortest word that is a token, in characters.
const WORD_CHARS: usize = 3;

/// Folds case for comparison in any script: `STRASSE` and `straße`, `ΣΑΣ` and `σας` become equal.
pub fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    // Upper case first: it is what unites the final sigma, the sharp s and the ligatures with their plain letters.
    text.chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
}

/// The distinct tokens of a text, folded.
pub fn tokens(text: &str) -> BTreeSet<String> {
    let folded = fold(text);
    let mut out = BTreeSet::new();
    for (cjk, run) in runs(&folded) {
        if cjk {
            let chars: Vec<char> = run.chars().collect();
            out.extend(chars.windows(2).map(|pair| pair.iter().collect::<String>()));
        } else {
            let words = run.unicode_words().filter(|word| word.chars().nth(WORD_CHARS - 1).is_some());
            out.extend(words.map(str::to_owned));
        }
    }
    out
}

/// The distinct tokens of a name, which is first cut at `.`, `_`, `-`, `/` and between `camelCase` words.
pub fn name_tokens(name: &str) -> BTreeSet<String> {
    let mut spaced = String::with_capacity(name.len() + 8);
    let mut chars = name.chars().peekable();
    let mut before: Option<char> = None;
    while let Some(c) = chars.next() {
        let after_small = before.is_some_and(|b| b.is_lowercase() || b.is_numeric());
        let after_big = before.is_some_and(char::is_uppercase);
        let small_next = chars.peek().is_some_and(|next| next.is_lowercase());
        if c.is_uppercase() && (after_small || (after_big && small_next)) {
            spaced.push(' ');
        }
        spaced.push(if matches!(c, '.' | '_' | '-' | '/') { ' ' } else { c });
        before = Some(c);
    }
    tokens(&spaced)
}

/// Whether a character belongs to a script written without spaces (or, Korean, with endings glued to the word).
fn is_cjk(c: char) -> bool {
    matches!(u32::from(c),
        0x3041..=0x30FF // Hiragana, Katakana
        | 0x31F0..=0x31FF // Katakana extensions
        | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x20000..=0x323AF // Han
        | 0xAC00..=0xD7A3 // Hangul syllables
        | 0x3005..=0x3007)
}

/// Cuts text into runs that are CJK throughout or free of it.
fn runs(text: &str) -> impl Iterator<Item = (bool, &str)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let cjk = is_cjk(rest.chars().next()?);
        let end = rest.find(|c: char| is_cjk(c) != cjk).unwrap_or(rest.len());
        let (run, tail) = rest.split_at_checked(end)?;
        rest = tail;
        Some((cjk, run))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn list(set: &BTreeSet<String>) -> Vec<&str> {
        set.iter().map(String::as_str).collect()
    }

    #[test]
    fn words_of_three_characters_and_more() {
        assert_eq!(list(&tokens("Please REVERSE this text, ok?")), ["please", "reverse", "text", "this"]);
        assert_eq!(list(&tokens("Überprüfe die ÄNDERUNG")), ["die", "änderung", "überprüfe"]);
        assert!(tokens("a an 12 ☃ !!").is_empty());
    }

    #[test]
    fn cjk_runs_become_pairs() {
        assert_eq!(list(&tokens("翻译文本 abc")), ["abc", "文本", "翻译", "译文"]);
        assert_eq!(list(&tokens("번역기")), ["번역", "역기"]);
        assert!(tokens("猫").is_empty());
    }

    #[test]
    fn names_are_cut_at_case_and_punctuation() {
        assert_eq!(list(&name_tokens("reverse-text")), ["reverse", "text"]);
        assert_eq!(list(&name_tokens("parseHTTPResponse")), ["http", "parse", "response"]);
        assert_eq!(
            list(&name_tokens("base64Encode/file_read.now")),
            ["base64", "encode", "file", "now", "read"]
        );
    }

    #[test]
    fn folding_unites_what_case_keeps_apart() {
        for (one, other) in [("STRASSE", "straße"), ("ΣΑΣ", "σας"), ("ÉCOLE", "école"), ("ﬁle", "FILE")]
        {
            assert_eq!(fold(one), fold(other));
        }
    }

    proptest! {
        #[test]
        fn folding_is_stable_and_tokens_are_in_the_folded_text(text in ".{0,60}") {
            let folded = fold(&text);
            prop_assert_eq!(fold(&folded), folded.clone());
            for token in tokens(&text) {
                prop_assert!(folded.contains(&token));
                prop_assert!(token.chars().count() >= 2);
            }
        }
    }
}
