//! Histories made of `messages`: what each message shows of a turn, by what the turn is known again, and what of it
//! is kept. The dialects say how a message is read and written; see [`crate::kept`] for the whole.
//!
//! Two texts are the same when they differ in white space only: clients join, trim and break texts.

use std::collections::{HashMap, HashSet};

use bytes::Bytes;
use domain::ToolResult;
use domain::ids::sha256_hex;
use serde_json::value::RawValue;

use crate::answer::{Round, Shown};
use crate::kept::{Anchor, CALL, Keeping, Kept};
use crate::reading;
use crate::request::ClientRequest;
use crate::splice::{Container, Edits};

/// Who says a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Role {
    User,
    Assistant,
    #[default]
    Other,
}

/// What a message shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Look {
    pub(crate) role: Role,
    /// Its visible text.
    pub(crate) text: String,
    /// Ids of its calls, in order.
    pub(crate) calls: Vec<String>,
    /// Signatures of its thinking.
    pub(crate) signatures: Vec<String>,
}

/// Where the dialects differ.
pub(crate) struct Ways {
    /// What a message shows.
    pub(crate) look: fn(&Container<'_>) -> Look,
    /// An assistant's message without these calls; none if nothing else is in it.
    pub(crate) without: fn(&str, &HashSet<&str>) -> Option<String>,
    /// A result, as a message or as a part of one.
    pub(crate) result: fn(&ToolResult) -> String,
}

impl Ways {
    fn look_at(&self, message: &str) -> Look {
        Container::object(message, message).map(|message| (self.look)(&message)).unwrap_or_default()
    }

