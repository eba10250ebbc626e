//! The score of an `auto` skill against a request: the plain reference that the index of `registry` must equal.
//!
//! Additive whole points, each of them explained by a [`Signal`]. Never fast, never clever: it is the oracle of the
//! tests and the explanation that people read.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::Serialize;

use crate::limits::CONTEXT_BYTES;
use crate::skill::Skill;
use crate::text::prefix_bytes;
use crate::tokens::{fold, name_tokens, tokens};

/// The name appears verbatim in the context.
pub const NAME_POINTS: i32 = 6;
/// A name token is a context token.
pub const NAME_TOKEN_POINTS: i32 = 2;
/// A tag is a substring of the context.
pub const TAG_POINTS: i32 = 3;
/// A description token is a context token.
pub const DESCRIPTION_TOKEN_POINTS: i32 = 1;
/// A token of the background reason is a name token, or matches a tag.
pub const REASON_POINTS: i32 = 2;
/// A provider hint among the tags fits the request; the opposite when there are hints and none fits.
pub const HINT_POINTS: i32 = 2;

/// Tags that say for which provider a skill is meant, grouped by provider.
pub const PROVIDER_HINTS: [[&str; 2]; 3] = [["openai", "gpt"], ["anthropic", "claude"], ["google", "gemini"]];

/// What a request is about: the text of its last user turns, folded once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Context {
    text: String,
    tokens: BTreeSet<String>,
    reason: BTreeSet<String>,
    providers: [bool; PROVIDER_HINTS.len()],
}

impl Context {
    /// `text` = the last user turns; `reason` = the background reason, or nothing; `provider` = words that tell
    /// where the request goes, such as `openai gpt-5` (dialect and model). Of a text longer than [`CONTEXT_BYTES`]
    /// only both ends count.
    pub fn new(text: &str, reason: &str, provider: &str) -> Self {
        let provider = fold(provider);
        let text = ends(text);
        Self {
            text: fold(&text),
            tokens: tokens(&text),
            reason: tokens(&ends(reason)),
            providers: PROVIDER_HINTS.map(|words| words.iter().any(|word| provider.contains(word))),
        }
    }

    /// The folded text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Distinct tokens of the text.
    pub fn tokens(&self) -> &BTreeSet<String> {
        &self.tokens
    }

    /// Distinct tokens of the background reason.
    pub fn reason(&self) -> &BTreeSet<String> {
        &self.reason
    }

    /// For each group of [`PROVIDER_HINTS`], whether the request goes there.
    pub fn providers(&self) -> [bool; PROVIDER_HINTS.len()] {
        self.providers
    }
}

/// Both ends of a long text: what to do stands before or after what was pasted.
fn ends(text: &str) -> Cow<'_, str> {
    let half = CONTEXT_BYTES / 2;
    if text.len() <= CONTEXT_BYTES {
        return Cow::Borrowed(text);
    }
    let tail = text.get(text.ceil_char_boundary(text.len() - half)..).unwrap_or_default();
    Cow::Owned(format!("{}\n{tail}", prefix_bytes(text, half)))
}

/// What is scored: the skill as the score sees it. A built-in is scored on its summary, given as `description`.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The skill's name.
    pub name: &'a str,
    /// Its description, or the summary of a built-in.
    pub description: &'a str,
    /// Its tags.
    pub tags: &'a [String],
}

impl<'a> Subject<'a> {
    /// The skill with its own description.
    pub fn of(skill: &'a Skill) -> Self {
        Self { name: &skill.name, description: &skill.description, tags: &skill.tags }
    }
}

/// Tags as they are compared: folded, without empty ones and repetitions.
pub fn folded_tags(tags: &[String]) -> BTreeSet<String> {
    tags.iter().map(|tag| fold(tag.trim())).filter(|tag| !tag.is_empty()).collect()
}

/// Whether a reason token and a folded tag match: one is a part of the other.
pub fn reason_matches_tag(reason: &str, tag: &str) -> bool {
    tag.contains(reason) || reason.contains(tag)
}

/// For each group of [`PROVIDER_HINTS`], whether one of its words is among the folded tags.
pub fn hints(tags: &BTreeSet<String>) -> [bool; PROVIDER_HINTS.len()] {
    PROVIDER_HINTS.map(|words| words.iter().any(|word| tags.contains(*word)))
}

/// Points for the hints of a skill against the providers of a request.
pub fn hint_points(hints: [bool; PROVIDER_HINTS.len()], providers: [bool; PROVIDER_HINTS.len()]) -> i32 {
    if !hints.contains(&true) {
        0
    } else if hints.iter().zip(providers).any(|(hint, fits)| *hint && fits) {
        HINT_POINTS
    } else {
        -HINT_POINTS
    }
}

/// Why points were given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum SignalKind {
    /// The name appears verbatim.
    Name,
    /// A name token is a context token.
    NameToken,
    /// A tag is a substring of the context.
    Tag,
    /// A description token is a context token.
    DescriptionToken,
    /// A reason token is a name token.
    ReasonName,
    /// A reason token matches a tag.
    ReasonTag,
    /// A provider hint fits, or none does.
    ProviderHint,
}

