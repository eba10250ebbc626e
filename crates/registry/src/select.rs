//! Which skills a request gets, and why others do not.
//!
//! What the conversation was offered before stays in its place; then named ones, those that are `on`, and the best
//! scored `auto` ones. When they are too many or too large, the `auto` ones go first (lowest score first), then the
//! `on` ones from the end, then named ones, and what was there before last. Deterministic:
//! the same snapshot and request always give the same skills in the same order.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use domain::scoring::{Context, score};
use domain::{Mode, Policy, SkillRef, limits};

use crate::entry::Entry;
use crate::explain::{Considered, Outcome};
use crate::skip::{SkipReason, Skipped};
use crate::snapshot::Snapshot;

/// Candidates an explanation holds, at most; the best scored ones.
const EXPLAINED: usize = 200;
/// Scored candidates that every selection names, at most.
const SCORED: usize = 32;

/// What bounds a selection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SelectLimits {
    /// `auto` skills.
    pub auto_skills: usize,
    /// Least score of an `auto` skill.
    pub auto_score: i32,
    /// Bytes of all definitions together.
    pub bytes: usize,
    /// Tools of the request, those of the client included.
    pub tools: usize,
}

impl Default for SelectLimits {
    fn default() -> Self {
        Self {
            auto_skills: limits::AUTO_MAX_SKILLS,
            auto_score: limits::AUTO_MIN_SCORE,
            bytes: limits::INJECTED_BYTES,
            tools: limits::TOOLS_PER_REQUEST,
        }
    }
}

/// Whether built-ins that act on this machine go into requests whose client has tools of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WithClientTools {
    /// Only when the request names them.
    #[default]
    Named,
    /// As in any other request.
    All,
}

/// One request, as far as the selection cares.
#[derive(Clone, Debug)]
pub struct SelectRequest {
    /// The caller's key id.
    pub owner: String,
    /// What the request is about.
    pub context: Context,
    /// Skills the request names; they count as `on`.
    pub named: Vec<SkillRef>,
    /// Ids of the skills that the conversation was offered before, in that order: they stay if they still may be
    /// offered.
    pub offered: Vec<String>,
    /// Policies by skill name that count in place of the skills' own.
    pub policies: BTreeMap<String, Policy>,
    /// Tools the client declared.
    pub client_tools: usize,
    /// What bounds it.
    pub limits: SelectLimits,
    /// What the client's own tools keep out.
    pub with_client_tools: WithClientTools,
    /// Skills that cannot run at the moment, by name, and why.
    pub unavailable: Arc<BTreeMap<String, String>>,
    /// Whether anything but built-ins runs for the caller.
    pub customs_allowed: bool,
    /// Whether [`Selection::considered`] is filled.
    pub explain: bool,
}

impl SelectRequest {
    /// A request with the defaults: nothing named, no client tools, everything available, customs allowed.
    pub fn new(owner: &str, context: Context) -> Self {
        Self {
            owner: owner.to_owned(),
            context,
            named: Vec::new(),
            offered: Vec::new(),
            policies: BTreeMap::new(),
            client_tools: 0,
            limits: SelectLimits::default(),
            with_client_tools: WithClientTools::default(),
            unavailable: Arc::default(),
            customs_allowed: true,
            explain: false,
        }
    }
}

/// What a request gets.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Those that were offered before in their order, named ones in the order of the request, then `on`, then `auto`
    /// ones, both by name.
    pub injected: Vec<Arc<Entry>>,
    /// What was left out although it was named, is `on`, or scored well enough.
    pub skipped: Vec<Skipped>,
    /// `auto` candidates that scored well enough, with their points, best first; the first 32.
    pub scored: Vec<(Arc<Entry>, i32)>,
    /// Every candidate that was looked at, best score first, when the request asked for an explanation.
    pub considered: Vec<Considered>,
}

/// How a chosen skill came in; later kinds are dropped first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Before,
    Named,
    On,
    Auto,
}

/// The work in progress: what is chosen, in the order in which it is kept, and what is not.
struct Draft<'a> {
    request: &'a SelectRequest,
    chosen: Vec<(Kind, Arc<Entry>)>,
    /// Names of those that were offered before and stay.
    before: HashSet<String>,
    /// Candidates that are out; `None` where there is only a name.
    out: Vec<(Option<Arc<Entry>>, Skipped)>,
    scored: Vec<(Arc<Entry>, i32)>,
    /// `auto` candidates that are out for their score; no news for the caller, only for an explanation.
    scored_out: Vec<(Arc<Entry>, SkipReason)>,
}

