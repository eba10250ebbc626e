//! Hidden rounds: what is kept of a turn, and how it comes back into a later request.
//!
//! Clients that stream may keep one answer as several contents in a row; they count as one. Never leaves a call
//! without its response, nor a response without its call: what does not fit is left out.

use std::collections::{HashMap, HashSet};

use bytes::Bytes;
use domain::ToolResult;
use domain::ids::sha256_hex;
use serde_json::Value;
use serde_json::value::RawValue;

use super::ids;
use super::members::{each, item};
use super::part::{Part, name_and_arguments};
use super::request::user_text;
use super::result::response;
use crate::answer::{Round, Shown};
use crate::history::signature_key;
use crate::json;
use crate::kept::{Anchor, CALL, Keeping, Kept};
use crate::reading;
use crate::request::ClientRequest;
use crate::splice::{Container, Edits};

/// A call in a history.
#[derive(Clone, Debug, PartialEq)]
struct Called {
    id: Option<String>,
    name: String,
    arguments: Value,
}

/// What the model said at one place.
#[derive(Clone, Debug, Default)]
struct Said {
    /// The contents it stands in.
    first: usize,
    end: usize,
    text: String,
    calls: Vec<Called>,
    signatures: Vec<String>,
    /// What the user asked before.
    asked: String,
}

impl Said {
    fn take(&mut self, content: &Container<'_>) {
        for part in each(content, "parts").into_iter().map(|whole| Part { whole }) {
            self.text.push_str(&part.text().unwrap_or_default());
            self.signatures.extend(part.signature());
            if let Some(call) = part.call() {
                let (name, arguments) = name_and_arguments(&call);
                let arguments =
                    json::value(arguments).unwrap_or_else(|_| Value::Object(serde_json::Map::new()));
                self.calls.push(Called { id: ids::id_of(&call), name, arguments });
            }
        }
    }

    /// The key of calls that came without ids: by what they say, after what, and where.
    fn nameless_key(&self) -> Option<String> {
        let calls = self.calls.iter().filter(|call| call.id.as_deref().is_none_or(ids::is_ours));
        let calls: Vec<_> =
            calls.map(|call| format!("{} {}", call.name, canonical(&call.arguments))).collect();
        let whole = format!("{} {}\n{}", self.first, squeezed(&self.asked), calls.join("\n"));
        (!calls.is_empty()).then(|| format!("{CALL}#{}", sha256_hex(whole)))
    }
}

/// JSON whose members are in one order.
fn canonical(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> =
                members.iter().map(|(k, v)| format!("{k:?}:{}", canonical(v))).collect();
            members.sort();
            format!("{{{}}}", members.join(","))
        }
        Value::Array(values) => format!("[{}]", values.iter().map(canonical).collect::<Vec<_>>().join(",")),
        other => other.to_string(),
    }
}

fn squeezed(text: &str) -> String {
    text.split_whitespace().collect()
}

/// The texts of a body's contents.
fn contents(body: &Bytes) -> Option<Vec<String>> {
    let top = reading::open(body).ok()?;
    let item = item(&top, "contents")?;
    match Container::array(top.doc(), item.value) {
        Ok(list) => Some(list.items.iter().map(|item| item.value.to_owned()).collect()),
        Err(_) => Some(vec![item.value.to_owned()]),
    }
}

fn is_model(content: &Container<'_>) -> bool {
    content.value("role").and_then(json::string).as_deref() == Some("model")
}

/// Everything that the model said.
fn said(contents: &[String]) -> Vec<Said> {
    let mut all: Vec<Said> = Vec::new();
    let mut asked = String::new();
    for (place, text) in contents.iter().enumerate() {
        let Ok(content) = Container::object(text, text) else { continue };
        if is_model(&content) {
            if all.last().is_none_or(|said| said.end != place) {
                let asked = asked.clone();
                all.push(Said { first: place, asked, ..Said::default() });
            }
            if let Some(said) = all.last_mut() {
                said.end = place + 1;
                said.take(&content);
            }
        } else if let Some(text) = user_text(&content) {
            asked = text;
        }
    }
    all
}

/// See [`crate::Dialect::anchors`].
pub(super) fn anchors(request: &ClientRequest) -> Vec<Anchor> {
    contents(&request.raw).map(|contents| anchors_of(&said(&contents))).unwrap_or_default()
}

