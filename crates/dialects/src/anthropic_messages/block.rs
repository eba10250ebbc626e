//! One content block: out of a plain body, or put together from a stream's deltas.

use domain::ToolCall;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::answer::{Call, Owned};
use crate::json;
use crate::splice::{Container, Edits};

/// A block as JSON, for replay and for the client.
#[derive(Clone, Debug)]
pub(super) struct Block {
    /// Its text, unchanged except that an input that is no object is `{}`.
    pub(super) text: String,
    /// What it calls, if it is a call to a tool that is not the provider's own.
    pub(super) call: Option<Call>,
}

impl Block {
    /// Reads a block of a plain body.
    pub(super) fn read(text: &str, owned: &Owned) -> Self {
        let call = Container::object(text, text).ok().and_then(|block| {
            let (id, name) = who(&block)?;
            let arguments = block.value("input").unwrap_or_default().to_owned();
            let owned = owned(&name);
            Some(Call { call: ToolCall { id, name, arguments }, owned })
        });
        let text = if call.is_some() { with_object_input(text) } else { text.to_owned() };
        Self { text, call }
    }

    /// The text that a client sees of it.
    pub(super) fn visible_text(&self) -> Option<String> {
        let block = Container::object(&self.text, &self.text).ok()?;
        let is_text = block.value("type").and_then(json::string).as_deref() == Some("text");
        block.value("text").filter(|_| is_text).and_then(json::string)
    }

    pub(super) fn is_owned(&self) -> bool {
        self.call.as_ref().is_some_and(|call| call.owned)
    }
}

/// Id and name of a `tool_use` block.
fn who(block: &Container<'_>) -> Option<(String, String)> {
    let text = |name: &str| block.value(name).and_then(json::string);
    (text("type")? == "tool_use").then(|| (text("id").unwrap_or_default(), text("name").unwrap_or_default()))
}

/// The dialect refuses a call whose input is no object, also in a history.
fn with_object_input(text: &str) -> String {
    let Ok(block) = Container::object(text, text) else { return text.to_owned() };
    if block.value("input").is_some_and(|input| input.starts_with('{')) {
        return text.to_owned();
    }
    let mut edits = Edits::new(text);
    edits.members(&block, &[], &[("input", "{}".to_owned())]);
    edits.apply()
}

/// A block that is being streamed.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    start: String,
    id_and_name: Option<(String, String)>,
    /// Whether it is a call of ours, and therefore hidden.
    pub(super) owned: bool,
    /// Its number for the client.
    pub(super) number: Option<usize>,
    pub(super) open: bool,
    grown: Map<String, Value>,
    input: String,
}

impl Draft {
    /// `start` is the `content_block` of the first event.
    pub(super) fn new(start: &str, owned: &Owned) -> Self {
        let id_and_name = Container::object(start, start).ok().and_then(|block| who(&block));
        Self {
            start: start.to_owned(),
            owned: id_and_name.as_ref().is_some_and(|(_, name)| owned(name)),
            id_and_name,
            number: None,
            open: true,
            grown: Map::new(),
            input: String::new(),
        }
    }

    /// Whether it is a call of a tool that is not the provider's own.
    pub(super) fn is_call(&self) -> bool {
        self.id_and_name.is_some()
    }

    /// Takes a delta. Kinds that we do not know grow the members of the same name, if they are texts.
    pub(super) fn take(&mut self, delta: Map<String, Value>) {
        let kind = delta.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
        for (key, value) in delta {
            match (kind.as_str(), key.as_str(), value) {
                (_, "type", _) => {}
                ("input_json_delta", "partial_json", Value::String(piece)) => self.input.push_str(&piece),
                ("citations_delta", "citation", citation) => {
                    let list = self.grown.entry("citations").or_insert_with(|| Value::Array(Vec::new()));
                    if let Value::Array(list) = list {
                        list.push(citation);
                    }
                }
                (_, _, Value::String(piece)) => {
                    let whole = self.grown.entry(key).or_insert_with(|| Value::String(String::new()));
                    if let Value::String(whole) = whole {
                        whole.push_str(&piece);
                    }
                }
                _ => {}
            }
        }
    }

    /// The whole block.
    pub(super) fn finish(&self) -> Block {
        let Ok(start) = Container::object(&self.start, &self.start) else {
            return Block { text: self.start.clone(), call: None };
        };
        let mut set: Vec<(&str, String)> = Vec::new();
        for (key, grown) in &self.grown {
            let begun = start.value(key).and_then(|raw| json::value(raw).ok());
            let whole = match (begun, grown) {
                (Some(Value::String(begun)), Value::String(grown)) => Value::from(begun + grown),
                (Some(Value::Array(begun)), Value::Array(grown)) => [begun, grown.clone()].concat().into(),
                _ => grown.clone(),
            };
            set.push((key, whole.to_string()));
        }
        let input_is_object = self.input.trim_start().starts_with('{')
            && serde_json::from_str::<&RawValue>(&self.input).is_ok();
        if input_is_object {
            set.push(("input", self.input.trim().to_owned()));
        } else if !self.input.trim().is_empty() {
            set.push(("input", "{}".to_owned()));
        }
        let mut edits = Edits::new(&self.start);
        edits.members(&start, &[], &set);
        let mut text = edits.apply();
        let call = self.id_and_name.clone().map(|(id, name)| {
            let begun = || start.value("input").unwrap_or_default().to_owned();
            let arguments = if self.input.is_empty() { begun() } else { self.input.clone() };
            text = with_object_input(&text);
            Call { call: ToolCall { id, name, arguments }, owned: self.owned }
        });
        Block { text, call }
    }
}
