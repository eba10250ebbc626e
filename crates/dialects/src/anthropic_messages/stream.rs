//! A streamed message: one stream to the client out of the upstream's rounds.
//!
//! Events that need no change pass byte for byte, at once. Blocks are numbered as the client sees them; calls of
//! ours have no number. `message_delta` and `message_stop` wait until the turn ends.

use serde_json::{Map, Value};

use super::block::{Block, Draft};
use super::{error_json, finish_of, message_of, usage};
use crate::answer::{self, Answer, Ending, Fault, Owned, Round, Shown, Tokens};
use crate::json;
use crate::limits::{BODY_BYTES, EVENT_BYTES, HELD_BYTES, PARTS};
use crate::request::WireError;
use crate::splice::{Container, Edits};
use crate::sse::{self, Frame, Framer};
use crate::usage::Totals;

/// One round.
struct Now {
    framer: Framer,
    /// The message's id, where the provider holds it.
    id: Option<String>,
    blocks: Vec<(usize, Draft)>,
    usage: Map<String, Value>,
    stop_reason: Option<String>,
    /// `message_delta` events.
    deltas: Vec<Frame>,
    stop: Option<Frame>,
    block_bytes: usize,
    hidden_bytes: usize,
    ended: bool,
}

impl Now {
    fn new() -> Self {
        Self {
            framer: Framer::new(EVENT_BYTES),
            id: None,
            blocks: Vec::new(),
            usage: Map::new(),
            stop_reason: None,
            deltas: Vec::new(),
            stop: None,
            block_bytes: 0,
            hidden_bytes: 0,
            ended: false,
        }
    }
}

pub(super) struct Stream {
    owned: Owned,
    /// Whether the provider holds the conversation.
    is_held: bool,
    now: Now,
    /// Rounds before this one.
    earlier: usize,
    started: bool,
    any_owned: bool,
    client_calls: usize,
    next_block: usize,
    shown: Shown,
    totals: Totals,
}

