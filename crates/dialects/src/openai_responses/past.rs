//! A request's input while hidden items are put back. Remembers where each item of the client's stood.

use std::collections::{HashMap, HashSet};

use serde_json::json;
use serde_json::value::RawValue;

use super::item::Mark;
use super::memory::reasoning_keys;
use crate::json;
use crate::kept::{Anchor, CALL, Kept, RESPONSE};
use crate::splice::{Container, Edits};

/// What the model is told where our results of a message are gone.
const EXPIRED: &str = "[The other results of this step have expired and cannot be shown any more.]";

/// One item, with its place in the client's list.
struct Entry {
    place: Option<usize>,
    text: String,
    mark: Mark,
}

impl Entry {
    fn new(place: Option<usize>, text: String) -> Self {
        Self { place, mark: Mark::of(&text), text }
    }
}

/// The items.
pub(super) struct Past {
    entries: Vec<Entry>,
    /// Call ids of the results among them.
    answered: HashSet<String>,
    changed: bool,
}

impl Past {
    pub(super) fn new(items: Vec<String>) -> Self {
        let entries: Vec<Entry> =
            items.into_iter().enumerate().map(|(place, text)| Entry::new(Some(place), text)).collect();
        let outputs = entries.iter().filter(|entry| entry.mark.is_output());
        let answered = outputs.filter_map(|entry| entry.mark.call_id.clone()).collect();
        Self { entries, answered, changed: false }
    }

    /// The list as JSON, if it is another now.
    pub(super) fn changed(self) -> Option<String> {
        let texts: Vec<String> = self.entries.into_iter().map(|entry| entry.text).collect();
        self.changed.then(|| format!("[{}]", texts.join(",")))
    }

    fn find(&self, place: usize) -> Option<usize> {
        self.entries.iter().position(|entry| entry.place == Some(place))
    }

    /// Puts items of these turns in the place of their names.
    pub(super) fn resolve(&mut self, kept: &[(Anchor, Kept)]) {
        if self.entries.iter().all(|entry| entry.mark.reference().is_none()) {
            return;
        }
        let all = kept.iter().flat_map(|(_, one)| one.before.iter().chain(&one.instead).chain(&one.shown));
        let by_id: HashMap<String, &str> =
            all.filter_map(|item| Some((Mark::of(item.get()).id?, item.get()))).collect();
        for entry in &mut self.entries {
            if let Some(item) = entry.mark.reference().and_then(|id| by_id.get(id)) {
                *entry = Entry::new(entry.place, (*item).to_owned());
                self.changed = true;
            }
        }
    }

    /// The anchor of what its place shows now.
    pub(super) fn resolved(&self, anchor: &Anchor) -> Anchor {
        let mark = self.find(anchor.place).and_then(|at| self.mark(at));
        let call = mark.filter(|mark| mark.is_call()).and_then(|mark| mark.call_id.as_ref());
        let key = call.map_or_else(|| anchor.key.clone(), |id| format!("{CALL}{id}"));
        Anchor { key, place: anchor.place }
    }

    fn mark(&self, at: usize) -> Option<&Mark> {
        self.entries.get(at).map(|entry| &entry.mark)
    }

    /// Takes out the client's copies of what the answer that the request names by id holds already.
    pub(super) fn take_out_known(&mut self, kept: &Kept) {
        let before = self.entries.len();
        let has = |ids: &[String], id: &Option<String>| id.as_ref().is_some_and(|id| ids.contains(id));
        let is_known = |mark: &Mark| {
            has(&kept.said, &mark.id)
                || (mark.is_call() && has(&kept.said, &mark.call_id))
                || (mark.is_output() && has(&kept.answered, &mark.call_id))
        };
        self.entries.retain(|entry| !is_known(&entry.mark));
        self.changed |= self.entries.len() < before;
    }

    /// Puts results in front of an item; each only once.
    pub(super) fn insert_results(&mut self, at: usize, results: &[Box<RawValue>]) {
        for result in results.iter().rev() {
            let entry = Entry::new(None, result.get().to_owned());
            if let Some(id) = &entry.mark.call_id
                && self.answered.insert(id.clone())
            {
                self.entries.insert(at.min(self.entries.len()), entry);
                self.changed = true;
            }
        }
    }