fn anchors_of(all: &[Said]) -> Vec<Anchor> {
    let mut anchors = Vec::new();
    let mut seen: HashMap<String, usize> = HashMap::new();
    for said in all {
        let ids = said.calls.iter().filter_map(|call| call.id.as_ref());
        let mut keys: Vec<String> = ids.map(|id| format!("{CALL}{id}")).collect();
        keys.extend(said.nameless_key());
        keys.extend(said.signatures.iter().map(|signature| signature_key(signature)));
        let text = squeezed(&said.text);
        if said.calls.is_empty() && !text.is_empty() {
            let hash = sha256_hex(format!("{}\n{text}", squeezed(&said.asked)));
            // The same answer to the same words again is another turn.
            let times = seen.entry(hash.clone()).or_default();
            *times += 1;
            keys.push(format!("text:{hash}-{times}"));
        }
        anchors.extend(keys.into_iter().map(|key| Anchor { key, place: said.first }));
    }
    anchors
}

/// See [`crate::Dialect::keep`].
pub(super) fn keep(
    request: &ClientRequest,
    body: &Bytes,
    last: &Round,
    parked: &[ToolResult],
    shown: &Shown,
) -> Option<Keeping> {
    let known = contents(&request.raw)?.len();
    let hidden = contents(body)?.split_off(known.min(contents(body)?.len()));
    if hidden.is_empty() && parked.is_empty() {
        return None;
    }
    let message = std::str::from_utf8(&last.message).ok()?;
    let answered = |id: &str| parked.iter().any(|result| result.call_id == id);
    let unanswered: HashSet<usize> = (last.calls.iter().enumerate())
        .filter(|(_, call)| call.owned && !answered(&call.call.id))
        .map(|(i, _)| i)
        .collect();
    let instead = without(message, &unanswered);
    let raw = |text: &String| RawValue::from_string(text.clone()).ok();
    let kept = Kept {
        before: hidden.iter().filter_map(raw).collect(),
        instead: instead.as_ref().and_then(raw),
        results: parked.iter().filter_map(|result| raw(&response(result))).collect(),
        ..Kept::default()
    };
    let keys = keys(request, last, &instead.unwrap_or_default(), shown)?;
    (!keys.is_empty()).then_some(Keeping { keys, kept })
}

/// What the next request will show of the answer.
fn keys(request: &ClientRequest, last: &Round, instead: &str, shown: &Shown) -> Option<Vec<String>> {
    let mut seen = contents(request.seen())?;
    let place = seen.len();
    let theirs = last.calls.iter().filter(|call| !call.owned);
    let parts: Vec<Value> = theirs
        .map(|call| {
            let arguments = json::value(&call.call.arguments).unwrap_or_default();
            let call = &call.call;
            serde_json::json!({"functionCall": {"id": call.id, "name": call.name, "args": arguments}})
        })
        .chain([serde_json::json!({"text": shown.text})])
        .collect();
    seen.push(serde_json::json!({"role": "model", "parts": parts}).to_string());
    let mut keys: Vec<String> = Vec::new();
    if let Ok(content) = Container::object(instead, instead) {
        let mut said = Said::default();
        said.take(&content);
        keys.extend(said.signatures.iter().map(|signature| signature_key(signature)));
    }
    let anchors = anchors_of(&said(&seen));
    keys.extend(anchors.into_iter().filter(|anchor| anchor.place == place).map(|anchor| anchor.key));
    Some(keys)
}

/// A content without some of its calls; none if nothing is left of it.
fn without(message: &str, calls: &HashSet<usize>) -> Option<String> {
    let content = Container::object(message, message).ok()?;
    let parts = content.children("parts")?;
    let mut number = 0;
    let mut gone = Vec::new();
    for item in &parts.items {
        let is_call = Part::read(item.value).is_some_and(|part| part.call().is_some());
        gone.push(is_call && calls.contains(&number));
        number += usize::from(is_call);
    }
    if gone.iter().all(|gone| *gone) {
        return None;
    }
    let mut edits = Edits::new(message);
    edits.elements(&parts, &|i| gone.get(i) == Some(&true), &[]);
    Some(edits.apply())
}

