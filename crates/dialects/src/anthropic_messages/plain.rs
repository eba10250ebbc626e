//! A plain message: the last round's body, changed only where the turn had rounds or calls of ours.

use std::collections::HashSet;

use domain::ToolResult;

use super::block::Block;
use super::{finish_of, message_of, usage};
use crate::answer::{self, Answer, Ending, Fault, Owned, Round, Shown, Tokens};
use crate::json;
use crate::plain_body::PlainBody;
use crate::request::WireError;
use crate::splice::{Container, Edits};
use crate::usage::Totals;

pub(super) struct Plain {
    owned: Owned,
    /// Whether the provider holds the conversation.
    is_held: bool,
    body: PlainBody,
    rounds: usize,
    any_owned: bool,
    /// What the client sees of the rounds before the last.
    earlier: Vec<String>,
    blocks: Vec<Block>,
    last: String,
    shown: Shown,
    /// Results of the last round that the client is shown.
    spliced: Vec<String>,
    /// Calls of ours that the client is shown.
    shown_calls: HashSet<String>,
    /// Whether our calls end the turn.
    ends_with_calls: bool,
    totals: Totals,
}

impl Plain {
    pub(super) fn new(owned: Owned, is_held: bool) -> Self {
        Self {
            owned,
            is_held,
            body: PlainBody::default(),
            rounds: 0,
            any_owned: false,
            earlier: Vec::new(),
            blocks: Vec::new(),
            last: String::new(),
            shown: Shown::default(),
            spliced: Vec::new(),
            shown_calls: HashSet::new(),
            ends_with_calls: false,
            totals: Totals::default(),
        }
    }

    fn edit(&self, ending: &Ending) -> Option<String> {
        let top = Container::object(&self.last, &self.last).ok()?;
        let content = top.children("content");
        let last = content.iter().flat_map(|content| content.items.iter().map(|item| item.value));
        let shown = last.zip(&self.blocks).filter(|(_, block)| !self.hides(block)).map(|(text, _)| text);
        let (earlier, spliced) = (self.earlier.iter(), self.spliced.iter());
        let blocks: Vec<&str> =
            earlier.map(String::as_str).chain(shown).chain(spliced.map(String::as_str)).collect();
        let mut set = vec![("content", format!("[{}]", blocks.join(",")))];
        let called = self.ends_with_calls
            || self.blocks.iter().any(|block| block.call.as_ref().is_some_and(|call| !call.owned));
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

    fn hides(&self, block: &Block) -> bool {
        block.call.as_ref().is_some_and(|call| call.owned && !self.shown_calls.contains(&call.call.id))
    }
}

impl Answer for Plain {
    fn feed(&mut self, bytes: &[u8], _out: &mut Vec<u8>) -> Result<(), Fault> {
        self.body.push(bytes)
    }

    fn end_round(&mut self, _out: &mut Vec<u8>) -> Result<Round, Fault> {
        let before = std::mem::take(&mut self.blocks);
        let shown: Vec<String> =
            before.into_iter().filter(|block| !self.hides(block)).map(|block| block.text).collect();
        self.earlier.extend(shown);
        self.earlier.append(&mut self.spliced);
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
        let calls: Vec<_> = self.blocks.iter().filter_map(|block| block.call.clone()).collect();
        self.shown.text.extend(self.blocks.iter().filter_map(Block::visible_text));
        self.shown.call_ids = answer::client_ids(&calls);
        self.shown.id = top.value("id").and_then(json::string);
        Ok(Round {
            calls,
            finish: finish_of(reason.as_deref()),
            message: message_of(
                self.shown.id.as_deref().filter(|_| self.is_held),
                self.blocks.iter().map(|block| block.text.as_str()),
            ),
        })
    }

    fn splice(&mut self, results: &[ToolResult], last: bool) -> bool {
        self.spliced.extend(results.iter().map(|result| super::result::tool_result(result).to_string()));
        self.shown_calls.extend(results.iter().map(|result| result.call_id.clone()));
        self.ends_with_calls = last;
        true
    }

    fn finish(&mut self, ending: &Ending, out: &mut Vec<u8>) -> Result<(), Fault> {
        let edited = if self.rounds > 1 || self.any_owned { self.edit(ending) } else { None };
        out.extend_from_slice(edited.as_ref().unwrap_or(&self.last).as_bytes());
        Ok(())
    }

    fn tokens(&self) -> Tokens {
        super::tokens(&self.totals)
    }

    fn shown(&self) -> Shown {
        self.shown.clone()
    }

    fn keep_alive(&mut self, _out: &mut Vec<u8>) {}

    fn fail(&mut self, _error: &WireError, _out: &mut Vec<u8>) {}
}
