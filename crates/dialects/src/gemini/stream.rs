//! A streamed answer: one stream to the client out of the upstream's rounds.
//!
//! Chunks that need no change pass byte for byte, at once. Calls of ours are left out. From the chunk with the
//! finish reason on everything waits until it is known whether the turn ends.

use bytes::Bytes;
use serde_json::{Map, Value};

use super::content::Content;
use super::error_json;
use super::ids::Ids;
use super::members::{both, item, spelled, value};
use super::part::{Part, Show};
use super::response::{Response, SILENT_PARTS, finish_of, forbids_calls, list_of};
use super::usage;
use super::wire::{Form, Pen, Piece, Reader};
use crate::answer::{Answer, Call, Ending, Fault, Owned, Round, Shown, Tokens};
use crate::limits::{BODY_BYTES, HELD_BYTES, PARTS};
use crate::request::WireError;
use crate::splice::Edits;
use crate::usage::Totals;

/// A chunk that waits, and what becomes of its parts.
struct Held {
    piece: Piece,
    shows: Vec<Show>,
}

/// One round.
struct Now {
    reader: Reader,
    content: Content,
    calls: Vec<Call>,
    finish: Option<String>,
    is_blocked: bool,
    usage: Map<String, Value>,
    held: Vec<Held>,
    held_bytes: usize,
    /// What closes the upstream's stream.
    tail: Bytes,
    ended: bool,
}

impl Now {
    fn new(form: Form) -> Self {
        Self {
            reader: Reader::new(form),
            content: Content::default(),
            calls: Vec::new(),
            finish: None,
            is_blocked: false,
            usage: Map::new(),
            held: Vec::new(),
            held_bytes: 0,
            tail: Bytes::new(),
            ended: false,
        }
    }

    /// Whether its end has been announced.
    fn is_over(&self) -> bool {
        self.finish.is_some() || self.is_blocked
    }
}

/// What a chunk is shown as.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// With all that it says.
    Whole,
    /// Without its end, since the turn goes on.
    Endless,
    /// With its end alone; its parts have been shown.
    EndOnly,
}

/// What is left of a chunk.
enum Edited {
    Nothing,
    AsItCame,
    New(String),
}