impl Stream {
    pub(super) fn new(owned: Owned, is_held: bool) -> Self {
        Self {
            owned,
            is_held,
            now: Now::new(),
            earlier: 0,
            started: false,
            any_owned: false,
            client_calls: 0,
            next_block: 0,
            shown: Shown::default(),
            totals: Totals::default(),
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
        if frame.event.as_deref() == Some(b"error") {
            return Err(Fault::Upstream(json::event(&data)));
        }
        let doc = std::str::from_utf8(&data).map_err(|error| Fault::Unreadable(error.to_string()))?;
        let top = read(doc)?;
        let kind = top.value("type").and_then(json::string).unwrap_or_default();
        match kind.as_str() {
            "error" => return Err(Fault::Upstream(json::event(&data))),
            "ping" => frame.write(out),
            _ if self.now.stop.is_some() => {}
            "message_start" => {
                let message = top.child("message");
                self.take_usage(message.as_ref().and_then(|message| message.value("usage")))?;
                let id = message.and_then(|message| json::string(message.value("id")?));
                self.now.id = id.clone().filter(|_| self.is_held);
                if !self.started {
                    self.started = true;
                    self.shown.id = id;
                    frame.write(out);
                }
            }
            "content_block_start" => {
                let block = top.value("content_block").unwrap_or("{}");
                self.begin_block(number(&top)?, block);
                self.check_size()?;
                self.block_event(&frame, &top, out)?;
            }
            "content_block_delta" => {
                self.take_delta(&top)?;
                self.block_event(&frame, &top, out)?;
            }
            "content_block_stop" => {
                self.block_event(&frame, &top, out)?;
                let index = number(&top)?;
                if let Some(draft) = self.draft(index) {
                    draft.open = false;
                }
            }
            "message_delta" => {
                self.take_usage(top.value("usage"))?;
                let delta = top.child("delta");
                let reason = delta.and_then(|delta| json::string(delta.value("stop_reason")?));
                self.now.stop_reason = reason.or(self.now.stop_reason.take());
                self.now.hidden_bytes += frame.raw.len();
                self.now.deltas.push(frame);
                self.check_size()?;
            }
            "message_stop" => self.now.stop = Some(frame),
            _ if top.value("index").is_some() => self.block_event(&frame, &top, out)?,
            _ => frame.write(out),
        }
        Ok(())
    }

    fn draft(&mut self, index: usize) -> Option<&mut Draft> {
        self.now.blocks.iter_mut().rev().find(|(number, _)| *number == index).map(|(_, draft)| draft)
    }

    fn begin_block(&mut self, index: usize, start: &str) {
        let mut draft = Draft::new(start, &self.owned);
        if draft.owned {
            self.any_owned = true;
        } else {
            draft.number = Some(self.next_block);
            self.next_block += 1;
            self.client_calls += usize::from(draft.is_call());
        }
        self.now.block_bytes += start.len();
        self.now.blocks.push((index, draft));
    }

    fn take_delta(&mut self, top: &Container<'_>) -> Result<(), Fault> {
        let raw = top.value("delta").unwrap_or("{}");
        let delta = json::value(raw).map_err(|error| Fault::Unreadable(error.to_string()))?;
        let Some(draft) = self.draft(number(top)?) else {
            return Err(Fault::Unreadable("a delta of a block that has not begun".to_owned()));
        };
        if let Value::Object(delta) = delta {
            draft.take(delta);
        }
        let hidden = if draft.owned { raw.len() } else { 0 };
        self.now.block_bytes += raw.len();
        self.now.hidden_bytes += hidden;
        self.check_size()
    }

    fn check_size(&self) -> Result<(), Fault> {
        let bytes_fit = self.now.block_bytes <= BODY_BYTES && self.now.hidden_bytes <= HELD_BYTES;
        let fits = bytes_fit && self.now.blocks.len() <= PARTS;
        if fits { Ok(()) } else { Err(Fault::TooLarge) }
    }

    /// Passes an event of a block under the block's number for the client.
    fn block_event(&mut self, frame: &Frame, top: &Container<'_>, out: &mut Vec<u8>) -> Result<(), Fault> {
        let index = number(top)?;
        let Some(shown) = self.draft(index).and_then(|draft| draft.number) else { return Ok(()) };
        if shown == index {
            frame.write(out);
        } else {
            let mut edits = Edits::new(top.doc());
            edits.members(top, &[], &[("index", shown.to_string())]);
            frame.write_data(&edits.apply(), out);
        }
        Ok(())
    }

    /// Later numbers of a round replace earlier ones: they are cumulative.
    fn take_usage(&mut self, raw: Option<&str>) -> Result<(), Fault> {
        let Some(raw) = raw else { return Ok(()) };
        let usage = json::value(raw).map_err(|error| Fault::Unreadable(error.to_string()))?;
        if let Value::Object(usage) = usage {
            let said = usage.into_iter().filter(|(_, value)| value.is_number() || value.is_object());
            self.now.usage.extend(said);
        }
        Ok(())
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
        if self.now.stop.is_none() {
            return Err(Fault::Truncated);
        }
        self.now.ended = true;
        for draft in self.now.blocks.iter_mut().map(|(_, draft)| draft).filter(|draft| draft.open) {
            if let Some(number) = draft.number {
                let data = format!("{{\"type\":\"content_block_stop\",\"index\":{number}}}");
                sse::write(Some(b"content_block_stop"), &data, out);
            }
        }
        self.totals.add(Some(&Value::Object(self.now.usage.clone())));
        let blocks: Vec<_> = self.now.blocks.iter().map(|(_, draft)| draft.finish()).collect();
        self.shown.text.extend(blocks.iter().filter_map(Block::visible_text));
        let message = message_of(self.now.id.as_deref(), blocks.iter().map(|block| block.text.as_str()));
        let calls: Vec<_> = blocks.into_iter().filter_map(|block| block.call).collect();
        self.shown.call_ids = answer::client_ids(&calls);
        Ok(Round { finish: finish_of(self.now.stop_reason.as_deref()), message, calls })
    }

    fn finish(&mut self, ending: &Ending, out: &mut Vec<u8>) -> Result<(), Fault> {
        let changed = self.any_owned || self.earlier > 0;
        let mut deltas = std::mem::take(&mut self.now.deltas);
        let last = deltas.pop();
        if !changed {
            for frame in &deltas {
                frame.write(out);
            }
        }
        let frame = last.as_ref();
        let data =
            frame.and_then(|frame| frame.data.as_deref()).and_then(|data| std::str::from_utf8(data).ok());
        let doc = data.unwrap_or(NO_DELTA);
        let top = read(doc)?;
        let mut edits = Edits::new(doc);
        let mut set = Vec::new();
        if changed
            && self.client_calls == 0
            && let Some(delta) = top.child("delta")
            && delta.value("stop_reason").and_then(json::string).as_deref() == Some("tool_use")
        {
            edits.members(&delta, &[], &[("stop_reason", "\"end_turn\"".to_owned())]);
        }
        if self.earlier > 0
            && let Some(usage) = usage(&self.totals, ending.input_usage_of_last_round)
        {
            set.push(("usage", Value::Object(usage).to_string()));
        }
        set.extend(ending.omni.as_ref().map(|omni| ("omni", omni.to_string())));
        edits.members(&top, &[], &set);
        match frame {
            Some(frame) if edits.is_empty() => frame.write(out),
            Some(frame) => frame.write_data(&edits.apply(), out),
            None => sse::write(Some(b"message_delta"), &edits.apply(), out),
        }
        match self.now.stop.take() {
            Some(stop) => stop.write(out),
            None => sse::write(Some(b"message_stop"), "{\"type\":\"message_stop\"}", out),
        }
        Ok(())
    }

    fn tokens(&self) -> Tokens {
        super::tokens(&self.totals)
    }

    fn shown(&self) -> Shown {
        self.shown.clone()
    }

    fn keep_alive(&mut self, out: &mut Vec<u8>) {
        sse::write(Some(b"ping"), "{\"type\": \"ping\"}", out);
    }

    fn fail(&mut self, error: &WireError, out: &mut Vec<u8>) {
        sse::write(Some(b"error"), &error_json(error).to_string(), out);
    }
}

/// What ends a message whose upstream did not say how it ended.
const NO_DELTA: &str = r#"{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":0}}"#;

fn read(doc: &str) -> Result<Container<'_>, Fault> {
    Container::object(doc, doc).map_err(|error| Fault::Unreadable(error.to_string()))
}

/// The upstream's number of a block.
fn number(top: &Container<'_>) -> Result<usize, Fault> {
    let index = top.value("index").and_then(|index| index.parse().ok());
    index.ok_or_else(|| Fault::Unreadable("a block's `index` is not a number".to_owned()))
}
