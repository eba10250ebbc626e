//! One output item: what it calls, what it shows. Its text stays as the upstream wrote it.

use std::sync::Arc;

use domain::ToolCall;

use crate::answer::{Call, Owned, Shown};
use crate::json;
use crate::splice::{Container, Edits};

/// An item that is complete.
#[derive(Clone, Debug)]
pub(super) struct Item {
    /// Its JSON.
    pub(super) text: String,
    /// What it calls, whoever has to answer.
    pub(super) call: Option<Call>,
    /// The call that it is the result of.
    answers: Option<String>,
    /// Whether the model refused in it.
    pub(super) is_refusal: bool,
}

impl Item {
    pub(super) fn read(text: &str, owned: &Owned) -> Self {
        let Ok(item) = Container::object(text, text) else {
            return Self { text: text.to_owned(), call: None, answers: None, is_refusal: false };
        };
        let kind = kind(&item);
        Self {
            text: text.to_owned(),
            call: call(&item, &kind, owned),
            answers: word(&item, "call_id").filter(|_| kind.ends_with("_output")),
            is_refusal: kind == "message" && parts(&item, "refusal", "refusal").next().is_some(),
        }
    }

    pub(super) fn is_owned(&self) -> bool {
        self.call.as_ref().is_some_and(|call| call.owned)
    }
}

/// The calls that somebody outside the provider has to answer, in order.
pub(super) fn calls(items: &[Item]) -> Vec<Call> {
    let open = |call: &&Call| !items.iter().any(|item| item.answers.as_ref() == Some(&call.call.id));
    items.iter().filter_map(|item| item.call.as_ref()).filter(open).cloned().collect()
}

/// The `type` of an item; a bare message has none.
pub(super) fn kind(item: &Container<'_>) -> String {
    word(item, "type").unwrap_or_else(|| "message".to_owned())
}

/// A member that is a string.
pub(super) fn word(item: &Container<'_>, name: &str) -> Option<String> {
    item.value(name).and_then(json::string)
}

/// Whether an item is a call of ours by its name. Calls inside a namespace are of the client's tools.
pub(super) fn is_ours(item: &Container<'_>, owned: &Owned) -> bool {
    kind(item) == "function_call"
        && item.value("namespace").is_none()
        && owned(&word(item, "name").unwrap_or_default())
}

/// Functions, and whatever else carries a `call_id` for an answer: custom tools, shells, computers, patches.
fn call(item: &Container<'_>, kind: &str, owned: &Owned) -> Option<Call> {
    let id = match kind {
        "function_call" => word(item, "call_id").or_else(|| word(item, "id")).unwrap_or_default(),
        "mcp_approval_request" => word(item, "id").unwrap_or_default(),
        _ if kind.ends_with("_call") => word(item, "call_id")?,
        _ => return None,
    };
    let name = word(item, "name").unwrap_or_else(|| kind.to_owned());
    let arguments = word(item, "arguments").or_else(|| word(item, "input")).unwrap_or_default();
    Some(Call { call: ToolCall { id, name, arguments }, owned: is_ours(item, owned) })
}

/// The texts of a message's parts of one type.
fn parts(item: &Container<'_>, kind: &'static str, member: &'static str) -> impl Iterator<Item = String> {
    let content = item.children("content");
    let parts: Vec<_> =
        content.iter().flat_map(|list| list.items.iter().filter_map(|part| list.element(part))).collect();
    parts
        .into_iter()
        .filter(move |part| word(part, "type").as_deref() == Some(kind))
        .filter_map(move |part| word(&part, member))
}

/// What an item is, as far as items of a history are compared.
#[derive(Debug, Default)]
pub(super) struct Mark {
    pub(super) kind: String,
    pub(super) role: Option<String>,
    pub(super) call_id: Option<String>,
    pub(super) id: Option<String>,
    pub(super) encrypted: Option<String>,
    /// The visible text of a message.
    pub(super) text: Option<String>,
}

impl Mark {
    pub(super) fn of(text: &str) -> Self {
        let Ok(item) = Container::object(text, text) else { return Self::default() };
        let kind = kind(&item);
        let content = || {
            let texts =
                || ["output_text", "input_text"].map(|kind| parts(&item, kind, "text").collect::<String>());
            word(&item, "content").unwrap_or_else(|| texts().concat())
        };
        Self {
            role: word(&item, "role"),
            call_id: word(&item, "call_id"),
            id: word(&item, "id"),
            encrypted: word(&item, "encrypted_content"),
            text: (kind == "message").then(content).filter(|text| !text.is_empty()),
            kind,
        }
    }

    pub(super) fn is_call(&self) -> bool {
        self.kind.ends_with("_call") && self.call_id.is_some()
    }

    pub(super) fn is_output(&self) -> bool {
        self.kind.ends_with("_output") && self.call_id.is_some()
    }

    /// The id of the item that it only names; the type may be left out.
    pub(super) fn reference(&self) -> Option<&str> {
        let is_bare = self.kind == "message" && self.role.is_none() && self.text.is_none();
        self.id.as_deref().filter(|_| is_bare || self.kind == "item_reference")
    }

    /// Whether it is a message of the assistant's with text.
    pub(super) fn is_answer(&self) -> bool {
        self.role.as_deref() == Some("assistant") && self.text.is_some()
    }

    /// Whether the model wrote it.
    pub(super) fn is_models(&self) -> bool {
        self.is_call() || self.kind == "reasoning" || self.is_answer()
    }

    /// Whether both are the same item; clients drop ids, and sometimes everything else.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let pairs = [
            (&self.call_id, &other.call_id),
            (&self.id, &other.id),
            (&self.encrypted, &other.encrypted),
            (&self.text, &other.text),
        ];
        let told = pairs.into_iter().find(|(a, b)| a.is_some() && b.is_some());
        self.kind == other.kind && told.is_some_and(|(a, b)| a == b)
    }
}

/// The item as the client gets it; with `strip` without what only the gateway asked for.
pub(super) fn shown(text: &str, strip: bool) -> String {
    let Ok(item) = Container::object(text, text) else { return text.to_owned() };
    let mut edits = Edits::new(text);
    hide_encrypted(&item, strip, &mut edits);
    edits.apply()
}

/// Takes encrypted reasoning out of an item.
pub(super) fn hide_encrypted(item: &Container<'_>, strip: bool, edits: &mut Edits<'_>) {
    if strip && kind(item) == "reasoning" && item.get("encrypted_content").is_some() {
        edits.members(item, &["encrypted_content"], &[]);
    }
}

/// What a client holds of these items.
pub(super) fn seen<'a>(items: impl Iterator<Item = &'a str>, id: Option<String>) -> Shown {
    let mut shown = Shown { id, ..Shown::default() };
    let nobodys: Owned = Arc::new(|_| false);
    let items: Vec<Item> = items.map(|text| Item::read(text, &nobodys)).collect();
    for item in &items {
        let mark = Mark::of(&item.text);
        shown.text.push_str(mark.text.as_deref().filter(|_| mark.is_answer()).unwrap_or_default());
    }
    shown.call_ids = calls(&items).into_iter().map(|call| call.call.id).collect();
    shown
}
