//! Puts one streamed round together: the whole message for replay, and whose each call is.
//!
//! Providers bend the rules: names and ids in pieces or repeated, indexes shared or left out, arguments before the
//! name. A call is *settled* when its name can grow no more; before that nobody may see it.

use domain::ToolCall;
use serde_json::{Map, Value};

use crate::answer::{Call, Fault, Owned};
use crate::limits::{BODY_BYTES, HELD_BYTES, PARTS};
use crate::merge;

/// Whether the deltas of a call so far are shown as one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Merge {
    /// Each as it came.
    #[default]
    No,
    /// As one, in the place of the first.
    Wanted,
    /// That one has been written; the others fall away.
    Done,
}

/// A call under construction.
#[derive(Clone, Debug, Default)]
pub(super) struct Draft {
    index: Option<Value>,
    /// Everything said about it except its index.
    whole: Map<String, Value>,
    id: String,
    name: String,
    arguments: String,
    is_function: bool,
    /// Id and name as its first delta had them.
    first: Option<(String, String)>,
    settled: bool,
    /// Whether it is the gateway's; meant only when settled.
    pub(super) owned: bool,
    /// Its number among the calls that the client sees, once it has one.
    pub(super) number: Option<usize>,
    pub(super) merge: Merge,
}

impl Draft {
    /// Whether its first delta says who it is, as SDKs expect.
    pub(super) fn is_regular(&self) -> bool {
        self.first.as_ref().is_some_and(|(id, name)| *id == self.id && *name == self.name)
    }

    /// The call as one delta.
    pub(super) fn whole(&self) -> Map<String, Value> {
        let mut whole = self.whole.clone();
        if self.is_function {
            whole.entry("type").or_insert_with(|| "function".into());
            if let Some(Value::Object(function)) = whole.get_mut("function") {
                function.insert("name".to_owned(), self.name.as_str().into());
                function.insert("arguments".to_owned(), self.arguments.as_str().into());
            }
        }
        if !self.id.is_empty() {
            whole.insert("id".to_owned(), self.id.as_str().into());
        }
        whole
    }

    /// Whether a delta with this id and name begins another call in the same place.
    fn is_left_by(&self, id: &str, name: &str, place_known: bool) -> bool {
        let differs = !id.is_empty() && !self.id.is_empty() && id != self.id;
        if name.is_empty() || self.name.is_empty() || (!id.is_empty() && id == self.id) {
            return false;
        }
        if self.arguments.is_empty() {
            return differs && !place_known;
        }
        let complete = || serde_json::from_str::<serde::de::IgnoredAny>(&self.arguments).is_ok();
        differs || ((id.is_empty() || self.id.is_empty()) && (name != self.name || complete()))
    }

    /// Takes a delta; says whether its identity grew, and by how many bytes it grew.
    fn take(&mut self, delta: Map<String, Value>) -> (bool, usize) {
        let (id, mut name, arguments) = parts(&delta);
        let is_first = self.first.is_none();
        self.is_function |= delta.contains_key("function");
        if is_first {
            self.first = Some((id.clone(), name.clone()));
        }
        let mut grew = false;
        if !self.settled {
            if id != self.id {
                self.id.push_str(&id);
                grew = true;
            }
            if name == self.name && (!self.arguments.is_empty() || !id.is_empty()) {
                name.clear();
            }
            self.name.push_str(&name);
            grew |= !name.is_empty();
        }
        let grown = name.len() + arguments.len();
        self.arguments.push_str(&arguments);
        merge::object(&mut self.whole, delta);
        (grew, grown)
    }
}

/// The message and calls of one round.
pub(super) struct Assembly {
    owned: Owned,
    message: Map<String, Value>,
    pub(super) calls: Vec<Draft>,
    message_bytes: usize,
    call_bytes: usize,
}

impl Assembly {
    pub(super) fn new(owned: Owned) -> Self {
        Self { owned, message: Map::new(), calls: Vec::new(), message_bytes: 0, call_bytes: 0 }
    }

