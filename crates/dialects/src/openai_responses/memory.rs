//! Hidden rounds: what is kept of a turn, and how it comes back into a later request.
//!
//! An answer that the provider stored is named by id, and the id that the client saw is not always the last one.
//! Where the client sends the history itself, the hidden items go back in front of what it saw of the turn. Never
//! leaves a call without its result, a result without its call, or reasoning that lost what it belongs to.

use std::collections::HashSet;

use bytes::Bytes;
use domain::ToolResult;
use domain::ids::sha256_hex;
use serde_json::value::RawValue;

use super::follow_up::{is_replayable, items};
use super::item::{Mark, word};
use super::past::Past;
use super::response::Said;
use super::result::{output, text_output};
use crate::answer::{Round, Shown};
use crate::history::{Look, Role, anchors_of};
use crate::json;
use crate::kept::{Anchor, CALL, ITEM, Keeping, Kept, RESPONSE};
use crate::reading;
use crate::request::ClientRequest;
use crate::splice::{Container, Edits};

/// The place of `previous_response_id`, which is no item.
const PREVIOUS: usize = usize::MAX;
/// What a call of ours is answered with that no turn ever ran.
const NOT_RUN: &str = "{\"error\":\"This call was not run: the turn had ended.\",\"code\":\"not_run\"}";

/// What a call of ours is answered with whose result has expired.
const EXPIRED: &str = "{\"error\":\"The result of this call has expired.\",\"code\":\"expired\"}";

/// Keys of reasoning. The provider refuses it without what it led to, so they are as binding as an answer's id.
pub(super) fn reasoning_keys(mark: &Mark) -> Vec<String> {
    if mark.kind != "reasoning" {
        return Vec::new();
    }
    let sealed = mark.encrypted.as_ref().map(sha256_hex);
    [sealed, mark.id.clone()].into_iter().flatten().map(|word| format!("{RESPONSE}{word}")).collect()
}

/// What items show; results of calls that are not among them stand for the calls.
fn looks(marks: &[Mark]) -> Vec<Look> {
    let called: HashSet<&str> =
        marks.iter().filter(|mark| mark.is_call()).filter_map(|mark| mark.call_id.as_deref()).collect();
    let look = |mark: &Mark| {
        let id = mark.call_id.clone().unwrap_or_default();
        let role = match mark.role.as_deref() {
            Some("user") => Role::User,
            Some("assistant") | None => Role::Assistant,
            Some(_) => Role::Other,
        };
        let answers_call = mark.is_output() && called.contains(id.as_str());
        let calls = if (mark.is_call() || mark.is_output()) && !answers_call { vec![id] } else { Vec::new() };
        Look { role, text: mark.text.clone().unwrap_or_default(), calls, ..Look::default() }
    };
    marks.iter().map(look).collect()
}