    fn looks(&self, messages: &Container<'_>) -> Vec<Look> {
        let looks = messages.items.iter().map(|item| messages.element(item).map(|one| (self.look)(&one)));
        looks.map(Option::unwrap_or_default).collect()
    }
}

/// See [`crate::Dialect::anchors`].
pub(crate) fn anchors(ways: &Ways, request: &ClientRequest) -> Vec<Anchor> {
    let Ok(top) = reading::open(&request.raw) else { return Vec::new() };
    top.children("messages").map(|messages| anchors_of(&ways.looks(&messages))).unwrap_or_default()
}

/// The anchors of messages that look like this.
pub(crate) fn anchors_of(looks: &[Look]) -> Vec<Anchor> {
    let mut anchors = Vec::new();
    let mut asked = "";
    let mut seen: HashMap<String, usize> = HashMap::new();
    for (place, look) in looks.iter().enumerate() {
        match look.role {
            Role::User if !look.text.is_empty() => asked = &look.text,
            Role::User | Role::Other => {}
            Role::Assistant => {
                let keys = look.calls.iter().filter_map(|id| call_key(id));
                let keys = keys.chain(look.signatures.iter().map(|signature| signature_key(signature)));
                anchors.extend(keys.map(|key| Anchor { key, place }));
                if look.calls.is_empty() && !squeezed(&look.text).is_empty() {
                    let said = sha256_hex(format!("{}\n{}", squeezed(asked), squeezed(&look.text)));
                    // The same answer to the same words again is another turn.
                    let times = seen.entry(said.clone()).or_default();
                    *times += 1;
                    anchors.push(Anchor { key: format!("text:{said}-{times}"), place });
                }
            }
        }
    }
    anchors
}

fn call_key(id: &str) -> Option<String> {
    (!id.is_empty()).then(|| format!("{CALL}{id}"))
}

/// The key of thinking.
pub(crate) fn signature_key(signature: &str) -> String {
    format!("signature:{}", sha256_hex(signature))
}

fn squeezed(text: &str) -> String {
    text.split_whitespace().collect()
}

/// See [`crate::Dialect::keep`].
pub(crate) fn keep(
    ways: &Ways,
    request: &ClientRequest,
    body: &Bytes,
    last: &Round,
    parked: &[ToolResult],
    shown: &Shown,
) -> Option<Keeping> {
    let known = messages(&request.raw)?.len();
    let hidden: Vec<String> = messages(body)?.into_iter().skip(known).collect();
    let unanswered: HashSet<&str> = last
        .calls
        .iter()
        .filter(|call| call.owned && !parked.iter().any(|result| result.call_id == call.call.id))
        .map(|call| call.call.id.as_str())
        .collect();
    if hidden.is_empty() && parked.is_empty() {
        return None;
    }
    let message = std::str::from_utf8(&last.message).ok()?;
    let instead =
        if unanswered.is_empty() { Some(message.to_owned()) } else { (ways.without)(message, &unanswered) };
    let said: Vec<Look> = hidden.iter().map(|message| ways.look_at(message)).collect();
    let signatures = || said.iter().flat_map(|look| look.signatures.iter().map(|one| signature_key(one)));
    let mut kept = Kept {
        before: hidden.iter().filter_map(|message| raw(message)).collect(),
        instead: instead.as_deref().and_then(raw),
        results: parked.iter().filter_map(|result| raw(&(ways.result)(result))).collect(),
        ..Kept::default()
    };
    let mut keys: Vec<String> = shown.call_ids.iter().filter_map(|id| call_key(id)).collect();
    if shown.call_ids.is_empty() {
        keys.extend(signatures());
        let last = instead.map(|message| ways.look_at(&message)).unwrap_or_default();
        keys.extend(last.signatures.iter().map(|signature| signature_key(signature)));
        keys.extend(text_key(ways, request, &shown.text));
    } else {
        kept.orphans = signatures().collect();
    }
    (!keys.is_empty()).then_some(Keeping { keys, kept })
}

/// The key of an answer, as the next request's history will have it.
fn text_key(ways: &Ways, request: &ClientRequest, text: &str) -> Option<String> {
    let top = reading::open(request.seen()).ok()?;
    let mut looks = ways.looks(&top.children("messages")?);
    let place = looks.len();
    looks.push(Look { role: Role::Assistant, text: text.to_owned(), ..Look::default() });
    let anchor = anchors_of(&looks).pop()?;
    (anchor.place == place).then_some(anchor.key)
}

fn messages(body: &Bytes) -> Option<Vec<String>> {
    let top = reading::open(body).ok()?;
    Some(top.children("messages")?.items.iter().map(|item| item.value.to_owned()).collect())
}

fn raw(text: &str) -> Option<Box<RawValue>> {
    RawValue::from_string(text.to_owned()).ok()
}

/// A history while it is put right.
pub(crate) struct Past<'a> {
    pub(crate) messages: &'a Container<'a>,
    pub(crate) looks: Vec<Look>,
    /// New texts of messages; one may have become several, separated by commas.
    changed: HashMap<usize, String>,
}

impl Past<'_> {
    /// The text of a message as it is now.
    pub(crate) fn text(&self, place: usize) -> Option<&str> {
        let own = || self.messages.items.get(place).map(|item| item.value);
        self.changed.get(&place).map(String::as_str).or_else(own)
    }

    /// Sets the text of a message.
    pub(crate) fn set(&mut self, place: usize, text: String) {
        self.changed.insert(place, text);
    }
}