/// See [`crate::Dialect::restore`]; none where nothing fits.
pub(super) fn restore(request: &ClientRequest, kept: &[(Anchor, Kept)]) -> Option<Bytes> {
    let top = reading::open(&request.raw).ok()?;
    let contents = contents(&request.raw)?;
    let all = said(&contents);
    let mut changed: HashMap<usize, Vec<String>> = HashMap::new();
    let mut used: HashSet<&str> = HashSet::new();
    for (anchor, kept) in kept.iter().filter(|(_, kept)| !kept.expired) {
        let Some(place) = all.iter().find(|said| said.first == anchor.place) else { continue };
        let first = kept.before.first().or(kept.instead.as_ref()).map(|content| content.get());
        let again = first.is_some_and(|first| used.contains(first)) || changed.contains_key(&place.first);
        if again || !fits(place, kept) {
            continue;
        }
        let own = contents.get(place.first..place.end).unwrap_or_default().to_vec();
        let mut new: Vec<String> = kept.before.iter().map(|content| content.get().to_owned()).collect();
        new.extend(kept.instead.as_ref().map_or(own, |content| vec![content.get().to_owned()]));
        if !kept.results.is_empty() {
            let Some((answers, end)) = answers(&contents, place, kept) else { continue };
            changed.extend((place.end..end).map(|at| (at, Vec::new())));
            changed.insert(place.end, vec![answers]);
        }
        changed.extend((place.first..place.end).map(|at| (at, Vec::new())));
        changed.insert(place.first, new);
        used.extend(first);
    }
    if changed.is_empty() {
        return None;
    }
    let now =
        contents.into_iter().enumerate().map(|(at, own)| changed.remove(&at).unwrap_or_else(|| vec![own]));
    let list = format!("[{}]", now.flatten().collect::<Vec<_>>().join(","));
    let mut edits = Edits::new(top.doc());
    edits.replace(item(&top, "contents")?, list);
    Some(edits.apply().into())
}

/// Whether a place shows what the client was shown of these rounds.
fn fits(place: &Said, kept: &Kept) -> bool {
    let mut text = String::new();
    let mut last = Said::default();
    for content in kept.before.iter().chain(&kept.instead) {
        if let Ok(content) = Container::object(content.get(), content.get())
            && is_model(&content)
        {
            last = Said::default();
            last.take(&content);
            text.push_str(&last.text);
        }
    }
    let ours = names(kept);
    let theirs = last.calls.iter().filter(|call| !ours.contains(&call.name)).map(|call| &call.name);
    let calls_fit = if kept.instead.is_some() {
        theirs.eq(place.calls.iter().map(|call| &call.name))
    } else {
        place.calls.is_empty()
    };
    calls_fit && squeezed(&text) == squeezed(&place.text)
}

/// Names of the calls of ours that were answered beside the client's.
fn names(kept: &Kept) -> Vec<String> {
    kept.results.iter().filter_map(|part| Some(answer_of(&Part::read(part.get())?)?.1)).collect()
}

/// Id and name of a response.
fn answer_of(part: &Part<'_>) -> Option<(Option<String>, String)> {
    let response = part.response()?;
    let name = response.value("name").and_then(json::string).unwrap_or_default();
    Some((ids::id_of(&response).filter(|id| !ids::is_ours(id)), name))
}

/// The responses to a mixed message, ours among the client's in the order of the calls, and where the client's own
/// end. None if the client has not answered all of its calls.
fn answers(contents: &[String], place: &Said, kept: &Kept) -> Option<(String, usize)> {
    let mut end = place.end;
    let mut theirs: Vec<(Option<String>, String, &str)> = Vec::new();
    let mut others: Vec<&str> = Vec::new();
    while let Some(content) = contents.get(end).and_then(|text| Container::object(text, text).ok()) {
        let parts = each(&content, "parts");
        if is_model(&content)
            || !parts.iter().any(|part| super::members::child(part, "functionResponse").is_some())
        {
            break;
        }
        for item in super::response::parts_of(&content) {
            match Part::read(item).as_ref().and_then(answer_of) {
                Some((id, name)) => theirs.push((id, name, item)),
                None => others.push(item),
            }
        }
        end += 1;
    }
    if theirs.len() != place.calls.len() {
        return None;
    }
    let mut ours: Vec<(String, &str)> =
        names(kept).into_iter().zip(kept.results.iter().map(|one| one.get())).collect();
    let instead = kept.instead.as_ref()?.get();
    let mut whole = Said::default();
    whole.take(&Container::object(instead, instead).ok()?);
    let mut parts: Vec<&str> = Vec::new();
    for call in &whole.calls {
        if let Some(at) = ours.iter().position(|(name, _)| *name == call.name) {
            parts.push(ours.remove(at).1);
            continue;
        }
        let same_id = theirs.iter().position(|(id, ..)| id.is_some() && *id == call.id);
        let at = same_id.or_else(|| theirs.iter().position(|(_, name, _)| *name == call.name)).unwrap_or(0);
        if at < theirs.len() {
            parts.push(theirs.remove(at).2);
        }
    }
    parts.extend(others);
    let first = contents.get(place.end)?;
    let content = Container::object(first, first).ok()?;
    let mut edits = Edits::new(first);
    edits.members(&content, &[], &[("parts", format!("[{}]", parts.join(",")))]);
    Some((edits.apply(), end))
}