/// See [`crate::Dialect::anchors`].
pub(super) fn anchors(request: &ClientRequest) -> Vec<Anchor> {
    let Ok(top) = reading::open(&request.raw) else { return Vec::new() };
    let marks: Vec<Mark> = items(&top).unwrap_or_default().iter().map(|text| Mark::of(text)).collect();
    let previous = word(&top, "previous_response_id");
    let mut anchors: Vec<Anchor> = previous
        .map(|id| Anchor { key: format!("{RESPONSE}{id}"), place: PREVIOUS })
        .into_iter()
        .chain(anchors_of(&looks(&marks)))
        .collect();
    for (place, mark) in marks.iter().enumerate() {
        let named = mark.reference().map(|id| [format!("{RESPONSE}{id}"), format!("{ITEM}{id}")]);
        let keys = reasoning_keys(mark).into_iter().chain(named.into_iter().flatten());
        anchors.extend(keys.map(|key| Anchor { key, place }));
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
    let top = reading::open(&request.raw).ok()?;
    let said = Said::read(&last.message).ok()?;
    let in_conversation = top.value("conversation").is_some();
    let stored = said.id.as_ref().filter(|_| !in_conversation && top.value("store") != Some("false"));
    let ours: Vec<&str> =
        last.calls.iter().filter(|call| call.owned).map(|call| call.call.id.as_str()).collect();
    let mut keeping = Keeping { keys: Vec::new(), kept: Kept::default() };
    let kept = &mut keeping.kept;
    kept.results = parked_results(&ours, parked);
    kept.lost = lost_results(&ours);
    let has_hidden = !said.earlier.is_empty() || !ours.is_empty();
    if let (Some(id), Some(shown_id)) = (stored.filter(|_| has_hidden), &shown.id) {
        keeping.keys.push(format!("{RESPONSE}{shown_id}"));
        kept.response_id = Some(id.clone());
    }

    let (mut before, orphans) = match stored {
        _ if in_conversation => (Vec::new(), Vec::new()),
        Some(_) => (stored_rounds(&said), orphans(&said.earlier)),
        None => {
            let rounds = repeated_rounds(&top, body);
            let orphans = orphans(&rounds);
            (rounds, orphans)
        }
    };
    kept.orphans = orphans;
    let is_in = |text: &String, ids: &dyn Fn(&str) -> bool| {
        let mark = Mark::of(text);
        mark.is_call() && mark.call_id.as_deref().is_some_and(ids)
    };
    let is_ours = |id: &str| ours.contains(&id);
    let is_theirs = |id: &str| shown.call_ids.iter().any(|other| other == id);
    if let Some(first) = said.items.iter().position(|text| is_in(text, &is_theirs)) {
        if !before.is_empty() || !ours.is_empty() {
            let (head, tail) = said.items.split_at(first);
            kept.orphans.extend(orphans_of(head, &|text| is_in(text, &is_ours)));
            before.extend(head.iter().cloned());
            before.extend(tail.iter().filter(|text| is_in(text, &is_ours)).cloned());
            keeping.keys.extend(shown.call_ids.iter().map(|id| format!("{CALL}{id}")));
        }
    } else if !before.is_empty() {
        let answer = said.items.iter().rposition(|text| Mark::of(text).is_answer());
        let head = said.items.get(..answer.unwrap_or(said.items.len()))?;
        before.extend(without_calls(head, &ours));
        let message = answer.and_then(|at| said.items.get(at));
        kept.instead = message.and_then(|text| raw(text));
        let text = message.and_then(|text| Mark::of(text).text).unwrap_or_default();
        keeping.keys.extend(text_keys(request, &text, &shown.text));
    }
    keeping.keys.extend(kept.orphans.iter().cloned());
    keeping.keys.dedup();
    if stored.is_some() && !keeping.keys.is_empty() {
        let answer = kept.instead.as_ref().and_then(|item| Mark::of(item.get()).id);
        keeping.keys.extend(answer.map(|id| format!("{ITEM}{id}")));
        let rest = said.items.iter().filter(|text| {
            let hidden = is_in(text, &is_ours) || before.contains(text);
            !hidden && kept.instead.as_ref().is_none_or(|item| item.get() != text.as_str())
        });
        kept.shown = rest.filter_map(|text| raw(text)).collect();
        let calls = kept.shown.iter().map(|item| Mark::of(item.get())).filter(Mark::is_call);
        keeping.keys.extend(calls.filter_map(|mark| Some(format!("{RESPONSE}{}", mark.id?))));
    }
    kept.before = before.iter().filter_map(|text| raw(text)).collect();
    (!keeping.keys.is_empty()).then_some(keeping)
}

/// Results of these calls of ours, as items.
pub(super) fn parked_results(ours: &[&str], parked: &[ToolResult]) -> Vec<Box<RawValue>> {
    let result = |id: &&str| {
        let result = parked.iter().find(|result| result.call_id == **id);
        raw(&result.map_or_else(|| text_output(id, NOT_RUN), output))
    };
    ours.iter().filter_map(result).collect()
}

/// What stands for them when they have expired.
pub(super) fn lost_results(ours: &[&str]) -> Vec<Box<RawValue>> {
    ours.iter().filter_map(|id| raw(&text_output(id, EXPIRED))).collect()
}

fn raw(text: &str) -> Option<Box<RawValue>> {
    RawValue::from_string(text.to_owned()).ok()
}

/// Keys of an answer, for a client that sends back its last message and for one that joins all it has read.
fn text_keys(request: &ClientRequest, last: &str, all: &str) -> Vec<String> {
    let Ok(top) = reading::open(request.seen()) else { return Vec::new() };
    let marks: Vec<Mark> = items(&top).unwrap_or_default().iter().map(|text| Mark::of(text)).collect();
    let before = looks(&marks);
    let key = |text: &str| {
        let answer = Look { role: Role::Assistant, text: text.to_owned(), ..Look::default() };
        let anchor = anchors_of(&[before.clone(), vec![answer]].concat()).pop()?;
        (anchor.place == before.len()).then_some(anchor.key)
    };
    [last, all].into_iter().filter_map(key).collect()
}

/// What the provider stored of the rounds before, without calls whose results are lost.
fn stored_rounds(said: &Said) -> Vec<String> {
    let marks: Vec<Mark> = said.earlier.iter().map(|text| Mark::of(text)).collect();
    let is_answered =
        |call: &&Mark| marks.iter().any(|mark| mark.is_output() && mark.call_id == call.call_id);
    let lost = marks.iter().filter(|mark| mark.is_call() && !is_answered(mark));
    let lost: Vec<&str> = lost.filter_map(|mark| mark.call_id.as_deref()).collect();
    without_calls(&said.earlier, &lost)
}

/// The items that earlier rounds of the turn have added to the request's input.
fn repeated_rounds(top: &Container<'_>, body: &Bytes) -> Vec<String> {
    let known = items(top).map_or(0, |items| items.len());
    let asked = reading::open(body).ok().and_then(|body| items(&body)).unwrap_or_default();
    asked.into_iter().skip(known).collect()
}

/// Items without these calls, and without reasoning that led to nothing else.
pub(super) fn without_calls(items: &[String], calls: &[&str]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut leads_nowhere = false;
    for text in items.iter().rev() {
        let mark = Mark::of(text);
        if mark.kind != "reasoning" {
            leads_nowhere = mark.call_id.as_deref().is_some_and(|id| calls.contains(&id));
        }
        if !leads_nowhere {
            kept.push(text.clone());
        }
    }
    kept.reverse();
    kept
}

/// Keys of the reasoning that led to calls of these hidden rounds.
fn orphans(rounds: &[String]) -> Vec<String> {
    orphans_of(rounds, &|text| Mark::of(text).is_call())
}

/// Keys of the reasoning right before items that the client does not see, or at the end.
fn orphans_of(items: &[String], is_hidden: &dyn Fn(&String) -> bool) -> Vec<String> {
    let mut keys = Vec::new();
    let mut leads_to_hidden = false;
    for text in items.iter().rev() {
        let mark = Mark::of(text);
        if mark.kind != "reasoning" {
            leads_to_hidden = is_hidden(text);
        } else if leads_to_hidden {
            keys.extend(reasoning_keys(&mark));
        }
    }
    keys
}

/// See [`crate::Dialect::restore`]; none where nothing fits.
pub(super) fn restore(request: &ClientRequest, kept: &[(Anchor, Kept)]) -> Option<Bytes> {
    let top = reading::open(&request.raw).ok()?;
    let is_stored = top.value("store") != Some("false");
    let in_conversation = top.value("conversation").is_some();
    let mut past = Past::new(items(&top)?);
    let mut set = Vec::new();
    past.resolve(kept);
    let kept: Vec<(Anchor, &Kept)> = kept.iter().map(|(anchor, one)| (past.resolved(anchor), one)).collect();
    let mut in_order: Vec<&(Anchor, &Kept)> = kept.iter().collect();
    // From the end: of two places of one turn the answer comes first, and says best where the turn belongs.
    in_order.sort_by_key(|(anchor, _)| std::cmp::Reverse(anchor.place));
    for (anchor, one) in in_order.iter().filter(|(anchor, _)| anchor.place != PREVIOUS) {
        let is_earlier = |(other, same): &(Anchor, &Kept)| {
            other.place < anchor.place && other.key.starts_with(CALL) && is_same(one, same)
        };
        if one.expired {
            past.tell(anchor);
            past.let_go(&one.orphans);
            if in_conversation {
                past.put_back(anchor.place, &[], one);
            }
        } else if !anchor.key.starts_with(CALL) || !kept.iter().any(is_earlier) {
            let before = one.before.iter().map(|item| item.get());
            let before: Vec<&str> = before.filter(|text| is_stored || is_replayable(text)).collect();
            past.put_back(anchor.place, &before, one);
        }
    }
    for (_, one) in in_order.iter().filter(|(anchor, _)| anchor.place == PREVIOUS) {
        set.extend(one.response_id.as_deref().map(|id| ("previous_response_id", json::quote(id))));
        past.take_out_known(one);
        past.insert_results(0, &one.results);
    }
    set.extend(past.changed().map(|items| ("input", items)));
    if set.is_empty() {
        return None;
    }
    let mut edits = Edits::new(top.doc());
    edits.members(&top, &[], &set);
    Some(edits.apply().into())
}

/// Whether two calls of one message have led to the same kept turn.
fn is_same(a: &Kept, b: &Kept) -> bool {
    a.before.len() == b.before.len() && a.before.iter().zip(&b.before).all(|(a, b)| a.get() == b.get())
}
