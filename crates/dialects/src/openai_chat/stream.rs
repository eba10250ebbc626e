//! A streamed chat completion: one stream to the client out of the upstream's rounds.
//!
//! Frames that need no change pass byte for byte, at once. A frame waits only while it is open whose a call in it
//! is, and from the frame with the finish reason on until the turn ends.

use serde_json::Value;

use super::assemble::Assembly;
use super::chunk::Chunk;
use super::writer::{self, Terminal, Writer};
use super::{error_json, finish_of, usage};
use crate::answer::{self, Answer, Ending, Fault, Finish, Owned, Round, Shown, Tokens};
use crate::json;
use crate::limits::{EVENT_BYTES, HELD_BYTES};
use crate::request::WireError;
use crate::sse::{self, Frame, Framer, TooLarge};
use crate::usage::Totals;

/// A frame that waits, with the call of each of its `tool_calls` elements.
struct Held {
    frame: Frame,
    places: Vec<usize>,
}

/// What one round has shown so far.
struct Now {
    framer: Framer,
    assembly: Assembly,
    queue: Vec<Held>,
    queued_bytes: usize,
    finish: Option<String>,
    done: Option<Frame>,
    usage: Option<Value>,
    usage_frame: Option<Frame>,
    ended: bool,
}

impl Now {
    fn new(owned: Owned) -> Self {
        Self {
            framer: Framer::new(EVENT_BYTES),
            assembly: Assembly::new(owned),
            queue: Vec::new(),
            queued_bytes: 0,
            finish: None,
            done: None,
            usage: None,
            usage_frame: None,
            ended: false,
        }
    }
}

pub(super) struct Stream {
    owned: Owned,
    include_usage: bool,
    now: Now,
    writer: Writer,
    totals: Totals,
    any_owned: bool,
    shown: Shown,
    /// The finish frame whose other content has been shown.
    bare: Option<Frame>,
}

impl From<TooLarge> for Fault {
    fn from(_: TooLarge) -> Self {
        Fault::TooLarge
    }
}

impl Stream {
    pub(super) fn new(owned: Owned, include_usage: bool) -> Self {
        Self {
            now: Now::new(owned.clone()),
            owned,
            include_usage,
            writer: Writer::default(),
            totals: Totals::default(),
            any_owned: false,
            shown: Shown::default(),
            bare: None,
        }
    }

    /// The next round begins with its first bytes, or with an empty body.
    fn begin_round(&mut self, out: &mut Vec<u8>) -> Result<(), Fault> {
        if self.now.ended {
            self.flush(out)?;
            self.bare = None;
            self.now = Now::new(self.owned.clone());
            self.writer.begin_round();
        }
        Ok(())
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
        if self.now.done.is_some() {
            return Ok(());
        }
        if data.trim_ascii() == b"[DONE]" {
            self.now.done = Some(frame);
            return Ok(());
        }
        if frame.event.as_deref() == Some(b"error") {
            return Err(Fault::Upstream(json::event(&data)));
        }
        let chunk = Chunk::read(&data)?;
        if chunk.is_error() {
            return Err(Fault::Upstream(json::event(&data)));
        }
        if let Some(usage) = chunk.usage() {
            self.now.usage = Some(usage?);
            if chunk.is_usage_only() {
                self.now.usage_frame = Some(frame);
                return Ok(());
            }
        }
        self.writer.learn(&chunk);
        let delta = chunk.delta()?;
        let places = self.now.assembly.take(delta, chunk.delta_len())?;
        if self.now.finish.is_none()
            && let Some(finish) = chunk.finish()
        {
            self.now.finish = Some(finish);
            self.now.assembly.settle();
        }
        if self.now.finish.is_none() && self.now.queue.is_empty() && !self.now.assembly.is_undecided() {
            self.writer.pass(&frame, &chunk, &places, &mut self.now.assembly.calls, out);
            return Ok(());
        }
        self.now.queued_bytes += frame.raw.len();
        if self.now.queued_bytes > HELD_BYTES {
            return Err(Fault::TooLarge);
        }
        self.now.queue.push(Held { frame, places });
        if self.now.finish.is_none() && !self.now.assembly.is_undecided() {
            self.flush(out)?;
        }
        Ok(())
    }

