//! The scores of all `auto` candidates of a view at a cost that grows with the request, not with the registry.
//!
//! Names and tags are found in the text by one automaton, tokens by posting lists. The points are exactly those of
//! [`domain::scoring::score`], which the tests hold it to; what explains a decision to people is the reference.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use aho_corasick::AhoCorasick;
use domain::scoring::{self, Context};
use domain::tokens::{fold, name_tokens, tokens};

use crate::entry::Entry;
use crate::error::RegistryError;

/// Position of an entry in its index.
type Id = u32;

/// Tokens and the entries that have them.
type Postings = HashMap<String, Vec<Id>>;

/// A text that is looked for in the context: the name of some entries, a tag of others.
#[derive(Debug, Default)]
struct Pattern {
    names: Vec<Id>,
    tags: Vec<Id>,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Index {
    entries: Vec<Arc<Entry>>,
    /// Hints per entry, and the entries that have some.
    hints: Vec<[bool; scoring::PROVIDER_HINTS.len()]>,
    hinted: Vec<Id>,
    automaton: Option<AhoCorasick>,
    patterns: Vec<Pattern>,
    /// Texts of the patterns that are tags, by pattern, and for each pair of neighbouring characters the patterns
    /// that contain it.
    tag_texts: HashMap<u32, String>,
    tag_pairs: HashMap<(char, char), Vec<u32>>,
    name_tokens: Postings,
    description_tokens: Postings,
}

impl Index {
    /// Indexes the candidates of a view.
    pub(crate) fn build(entries: Vec<Arc<Entry>>) -> Result<Self, RegistryError> {
        let mut index = Self::default();
        let mut patterns: BTreeMap<String, Pattern> = BTreeMap::new();
        for (id, entry) in (0..).zip(&entries) {
            let subject = entry.subject();
            for token in name_tokens(subject.name) {
                index.name_tokens.entry(token).or_default().push(id);
            }
            for token in tokens(subject.description) {
                index.description_tokens.entry(token).or_default().push(id);
            }
            let tags = scoring::folded_tags(subject.tags);
            let hints = scoring::hints(&tags);
            if hints.contains(&true) {
                index.hinted.push(id);
            }
            index.hints.push(hints);
            patterns.entry(fold(subject.name)).or_default().names.push(id);
            for tag in tags {
                patterns.entry(tag).or_default().tags.push(id);
            }
        }
        patterns.remove("");
        for (number, (text, pattern)) in (0..).zip(&patterns) {
            if !pattern.tags.is_empty() {
                for pair in pairs(text) {
                    index.tag_pairs.entry(pair).or_default().push(number);
                }
                index.tag_texts.insert(number, text.clone());
            }
        }
        if !patterns.is_empty() {
            let automaton = AhoCorasick::new(patterns.keys());
            index.automaton = Some(automaton.map_err(|error| RegistryError::Index(Box::new(error)))?);
        }
        index.patterns = patterns.into_values().collect();
        index.entries = entries;
        Ok(index)
    }

    /// The entries with at least `least` points, and their points, in no particular order.
    pub(crate) fn scored(&self, context: &Context, least: i32) -> Vec<(&Arc<Entry>, i32)> {
        let mut points = Points::new(self.entries.len());
        for number in self.patterns_in(context.text()) {
            if let Some(pattern) = self.patterns.get(number as usize) {
                points.add(&pattern.names, scoring::NAME_POINTS);
                points.add(&pattern.tags, scoring::TAG_POINTS);
            }
        }
        for token in context.tokens() {
            points.add(posted(&self.name_tokens, token), scoring::NAME_TOKEN_POINTS);
            points.add(posted(&self.description_tokens, token), scoring::DESCRIPTION_TOKEN_POINTS);
        }
        for token in context.reason() {
            points.add(posted(&self.name_tokens, token), scoring::REASON_POINTS);
            let matching: BTreeSet<Id> = self.tagged_like(token).into_iter().collect();
            points.add(&matching, scoring::REASON_POINTS);
        }
        // Without any signal an entry has the points of its hints, or none: it counts only if that is enough.
        if least <= 0 {
            points.touched = (0..).zip(&self.entries).map(|(id, _)| id).collect();
        } else if least <= scoring::HINT_POINTS {
            points.touched.extend(&self.hinted);
            points.touched.sort_unstable();
            points.touched.dedup();
        }
        let total = |id: Id| {
            let hints = self.hints.get(id as usize)?;
            let sum = points.of(id) + scoring::hint_points(*hints, context.providers());
            (sum >= least).then_some((self.entries.get(id as usize)?, sum))
        };
        points.touched.iter().filter_map(|id| total(*id)).collect()
    }

