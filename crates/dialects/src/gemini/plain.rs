//! A plain answer: the last round's body, changed only where the turn had rounds or calls of ours.

use domain::ToolResult;

use super::ids::Ids;
use super::part::Show;
use super::response::{Response, finish_of, forbids_calls, list_of, replay};
use super::{spliced, usage};
use crate::answer::{Answer, Ending, Fault, Owned, Round, Shown, Tokens};
use crate::plain_body::PlainBody;
use crate::request::WireError;
use crate::splice::{Container, Edits};
use crate::usage::Totals;

pub(super) struct Plain {
    owned: Owned,
    body: PlainBody,
    rounds: usize,
    any_owned: bool,
    ids: Ids,
    /// Visible parts of the rounds before the last.
    earlier: Vec<String>,
    last: String,
    /// What becomes of the last body's parts.
    shows: Vec<Show>,
    /// Results behind them that the client is shown.
    spliced: Vec<String>,
    totals: Totals,
    shown: Shown,
}

impl Plain {
    pub(super) fn new(owned: Owned) -> Self {
        Self {
            owned,
            body: PlainBody::default(),
            rounds: 0,
            any_owned: false,
            ids: Ids::default(),
            earlier: Vec::new(),
            last: String::new(),
            shows: Vec::new(),
            spliced: Vec::new(),
            totals: Totals::default(),
            shown: Shown::default(),
        }
    }

    /// What the client sees of the last round.
    fn visible(&self, last: &Response<'_>) -> Vec<String> {
        let mut parts = last.visible(&self.shows, true);
        parts.extend(self.spliced.iter().cloned());
        parts
    }

    fn edit(&self, ending: &Ending) -> Result<String, Fault> {
        let response = Response::read(&self.last)?;
        let mut edits = Edits::new(&self.last);
        let mut parts = self.earlier.clone();
        parts.extend(self.visible(&response));
        let parts = list_of(&parts);
        if let Some(content) = &response.content {
            edits.members(content, &[], &[("parts", parts)]);
        } else if let Some(candidate) = &response.candidate {
            let content = format!("{{\"parts\":{parts},\"role\":\"model\"}}");
            edits.members(candidate, &[], &[("content", content)]);
        }
        if self.rounds > 1
            && let Some(usage) = usage::report(&self.totals, ending.input_usage_of_last_round)
        {
            edits.members(&response.top, &[], &[("usageMetadata", usage.to_string())]);
        }
        Ok(edits.apply())
    }
}

impl Answer for Plain {
    fn feed(&mut self, bytes: &[u8], _out: &mut Vec<u8>) -> Result<(), Fault> {
        self.body.push(bytes)
    }

    fn end_round(&mut self, _out: &mut Vec<u8>) -> Result<Round, Fault> {
        if self.rounds > 0 {
            let before = self.visible(&Response::read(&self.last)?);
            self.earlier.extend(before);
            self.spliced.clear();
        }
        self.rounds += 1;
        self.last = self.body.take()?;
        let response = Response::read(&self.last)?;
        usage::add(&mut self.totals, response.usage()?);
        let (shows, mut calls) = response.look(&self.owned, &mut self.ids);
        self.any_owned |= shows.iter().any(|show| matches!(show, Show::Hidden(_)));
        self.shows = shows;
        self.shown.text.push_str(&response.text());
        let theirs = calls.iter().filter(|call| !call.owned);
        self.shown.call_ids.extend(theirs.map(|call| call.call.id.clone()));
        self.shown.id = response.id();
        let reason = response.finish();
        if forbids_calls(reason.as_deref()) {
            calls.clear();
        }
        let content = response.candidate.as_ref().and_then(|candidate| candidate.value("content"));
        let content = content.and_then(|text| Container::object(text, text).ok());
        Ok(Round {
            calls,
            finish: finish_of(reason.as_deref(), response.is_blocked()),
            message: replay(content.as_ref()).into(),
        })
    }

    fn splice(&mut self, results: &[ToolResult], _last: bool) -> bool {
        for show in &mut self.shows {
            if let Show::Hidden(id) = show
                && results.iter().any(|result| result.call_id == *id)
            {
                *show = Show::Named(std::mem::take(id));
            }
        }
        self.spliced.extend(results.iter().map(spliced::part));
        true
    }

    fn finish(&mut self, ending: &Ending, out: &mut Vec<u8>) -> Result<(), Fault> {
        if self.rounds > 1 || self.any_owned {
            out.extend_from_slice(self.edit(ending)?.as_bytes());
        } else {
            out.extend_from_slice(self.last.as_bytes());
        }
        Ok(())
    }

    fn tokens(&self) -> Tokens {
        usage::tokens(&self.totals)
    }

    fn shown(&self) -> Shown {
        self.shown.clone()
    }

    fn keep_alive(&mut self, _out: &mut Vec<u8>) {}

    fn fail(&mut self, _error: &WireError, _out: &mut Vec<u8>) {}
}
