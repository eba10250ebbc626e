//! The model's content of one round, put together for the next request: every part in its order, unchanged.
//!
//! Pieces of plain text become one part; whatever carries more than text stays by itself.

use super::part::Part;
use crate::splice::Container;

enum Built {
    /// A literal without its quotes, and whether it is a thought.
    Text(bool, String),
    Whole(String),
}

/// A content that grows.
#[derive(Default)]
pub(super) struct Content {
    /// Members besides the parts, as first seen.
    members: Vec<(String, String)>,
    parts: Vec<Built>,
    bytes: usize,
}

impl Content {
    pub(super) fn note_members(&mut self, content: &Container<'_>) {
        for item in content.items.iter().filter(|item| item.name != "parts") {
            if !self.members.iter().any(|(name, _)| *name == item.name) {
                self.members.push((item.name.clone().into_owned(), item.value.to_owned()));
            }
        }
    }

    pub(super) fn push(&mut self, part: &Part<'_>) {
        self.bytes += part.whole.doc().len();
        match (part.bare_text(), self.parts.last_mut()) {
            (Some((thought, literal)), Some(Built::Text(before, text))) if *before == thought => {
                text.push_str(literal);
            }
            (Some((thought, literal)), _) => self.parts.push(Built::Text(thought, literal.to_owned())),
            (None, _) => self.parts.push(Built::Whole(part.replay())),
        }
    }

    /// Bytes taken so far.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The content's JSON.
    pub(super) fn write(&self) -> String {
        let parts: Vec<String> = self.parts.iter().map(write_part).collect();
        let mut members = vec![format!("\"parts\":[{}]", parts.join(","))];
        if !self.members.iter().any(|(name, _)| name == "role") {
            members.push("\"role\":\"model\"".to_owned());
        }
        members.extend(
            self.members
                .iter()
                .map(|(name, value)| format!("{}:{value}", serde_json::Value::from(name.as_str()))),
        );
        format!("{{{}}}", members.join(","))
    }
}

fn write_part(part: &Built) -> String {
    match part {
        Built::Text(true, literal) => format!("{{\"text\":\"{literal}\",\"thought\":true}}"),
        Built::Text(false, literal) => format!("{{\"text\":\"{literal}\"}}"),
        Built::Whole(text) => text.clone(),
    }
}
