//! A streamed response: one lifecycle to the client out of the upstream's rounds.
//!
//! Events that need no change pass byte for byte, at once. Items are numbered as the client sees them; calls of
//! ours have no number. The event that ends a round waits until the turn ends.

use bytes::Bytes;
use serde_json::json;

use super::error_json;
use super::item::{self, Item};
use super::response::{self, Echo, End, Last, Opening, Rounds};
use crate::answer::{Answer, Ending, Fault, Round, Shown, Tokens};
use crate::json;
use crate::limits::{BODY_BYTES, EVENT_BYTES, PARTS};
use crate::request::WireError;
use crate::splice::{Container, Edits};
use crate::sse::{self, Frame, Framer};
use crate::usage::Totals;

const ADDED: &str = "response.output_item.added";
const DONE: &str = "response.output_item.done";

/// An item on its way.
struct Draft {
    /// The upstream's number.
    index: usize,
    /// The client's number; none for a call of ours.
    shown: Option<usize>,
    /// The item as it began.
    start: String,
    item: Option<Item>,
}

/// One round.
struct Now {
    framer: Framer,
    drafts: Vec<Draft>,
    bytes: usize,
    /// The event that ends it.
    terminal: Option<Frame>,
    done: Option<Frame>,
    ended: bool,
}

impl Now {
    fn new() -> Self {
        Self {
            framer: Framer::new(EVENT_BYTES),
            drafts: Vec::new(),
            bytes: 0,
            terminal: None,
            done: None,
            ended: false,
        }
    }
}

pub(super) struct Stream {
    echo: Echo,
    strip: bool,
    now: Now,
    /// Rounds before this one.
    earlier: usize,
    opening: Option<Opening>,
    /// Number of the next event, once an event had one.
    sequence: Option<u64>,
    /// The client's items, by number; empty until the item is done.
    output: Vec<String>,
    /// Whether the client sees less than the upstream wrote.
    hides: bool,
    totals: Totals,
    said: Rounds,
    differs: Option<String>,
}

impl Stream {
    pub(super) fn new(echo: Echo, strip: bool) -> Self {
        Self {
            echo,
            strip,
            now: Now::new(),
            earlier: 0,
            opening: None,
            sequence: None,
            output: Vec::new(),
            hides: false,
            totals: Totals::default(),
            said: Rounds::default(),
            differs: None,
        }
    }

    /// The next round begins with its first bytes, or with an empty body.
    fn begin_round(&mut self) {
        if self.now.ended {
            self.earlier += 1;
            self.now = Now::new();
        }
    }

    fn frames(&mut self, out: &mut Vec<u8>) -> Result<(), Fault> {
        while let Some(frame) = self.now.framer.next()? {
            self.frame(frame, out)?;
        }
        Ok(())
    }

    fn frame(&mut self, frame: Frame, out: &mut Vec<u8>) -> Result<(), Fault> {
        let Some(data) = frame.data.clone().filter(|data| !data.trim_ascii().is_empty()) else {
            frame.write(out);
            return Ok(());
        };
        if data.trim_ascii() == b"[DONE]" {
            self.now.done = Some(frame);
            return Ok(());
        }
        if frame.event.as_deref() == Some(b"error") {
            return Err(Fault::Upstream(json::event(&data)));
        }
        let top = read(&data)?;
        match item::word(&top, "type").unwrap_or_default().as_str() {
            "error" | "response.failed" => return Err(Fault::Upstream(json::event(&data))),
            _ if self.now.terminal.is_some() => {}
            "response.completed" | "response.incomplete" => self.now.terminal = Some(frame),
            "response.created" | "response.queued" | "response.in_progress" => {
                if self.earlier == 0 {
                    self.lifecycle(&frame, &top, out);
                }
            }
            ADDED => self.item_added(&frame, &top, out)?,
            DONE => self.item_done(&frame, &top, out)?,
            _ if top.value("output_index").is_some() => {
                let index = number(&top)?;
                let draft = self.now.drafts.iter().rev().find(|draft| draft.index == index);
                let draft =
                    draft.ok_or_else(|| Fault::Unreadable("an event of an unknown item".to_owned()))?;
                if let Some(shown) = draft.shown {
                    self.pass(&frame, &top, Some((index, shown)), Edits::new(top.doc()), out);
                }
            }
            _ => self.pass(&frame, &top, None, Edits::new(top.doc()), out),
        }
        Ok(())
    }