    /// Puts a turn back at a place that the client's list had; `before` are its hidden items.
    pub(super) fn put_back(&mut self, place: usize, before: &[&str], kept: &Kept) {
        let Some(at) = self.find(place) else { return };
        if self.mark(at).is_some_and(Mark::is_output) {
            self.insert_results(at, &kept.results);
            return;
        }
        let before: Vec<Entry> = before.iter().map(|text| Entry::new(None, (*text).to_owned())).collect();
        if before.is_empty() || self.has_any(&before) {
            return;
        }
        let at = self.target(at);
        let mut calls_end = at;
        while self.mark(calls_end).is_some_and(Mark::is_call) {
            calls_end += 1;
        }
        if calls_end > at {
            self.insert_results(calls_end, &kept.results);
        }
        if let (Some(instead), Some(entry)) = (&kept.instead, self.entries.get_mut(at))
            && entry.mark.is_answer()
        {
            *entry = Entry::new(entry.place, instead.get().to_owned());
        }
        let mut start = at;
        while start.checked_sub(1).and_then(|at| self.mark(at)).is_some_and(Mark::is_models) {
            start -= 1;
        }
        // The client's own copies go: they would stand twice, or out of order, or lead to nothing.
        let own: Vec<Entry> = self.entries.drain(start..at).collect();
        let stays = |entry: &Entry| {
            !before.iter().any(|hidden| hidden.mark.is_same(&entry.mark))
                && !reasoning_keys(&entry.mark).iter().any(|key| kept.orphans.contains(key))
        };
        let all: Vec<Entry> = own.into_iter().filter(stays).collect();
        self.entries.splice(start..start, all.into_iter().chain(before));
        self.changed = true;
    }

    /// Where the turn that the item belongs to shows its end: its first call, or its last message.
    fn target(&self, at: usize) -> usize {
        if self.mark(at).is_none_or(|mark| mark.kind != "reasoning") {
            return at;
        }
        let run = self.entries.iter().enumerate().skip(at).take_while(|(_, entry)| entry.mark.is_models());
        let run: Vec<(usize, &Mark)> = run.map(|(at, entry)| (at, &entry.mark)).collect();
        let call = run.iter().find(|(_, mark)| mark.is_call());
        let shown = call.or_else(|| run.iter().rfind(|(_, mark)| mark.is_answer()));
        shown.map_or(at + run.len(), |(at, _)| *at)
    }

    /// Whether hidden calls or results stand in the history already.
    fn has_any(&self, hidden: &[Entry]) -> bool {
        let hidden: Vec<&Mark> =
            hidden.iter().map(|entry| &entry.mark).filter(|mark| mark.call_id.is_some()).collect();
        self.entries.iter().any(|entry| hidden.iter().any(|mark| mark.is_same(&entry.mark)))
    }

    /// Takes out reasoning whose calls are lost.
    pub(super) fn let_go(&mut self, orphans: &[String]) {
        let before = self.entries.len();
        let is_lost = |mark: &Mark| {
            let named = mark.reference().map(|id| format!("{RESPONSE}{id}"));
            reasoning_keys(mark).iter().chain(&named).any(|key| orphans.contains(key))
        };
        self.entries.retain(|entry| !is_lost(&entry.mark));
        self.changed |= self.entries.len() < before;
    }

    /// Says in the result of a client's call that ours of the same message have expired.
    pub(super) fn tell(&mut self, anchor: &Anchor) {
        let Some(id) = anchor.key.strip_prefix(CALL) else { return };
        let answers =
            |entry: &&mut Entry| entry.mark.is_output() && entry.mark.call_id.as_deref() == Some(id);
        let Some(entry) = self.entries.iter_mut().find(answers) else { return };
        if let Some(text) = told(&entry.text) {
            entry.text = text;
            self.changed = true;
        }
    }
}

/// A result with the note on what has expired.
fn told(text: &str) -> Option<String> {
    let item = Container::object(text, text).ok()?;
    let mut edits = Edits::new(text);
    if let Some(parts) = item.children("output") {
        let note = json!({"type": "input_text", "text": EXPIRED}).to_string();
        edits.elements(&parts, &|_| false, &[note]);
    } else {
        let own = json::string(item.value("output")?)?;
        let own = if own.is_empty() { EXPIRED.to_owned() } else { format!("{own}\n{EXPIRED}") };
        edits.members(&item, &[], &[("output", json::quote(&own))]);
    }
    Some(edits.apply())
}