    /// Takes the delta of one chunk, `bytes` of text; says for each element of its `tool_calls` which call it
    /// belongs to.
    pub(super) fn take(&mut self, mut delta: Map<String, Value>, bytes: usize) -> Result<Vec<usize>, Fault> {
        let elements = match delta.shift_remove("tool_calls") {
            Some(Value::Array(elements)) => elements,
            _ => Vec::new(),
        };
        self.message_bytes += bytes;
        merge::object(&mut self.message, delta);
        let mut places = Vec::with_capacity(elements.len());
        let mut grew = Vec::new();
        for element in elements {
            let Value::Object(mut element) = element else {
                return Err(Fault::Unreadable("a tool call is not an object".to_owned()));
            };
            let index = element.shift_remove("index").filter(|index| !index.is_null());
            let place = self.place(index.as_ref(), &element);
            if place == self.calls.len() {
                if place == PARTS {
                    return Err(Fault::TooLarge);
                }
                self.calls.push(Draft { index, ..Draft::default() });
            }
            if let Some(draft) = self.calls.get_mut(place) {
                let (_, name, arguments) = parts(&element);
                // Arguments without a name go on after the name's end, whatever the id says now.
                if name.is_empty() && !arguments.is_empty() && draft.is_known(&self.owned) {
                    draft.settle(&self.owned);
                }
                let (identity_grew, bytes) = draft.take(element);
                self.call_bytes += bytes;
                if identity_grew && arguments.is_empty() {
                    grew.push(place);
                }
            }
            places.push(place);
        }
        if self.message_bytes > BODY_BYTES || self.call_bytes > HELD_BYTES {
            return Err(Fault::TooLarge);
        }
        for (place, draft) in self.calls.iter_mut().enumerate() {
            if !grew.contains(&place) && draft.is_known(&self.owned) {
                draft.settle(&self.owned);
            }
        }
        Ok(places)
    }

    fn place(&self, index: Option<&Value>, element: &Map<String, Value>) -> usize {
        let (id, name, _) = parts(element);
        let known = if index.is_some() {
            self.calls.iter().rposition(|draft| draft.index.as_ref() == index)
        } else {
            let same = self.calls.iter().rposition(|draft| !id.is_empty() && draft.id == id);
            same.or(self.calls.len().checked_sub(1))
        };
        let stays = known.filter(|place| {
            self.calls.get(*place).is_some_and(|draft| !draft.is_left_by(&id, &name, index.is_some()))
        });
        stays.unwrap_or(self.calls.len())
    }

    /// Whether it is still open whose some call is.
    pub(super) fn is_undecided(&self) -> bool {
        self.calls.iter().any(|draft| !draft.settled)
    }

    /// Nothing more will come.
    pub(super) fn settle(&mut self) {
        self.calls.iter_mut().for_each(|draft| draft.settle(&self.owned));
    }

    /// The calls, in order.
    pub(super) fn calls(&self) -> Vec<Call> {
        let call = |draft: &Draft| Call {
            call: ToolCall {
                id: draft.id.clone(),
                name: draft.name.clone(),
                arguments: draft.arguments.clone(),
            },
            owned: draft.owned,
        };
        self.calls.iter().map(call).collect()
    }

    /// Whether the model refused.
    pub(super) fn is_refusal(&self) -> bool {
        self.message.get("refusal").and_then(Value::as_str).is_some_and(|text| !text.is_empty())
    }

    /// Appends the visible text, as a paragraph of its own.
    pub(super) fn add_text(&self, text: &mut String) {
        let content = self.message.get("content").and_then(Value::as_str).unwrap_or_default();
        if !text.is_empty() && !content.is_empty() {
            text.push_str("\n\n");
        }
        text.push_str(content);
    }

    /// The whole message, for the next request.
    pub(super) fn message(&self) -> Value {
        let mut message = self.message.clone();
        message.entry("role").or_insert_with(|| "assistant".into());
        message.entry("content").or_insert(Value::Null);
        if !self.calls.is_empty() {
            let calls: Vec<Value> = self.calls.iter().map(|draft| Value::Object(draft.whole())).collect();
            message.insert("tool_calls".to_owned(), calls.into());
        }
        Value::Object(message)
    }
}

impl Draft {
    /// Whether name and id are there; a call of ours needs no id to be held back.
    fn is_known(&self, owned: &Owned) -> bool {
        !self.name.is_empty() && (!self.id.is_empty() || (self.is_function && owned(&self.name)))
    }

    fn settle(&mut self, owned: &Owned) {
        if !self.settled {
            self.settled = true;
            self.owned = self.is_function && owned(&self.name);
        }
    }
}

/// Id, name and arguments of a delta; what is missing is empty.
fn parts(delta: &Map<String, Value>) -> (String, String, String) {
    let text = |value: Option<&Value>| match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    let inner = delta.get("function").or_else(|| delta.get("custom"));
    let member = |name: &str| inner.and_then(|inner| inner.get(name));
    (text(delta.get("id")), text(member("name")), text(member("arguments").or_else(|| member("input"))))
}
