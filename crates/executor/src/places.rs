//! Who may run now, and who next: a bound for all, one for each owner, and turns between the owners.
//!
//! Within an owner it is first come, first served. A free slot goes to the owner whose turn it is: however many runs of
//! one owner wait, a run of another waits for one of them to end and not for all. No slot is ever lost: a waiting run
//! that goes away hands on what it was just given.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::refusal::whole_seconds;

/// Longest time that a refused owner is sent away for.
const RETRY_AFTER_MAX_S: u64 = 60;
/// One run counts as one part in so many of the mean time of a run.
const MEAN_OF: u32 = 8;

/// How many may run and wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Runs at the same time.
    pub(crate) slots: usize,
    /// Runs that wait, of all owners together. An owner that has none at all is let in beyond it.
    pub(crate) queue: usize,
    /// Runs that wait, of one owner.
    pub(crate) owner_queue: usize,
}

/// The front desk. Cheap to clone; all clones are one.
#[derive(Clone)]
pub(crate) struct Places {
    bounds: Bounds,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    running: usize,
    /// Everybody with a place: running, waiting, and about to wait.
    placed: usize,
    owners: HashMap<Arc<str>, Owner>,
    /// Owners that wait and are below their limit, in the order of their turns.
    turns: VecDeque<Arc<str>>,
    /// The next rank.
    next: u64,
    /// Mean time that a slot is held.
    mean: Duration,
}

#[derive(Default)]
struct Owner {
    limit: usize,
    running: usize,
    placed: usize,
    waiting: BTreeMap<u64, oneshot::Sender<()>>,
    /// Whether it is in `turns`.
    in_line: bool,
}

impl Places {
    pub(crate) fn new(bounds: Bounds) -> Self {
        Self { bounds: Bounds { slots: bounds.slots.max(1), ..bounds }, state: Arc::default() }
    }

    /// A place among the running and waiting runs of an owner, of which `limit` may run at the same time from now on;
    /// or the seconds after which trying again makes sense.
    pub(crate) fn enter(&self, owner: &str, limit: usize) -> Result<Place, u64> {
        let limit = limit.clamp(1, self.bounds.slots);
        let mut state = self.lock();
        let before = state.owners.get(owner).map_or(0, |owner| owner.placed);
        let is_full = state.placed >= self.bounds.slots.saturating_add(self.bounds.queue);
        if before >= limit.saturating_add(self.bounds.owner_queue) || (is_full && before > 0) {
            return Err(retry_after_s(state.mean, before, limit));
        }
        let name: Arc<str> = owner.into();
        let owner = state.owners.entry(Arc::clone(&name)).or_default();
        owner.placed += 1;
        owner.limit = limit;
        state.placed += 1;
        // The limit may have grown.
        state.hand_out(&name, self.bounds.slots);
        Ok(Place { places: self.clone(), owner: name })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it holds the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// After something about an owner has changed: puts it in line if it belongs there, and hands out what is free.
    fn hand_out(&mut self, changed: &Arc<str>, slots: usize) {
        self.line_up(changed);
        while self.running < slots {
            let Some(name) = self.turns.pop_front() else { return };
            if let Some(owner) = self.owners.get_mut(&name) {
                owner.in_line = false;
                if owner.running < owner.limit
                    && let Some((_, first)) = owner.waiting.pop_first()
                {
                    owner.running += 1;
                    self.running += 1;
                    // Should nobody listen, its rank is just being dropped and gives the slot back.
                    first.send(()).ok();
                }
            }
            self.line_up(&name);
        }
    }

    fn line_up(&mut self, name: &Arc<str>) {
        let Some(owner) = self.owners.get_mut(name) else { return };
        let belongs = owner.running < owner.limit && !owner.waiting.is_empty();
        if belongs && !owner.in_line {
            self.turns.push_back(Arc::clone(name));
        } else if !belongs && owner.in_line {
            self.turns.retain(|other| other != name);
        }
        owner.in_line = belongs;
    }

    fn give_back(&mut self, name: &Arc<str>, slots: usize) {
        self.running = self.running.saturating_sub(1);
        if let Some(owner) = self.owners.get_mut(name) {
            owner.running = owner.running.saturating_sub(1);
        }
        self.hand_out(name, slots);
        self.forget_if_gone(name);
    }

    fn forget_if_gone(&mut self, name: &Arc<str>) {
        let gone = |owner: &Owner| owner.placed == 0 && owner.running == 0 && owner.waiting.is_empty();
        if self.owners.get(name).is_some_and(gone) {
            self.owners.remove(name);
        }
    }

    fn learn(&mut self, held: Duration) {
        let most = self.mean.saturating_mul(MEAN_OF - 1) / MEAN_OF;
        self.mean = if self.mean.is_zero() { held } else { most.saturating_add(held / MEAN_OF) };
    }
}

/// Until those before a newcomer will have run, as far as one can tell.
fn retry_after_s(mean: Duration, before: usize, limit: usize) -> u64 {
    let rounds = u32::try_from(before / limit.max(1)).unwrap_or(u32::MAX);
    whole_seconds(mean.saturating_mul(rounds)).min(RETRY_AFTER_MAX_S)
}

/// A place among the running and waiting runs; counts until it is dropped.
pub(crate) struct Place {
    places: Places,
    owner: Arc<str>,
}

impl Place {
    /// Waits for leave to run. Cancel safe: whoever stops waiting loses its rank and nothing else.
    pub(crate) async fn slot(&self) -> Slot {
        let (sender, leave) = oneshot::channel();
        let rank = {
            let mut state = self.places.lock();
            let rank = state.next;
            state.next += 1;
            if let Some(owner) = state.owners.get_mut(&self.owner) {
                owner.waiting.insert(rank, sender);
            }
            state.hand_out(&self.owner, self.places.bounds.slots);
            Rank { place: self, number: rank, has_leave: false }
        };
        match leave.await {
            Ok(()) => rank.into_slot(),
            // Cannot be: this place keeps its owner known, and only the rank takes itself out of the line.
            Err(_) => std::future::pending().await,
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.places.lock();
        state.placed = state.placed.saturating_sub(1);
        if let Some(owner) = state.owners.get_mut(&self.owner) {
            owner.placed = owner.placed.saturating_sub(1);
        }
        state.forget_if_gone(&self.owner);
    }
}

/// A run that waits. Dropped, it takes itself out of the line, or gives back what it was given meanwhile.
struct Rank<'p> {
    place: &'p Place,
    number: u64,
    has_leave: bool,
}

impl Rank<'_> {
    fn into_slot(mut self) -> Slot {
        self.has_leave = true;
        let Place { places, owner } = self.place;
        Slot { places: places.clone(), owner: Arc::clone(owner), since: Instant::now() }
    }
}

impl Drop for Rank<'_> {
    fn drop(&mut self) {
        if self.has_leave {
            return;
        }
        let Place { places, owner: name } = self.place;
        let mut state = places.lock();
        let left = state.owners.get_mut(name).and_then(|owner| owner.waiting.remove(&self.number));
        match left {
            Some(_) => state.line_up(name),
            None => state.give_back(name, places.bounds.slots),
        }
    }
}

/// Leave to run, until it is dropped.
pub(crate) struct Slot {
    places: Places,
    owner: Arc<str>,
    since: Instant,
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut state = self.places.lock();
        state.learn(self.since.elapsed());
        state.give_back(&self.owner, self.places.bounds.slots);
    }
}
