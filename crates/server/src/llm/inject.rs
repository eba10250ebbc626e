//! Which skills the model is offered in this request, under which wire names, and in which body.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use dialects::{ClientRequest, Owned};
use domain::scoring::Context;
use domain::tool_name::WireTable;
use domain::{Policy, SkillRef, ToolDefinition, TurnCandidate};
use registry::{SelectRequest, Selection, SkipReason, Skipped};

use super::receive::Received;
use super::record::candidates;
use super::sticky::Place;

/// The outcome of selection for one request.
pub(super) struct Injected {
    /// The body of round 1.
    pub(super) body: Bytes,
    /// What was considered but not offered, and why.
    pub(super) skipped: Vec<Skipped>,
    candidates: Vec<TurnCandidate>,
    labels: Vec<String>,
    wire_names: Vec<String>,
    table: Arc<WireTable<String>>,
}

impl Injected {
    /// Whether nothing of ours is in the request, so that nothing can come back.
    pub(super) fn is_idle(&self) -> bool {
        self.wire_names.is_empty()
    }

    /// `name@version` of what was offered.
    pub(super) fn labels(&self) -> &[String] {
        &self.labels
    }

    /// Everything that selection looked at.
    pub(super) fn candidates(&self) -> &[TurnCandidate] {
        &self.candidates
    }

    /// Wire names of what was offered.
    pub(super) fn wire_names(&self) -> Vec<String> {
        self.wire_names.clone()
    }

    /// The skill id behind a called name.
    pub(super) fn lookup(&self, called: &str) -> Option<&str> {
        self.table.lookup(called).map(String::as_str)
    }

    /// Takes everything back that was offered, and reports it.
    pub(super) fn withdraw(&mut self, received: &Received, reason: &SkipReason) {
        for label in std::mem::take(&mut self.labels) {
            let name = label.split('@').next().unwrap_or_default().to_owned();
            self.skipped.push(Skipped { name, reason: reason.clone() });
        }
        for candidate in self.candidates.iter_mut().filter(|candidate| candidate.skipped.is_none()) {
            candidate.skipped = Some(reason.as_str().to_owned());
        }
        self.wire_names.clear();
        // Hidden rounds are calls of tools, too.
        let own = received.request.seen().clone();
        let request = ClientRequest { raw: own, unrestored: None, ..received.request.clone() };
        self.body = received.dialect.inject(&request, &[]);
    }

    /// With something on offer, everything that the client did not declare is ours to answer, known or not.
    pub(super) fn owned(&self) -> Owned {
        if self.is_idle() {
            return Arc::new(|_| false);
        }
        let table = Arc::clone(&self.table);
        Arc::new(move |name| !table.is_clients(name))
    }
}

/// Selects for one request and writes its first body.
pub(super) fn inject(received: &Received) -> Injected {
    let request = &received.request;
    let mut selection = match refusal(received) {
        Some(why) => nothing(received, why),
        None => received.app.registry.current().select(&question(received)),
    };
    leave_out_what_cannot_be_written(received, &mut selection);
    if let Some(reason) = received.upstream.tools_unwanted(&request.model) {
        withhold(&mut selection, &reason);
    }
    remember(received, &selection);
    let entries = &selection.injected;
    let table = WireTable::new(
        entries.iter().map(|e| (e.skill.name.clone(), e.skill.version, e.skill.id.clone())),
        request.client_tools.iter().cloned(),
    );
    let tools: Vec<ToolDefinition> = entries
        .iter()
        .zip(table.names())
        .map(|(e, name)| ToolDefinition { wire_name: name.to_owned(), ..e.definition.clone() })
        .collect();
    let mut body = received.dialect.inject(request, &tools);
    if received.counts_tokens() {
        body = received.dialect.with_usage(request, body);
    }
    Injected {
        body,
        candidates: candidates(&selection),
        skipped: selection.skipped,
        labels: entries.iter().map(|e| e.skill.identity()).collect(),
        wire_names: tools.into_iter().map(|t| t.wire_name).collect(),
        table: Arc::new(table),
    }
}

