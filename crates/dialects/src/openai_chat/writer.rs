//! Writes the chunks of all rounds so that they look like one stream.
//!
//! Knows what the client has been shown: the head of the first chunk, the role, the text, the calls.

use serde_json::{Value, json};

use super::assemble::{Draft, Merge};
use super::chunk::Chunk;
use crate::answer::Fault;
use crate::json;
use crate::splice::{Container, Edits};
use crate::sse::{self, Frame};

/// Members that are the same in all chunks of a stream.
const HEAD: [&str; 4] = ["id", "object", "created", "model"];

/// How the finish chunk differs from the upstream's.
#[derive(Debug)]
pub(super) struct Terminal {
    pub(super) finish: Option<&'static str>,
    pub(super) usage: Option<Value>,
    pub(super) omni: Option<Value>,
}

/// What the client has been shown.
#[derive(Debug, Default)]
pub(super) struct Writer {
    /// Rounds before this one.
    earlier: usize,
    head: Vec<(&'static str, String)>,
    role_sent: bool,
    text_before: bool,
    text_now: bool,
    visible_calls: usize,
}

/// The calls of a frame's `tool_calls` elements, and all calls.
type Calls<'a, 'b> = (&'a [usize], &'b mut [Draft]);

impl Writer {
    pub(super) fn begin_round(&mut self) {
        self.earlier += 1;
        self.text_before |= std::mem::take(&mut self.text_now);
    }

    /// Rounds so far, this one included.
    pub(super) fn rounds(&self) -> usize {
        self.earlier + 1
    }

    /// The id of the stream.
    pub(super) fn id(&self) -> Option<String> {
        self.head.iter().find(|(key, _)| *key == "id").and_then(|(_, id)| json::string(id))
    }

    /// Calls that the client has been shown.
    pub(super) fn visible_calls(&self) -> usize {
        self.visible_calls
    }

    /// Takes id, model and time from the first real chunk.
    pub(super) fn learn(&mut self, chunk: &Chunk<'_>) {
        if self.head.is_empty() && chunk.choice.is_some() {
            let known = HEAD.iter().filter_map(|key| Some((*key, chunk.top.get(key)?.value.to_owned())));
            self.head = known.collect();
        }
    }

    /// Writes a chunk without its finish reason: unchanged, changed, or not at all.
    pub(super) fn pass(
        &mut self,
        frame: &Frame,
        chunk: &Chunk<'_>,
        places: &[usize],
        calls: &mut [Draft],
        out: &mut Vec<u8>,
    ) {
        let mut edits = Edits::new(chunk.doc);
        let shown = self.edit_delta(chunk, (places, calls), &mut edits, out);
        if let Some(choice) = &chunk.choice
            && choice.value("finish_reason").is_some()
        {
            edits.members(choice, &[], &[("finish_reason", "null".to_owned())]);
        }
        let mut shown = shown || chunk.has_other_choices();
        if self.earlier > 0 {
            self.edit_head(chunk, &mut edits);
            if chunk.top.value("usage").is_some() {
                edits.members(&chunk.top, &[], &[("usage", "null".to_owned())]);
            }
        } else {
            shown |= edits.is_empty();
        }
        if shown {
            write(frame, edits, out);
        }
    }

    /// Writes the finish chunk, with its delta if that has not been shown yet.
    pub(super) fn finish(
        &mut self,
        frame: &Frame,
        chunk: &Chunk<'_>,
        calls: Option<Calls<'_, '_>>,
        terminal: &Terminal,
        out: &mut Vec<u8>,
    ) {
        let mut edits = Edits::new(chunk.doc);
        let Some(choice) = &chunk.choice else { return };
        let mut set = Vec::new();
        match calls {
            Some(calls) => {
                self.edit_delta(chunk, calls, &mut edits, out);
            }
            None => set.push(("delta", "{}".to_owned())),
        }
        set.extend(terminal.finish.map(|finish| ("finish_reason", json::quote(finish))));
        edits.members(choice, &[], &set);
        let mut set = Vec::new();
        // `null` where a chunk of its own has it.
        if chunk.top.value("usage").is_some_and(|usage| usage != "null") {
            set.extend(terminal.usage.as_ref().map(|usage| ("usage", usage.to_string())));
        }
        set.extend(terminal.omni.as_ref().map(|omni| ("omni", omni.to_string())));
        if self.earlier > 0 {
            set.extend(self.head(chunk));
        }
        edits.members(&chunk.top, &[], &set);
        write(frame, edits, out);
    }

    /// Writes a finish chunk where the upstream sent none.
    pub(super) fn make_finish(&mut self, terminal: &Terminal, out: &mut Vec<u8>) {
        let finish = if self.visible_calls > 0 { "tool_calls" } else { "stop" };
        let choices = json!([{"index": 0, "delta": {}, "finish_reason": finish}]);
        let omni = terminal.omni.as_ref().map(|omni| ("omni", omni.to_string()));
        self.write_made([("choices", choices.to_string())].into_iter().chain(omni), out);
    }

