//! A plain response: the last round's body, changed only where the turn had rounds, calls or tools of ours.

use bytes::Bytes;
use domain::ToolResult;

use super::item::{self, Item};
use super::response::{self, Echo, End, Last, Opening, Rounds};
use super::spliced::Transcript;
use crate::answer::{Answer, Ending, Fault, Round, Shown, Tokens};
use crate::plain_body::PlainBody;
use crate::request::WireError;
use crate::splice::{Container, Edits};
use crate::usage::Totals;

pub(super) struct Plain {
    echo: Echo,
    strip: bool,
    body: PlainBody,
    rounds: usize,
    opening: Option<Opening>,
    transcript: Transcript,
    last: String,
    totals: Totals,
    said: Rounds,
    differs: Option<String>,
}

impl Plain {
    pub(super) fn new(echo: Echo, strip: bool) -> Self {
        Self {
            echo,
            strip,
            body: PlainBody::default(),
            rounds: 0,
            opening: None,
            transcript: Transcript::default(),
            last: String::new(),
            totals: Totals::default(),
            said: Rounds::default(),
            differs: None,
        }
    }
}

impl Answer for Plain {
    fn feed(&mut self, bytes: &[u8], _out: &mut Vec<u8>) -> Result<(), Fault> {
        self.body.push(bytes)
    }

    fn end_round(&mut self, _out: &mut Vec<u8>) -> Result<Round, Fault> {
        self.rounds += 1;
        self.last = self.body.take()?;
        let unreadable = |error: serde_json::Error| Fault::Unreadable(error.to_string());
        let top = Container::object(&self.last, &self.last).map_err(unreadable)?;
        let end = End::read(&top, &self.last)?;
        let output = top.children("output");
        let output = output.ok_or_else(|| Fault::Unreadable("`output` is not an array".to_owned()))?;
        let items: Vec<Item> =
            output.items.iter().map(|item| Item::read(item.value, &self.echo.owned)).collect();
        self.totals.add(end.usage.as_ref());
        if self.rounds == 1 {
            self.opening = Opening::new(&self.last, &self.echo);
        }
        let round = Round {
            calls: item::calls(&items),
            finish: end.finish_with(&items),
            message: self.said.message(end.id.as_deref(), &items),
        };
        self.transcript.begin(items);
        Ok(round)
    }

    /// Stored answers hold the rounds, too: what the two have in common is to be kept.
    fn splice(&mut self, results: &[ToolResult], _last: bool) -> bool {
        self.transcript.splice(results);
        false
    }

    fn asks(&mut self, body: &Bytes) {
        self.said.asks(body);
    }

    fn finish(&mut self, ending: &Ending, out: &mut Vec<u8>) -> Result<(), Fault> {
        let top = Container::object(&self.last, &self.last);
        let top = top.map_err(|error| Fault::Unreadable(error.to_string()))?;
        let several = self.rounds > 1;
        let shown = self.transcript.shown(self.strip);
        let last = Last {
            echo: &self.echo,
            output: (several || self.transcript.differs(&shown)).then(|| shown.join(",")),
            opening: self.opening.as_ref().filter(|_| several),
            keeps_identity: false,
            usage: if several { response::usage(&self.totals, ending) } else { None },
            omni: None,
        };
        let mut edits = Edits::new(&self.last);
        self.differs = last.edit(&top, &mut edits);
        out.extend_from_slice(edits.apply().as_bytes());
        Ok(())
    }

    fn tokens(&self) -> Tokens {
        response::tokens(&self.totals)
    }

    fn shown(&self) -> Shown {
        let id = Container::object(&self.last, &self.last).ok().and_then(|top| item::word(&top, "id"));
        let shown = self.transcript.shown(self.strip);
        let seen = item::seen(shown.iter().map(String::as_str), id);
        Shown { spliced: self.transcript.is_spliced(), differs: self.differs.clone(), ..seen }
    }

    fn keep_alive(&mut self, _out: &mut Vec<u8>) {}

    fn fail(&mut self, _error: &WireError, _out: &mut Vec<u8>) {}
}