    /// The distinct patterns that occur in a text, inside one another as well.
    fn patterns_in(&self, text: &str) -> HashSet<u32> {
        let Some(automaton) = &self.automaton else { return HashSet::new() };
        let found = automaton.try_find_overlapping_iter(text);
        found.into_iter().flatten().map(|hit| hit.pattern().as_u32()).collect()
    }

    /// The entries with a tag that is a part of the token, or of which the token is a part.
    fn tagged_like(&self, token: &str) -> HashSet<Id> {
        let mut numbers = self.patterns_in(token);
        let lists: Option<Vec<&Vec<u32>>> = pairs(token).map(|pair| self.tag_pairs.get(&pair)).collect();
        let rarest = lists.into_iter().flatten().min_by_key(|list| list.len());
        let around = |number: &&u32| self.tag_texts.get(number).is_some_and(|tag| tag.contains(token));
        numbers.extend(rarest.into_iter().flatten().filter(around));
        let patterns = numbers.into_iter().filter_map(|number| self.patterns.get(number as usize));
        patterns.flat_map(|pattern| pattern.tags.iter().copied()).collect()
    }
}

/// Neighbouring characters.
fn pairs(text: &str) -> impl Iterator<Item = (char, char)> {
    text.chars().zip(text.chars().skip(1))
}

fn posted<'a>(postings: &'a Postings, token: &str) -> &'a [Id] {
    postings.get(token).map(Vec::as_slice).unwrap_or_default()
}

/// Points per entry, and which entries have some. Points are only ever added before hints come in.
struct Points {
    sums: Vec<i32>,
    touched: Vec<Id>,
}

impl Points {
    fn new(entries: usize) -> Self {
        Self { sums: vec![0; entries], touched: Vec::new() }
    }

    fn add<'a>(&mut self, ids: impl IntoIterator<Item = &'a Id>, points: i32) {
        for id in ids {
            if let Some(sum) = self.sums.get_mut(*id as usize) {
                if *sum == 0 {
                    self.touched.push(*id);
                }
                *sum += points;
            }
        }
    }

    fn of(&self, id: Id) -> i32 {
        self.sums.get(id as usize).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::known::Known;
    use domain::{Annotations, Mode, Policy, Skill, SourceProvider, Version};
    use proptest::prelude::*;

    fn entry(number: usize, name: &str, description: &str, tags: &[String]) -> Arc<Entry> {
        let skill = Skill {
            id: number.to_string(),
            api_key_id: "system".to_owned(),
            name: name.to_owned(),
            version: Version::new(1, 0, 0),
            description: description.to_owned(),
            schema: serde_json::Value::Null,
            handler: String::new(),
            mode: Mode::Auto,
            policy: Policy::Auto,
            enabled: true,
            mode_before: None,
            timeout_ms: None,
            max_retries: None,
            annotations: Annotations::default(),
            source_provider: SourceProvider::Local,
            source_url: None,
            content_sha256: None,
            tags: tags.to_vec(),
            install_count: 0,
            created_at: String::new(),
            updated_at: String::new(),
        };
        Arc::new(Entry::new(skill, &Known::default()))
    }

    /// Words that are parts of one another, in several scripts and cases, and some free text.
    fn word() -> impl Strategy<Value = String> {
        let words = vec![
            "git",
            "github",
            "GitHub-Actions",
            "hub",
            "reverse_text",
            "reverseText",
            "text",
            "a",
            "ai",
            "tex",
            "Straße",
            "STRASSE",
            "ΣΑΣ",
            "翻译",
            "翻译文本",
            "文",
            "번역",
            "openai",
            "gpt",
            "claude",
            "gemini",
            "",
        ];
        prop_oneof![6 => prop::sample::select(words).prop_map(str::to_owned), 1 => "\\PC{0,6}"]
    }

    fn words(max: usize) -> impl Strategy<Value = String> {
        prop::collection::vec(word(), 0..max).prop_map(|words| words.join(" "))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn the_index_equals_the_reference(
            skills in prop::collection::vec((word(), words(6), prop::collection::vec(word(), 0..4)), 0..12),
            text in words(12),
            reason in words(4),
            provider in word(),
            least in -3i32..8,
        ) {
            let entries: Vec<_> =
                skills.iter().enumerate().map(|(n, (name, about, tags))| entry(n, name, about, tags)).collect();
            let context = Context::new(&text, &reason, &provider);
            let index = Index::build(entries.clone()).unwrap();
            let mut found: Vec<(String, i32)> =
                index.scored(&context, least).into_iter().map(|(e, points)| (e.skill.id.clone(), points)).collect();
            found.sort();
            let mut expected: Vec<(String, i32)> = entries
                .iter()
                .map(|e| (e.skill.id.clone(), scoring::score(&e.subject(), &context).total))
                .filter(|(_, points)| *points >= least)
                .collect();
            expected.sort();
            prop_assert_eq!(found, expected);
        }
    }
}