pub(super) struct Stream {
    owned: Owned,
    form: Form,
    now: Now,
    pen: Pen,
    /// Rounds before this one.
    earlier: usize,
    any_owned: bool,
    ids: Ids,
    /// Members that are the same in all chunks, as round 1 had them; `None` where it had none.
    head: Option<[(&'static str, Option<String>); 2]>,
    /// The chunk with the finish reason, whose parts have been shown.
    bare: Option<Held>,
    totals: Totals,
    shown: Shown,
}

impl Stream {
    pub(super) fn new(owned: Owned, form: Form) -> Self {
        Self {
            owned,
            form,
            now: Now::new(form),
            pen: Pen::new(form),
            earlier: 0,
            any_owned: false,
            ids: Ids::default(),
            head: None,
            bare: None,
            totals: Totals::default(),
            shown: Shown::default(),
        }
    }

    /// The next round begins with its first bytes, or with an empty body.
    fn begin_round(&mut self, out: &mut Vec<u8>) -> Result<(), Fault> {
        if self.now.ended {
            self.flush(out)?;
            self.bare = None;
            self.earlier += 1;
            self.now = Now::new(self.form);
        }
        Ok(())
    }

    fn pieces(&mut self, out: &mut Vec<u8>) -> Result<(), Fault> {
        while let Some(piece) = self.now.reader.next()? {
            self.piece(piece, out)?;
        }
        Ok(())
    }

    fn piece(&mut self, piece: Piece, out: &mut Vec<u8>) -> Result<(), Fault> {
        let Some(data) = piece.data() else { return Ok(()) };
        let response = Response::read(text_of(&data)?)?;
        self.learn(&response);
        self.now.usage.extend(response.usage()?);
        response.content.iter().for_each(|content| self.now.content.note_members(content));
        for part in response.parts().filter_map(|item| Part::read(item.value)) {
            self.now.content.push(&part);
        }
        let (shows, calls) = response.look(&self.owned, &mut self.ids);
        self.any_owned |= shows.iter().any(|show| matches!(show, Show::Hidden(_)));
        self.shown.text.push_str(&response.text());
        let theirs = calls.iter().filter(|call| !call.owned);
        self.shown.call_ids.extend(theirs.map(|call| call.call.id.clone()));
        self.now.calls.extend(calls);
        self.now.finish = self.now.finish.take().or_else(|| response.finish());
        self.now.is_blocked |= response.is_blocked();
        if self.now.is_over() {
            self.now.held_bytes += piece.len();
            self.now.held.push(Held { piece, shows });
        } else {
            let text = self.edited(&response, &shows, Way::Whole, None);
            self.write(&piece, &text, out);
        }
        let fits = self.now.content.bytes() <= BODY_BYTES
            && self.now.held_bytes <= HELD_BYTES
            && self.now.held.len().max(self.now.calls.len()) <= PARTS;
        if fits { Ok(()) } else { Err(Fault::TooLarge) }
    }

    /// Takes id and model from the first chunk.
    fn learn(&mut self, response: &Response<'_>) {
        let member = |name| (name, value(&response.top, name).map(str::to_owned));
        self.head.get_or_insert_with(|| [member("responseId"), member("modelVersion")]);
        if self.shown.id.is_none() && self.earlier == 0 {
            self.shown.id = response.id();
        }
    }

    /// A chunk as the client gets it.
    fn edited(&self, response: &Response<'_>, shows: &[Show], way: Way, last: Option<&Ending>) -> Edited {
        let mut edits = Edits::new(response.top.doc());
        let with_ids = self.any_owned || self.earlier > 0;
        let changes = |show: &Show| match show {
            Show::AsIs => false,
            Show::Hidden(_) => true,
            Show::Named(_) => with_ids,
        };
        let visible = response.visible(shows, with_ids);
        let was_emptied = visible.is_empty() && !shows.is_empty() && !response.says_more();
        match way {
            Way::Endless if visible.iter().all(|part| is_silent(part)) => return Edited::Nothing,
            Way::Whole if was_emptied && last.is_none() && response.finish().is_none() => {
                return Edited::Nothing;
            }
            _ => {}
        }
        let parts = match way {
            Way::EndOnly => Some(SILENT_PARTS.to_owned()),
            Way::Whole | Way::Endless => shows.iter().any(changes).then(|| list_of(&visible)),
        };
        if let (Some(content), Some(parts)) = (&response.content, parts) {
            edits.members(content, &[], &[("parts", parts)]);
        }
        if let (Way::Endless, Some(candidate)) = (way, &response.candidate) {
            let [camel, snake] = both("finishReason");
            edits.members(candidate, &[&camel, &snake, "finishMessage"], &[]);
        }
        self.edit_top(response, way, last, &mut edits);
        if edits.is_empty() { Edited::AsItCame } else { Edited::New(edits.apply()) }
    }

    /// Id and model are those of round 1; usage is reported at the end, over all rounds.
    fn edit_top(&self, response: &Response<'_>, way: Way, last: Option<&Ending>, edits: &mut Edits<'_>) {
        let top = &response.top;
        let mut removed: Vec<String> = Vec::new();
        let mut set: Vec<(String, String)> = Vec::new();
        if self.earlier > 0 {
            for (name, known) in self.head.iter().flatten() {
                match known {
                    Some(known) if item(top, name).is_none_or(|item| item.value != known) => {
                        set.push((spelled(top, name), known.clone()));
                    }
                    Some(_) => {}
                    None => removed.extend(both(name)),
                }
            }
        }
        let report = last.filter(|_| self.earlier > 0);
        let usage = report.and_then(|ending| usage::report(&self.totals, ending.input_usage_of_last_round));
        match usage {
            Some(usage) => set.push((spelled(top, "usageMetadata"), usage.to_string())),
            None if way == Way::Endless || (self.earlier > 0 && last.is_none()) => {
                removed.extend(both("usageMetadata"));
            }
            None => {}
        }
        set.extend(last.and_then(|ending| Some(("omni".to_owned(), ending.omni.as_ref()?.to_string()))));
        let removed: Vec<&str> = removed.iter().map(String::as_str).collect();
        let set: Vec<(&str, String)> = set.iter().map(|(name, text)| (name.as_str(), text.clone())).collect();
        edits.members(top, &removed, &set);
    }

    fn write(&mut self, piece: &Piece, edited: &Edited, out: &mut Vec<u8>) {
        match edited {
            Edited::Nothing => {}
            Edited::AsItCame => self.pen.write(piece, None, out),
            Edited::New(text) => self.pen.write(piece, Some(text), out),
        }
    }

    fn write_held(
        &mut self,
        held: &Held,
        way: Way,
        last: Option<&Ending>,
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        let data = held.piece.data().unwrap_or_default();
        let response = Response::read(text_of(&data)?)?;
        let text = self.edited(&response, &held.shows, way, last);
        self.write(&held.piece, &text, out);
        Ok(())
    }

    /// Shows what waits, but no end.
    fn flush(&mut self, out: &mut Vec<u8>) -> Result<(), Fault> {
        for held in std::mem::take(&mut self.now.held) {
            self.write_held(&held, Way::Endless, None, out)?;
            // The first is the one with the finish reason.
            self.bare.get_or_insert(held);
        }
        Ok(())
    }
}

impl Answer for Stream {
    fn feed(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
        self.begin_round(out)?;
        self.now.reader.push(bytes);
        self.pieces(out)
    }

    fn end_round(&mut self, out: &mut Vec<u8>) -> Result<Round, Fault> {
        self.begin_round(out)?;
        let (rest, tail) = self.now.reader.finish()?;
        self.now.tail = tail;
        if let Some(rest) = rest {
            let cut = !rest.is_complete();
            self.piece(rest, out).map_err(|fault| match fault {
                Fault::Unreadable(_) if cut => Fault::Truncated,
                fault => fault,
            })?;
        }
        if !self.now.is_over() {
            return Err(Fault::Truncated);
        }
        self.now.ended = true;
        usage::add(&mut self.totals, self.now.usage.clone());
        let mut calls = std::mem::take(&mut self.now.calls);
        let reason = self.now.finish.as_deref();
        let finish = finish_of(reason, self.now.is_blocked);
        if forbids_calls(reason) {
            calls.clear();
        }
        if calls.iter().any(|call| call.owned) {
            self.flush(out)?;
        }
        Ok(Round { calls, finish, message: self.now.content.write().into() })
    }

    fn finish(&mut self, ending: &Ending, out: &mut Vec<u8>) -> Result<(), Fault> {
        let mut held = std::mem::take(&mut self.now.held);
        let last = held.pop().map(|last| (last, Way::Whole));
        for held in &held {
            self.write_held(held, Way::Whole, None, out)?;
        }
        if let Some((last, way)) = last.or_else(|| self.bare.take().map(|bare| (bare, Way::EndOnly))) {
            self.write_held(&last, way, Some(ending), out)?;
        }
        let tail = std::mem::take(&mut self.now.tail);
        self.pen.close(&tail, out);
        Ok(())
    }

    fn tokens(&self) -> Tokens {
        usage::tokens(&self.totals)
    }

    fn shown(&self) -> Shown {
        self.shown.clone()
    }

    fn keep_alive(&mut self, out: &mut Vec<u8>) {
        self.pen.keep_alive(out);
    }

    fn fail(&mut self, error: &WireError, out: &mut Vec<u8>) {
        self.pen.make(&error_json(error).to_string(), out);
        self.pen.close(&Bytes::new(), out);
    }
}

/// Whether a part is an empty text and nothing more.
fn is_silent(part: &str) -> bool {
    Part::read(part).is_some_and(|part| part.bare_text().is_some_and(|(_, text)| text.is_empty()))
}

fn text_of(data: &[u8]) -> Result<&str, Fault> {
    std::str::from_utf8(data).map_err(|error| Fault::Unreadable(error.to_string()))
}