impl Snapshot {
    /// Chooses the skills of a request. Costs what the request's words and the postings they touch cost.
    pub fn select(&self, request: &SelectRequest) -> Selection {
        let mut draft = Draft {
            request,
            chosen: Vec::new(),
            before: HashSet::new(),
            out: Vec::new(),
            scored: Vec::new(),
            scored_out: Vec::new(),
        };
        for entry in self.offered_before(request) {
            // What is out is reported by the steps below, if it is news.
            if draft.blocked(Kind::Before, entry).is_none() {
                draft.before.insert(entry.skill.name.clone());
                draft.chosen.push((Kind::Before, Arc::clone(entry)));
            }
        }
        for wanted in &request.named {
            self.add_named(&mut draft, wanted);
        }
        let freed = self.freed(request);
        let named: HashSet<&str> = request.named.iter().map(|wanted| wanted.name.as_str()).collect();
        for entry in self.always_on(&request.owner, &freed) {
            if !named.contains(entry.skill.name.as_str()) && !draft.has(entry) {
                draft.add(Kind::On, entry);
            }
        }
        self.add_auto(&mut draft, &named, &freed);
        draft.fit();
        draft.finish()
    }

    fn add_named(&self, draft: &mut Draft<'_>, wanted: &SkillRef) {
        let versions = self.versions(&draft.request.owner, &wanted.name);
        let fits = |entry: &&Arc<Entry>| {
            wanted.constraint.as_ref().is_none_or(|constraint| constraint.matches(&entry.skill.version))
        };
        let mut fitting = versions.iter().filter(fits);
        let Some(highest) = fitting.clone().next() else {
            let available: Vec<_> = versions.iter().map(|entry| entry.skill.version).collect();
            let reason =
                if available.is_empty() { SkipReason::Unknown } else { SkipReason::NoVersion(available) };
            draft.out.push((None, Skipped { name: wanted.name.clone(), reason }));
            return;
        };
        let may =
            |entry: &&Arc<Entry>| entry.is_usable() && draft.request.policy(&entry.skill) != Policy::Manual;
        let entry = fitting.find(may).unwrap_or(highest);
        let already = draft.chosen.iter().position(|(_, chosen)| chosen.skill.name == entry.skill.name);
        match already.and_then(|at| Some((at, draft.chosen.get(at)?))) {
            Some((_, (_, chosen))) if chosen.skill.id == entry.skill.id => {}
            Some((_, (Kind::Before, chosen))) if fits(&chosen) => {}
            Some((at, (Kind::Before, _))) if draft.blocked(Kind::Named, entry).is_none() => {
                draft.chosen.remove(at);
                draft.add(Kind::Named, entry);
            }
            Some(_) => draft.leave(entry, SkipReason::AlreadyNamed),
            None => draft.add(Kind::Named, entry),
        }
    }

    /// The `on` candidates an owner sees, by name; of the names in `freed` those there.
    fn always_on<'a>(&'a self, owner: &str, freed: &[&'a Arc<Entry>]) -> Vec<&'a Arc<Entry>> {
        let own = self.own_view(owner);
        let shared = self.system_view().on.iter();
        let mut all: Vec<_> = shared
            .filter(|entry| own.is_none_or(|view| !view.names.contains_key(&entry.skill.name)))
            .chain(own.into_iter().flat_map(|view| &view.on))
            .filter(|entry| !is_freed(freed, entry))
            .chain(freed.iter().copied().filter(|entry| entry.skill.mode == Mode::On))
            .collect();
        all.sort_by(|a, b| a.skill.name.cmp(&b.skill.name));
        all
    }

    fn add_auto(&self, draft: &mut Draft<'_>, named: &HashSet<&str>, freed: &[&Arc<Entry>]) {
        let request = draft.request;
        let least =
            if request.explain { request.limits.auto_score.min(1) } else { request.limits.auto_score };
        let own = self.own_view(&request.owner);
        let shared = self.system_view().auto.scored(&request.context, least).into_iter();
        let freed_autos = freed.iter().copied().filter(|entry| entry.skill.mode == Mode::Auto);
        let freed_autos = freed_autos.map(|entry| (entry, score(&entry.subject(), &request.context).total));
        let mut scored: Vec<(&Arc<Entry>, i32)> = shared
            .filter(|(entry, _)| own.is_none_or(|view| !view.names.contains_key(&entry.skill.name)))
            .chain(own.into_iter().flat_map(|view| view.auto.scored(&request.context, least)))
            .filter(|(entry, _)| !is_freed(freed, entry))
            .chain(freed_autos.filter(|(_, points)| *points >= least))
            .filter(|(entry, _)| !named.contains(entry.skill.name.as_str()))
            .collect();
        scored.sort_by(|(a, x), (b, y)| {
            let key = |entry: &Entry, points: i32| (Reverse(points), Reverse(entry.skill.install_count));
            key(a, *x).cmp(&key(b, *y)).then_with(|| a.skill.name.cmp(&b.skill.name))
        });
        let enough =
            scored.iter().take(SCORED).take_while(|(_, points)| *points >= request.limits.auto_score);
        draft.scored = enough.map(|(entry, points)| (Arc::clone(entry), *points)).collect();
        let mut free = request.limits.auto_skills;
        for (entry, points) in scored {
            if points < request.limits.auto_score {
                if !draft.has(entry) {
                    draft.scored_out.push((Arc::clone(entry), SkipReason::LowScore));
                }
            } else if draft.has(entry) {
                // Among the best again: it has its place already.
                free = free.saturating_sub(1);
            } else if let Some(reason) = draft.blocked(Kind::Auto, entry) {
                draft.leave(entry, reason);
            } else if free == 0 {
                draft.scored_out.push((Arc::clone(entry), SkipReason::Outscored));
            } else {
                free -= 1;
                draft.chosen.push((Kind::Auto, Arc::clone(entry)));
            }
        }
    }
}

fn is_freed(freed: &[&Arc<Entry>], entry: &Entry) -> bool {
    freed.iter().any(|other| other.skill.name == entry.skill.name)
}

impl Draft<'_> {
    /// Whether a version of this skill was offered before and stays.
    fn has(&self, entry: &Entry) -> bool {
        self.before.contains(&entry.skill.name)
    }