/// Nothing is offered; what would have been is reported.
fn withhold(selection: &mut Selection, reason: &SkipReason) {
    for entry in std::mem::take(&mut selection.injected) {
        selection.skipped.push(Skipped { name: entry.skill.name.clone(), reason: reason.clone() });
    }
}

/// A skill whose schema this dialect has no words for is no reason to fail the chat.
fn leave_out_what_cannot_be_written(received: &Received, selection: &mut Selection) {
    let dialect = received.dialect;
    let (fits, out): (Vec<_>, Vec<_>) =
        std::mem::take(&mut selection.injected).into_iter().partition(|e| dialect.can_emit(&e.definition));
    selection.injected = fits;
    for entry in out {
        let reason = format!("its schema cannot be written in the dialect {}", dialect.name());
        tracing::warn!(skill = entry.skill.identity(), reason, "skill left out of a request");
        selection
            .skipped
            .push(Skipped { name: entry.skill.name.clone(), reason: SkipReason::Broken(reason) });
    }
}

fn question(received: &Received) -> SelectRequest {
    let (app, request) = (&received.app, &received.request);
    SelectRequest {
        named: received.named.clone(),
        offered: offered(received),
        policies: policies(received),
        client_tools: request.client_tools.len(),
        limits: received.config.select,
        with_client_tools: received.config.with_client_tools,
        unavailable: Arc::clone(&app.unavailable),
        customs_allowed: received.custom_allowed(),
        ..SelectRequest::new(received.caller.owner(), context(received))
    }
}

/// What this conversation was offered before.
fn offered(received: &Received) -> Vec<String> {
    let answer = received.request.conversation.as_deref().map(|id| Place::of_answer(received, id));
    let places = Place::of(received).into_iter().chain(answer);
    if received.config.sticky { received.app.sticky.offered(places) } else { Vec::new() }
}

fn remember(received: &Received, selection: &Selection) {
    let Some(place) = Place::of(received).filter(|_| received.config.sticky) else { return };
    let now: Vec<&str> = selection.injected.iter().map(|entry| entry.skill.id.as_str()).collect();
    let snapshot = received.app.registry.current();
    // Skills that are off for the moment have their place when they come back; replaced versions have none.
    let stays = |id: &str| {
        let name = snapshot.get(id).map(|entry| entry.skill.name.as_str());
        name.is_some_and(|name| selection.injected.iter().all(|entry| entry.skill.name != name))
    };
    received.app.sticky.remember(place, &now, stays);
}

/// A later request may name this answer instead of the conversation.
pub(super) fn remember_answer(received: &Received, id: Option<&str>) {
    if let (Some(place), Some(id)) = (Place::of(received), id)
        && received.config.sticky
        && received.dialect.names_answers()
    {
        received.app.sticky.carry(place, Place::of_answer(received, id));
    }
}

/// What the process and the key say about the policies of skills.
fn policies(received: &Received) -> BTreeMap<String, Policy> {
    let of_key = received.caller.policies().into_iter().flatten();
    received.config.policies.iter().chain(of_key).map(|(name, policy)| (name.clone(), *policy)).collect()
}

/// Nothing is offered; what the request named itself is reported.
fn nothing(received: &Received, why: &'static str) -> Selection {
    let skip = |named: &SkillRef| Skipped {
        name: named.name.clone(),
        reason: SkipReason::Unavailable(why.to_owned()),
    };
    Selection { skipped: received.named.iter().map(skip).collect(), ..Selection::default() }
}

/// Why nothing may be offered in this request at all.
fn refusal(received: &Received) -> Option<&'static str> {
    if received.options.off {
        return Some("x-omni-skills is off");
    }
    if !received.app.executor.is_enabled() {
        return Some("skills execution is disabled");
    }
    received.request.inhibit
}

fn context(received: &Received) -> Context {
    let request = &received.request;
    let text = request.recent_user_texts.join("\n");
    let reason = received.options.background_reason.as_deref().unwrap_or_default();
    let provider = format!("{} {}", received.dialect.provider(), request.model);
    Context::new(&text, reason, &provider)
}
