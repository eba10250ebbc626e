//! Edits of a JSON text that leave every other byte as it was: white space, key order, number text, escapes.
//!
//! A [`Container`] knows where the members of one object, or the elements of one array, begin and end. [`Edits`]
//! collects changes and applies them in one pass. Values are never decoded here, and nesting costs no stack.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// A member of an object, or an element of an array (which has an empty name).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Item<'a> {
    /// The decoded key.
    pub(crate) name: Cow<'a, str>,
    /// The value's text.
    pub(crate) value: &'a str,
    start: usize,
    at: usize,
}

impl Item<'_> {
    /// Where the value lies in the document.
    pub(crate) fn span(&self) -> Range<usize> {
        self.at..self.end()
    }

    fn end(&self) -> usize {
        self.at + self.value.len()
    }
}

/// One object or array inside a document.
#[derive(Clone, Debug)]
pub(crate) struct Container<'a> {
    /// Members or elements, in order.
    pub(crate) items: Vec<Item<'a>>,
    doc: &'a str,
    open: usize,
}

impl<'a> Container<'a> {
    /// The object that `text`, a part of `doc`, holds.
    pub(crate) fn object(doc: &'a str, text: &'a str) -> serde_json::Result<Self> {
        let mut reader = serde_json::Deserializer::from_str(text);
        let items = reader.deserialize_map(Items { doc })?;
        reader.end()?;
        Ok(Self { items, doc, open: opening(doc, text) })
    }

    /// The array that `text`, a part of `doc`, holds.
    pub(crate) fn array(doc: &'a str, text: &'a str) -> serde_json::Result<Self> {
        let mut reader = serde_json::Deserializer::from_str(text);
        let items = reader.deserialize_seq(Items { doc })?;
        reader.end()?;
        Ok(Self { items, doc, open: opening(doc, text) })
    }

    /// The whole document that this is a part of.
    pub(crate) fn doc(&self) -> &'a str {
        self.doc
    }

    /// The member of that name; of several the last, as JSON readers do.
    pub(crate) fn get(&self, name: &str) -> Option<&Item<'a>> {
        self.items.iter().rev().find(|item| item.name == name)
    }

    /// The text of a member that is present and not `null`.
    pub(crate) fn value(&self, name: &str) -> Option<&'a str> {
        self.get(name).map(|item| item.value).filter(|value| *value != "null")
    }

    /// The member, if it is an object.
    pub(crate) fn child(&self, name: &str) -> Option<Container<'a>> {
        Container::object(self.doc, self.value(name)?).ok()
    }

    /// The elements of the member, if it is an array.
    pub(crate) fn children(&self, name: &str) -> Option<Container<'a>> {
        Container::array(self.doc, self.value(name)?).ok()
    }

    /// The element, if it is an object.
    pub(crate) fn element(&self, item: &Item<'a>) -> Option<Container<'a>> {
        Container::object(self.doc, item.value).ok()
    }

    /// Whether the member occurs more than once.
    pub(crate) fn is_repeated(&self, name: &str) -> bool {
        self.items.iter().filter(|item| item.name == name).count() > 1
    }

    fn end(&self) -> usize {
        self.items.last().map_or(self.open, Item::end)
    }
}

/// The offset behind the opening bracket.
fn opening(doc: &str, text: &str) -> usize {
    offset(doc, text) + text.len() - text.trim_ascii_start().len() + 1
}

fn offset(doc: &str, part: &str) -> usize {
    part.as_ptr().addr().saturating_sub(doc.as_ptr().addr())
}

struct Items<'a> {
    doc: &'a str,
}

impl<'a> Visitor<'a> for Items<'a> {
    type Value = Vec<Item<'a>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or an array")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while let Some((key, value)) = map.next_entry::<&RawValue, &RawValue>()? {
            let (start, at) = (offset(self.doc, key.get()), offset(self.doc, value.get()));
            items.push(Item { name: name(key.get()), value: value.get(), start, at });
        }
        Ok(items)
    }

    fn visit_seq<A: SeqAccess<'a>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while let Some(value) = seq.next_element::<&RawValue>()? {
            let at = offset(self.doc, value.get());
            items.push(Item { name: Cow::Borrowed(""), value: value.get(), start: at, at });
        }
        Ok(items)
    }
}

/// A key that cannot be decoded (half a surrogate pair) names nothing we look for; its raw text stands for it.
fn name(raw: &str) -> Cow<'_, str> {
    match raw.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(plain) if !plain.contains('\\') => Cow::Borrowed(plain),
        _ => serde_json::from_str(raw).map_or(Cow::Borrowed(raw), Cow::Owned),
    }
}

/// Changes of one document, applied together. Changes must not overlap.
#[derive(Clone, Debug)]
pub(crate) struct Edits<'a> {
    doc: &'a str,
    list: Vec<(Range<usize>, String)>,
}

impl<'a> Edits<'a> {
    pub(crate) fn new(doc: &'a str) -> Self {
        Self { doc, list: Vec::new() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Puts `text` in the place of a value.
    pub(crate) fn replace(&mut self, item: &Item<'_>, text: impl Into<String>) {
        self.list.push((item.span(), text.into()));
    }

    /// Takes members out of an object and gives others a value, in place where they exist, else at the end.
    pub(crate) fn members(&mut self, object: &Container<'_>, removed: &[&str], set: &[(&str, String)]) {
        let mut appended = Vec::new();
        for (key, value) in set {
            let mut exists = false;
            for item in object.items.iter().filter(|item| item.name == *key) {
                self.replace(item, value.as_str());
                exists = true;
            }
            if !exists {
                appended.push(format!("{}:{value}", serde_json::Value::from(*key)));
            }
        }
        let gone = |i: usize| object.items.get(i).is_some_and(|item| removed.contains(&item.name.as_ref()));
        self.rebuild(object, &gone, &appended);
    }

    /// Takes elements out of an array and appends others.
    pub(crate) fn elements(
        &mut self,
        array: &Container<'_>,
        gone: &dyn Fn(usize) -> bool,
        appended: &[String],
    ) {
        self.rebuild(array, gone, appended);
    }

    fn rebuild(&mut self, container: &Container<'_>, gone: &dyn Fn(usize) -> bool, appended: &[String]) {
        let mut first_kept = None;
        let mut previous_end = container.open;
        for (i, item) in container.items.iter().enumerate() {
            if !gone(i) {
                first_kept.get_or_insert(item.start);
            } else if first_kept.is_some() {
                self.list.push((previous_end..item.end(), String::new()));
            }
            previous_end = item.end();
        }
        // Leading items go together with the commas behind them.
        let first = container.items.first().map_or(container.open, |item| item.start);
        let kept_from = first_kept.unwrap_or(container.end());
        if kept_from > first {
            self.list.push((first..kept_from, String::new()));
        }
        if !appended.is_empty() {
            let comma = if first_kept.is_some() { "," } else { "" };
            let end = container.end();
            self.list.push((end..end, format!("{comma}{}", appended.join(","))));
        }
    }

    /// The document with all changes.
    pub(crate) fn apply(mut self) -> String {
        self.list.sort_by_key(|(range, _)| (range.start, range.end));
        let added: usize = self.list.iter().map(|(_, text)| text.len()).sum();
        let mut out = String::with_capacity(self.doc.len() + added);
        let mut from = 0;
        for (range, text) in &self.list {
            out.push_str(self.doc.get(from..range.start).unwrap_or_default());
            out.push_str(text);
            from = range.end;
        }
        out.push_str(self.doc.get(from..).unwrap_or_default());
        out
    }
}

#[cfg(test)]
#[path = "splice_tests.rs"]
mod tests;
