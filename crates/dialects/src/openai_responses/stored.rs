//! Answers that the provider stores: what is noted of one when it is given, and how it is shown when it is asked for
//! by its id. Calls of ours, their results and our tools never show.

use std::collections::HashSet;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::value::RawValue;

use super::follow_up;
use super::item::{Mark, kind, word};
use super::response::{Echo, Said};
use crate::answer::{Round, Shown};
use crate::issued::Issued;
use crate::request::ClientRequest;
use crate::splice::{Container, Edits};
use crate::{json, reading};

/// Call ids of ours that are remembered of one conversation.
const CALLS: usize = 1000;

/// See [`crate::Dialect::issued`].
pub(super) fn issued(
    request: &ClientRequest,
    last: Option<&Round>,
    shown: &Shown,
    ours: &[String],
) -> Option<Issued> {
    let top = reading::open(&request.raw).ok()?;
    if top.value("store") == Some("false") {
        return None;
    }
    let mut calls = request.hidden_calls.clone();
    calls.extend(put_back(request));
    let ids = if let Some(last) = last {
        let said = Said::read(&last.message).ok()?;
        let earlier = said.earlier.iter().map(|text| Mark::of(text)).filter(Mark::is_call);
        calls.extend(earlier.filter_map(|mark| mark.call_id));
        calls.extend(last.calls.iter().filter(|call| call.owned).map(|call| call.call.id.clone()));
        said.ids
    } else {
        shown.id.iter().cloned().collect()
    };
    let mut known = HashSet::new();
    calls.retain(|id| known.insert(id.clone()));
    calls.drain(..calls.len().saturating_sub(CALLS));
    let previous = || {
        Some(format!("{{\"previous_response_id\":{}}}", Echo::new(request, Arc::new(|_| false)).previous?))
    };
    let differs = if last.is_some() { shown.differs.clone() } else { previous() };
    let differs = differs.and_then(|text| RawValue::from_string(text).ok());
    (!ids.is_empty()).then(|| Issued { ids, tools: ours.to_vec(), calls, differs, ..Issued::default() })
}

/// Ids of the calls that the client's own history does not have.
fn put_back(request: &ClientRequest) -> Vec<String> {
    let Some(own) = &request.unrestored else { return Vec::new() };
    let ids = |body: &Bytes| {
        let items = reading::open(body).ok().and_then(|top| follow_up::items(&top)).unwrap_or_default();
        items.iter().filter_map(|text| Mark::of(text).call_id).collect::<Vec<_>>()
    };
    let own: HashSet<String> = ids(own).into_iter().collect();
    ids(&request.raw).into_iter().filter(|id| !own.contains(id)).collect()
}

/// See [`crate::Dialect::retrieved`].
pub(super) fn retrieved(body: &Bytes, id: &str, issued: &Issued) -> Option<Bytes> {
    let doc = std::str::from_utf8(body).ok()?;
    let top = Container::object(doc, doc).ok()?;
    let mut edits = Edits::new(doc);
    let mut set: Vec<(String, String)> = Vec::new();
    let is_known = |name: &str| word(&top, name).is_some_and(|id| issued.ids.contains(&id));
    if is_known("id") {
        set.push(("id".to_owned(), json::quote(id)));
    }
    match word(&top, "object").as_deref() {
        Some("response") if top.value("deleted").is_none() => {
            let differs = issued.differs.as_ref().map_or("{}", |members| members.get());
            let differs = Container::object(differs, differs).ok()?;
            let others = differs.items.iter().filter(|item| item.name != "id");
            set.extend(others.map(|item| (item.name.to_string(), item.value.to_owned())));
            hide(&top, "tools", &|tool, _| is_our_tool(tool, issued), &mut edits);
            if differs.get("output").is_none() {
                hide(&top, "output", &|item, hidden| is_hidden(item, issued, hidden), &mut edits);
            }
        }
        Some("list") => {
            let shown = hide(&top, "data", &|item, hidden| is_hidden(item, issued, hidden), &mut edits);
            let ends = [("first_id", shown.first()), ("last_id", shown.last())];
            let ends = ends.into_iter().filter_map(|(name, id)| Some((name.to_owned(), json::quote(id?))));
            set.extend(ends);
        }
        None if top.value("error").is_some() => {
            let renamed = issued.ids.iter().fold(doc.to_owned(), |text, own| text.replace(own.as_str(), id));
            return Some(renamed.into());
        }
        _ => {}
    }
    let set: Vec<(&str, String)> = set.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
    edits.members(&top, &[], &set);
    Some(edits.apply().into())
}

/// Whether a call is hidden, told with the call ids that are hidden already.
type Hides<'a> = &'a dyn Fn(&Container<'_>, &mut HashSet<String>) -> bool;

/// Takes elements out of a list; the ids of those that stay.
fn hide(top: &Container<'_>, name: &str, hides: Hides<'_>, edits: &mut Edits<'_>) -> Vec<String> {
    let Some(list) = top.children(name) else { return Vec::new() };
    let elements: Vec<Option<Container<'_>>> = list.items.iter().map(|item| list.element(item)).collect();
    let mut hidden = HashSet::new();
    let mut decide = || -> Vec<bool> {
        elements.iter().map(|one| one.as_ref().is_some_and(|one| hides(one, &mut hidden))).collect()
    };
    // Results may stand before their calls: lists come newest first, too.
    decide();
    let gone = decide();
    edits.elements(&list, &|i| gone.get(i) == Some(&true), &[]);
    let stay = elements.iter().zip(&gone).filter(|(_, gone)| !**gone);
    stay.filter_map(|(one, _)| word(one.as_ref()?, "id")).collect()
}

fn is_our_tool(tool: &Container<'_>, issued: &Issued) -> bool {
    kind(tool) == "function" && word(tool, "name").is_some_and(|name| issued.tools.contains(&name))
}

/// Whether an item is a call of ours, or the result of one.
fn is_hidden(item: &Container<'_>, issued: &Issued, hidden: &mut HashSet<String>) -> bool {
    let Some(id) = word(item, "call_id") else { return false };
    let is_named = || {
        kind(item) == "function_call"
            && item.value("namespace").is_none()
            && word(item, "name").is_some_and(|name| issued.tools.contains(&name))
    };
    let is_ours = hidden.contains(&id) || issued.calls.contains(&id) || is_named();
    if is_ours {
        hidden.insert(id);
    }
    is_ours
}