/// One reason for points.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Signal {
    /// Which rule.
    pub kind: SignalKind,
    /// The name, token or tag that made it fire.
    pub term: String,
    /// Points, negative for a hint that does not fit.
    pub points: i32,
}

/// A total and what it is made of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Score {
    /// Sum of the points.
    pub total: i32,
    /// In the order of [`SignalKind`].
    pub signals: Vec<Signal>,
}

impl Score {
    fn add(&mut self, kind: SignalKind, term: &str, points: i32) {
        self.total += points;
        self.signals.push(Signal { kind, term: term.to_owned(), points });
    }
}

/// The score of a skill (scorer `points`). Every distinct token and tag counts once.
pub fn score(subject: &Subject<'_>, context: &Context) -> Score {
    let mut score = Score::default();
    let name = fold(subject.name);
    let name_tokens = name_tokens(subject.name);
    let tags = folded_tags(subject.tags);
    if !name.is_empty() && context.text.contains(&name) {
        score.add(SignalKind::Name, subject.name, NAME_POINTS);
    }
    for token in name_tokens.intersection(&context.tokens) {
        score.add(SignalKind::NameToken, token, NAME_TOKEN_POINTS);
    }
    for tag in tags.iter().filter(|tag| context.text.contains(*tag)) {
        score.add(SignalKind::Tag, tag, TAG_POINTS);
    }
    for token in tokens(subject.description).intersection(&context.tokens) {
        score.add(SignalKind::DescriptionToken, token, DESCRIPTION_TOKEN_POINTS);
    }
    for token in name_tokens.intersection(&context.reason) {
        score.add(SignalKind::ReasonName, token, REASON_POINTS);
    }
    for token in context.reason.iter().filter(|token| tags.iter().any(|tag| reason_matches_tag(token, tag))) {
        score.add(SignalKind::ReasonTag, token, REASON_POINTS);
    }
    let hints = hints(&tags);
    let points = hint_points(hints, context.providers);
    if points != 0 {
        let words: Vec<&str> =
            PROVIDER_HINTS.iter().flatten().filter(|word| tags.contains(**word)).copied().collect();
        score.add(SignalKind::ProviderHint, &words.join(" "), points);
    }
    score
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn total(name: &str, description: &str, tags: &[&str], context: &Context) -> i32 {
        let tags: Vec<String> = tags.iter().map(|tag| (*tag).to_owned()).collect();
        let score = score(&Subject { name, description, tags: &tags }, context);
        assert_eq!(score.total, score.signals.iter().map(|s| s.points).sum::<i32>());
        score.total
    }

    fn asks(text: &str) -> Context {
        Context::new(text, "", "openai gpt-5")
    }

    #[test]
    fn every_row_of_the_table() {
        let nothing = asks("hello");
        assert_eq!(total("reverse-text", "Reverses text", &["strings"], &nothing), 0);
        // Verbatim, and both name tokens: the context's word is `reverse`, `text`.
        assert_eq!(total("reverse-text", "", &[], &asks("use REVERSE-TEXT")), 6 + 2 + 2);
        assert_eq!(total("reverseText", "", &[], &asks("reverse the text")), 2 + 2);
        assert_eq!(total("qq", "", &["string"], &asks("many substrings here")), 3);
        assert_eq!(total("qq", "text TEXT and more text", &[], &asks("text, text")), 1);
        let background = Context::new("zzz", "backup databases", "");
        assert_eq!(total("nightly-backup", "", &[], &background), 2);
        assert_eq!(total("qq", "", &["database", "data"], &background), 2);
        assert_eq!(total("qq", "", &["database backup"], &background), 2);
    }

    #[test]
    fn hints_fit_by_provider_and_cost_otherwise() {
        assert_eq!(total("qq", "", &["gpt"], &asks("")), 2);
        assert_eq!(total("qq", "", &["claude"], &asks("")), -2);
        assert_eq!(total("qq", "", &["claude", "openai"], &asks("")), 2);
        assert_eq!(total("qq", "", &["gemini"], &Context::new("", "", "google gemini-3-pro")), 2);
    }

    #[test]
    fn an_empty_tag_never_counts_and_repetitions_count_once() {
        assert_eq!(total("qq", "", &["", " ", "git", "GIT"], &asks("git")), 3);
    }

    #[test]
    fn other_scripts_score_like_latin() {
        assert_eq!(total("翻译", "翻译文本", &["翻译"], &asks("请翻译这段文本")), 6 + 2 + 3 + 2);
        assert_eq!(total("größe", "", &[], &asks("GRÖSSE")), 6 + 2);
    }

    #[test]
    fn of_a_long_text_both_ends_count() {
        let text = format!("reverse {} translate", "é ".repeat(CONTEXT_BYTES));
        let context = asks(&text);
        assert!(context.text().len() <= CONTEXT_BYTES + 1);
        assert_eq!(total("reverse", "translate", &[], &context), 6 + 2 + 1);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn any_text_scores_without_panic(name in ".{0,20}", about in ".{0,40}", tag in ".{0,8}", text in ".{0,60}") {
            total(&name, &about, &[&tag], &Context::new(&text, &about, &name));
        }
    }
}