    /// Writes the usage chunk, with sums if there are any.
    pub(super) fn usage(
        &self,
        frame: Option<&Frame>,
        sums: Option<&Value>,
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        match (frame, sums) {
            (Some(frame), None) => frame.write(out),
            (Some(frame), Some(sums)) => {
                let chunk = Chunk::read(frame.data.as_deref().unwrap_or_default())?;
                let mut edits = Edits::new(chunk.doc);
                let mut set = self.head(&chunk);
                set.push(("usage", sums.to_string()));
                edits.members(&chunk.top, &[], &set);
                write(frame, edits, out);
            }
            (None, Some(sums)) => {
                let members = [("choices", "[]".to_owned()), ("usage", sums.to_string())];
                self.write_made(members.into_iter(), out);
            }
            (None, None) => {}
        }
        Ok(())
    }

    /// Edits choice 0's delta; says whether something is left that the client has to see.
    fn edit_delta(
        &mut self,
        chunk: &Chunk<'_>,
        (places, calls): Calls<'_, '_>,
        edits: &mut Edits<'_>,
        out: &mut Vec<u8>,
    ) -> bool {
        let Some(delta) = &chunk.delta else { return false };
        let mut removed = Vec::new();
        let mut shown = chunk.says_something();
        if delta.value("role").is_some() {
            if self.role_sent {
                removed.push("role");
            } else {
                self.role_sent = true;
                shown = true;
            }
        }
        if let Some(list) = delta.children("tool_calls") {
            if self.edit_calls(&list, places, calls, edits) {
                shown = true;
            } else {
                removed.push("tool_calls");
            }
        }
        edits.members(delta, &removed, &[]);
        if delta.value("content").is_some_and(|content| content != "\"\"") {
            if self.text_before && !self.text_now {
                let choices = json!([{"index": 0, "delta": {"content": "\n\n"}, "finish_reason": null}]);
                self.write_made(std::iter::once(("choices", choices.to_string())), out);
            }
            self.text_now = true;
        }
        shown
    }

    /// Takes our calls out and numbers the client's; says whether any is left.
    fn edit_calls(
        &mut self,
        list: &Container<'_>,
        places: &[usize],
        calls: &mut [Draft],
        edits: &mut Edits<'_>,
    ) -> bool {
        let mut gone = vec![false; list.items.len()];
        for ((item, place), gone) in list.items.iter().zip(places).zip(&mut gone) {
            let Some(draft) = calls.get_mut(*place) else { continue };
            if draft.owned || draft.merge == Merge::Done {
                *gone = true;
                continue;
            }
            let number = *draft.number.get_or_insert_with(|| {
                self.visible_calls += 1;
                self.visible_calls - 1
            });
            if draft.merge == Merge::Wanted {
                draft.merge = Merge::Done;
                let mut whole = draft.whole();
                whole.insert("index".to_owned(), number.into());
                edits.replace(item, Value::Object(whole).to_string());
            } else if let Some(element) = list.element(item)
                && element.value("index").and_then(|index| index.parse().ok()) != Some(number)
            {
                edits.members(&element, &[], &[("index", number.to_string())]);
            }
        }
        if gone.iter().all(|gone| *gone) && !gone.is_empty() {
            return false;
        }
        edits.elements(list, &|i| gone.get(i) == Some(&true), &[]);
        true
    }

    fn head(&self, chunk: &Chunk<'_>) -> Vec<(&'static str, String)> {
        let differs = |(key, value): &&(&'static str, String)| {
            chunk.top.get(key).is_some_and(|item| item.value != value.as_str())
        };
        self.head.iter().filter(differs).cloned().collect()
    }

    fn edit_head(&self, chunk: &Chunk<'_>, edits: &mut Edits<'_>) {
        edits.members(&chunk.top, &[], &self.head(chunk));
    }

    fn write_made(&self, members: impl Iterator<Item = (&'static str, String)>, out: &mut Vec<u8>) {
        let all = self.head.iter().cloned().chain(members);
        let all: Vec<_> = all.map(|(key, value)| format!("\"{key}\":{value}")).collect();
        sse::write(None, &format!("{{{}}}", all.join(",")), out);
    }
}

fn write(frame: &Frame, edits: Edits<'_>, out: &mut Vec<u8>) {
    if edits.is_empty() {
        frame.write(out);
    } else {
        frame.write_data(&edits.apply(), out);
    }
}

/// A client's call whose first delta does not say who it is goes out as one delta.
pub(super) fn begin_merging(calls: &mut [Draft]) {
    for draft in calls.iter_mut().filter(|draft| draft.number.is_none() && !draft.is_regular()) {
        draft.merge = Merge::Wanted;
    }
}

/// From here on deltas go out as they come.
pub(super) fn end_merging(calls: &mut [Draft]) {
    for draft in calls {
        draft.merge = Merge::No;
    }
}
