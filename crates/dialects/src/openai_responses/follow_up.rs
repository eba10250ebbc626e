//! The request of the next round: by name where the provider remembers, item by item where it does not.

use bytes::Bytes;
use domain::ToolResult;

use super::WIRE;
use super::item;
use super::response::Said;
use super::result;
use crate::answer::{Fault, Round};
use crate::reading;
use crate::request::Ask;
use crate::splice::{Container, Edits};
use crate::{json, writing};

/// See [`crate::Dialect::follow_up`].
pub(super) fn follow_up(
    body: &Bytes,
    round: &Round,
    results: &[ToolResult],
    ask: Ask,
    ours: &[String],
) -> Result<Bytes, Fault> {
    let top = reading::open(body).map_err(|error| writing::unreadable(&error.to_string()))?;
    let said = Said::read(&round.message)?;
    let outputs = results.iter().map(result::output);
    let mut set = Vec::new();
    let by_name = said.id.as_deref().filter(|_| top.value("store") != Some("false"));
    let items: Vec<String> = if top.value("conversation").is_some() {
        outputs.collect()
    } else if let Some(id) = by_name {
        set.push(("previous_response_id", json::quote(id)));
        outputs.collect()
    } else {
        let asked = items(&top).ok_or_else(|| writing::unreadable("`input` is no list of items"))?;
        let said = said.items.iter().filter(|text| is_replayable(text)).map(|text| replay(text));
        asked.into_iter().chain(said).chain(outputs).collect()
    };
    set.push(("input", format!("[{}]", items.join(","))));
    let mut edits = Edits::new(top.doc());
    edits.members(&top, &[], &set);
    writing::settle_tools(&WIRE, &top, &mut edits, ask, ours)?;
    Ok(edits.apply().into())
}

/// The items of a request's input; a bare text is a message.
pub(super) fn items(top: &Container<'_>) -> Option<Vec<String>> {
    let Some(raw) = top.value("input") else { return Some(Vec::new()) };
    if raw.starts_with('"') {
        return Some(vec![user_message(raw)]);
    }
    Some(top.children("input")?.items.iter().map(|item| item.value.to_owned()).collect())
}

/// A message of the user; `content` is JSON.
pub(super) fn user_message(content: &str) -> String {
    format!("{{\"type\":\"message\",\"role\":\"user\",\"content\":{content}}}")
}

/// Reasoning of which the provider gave no more than a name means nothing to one that stores nothing.
pub(super) fn is_replayable(text: &str) -> bool {
    let Ok(item) = Container::object(text, text) else { return true };
    item::kind(&item) != "reasoning"
        || item.value("encrypted_content").is_some()
        || item.children("content").is_some_and(|content| !content.items.is_empty())
}

/// An item as it came, except that blank arguments become `{}`: a history with blank ones may be refused.
pub(super) fn replay(text: &str) -> String {
    let Ok(item) = Container::object(text, text) else { return text.to_owned() };
    let mut edits = Edits::new(text);
    if item::kind(&item) == "function_call"
        && item::word(&item, "arguments").is_none_or(|arguments| arguments.trim().is_empty())
    {
        edits.members(&item, &[], &[("arguments", "\"{}\"".to_owned())]);
    }
    edits.apply()
}
