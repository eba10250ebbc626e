//! One chunk of a chat stream, as the upstream sent it. Only read here; see `writer`.

use serde_json::{Map, Value};

use crate::answer::Fault;
use crate::json;
use crate::splice::Container;

/// A chunk as the upstream sent it.
pub(super) struct Chunk<'a> {
    pub(super) doc: &'a str,
    pub(super) top: Container<'a>,
    choices: Option<Container<'a>>,
    /// Choice number 0.
    pub(super) choice: Option<Container<'a>>,
    pub(super) delta: Option<Container<'a>>,
}

impl<'a> Chunk<'a> {
    pub(super) fn read(data: &'a [u8]) -> Result<Self, Fault> {
        let doc = std::str::from_utf8(data).map_err(|error| Fault::Unreadable(error.to_string()))?;
        let top = Container::object(doc, doc).map_err(|error| Fault::Unreadable(error.to_string()))?;
        let choices = top.children("choices");
        let choice = choices.as_ref().and_then(|choices| {
            let mut all = choices.items.iter().filter_map(|item| choices.element(item));
            all.find(|choice| choice.value("index").is_none_or(|index| index == "0"))
        });
        let delta = choice.as_ref().and_then(|choice| choice.child("delta"));
        Ok(Self { doc, top, choices, choice, delta })
    }

    pub(super) fn is_error(&self) -> bool {
        self.top.value("error").is_some()
    }

    pub(super) fn usage(&self) -> Option<Result<Value, Fault>> {
        let usage = json::value(self.top.value("usage")?);
        Some(usage.map_err(|error| Fault::Unreadable(error.to_string())))
    }

    /// Whether it is the chunk that only reports usage.
    pub(super) fn is_usage_only(&self) -> bool {
        self.choices.as_ref().is_some_and(|choices| choices.items.is_empty())
    }

    /// Why the model stopped.
    pub(super) fn finish(&self) -> Option<String> {
        json::string(self.choice.as_ref()?.value("finish_reason")?)
    }

    pub(super) fn delta(&self) -> Result<Map<String, Value>, Fault> {
        let Some(raw) = self.choice.as_ref().and_then(|choice| choice.value("delta")) else {
            return Ok(Map::new());
        };
        match json::value(raw) {
            Ok(Value::Object(delta)) => Ok(delta),
            Ok(_) => Err(Fault::Unreadable("`delta` is not an object".to_owned())),
            Err(error) => Err(Fault::Unreadable(error.to_string())),
        }
    }

    pub(super) fn delta_len(&self) -> usize {
        self.choice.as_ref().and_then(|choice| choice.value("delta")).map_or(0, str::len)
    }

    /// Whether a delta member says something; the calls and the role are judged elsewhere.
    pub(super) fn says_something(&self) -> bool {
        let said = |name: &str, value: &str| {
            !matches!(name, "role" | "tool_calls") && !matches!(value, "null" | "\"\"" | "[]" | "{}")
        };
        let delta = self.delta.as_ref();
        delta.is_some_and(|delta| delta.items.iter().any(|item| said(&item.name, item.value)))
    }

    pub(super) fn has_other_choices(&self) -> bool {
        let mine = usize::from(self.choice.is_some());
        self.choices.as_ref().is_some_and(|choices| choices.items.len() > mine)
    }
}