    /// Shows what waits, but no finish.
    fn flush(&mut self, out: &mut Vec<u8>) -> Result<(), Fault> {
        let calls = &mut self.now.assembly.calls;
        writer::begin_merging(calls);
        for held in std::mem::take(&mut self.now.queue) {
            let chunk = Chunk::read(held.frame.data.as_deref().unwrap_or_default())?;
            self.writer.pass(&held.frame, &chunk, &held.places, calls, out);
            if self.bare.is_none() && chunk.finish().is_some() {
                self.bare = Some(held.frame);
            }
        }
        self.now.queued_bytes = 0;
        writer::end_merging(calls);
        Ok(())
    }

    fn terminal(&self, ending: &Ending) -> Terminal {
        let changed = self.any_owned || self.writer.rounds() > 1;
        let shown = self.writer.visible_calls() > 0;
        let waiting = self.now.assembly.calls.iter().any(|draft| !draft.owned);
        let no_call_left = changed && !shown && !waiting && self.now.finish.as_deref() == Some("tool_calls");
        let summed = self.writer.rounds() > 1;
        Terminal {
            finish: no_call_left.then_some("stop"),
            usage: if summed { usage(&self.totals, ending.input_usage_of_last_round) } else { None },
            omni: ending.omni.clone(),
        }
    }
}

impl Answer for Stream {
    fn feed(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
        self.begin_round(out)?;
        self.now.framer.push(bytes);
        self.frames(out)
    }

    fn end_round(&mut self, out: &mut Vec<u8>) -> Result<Round, Fault> {
        self.begin_round(out)?;
        if let Some(rest) = self.now.framer.finish()? {
            let cut = !rest.complete;
            self.frame(rest, out).map_err(|fault| match fault {
                Fault::Unreadable(_) if cut => Fault::Truncated,
                fault => fault,
            })?;
        }
        if self.now.finish.is_none() && self.now.done.is_none() {
            return Err(Fault::Truncated);
        }
        self.now.ended = true;
        self.now.assembly.settle();
        self.totals.add(self.now.usage.as_ref());
        let calls = self.now.assembly.calls();
        if calls.iter().any(|call| call.owned) {
            self.any_owned = true;
            self.flush(out)?;
        }
        self.now.assembly.add_text(&mut self.shown.text);
        self.shown.call_ids = answer::client_ids(&calls);
        let refused = self.now.assembly.is_refusal();
        let finish = if refused { Finish::Cut } else { finish_of(self.now.finish.as_deref()) };
        Ok(Round { calls, finish, message: self.now.assembly.message().to_string().into() })
    }

    fn finish(&mut self, ending: &Ending, out: &mut Vec<u8>) -> Result<(), Fault> {
        let mut terminal = Some(self.terminal(ending));
        let held = std::mem::take(&mut self.now.queue);
        let calls = &mut self.now.assembly.calls;
        writer::begin_merging(calls);
        for Held { frame, places } in held {
            let chunk = Chunk::read(frame.data.as_deref().unwrap_or_default())?;
            match chunk.finish().and_then(|_| terminal.take()) {
                Some(terminal) => self.writer.finish(&frame, &chunk, Some((&places, calls)), &terminal, out),
                None => self.writer.pass(&frame, &chunk, &places, calls, out),
            }
        }
        if let Some(terminal) = terminal {
            match self.bare.take() {
                Some(frame) => {
                    let chunk = Chunk::read(frame.data.as_deref().unwrap_or_default())?;
                    self.writer.finish(&frame, &chunk, None, &terminal, out);
                }
                None => self.writer.make_finish(&terminal, out),
            }
        }
        if self.include_usage {
            let summed = if self.writer.rounds() > 1 {
                usage(&self.totals, ending.input_usage_of_last_round)
            } else {
                None
            };
            self.writer.usage(self.now.usage_frame.as_ref(), summed.as_ref(), out)?;
        }
        match self.now.done.take() {
            Some(done) => done.write(out),
            None => sse::write(None, "[DONE]", out),
        }
        Ok(())
    }

    fn tokens(&self) -> Tokens {
        super::tokens(&self.totals)
    }

    fn shown(&self) -> Shown {
        Shown { id: self.writer.id(), ..self.shown.clone() }
    }

    fn keep_alive(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(b": keep-alive\n\n");
    }

    fn fail(&mut self, error: &WireError, out: &mut Vec<u8>) {
        sse::write(None, &error_json(error).to_string(), out);
    }
}