    /// The start of the answer; what we asked otherwise is not the client's to see.
    fn lifecycle(&mut self, frame: &Frame, top: &Container<'_>, out: &mut Vec<u8>) {
        let mut edits = Edits::new(top.doc());
        if let Some(response) = top.child("response") {
            self.echo.mend(&response, &mut edits);
        }
        if self.opening.is_none() {
            self.opening = top.value("response").and_then(|text| Opening::new(text, &self.echo));
        }
        self.pass(frame, top, None, edits, out);
    }

    fn item_added(&mut self, frame: &Frame, top: &Container<'_>, out: &mut Vec<u8>) -> Result<(), Fault> {
        let index = number(top)?;
        let start = top.value("item").unwrap_or("{}");
        let shown = self.begin(index, start)?;
        self.item_event(frame, top, shown.map(|shown| (index, shown)), out);
        Ok(())
    }

    /// Begins an item; says its number for the client.
    fn begin(&mut self, index: usize, start: &str) -> Result<Option<usize>, Fault> {
        // A call that does not yet say its name is shown when it does, if it is not ours.
        let is_ours = Container::object(start, start).is_ok_and(|item| {
            let is_nameless = item::word(&item, "name").unwrap_or_default().is_empty();
            item::is_ours(&item, &self.echo.owned) || (item::kind(&item) == "function_call" && is_nameless)
        });
        self.hides |= is_ours;
        let shown = (!is_ours).then(|| self.next_number());
        self.now.drafts.push(Draft { index, shown, start: start.to_owned(), item: None });
        self.grow(start.len())?;
        Ok(shown)
    }

    fn next_number(&mut self) -> usize {
        self.output.push(String::new());
        self.output.len() - 1
    }

    fn item_done(&mut self, frame: &Frame, top: &Container<'_>, out: &mut Vec<u8>) -> Result<(), Fault> {
        let index = number(top)?;
        let text = top.value("item").unwrap_or("{}");
        if !self.now.drafts.iter().any(|draft| draft.index == index) {
            self.begin(index, text)?;
        }
        let shown = self.end(index, text, out)?;
        self.item_event(frame, top, shown.map(|shown| (index, shown)), out);
        Ok(())
    }

    /// Ends an item with its whole text. A call that turns out not to be ours begins only now.
    fn end(&mut self, index: usize, text: &str, out: &mut Vec<u8>) -> Result<Option<usize>, Fault> {
        self.grow(text.len())?;
        let item = Item::read(text, &self.echo.owned);
        let begun = self.now.drafts.iter().rev().find(|draft| draft.index == index);
        let mut number = begun.and_then(|draft| draft.shown);
        let seen = item::shown(text, self.strip);
        self.hides |= seen != text;
        if number.is_none() && !item.is_owned() {
            number = Some(self.next_number());
            self.emit(ADDED, number.unwrap_or_default(), &seen, out);
        }
        if let Some(slot) = number.and_then(|number| self.output.get_mut(number)) {
            *slot = seen;
        }
        if let Some(draft) = self.now.drafts.iter_mut().rev().find(|draft| draft.index == index) {
            (draft.shown, draft.item) = (number, Some(item));
        }
        Ok(number)
    }

    fn grow(&mut self, bytes: usize) -> Result<(), Fault> {
        self.now.bytes += bytes;
        let fits = self.now.bytes <= BODY_BYTES && self.now.drafts.len() <= PARTS;
        if fits { Ok(()) } else { Err(Fault::TooLarge) }
    }

