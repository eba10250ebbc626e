//! A plain message: the last round's body, changed only where the turn had rounds or calls of ours.

use super::block::Block;
use super::{finish_of, message_of, usage};
use crate::answer::{Answer, Ending, Fault, Owned, Round};
use crate::json;
use crate::plain_body::PlainBody;
use crate::request::WireError;
use crate::splice::{Container, Edits};
use crate::usage::Totals;

pub(super) struct Plain {
    owned: Owned,
    body: PlainBody,
    rounds: usize,
    any_owned: bool,
    /// What the client sees of the rounds before the last.
    earlier: Vec<String>,
    blocks: Vec<Block>,
    last: String,
    totals: Totals,
}

impl Plain {
    pub(super) fn new(owned: Owned) -> Self {
        Self {
            owned,
            body: PlainBody::default(),
            rounds: 0,
            any_owned: false,
            earlier: Vec::new(),
            blocks: Vec::new(),
            last: String::new(),
            totals: Totals::default(),
        }
    }

    fn edit(&self, ending: &Ending) -> Option<String> {
        let top = Container::object(&self.last, &self.last).ok()?;
        let content = top.children("content");
        let last = content.iter().flat_map(|content| content.items.iter().map(|item| item.value));
        let shown = last.zip(&self.blocks).filter(|(_, block)| !block.is_owned()).map(|(text, _)| text);
        let blocks: Vec<&str> = self.earlier.iter().map(String::as_str).chain(shown).collect();
        let mut set = vec![("content", format!("[{}]", blocks.join(",")))];
        let called = self.blocks.iter().any(|block| block.call.as_ref().is_some_and(|call| !call.owned));
        if !called && top.value("stop_reason").and_then(json::string).as_deref() == Some("tool_use") {
            set.push(("stop_reason", "\"end_turn\"".to_owned()));
        }
        if self.rounds > 1
            && let Some(usage) = usage(&self.totals, ending.input_usage_of_last_round)
        {
            set.push(("usage", serde_json::Value::Object(usage).to_string()));
        }
        let mut edits = Edits::new(&self.last);
        edits.members(&top, &[], &set);
        Some(edits.apply())
    }
}

impl Answer for Plain {
    fn feed(&mut self, bytes: &[u8], _out: &mut Vec<u8>) -> Result<(), Fault> {
        self.body.push(bytes)
    }

    fn end_round(&mut self, _out: &mut Vec<u8>) -> Result<Round, Fault> {
        let shown = std::mem::take(&mut self.blocks).into_iter().filter(|block| !block.is_owned());
        self.earlier.extend(shown.map(|block| block.text));
        self.rounds += 1;
        self.last = self.body.take()?;
        let unreadable = |error: serde_json::Error| Fault::Unreadable(error.to_string());
        let top = Container::object(&self.last, &self.last).map_err(unreadable)?;
        let content = top.children("content");
        if content.is_none() {
            if top.value("error").is_some() {
                return Err(Fault::Upstream(json::event(self.last.as_bytes())));
            }
            if top.value("content").is_some() || top.value("role").is_none() {
                return Err(Fault::Unreadable("`content` is not an array".to_owned()));
            }
        }
        self.totals.add(top.value("usage").map(json::value).transpose().map_err(unreadable)?.as_ref());
        let blocks = content.iter().flat_map(|content| &content.items);
        self.blocks = blocks.map(|item| Block::read(item.value, &self.owned)).collect();
        self.any_owned |= self.blocks.iter().any(Block::is_owned);
        let reason = top.value("stop_reason").and_then(json::string);
        Ok(Round {
            calls: self.blocks.iter().filter_map(|block| block.call.clone()).collect(),
            finish: finish_of(reason.as_deref()),
            message: message_of(self.blocks.iter().map(|block| block.text.as_str())),
        })
    }

    fn finish(&mut self, ending: &Ending, out: &mut Vec<u8>) -> Result<(), Fault> {
        let edited = if self.rounds > 1 || self.any_owned { self.edit(ending) } else { None };
        out.extend_from_slice(edited.as_ref().unwrap_or(&self.last).as_bytes());
        Ok(())
    }

    fn keep_alive(&mut self, _out: &mut Vec<u8>) {}

    fn fail(&mut self, _error: &WireError, _out: &mut Vec<u8>) {}
}
