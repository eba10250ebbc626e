//! A plain response: the last round's body, changed only where the turn had rounds, calls or tools of ours.

use super::item::{self, Item};
use super::response::{self, End, Last, Opening, Rounds};
use crate::answer::{Answer, Ending, Fault, Owned, Round, Shown};
use crate::plain_body::PlainBody;
use crate::request::WireError;
use crate::splice::{Container, Edits};
use crate::usage::Totals;

pub(super) struct Plain {
    owned: Owned,
    strip: bool,
    body: PlainBody,
    rounds: usize,
    /// Whether the client sees less than the upstream wrote.
    hides: bool,
    opening: Option<Opening>,
    /// What the client sees of all rounds.
    shown: Vec<String>,
    last: String,
    totals: Totals,
    said: Rounds,
}

impl Plain {
    pub(super) fn new(owned: Owned, strip: bool) -> Self {
        Self {
            owned,
            strip,
            body: PlainBody::default(),
            rounds: 0,
            hides: false,
            opening: None,
            shown: Vec::new(),
            last: String::new(),
            totals: Totals::default(),
            said: Rounds::default(),
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
        let items: Vec<Item> = output.items.iter().map(|item| Item::read(item.value, &self.owned)).collect();
        self.totals.add(end.usage.as_ref());
        if self.rounds == 1 {
            self.opening = Opening::new(&self.last, &self.owned);
        }
        for item in &items {
            let shown = item::shown(&item.text, self.strip);
            self.hides |= item.is_owned() || shown != item.text;
            if !item.is_owned() {
                self.shown.push(shown);
            }
        }
        Ok(Round {
            calls: item::calls(&items),
            finish: end.finish_with(&items),
            message: self.said.message(end.id.as_deref(), &items),
        })
    }

    fn finish(&mut self, ending: &Ending, out: &mut Vec<u8>) -> Result<(), Fault> {
        let top = Container::object(&self.last, &self.last);
        let top = top.map_err(|error| Fault::Unreadable(error.to_string()))?;
        let several = self.rounds > 1;
        let last = Last {
            owned: &self.owned,
            output: (several || self.hides).then(|| self.shown.join(",")),
            opening: self.opening.as_ref().filter(|_| several),
            keeps_identity: false,
            usage: if several { response::usage(&self.totals, ending) } else { None },
            omni: None,
        };
        let mut edits = Edits::new(&self.last);
        last.edit(&top, &mut edits);
        out.extend_from_slice(edits.apply().as_bytes());
        Ok(())
    }

    fn shown(&self) -> Shown {
        let id = Container::object(&self.last, &self.last).ok().and_then(|top| item::word(&top, "id"));
        item::seen(self.shown.iter().map(String::as_str), id)
    }

    fn keep_alive(&mut self, _out: &mut Vec<u8>) {}

    fn fail(&mut self, _error: &WireError, _out: &mut Vec<u8>) {}
}