/// What a dialect does at a place: put the rounds there, or deal with their loss. Says false, and has changed
/// nothing, where they do not fit.
pub(crate) type PutBack = fn(&mut Past<'_>, usize, &Kept) -> bool;

/// See [`crate::Dialect::restore`].
pub(crate) fn restore(
    ways: &Ways,
    request: &ClientRequest,
    kept: &[(Anchor, Kept)],
    put_back: PutBack,
) -> Option<Bytes> {
    let top = reading::open(&request.raw).ok()?;
    let messages = top.children("messages")?;
    let looks = ways.looks(&messages);
    let mut past = Past { messages: &messages, looks, changed: HashMap::new() };
    let mut places = HashSet::new();
    let mut used = HashSet::new();
    for (anchor, kept) in kept {
        let first = kept.before.first().or(kept.instead.as_ref()).map(|message| message.get());
        let again = first.is_some_and(|first| used.contains(first));
        let fits = past.looks.get(anchor.place).is_some_and(|look| fits(ways, look, kept, &anchor.key));
        if !again && fits && !places.contains(&anchor.place) && put_back(&mut past, anchor.place, kept) {
            places.insert(anchor.place);
            used.extend(first);
        }
    }
    if past.changed.is_empty() {
        return None;
    }
    let mut edits = Edits::new(top.doc());
    for (place, text) in past.changed {
        if let Some(item) = messages.items.get(place) {
            edits.replace(item, text);
        }
    }
    Some(edits.apply().into())
}

/// Whether a message is what the client was shown of these rounds.
fn fits(ways: &Ways, look: &Look, kept: &Kept, key: &str) -> bool {
    if kept.expired {
        return key.starts_with(CALL);
    }
    let mut text = String::new();
    let mut calls = Vec::new();
    for message in kept.before.iter().chain(&kept.instead) {
        let said = ways.look_at(message.get());
        if said.role == Role::Assistant {
            text.push_str(&said.text);
            // Calls of the rounds before are answered there; those of the last are the client's or parked.
            calls = said.calls;
        }
    }
    let ours = kept.results.len();
    let theirs = calls.iter().filter(|id| look.calls.contains(id)).count();
    let calls_fit = if kept.instead.is_some() {
        theirs == look.calls.len() && theirs + ours == calls.len()
    } else {
        look.calls.is_empty()
    };
    calls_fit && squeezed(&text) == squeezed(&look.text)
}

/// For each result of ours the place among `theirs` (ids in the order in which the client sends them) before which
/// it belongs; the number of theirs means behind the last. `calls` is the order of the model's calls.
pub(crate) fn order(calls: &[String], ours: &[String], theirs: &[String]) -> Vec<usize> {
    let rank = |id: &String| calls.iter().position(|call| call == id).unwrap_or(usize::MAX);
    let before = |id: &String| theirs.iter().position(|other| rank(other) > rank(id)).unwrap_or(theirs.len());
    ours.iter().map(before).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(role: Role, text: &str) -> Look {
        Look { role, text: text.to_owned(), ..Look::default() }
    }

    fn keys(looks: &[Look]) -> Vec<String> {
        anchors_of(looks).into_iter().map(|anchor| anchor.key).collect()
    }

    #[test]
    fn the_same_answer_has_another_key_in_another_turn() {
        let (ask, done) = (look(Role::User, "go on"), look(Role::Assistant, "done"));
        let twice = keys(&[ask.clone(), done.clone(), ask.clone(), done.clone()]);
        assert!(twice.len() == 2 && twice[0] != twice[1], "{twice:?}");
        let other = keys(&[look(Role::User, "delete it"), done.clone()]);
        assert_ne!(other[0], twice[0]);
        let spaced = keys(&[look(Role::User, " go  on\n"), look(Role::Assistant, "do ne")]);
        assert_eq!(spaced[0], twice[0]);
        assert_ne!(keys(&[ask, look(Role::Assistant, "Done")])[0], twice[0]);
    }

    #[test]
    fn what_shows_nothing_has_no_key() {
        let looks = [look(Role::Assistant, " \n"), look(Role::Other, "x"), look(Role::User, "x")];
        assert_eq!(keys(&looks), Vec::<String>::new());
        let calls = Look { calls: vec![String::new(), "a".to_owned()], ..look(Role::Assistant, "x") };
        assert_eq!(keys(&[calls]), ["call:a"]);
    }

    #[test]
    fn results_stand_in_call_order() {
        let ids =
            |text: &str| text.split(' ').filter(|id| !id.is_empty()).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(order(&ids("a B c D"), &ids("B D"), &ids("a c")), [1, 2]);
        assert_eq!(order(&ids("A b C"), &ids("A C"), &ids("b")), [0, 1]);
        assert_eq!(order(&ids("A b"), &ids("A"), &ids("")), [0]);
    }
}