    fn add(&mut self, kind: Kind, entry: &Arc<Entry>) {
        match self.blocked(kind, entry) {
            None => self.chosen.push((kind, Arc::clone(entry))),
            Some(reason) => self.leave(entry, reason),
        }
    }

    fn leave(&mut self, entry: &Arc<Entry>, reason: SkipReason) {
        let skipped = Skipped { name: entry.skill.name.clone(), reason };
        self.out.push((Some(Arc::clone(entry)), skipped));
    }

    /// What keeps an entry out of this request, whatever its score.
    fn blocked(&self, kind: Kind, entry: &Entry) -> Option<SkipReason> {
        let request = self.request;
        let skill = &entry.skill;
        if let Some(why) = &entry.broken {
            return Some(SkipReason::Broken(why.clone()));
        }
        if !skill.enabled || skill.mode == Mode::Off {
            return Some(SkipReason::Off);
        }
        if request.policy(skill) == Policy::Manual {
            return Some(SkipReason::Manual);
        }
        if !request.customs_allowed && !skill.is_builtin() {
            return Some(SkipReason::CustomsOff);
        }
        if let Some(why) = request.unavailable.get(&skill.name) {
            return Some(SkipReason::Unavailable(why.clone()));
        }
        let kept_out = request.client_tools > 0 && request.with_client_tools == WithClientTools::Named;
        let asked_for = matches!(kind, Kind::Named | Kind::Before);
        (!asked_for && kept_out && entry.acts_on_local_machine()).then_some(SkipReason::ClientTools)
    }

    /// Drops what is too much. A definition that alone is too large goes whatever its rank.
    fn fit(&mut self) {
        let limits = self.request.limits;
        let chosen = std::mem::take(&mut self.chosen);
        for (kind, entry) in chosen {
            if entry.definition_bytes > limits.bytes {
                self.leave(&entry, SkipReason::Bytes);
            } else {
                self.chosen.push((kind, entry));
            }
        }
        let tools = limits.tools.saturating_sub(self.request.client_tools);
        let mut bytes: usize = self.chosen.iter().map(|(_, entry)| entry.definition_bytes).sum();
        while self.chosen.len() > tools || bytes > limits.bytes {
            let reason = if self.chosen.len() > tools { SkipReason::Tools } else { SkipReason::Bytes };
            let Some((_, entry)) = self.chosen.pop() else { break };
            bytes -= entry.definition_bytes;
            self.leave(&entry, reason);
        }
    }

    fn finish(mut self) -> Selection {
        // Scores change from turn to turn; an order by name keeps what the upstream has cached.
        let rank = |(kind, entry): &(Kind, Arc<Entry>)| match kind {
            Kind::Before | Kind::Named => (*kind, String::new()),
            _ => (*kind, entry.skill.name.clone()),
        };
        self.chosen.sort_by_cached_key(rank);
        let considered = if self.request.explain { self.explained() } else { Vec::new() };
        Selection {
            injected: self.chosen.into_iter().map(|(_, entry)| entry).collect(),
            skipped: self.out.into_iter().map(|(_, skipped)| skipped).collect(),
            scored: self.scored,
            considered,
        }
    }

    fn explained(&self) -> Vec<Considered> {
        let considered = |entry: &Arc<Entry>, outcome: Outcome| Considered {
            entry: Arc::clone(entry),
            score: score(&entry.subject(), &self.request.context),
            outcome,
        };
        let chosen = self.chosen.iter().map(|(_, entry)| considered(entry, Outcome::Injected));
        let left = self.out.iter().filter_map(|(entry, skipped)| {
            Some(considered(entry.as_ref()?, Outcome::Skipped(skipped.reason.clone())))
        });
        let scored_out = self.scored_out.iter().take(EXPLAINED);
        let scored_out =
            scored_out.map(|(entry, reason)| considered(entry, Outcome::Skipped(reason.clone())));
        let mut all: Vec<Considered> = chosen.chain(left).chain(scored_out).collect();
        all.sort_by_key(|candidate| Reverse(candidate.score.total));
        all.truncate(EXPLAINED);
        all
    }
}