    fn item_event(
        &mut self,
        frame: &Frame,
        top: &Container<'_>,
        place: Option<(usize, usize)>,
        out: &mut Vec<u8>,
    ) {
        if place.is_none() {
            return;
        }
        let mut edits = Edits::new(top.doc());
        if let Some(item) = top.child("item") {
            item::hide_encrypted(&item, self.strip, &mut edits);
        }
        self.pass(frame, top, place, edits, out);
    }

    /// Passes an event under the client's numbers; `place` are an item's numbers there and here.
    fn pass(
        &mut self,
        frame: &Frame,
        top: &Container<'_>,
        place: Option<(usize, usize)>,
        mut edits: Edits<'_>,
        out: &mut Vec<u8>,
    ) {
        let mut set = Vec::new();
        set.extend(self.renumbered(top));
        set.extend(
            place.filter(|(there, here)| there != here).map(|(_, here)| ("output_index", here.to_string())),
        );
        edits.members(top, &[], &set);
        if edits.is_empty() {
            frame.write(out);
        } else {
            frame.write_data(&edits.apply(), out);
        }
    }

    /// Counts an event; says its number where the upstream's is another.
    fn renumbered(&mut self, top: &Container<'_>) -> Option<(&'static str, String)> {
        let said: u64 = top.value("sequence_number")?.parse().ok()?;
        let number = self.sequence.unwrap_or(said);
        self.sequence = Some(number.saturating_add(1));
        (number != said).then(|| ("sequence_number", number.to_string()))
    }

    /// The number of an event that the gateway makes, as a member.
    fn numbered(&mut self) -> String {
        let Some(number) = self.sequence else { return String::new() };
        self.sequence = Some(number.saturating_add(1));
        format!(",\"sequence_number\":{number}")
    }

    fn emit(&mut self, kind: &str, number: usize, item: &str, out: &mut Vec<u8>) {
        let sequence = self.numbered();
        let data = format!("{{\"type\":\"{kind}\"{sequence},\"output_index\":{number},\"item\":{item}}}");
        sse::write(Some(kind.as_bytes()), &data, out);
    }

    /// Ends what the upstream left open, from the list in the event that ended the round.
    fn complete(&mut self, response: &Container<'_>, out: &mut Vec<u8>) -> Result<(), Fault> {
        let listed = response.children("output").map(|list| list.items).unwrap_or_default();
        if self.now.drafts.is_empty() {
            for (index, item) in listed.iter().enumerate() {
                if let Some(number) = self.begin(index, item.value)? {
                    self.emit(ADDED, number, &item::shown(item.value, self.strip), out);
                }
            }
        }
        let open = self.now.drafts.iter().filter(|draft| draft.item.is_none());
        let open: Vec<(usize, String)> = open.map(|draft| (draft.index, draft.start.clone())).collect();
        for (index, start) in open {
            let id = id(&start);
            let whole = listed
                .iter()
                .find(|item| self::id(item.value) == id)
                .map_or(start.as_str(), |item| item.value);
            if let Some(number) = self.end(index, whole, out)? {
                self.emit(DONE, number, &item::shown(whole, self.strip), out);
            }
        }
        Ok(())
    }

    /// The client's items that are done.
    fn done_items(&self) -> impl Iterator<Item = &str> {
        self.output.iter().map(String::as_str).filter(|text| !text.is_empty())
    }
}

impl Answer for Stream {
    fn feed(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
        self.begin_round();
        self.now.framer.push(bytes);
        self.frames(out)
    }

    fn end_round(&mut self, out: &mut Vec<u8>) -> Result<Round, Fault> {
        self.begin_round();
        if let Some(rest) = self.now.framer.finish()? {
            let cut = !rest.complete;
            self.frame(rest, out).map_err(|fault| match fault {
                Fault::Unreadable(_) if cut => Fault::Truncated,
                fault => fault,
            })?;
        }
        let data = self.now.terminal.as_ref().and_then(|frame| frame.data.clone()).ok_or(Fault::Truncated)?;
        self.now.ended = true;
        let top = read(&data)?;
        let response = response_of(&top)?;
        let end = End::read(&response, top.doc())?;
        self.totals.add(end.usage.as_ref());
        self.complete(&response, out)?;
        self.now.drafts.sort_by_key(|draft| draft.index);
        let items: Vec<Item> = self.now.drafts.iter().filter_map(|draft| draft.item.clone()).collect();
        Ok(Round {
            calls: item::calls(&items),
            finish: end.finish_with(&items),
            message: self.said.message(end.id.as_deref(), &items),
        })
    }

