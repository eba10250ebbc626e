//! Calls and results of ours that the client asked to see, as items of a plain answer.
//!
//! A history with them is legal as it is: calls have their results behind them, and reasoning keeps what makes it
//! replayable. A request that names the answer by its id gets the results that the provider does not have, and loses
//! its copies of what the provider has. Never shows a call without its result.

use std::collections::HashSet;

use domain::ToolResult;

use super::follow_up::replay;
use super::item::{self, Item, Mark};
use super::memory::{lost_results, parked_results, without_calls};
use super::response::Said;
use super::result::output;
use crate::answer::{Round, Shown};
use crate::kept::{CALL, Keeping, Kept, RESPONSE};
use crate::reading;
use crate::request::ClientRequest;

/// What a plain answer shows of its turn.
#[derive(Default)]
pub(super) struct Transcript {
    /// Items of the rounds before the last.
    earlier: Vec<String>,
    /// Everything that the model said in the last.
    items: Vec<Item>,
    /// Results behind them.
    results: Vec<String>,
    /// Calls that they answer.
    answered: HashSet<String>,
    is_spliced: bool,
}

impl Transcript {
    /// One more round.
    pub(super) fn begin(&mut self, items: Vec<Item>) {
        let before = self.last_round();
        self.earlier.extend(before);
        self.items = items;
        self.results.clear();
        self.answered.clear();
    }

    /// Shows these results, and the calls of the last round that they answer.
    pub(super) fn splice(&mut self, results: &[ToolResult]) {
        self.is_spliced = true;
        self.results.extend(results.iter().map(output));
        self.answered.extend(results.iter().map(|result| result.call_id.clone()));
    }

    pub(super) fn is_spliced(&self) -> bool {
        self.is_spliced
    }

    fn last_round(&self) -> Vec<String> {
        if !self.is_spliced {
            let shown = self.items.iter().filter(|item| !item.is_owned());
            return shown.map(|item| item.text.clone()).collect();
        }
        let ours = self.items.iter().filter(|item| item.is_owned());
        let ours = ours.filter_map(|item| Some(item.call.as_ref()?.call.id.as_str()));
        let hidden: Vec<&str> = ours.filter(|id| !self.answered.contains(*id)).collect();
        let text = |item: &Item| if item.is_owned() { replay(&item.text) } else { item.text.clone() };
        let all: Vec<String> = self.items.iter().map(text).collect();
        let mut shown = without_calls(&all, &hidden);
        shown.extend(self.results.iter().cloned());
        shown
    }

    /// The items as the client gets them; with `strip` without what only the gateway asked for. In a spliced answer
    /// it stays: reasoning that led to a call could not come back without.
    pub(super) fn shown(&self, strip: bool) -> Vec<String> {
        let all = self.earlier.iter().cloned().chain(self.last_round());
        all.map(|text| item::shown(&text, strip && !self.is_spliced)).collect()
    }

    /// Whether these are not all the items of the last round, unchanged, and nothing else.
    pub(super) fn differs(&self, shown: &[String]) -> bool {
        !shown.iter().eq(self.items.iter().map(|item| &item.text))
    }
}

/// What has to be kept of a turn that the client was shown: only what the provider stores and lacks.
pub(super) fn keep(
    request: &ClientRequest,
    last: &Round,
    parked: &[ToolResult],
    shown: &Shown,
) -> Option<Keeping> {
    let top = reading::open(&request.raw).ok()?;
    let said = Said::read(&last.message).ok()?;
    let ours = last.calls.iter().filter(|call| call.owned);
    let ours: Vec<&str> = ours.map(|call| call.call.id.as_str()).collect();
    let kept = Kept { results: parked_results(&ours, parked), lost: lost_results(&ours), ..Kept::default() };
    let mut keeping = Keeping { keys: Vec::new(), kept };
    if top.value("conversation").is_some() {
        // The client's own results are all that a later request shows of the turn.
        let theirs = shown.call_ids.iter().filter(|_| !ours.is_empty());
        keeping.keys = theirs.map(|id| format!("{CALL}{id}")).collect();
    } else if let (Some(id), Some(shown_id)) = (&said.id, &shown.id)
        && top.value("store") != Some("false")
    {
        keeping.keys.push(format!("{RESPONSE}{shown_id}"));
        let marks = |items: &[String]| items.iter().map(|text| Mark::of(text)).collect::<Vec<_>>();
        let earlier = marks(&said.earlier);
        let kept = &mut keeping.kept;
        kept.response_id = Some(id.clone());
        kept.answered = earlier.iter().filter_map(|mark| mark.call_id.clone()).collect();
        let all = earlier.into_iter().chain(marks(&said.items));
        kept.said = all.flat_map(|mark| [mark.id, mark.call_id]).flatten().collect();
    }
    (!keeping.keys.is_empty()).then_some(keeping)
}