    fn asks(&mut self, body: &Bytes) {
        self.said.asks(body);
    }

    fn finish(&mut self, ending: &Ending, out: &mut Vec<u8>) -> Result<(), Fault> {
        let frame = self.now.terminal.take().ok_or(Fault::Truncated)?;
        let data = frame.data.clone().unwrap_or_default();
        let top = read(&data)?;
        let response = response_of(&top)?;
        let several = self.earlier > 0;
        let output: Vec<&str> = self.done_items().collect();
        let last = Last {
            echo: &self.echo,
            output: (several || self.hides).then(|| output.join(",")),
            opening: self.opening.as_ref().filter(|_| several),
            keeps_identity: true,
            usage: if several { response::usage(&self.totals, ending) } else { None },
            omni: ending.omni.as_ref(),
        };
        let mut edits = Edits::new(top.doc());
        self.differs = last.edit(&response, &mut edits);
        self.pass(&frame, &top, None, edits, out);
        if let Some(done) = self.now.done.take() {
            done.write(out);
        }
        Ok(())
    }

    fn tokens(&self) -> Tokens {
        response::tokens(&self.totals)
    }

    fn shown(&self) -> Shown {
        let seen = item::seen(self.done_items(), self.opening.as_ref().and_then(Opening::id));
        Shown { differs: self.differs.clone(), ..seen }
    }

    fn keep_alive(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(b": keep-alive\n\n");
    }

    /// As the provider does it: an error, in the documented members and in the one that SDKs raise, and then the
    /// end of the response, which other clients wait for.
    fn fail(&mut self, error: &WireError, out: &mut Vec<u8>) {
        let number = self.sequence.unwrap_or(0);
        self.sequence = Some(number.saturating_add(1));
        let data = json!({
            "type": "error", "sequence_number": number, "code": error.code, "message": error.message,
            "param": null, "error": error_json(error),
        });
        sse::write(Some(b"error"), &data.to_string(), out);
        let code = if error.status == 429 { "rate_limit_exceeded" } else { "server_error" };
        let said = json!({"code": code, "message": error.message});
        let output: Vec<&str> = self.done_items().collect();
        let usage = response::usage(&self.totals, &Ending::default());
        let opening = self.opening.as_ref();
        let failed = opening.and_then(|opening| opening.failed(&said, &output.join(","), usage));
        if let Some(response) = failed {
            let sequence = self.numbered();
            let data = format!("{{\"type\":\"response.failed\"{sequence},\"response\":{response}}}");
            sse::write(Some(b"response.failed"), &data, out);
        }
    }
}

fn read(data: &[u8]) -> Result<Container<'_>, Fault> {
    let doc = std::str::from_utf8(data).map_err(|error| Fault::Unreadable(error.to_string()))?;
    Container::object(doc, doc).map_err(|error| Fault::Unreadable(error.to_string()))
}

fn response_of<'a>(top: &Container<'a>) -> Result<Container<'a>, Fault> {
    top.child("response").ok_or_else(|| Fault::Unreadable("`response` is not an object".to_owned()))
}

/// The upstream's number of an item.
fn number(top: &Container<'_>) -> Result<usize, Fault> {
    let index = top.value("output_index").and_then(|index| index.parse().ok());
    index.ok_or_else(|| Fault::Unreadable("an item's `output_index` is not a number".to_owned()))
}

/// What an item is known by within its response.
fn id(item: &str) -> Option<String> {
    let item = Container::object(item, item).ok()?;
    item::word(&item, "id").or_else(|| item::word(&item, "call_id"))
}
