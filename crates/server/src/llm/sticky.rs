//! What each conversation was offered so far, so that its tools stay the same from turn to turn: a provider's prompt
//! cache begins with them.
//!
//! A help, never a condition: the memory is this process's alone, starts empty, and forgets the least recently used
//! conversation when it is full. It says what was offered, never what may be: that is decided anew in every request.

use std::sync::Arc;
use std::time::Duration;

use domain::limits;
use moka::policy::EvictionPolicy;
use moka::sync::Cache;

use super::receive::Received;

/// Ids of skills, in the order in which they were first offered.
type Offered = Arc<[String]>;

/// The sets of all conversations.
pub struct StickySets {
    sets: Cache<Place, Offered>,
}

/// Whose set it is: a digest of owner, user, dialect, and session or answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Place(u128);

impl Place {
    /// The conversation that a request belongs to, if it has a name.
    pub(super) fn of(received: &Received) -> Option<Self> {
        received.session.as_deref().map(|session| Self::new(received, "session", session))
    }

    /// The answer that a request goes on with, or the one that was just given.
    pub(super) fn of_answer(received: &Received, id: &str) -> Self {
        Self::new(received, "answer", id)
    }

    fn new(received: &Received, kind: &str, name: &str) -> Self {
        let user = received.user.as_deref().unwrap_or_default();
        Self::digest([received.caller.owner(), user, received.dialect.name(), kind, name])
    }

    fn digest(parts: [&str; 5]) -> Self {
        // Lengths keep ("ab", "c") and ("a", "bc") apart.
        let hash = domain::ids::sha256_hex(parts.map(|part| format!("{} {part}", part.len())).concat());
        Self(u128::from_str_radix(domain::text::prefix_bytes(&hash, 32), 16).unwrap_or_default())
    }
}

impl Default for StickySets {
    /// Bounds are [`limits::STICKY_BYTES`] and [`limits::STICKY_TTL_MS`].
    fn default() -> Self {
        let sets = Cache::builder()
            .max_capacity(limits::STICKY_BYTES)
            .weigher(|_, offered| weight(offered))
            .eviction_policy(EvictionPolicy::lru())
            .time_to_idle(Duration::from_millis(limits::STICKY_TTL_MS));
        Self { sets: sets.build() }
    }
}

/// Bytes of one set in memory, with what the map needs to find and to forget it.
fn weight(offered: &Offered) -> u32 {
    /// Bytes of an entry without its ids.
    const ENTRY: usize = 400;
    /// Bytes of an id beside its text.
    const ID: usize = 40;
    let ids: usize = offered.iter().map(|id| id.len() + ID).sum();
    u32::try_from(ENTRY + ids).unwrap_or(u32::MAX)
}

impl StickySets {
    /// What was offered at the first of these places where anything was.
    pub(super) fn offered(&self, places: impl IntoIterator<Item = Place>) -> Vec<String> {
        places.into_iter().find_map(|place| self.sets.get(&place)).map(|set| set.to_vec()).unwrap_or_default()
    }

    /// Adds what is offered now; of what was offered before only what `stays` remains. Nothing offered changes
    /// nothing.
    pub(super) fn remember(&self, place: Place, now: &[&str], stays: impl Fn(&str) -> bool) {
        if now.is_empty() {
            return;
        }
        self.sets.entry(place).and_upsert_with(|old| {
            let old = old.map(moka::Entry::into_value).unwrap_or_default();
            let mut all: Vec<String> =
                old.iter().filter(|id| now.contains(&id.as_str()) || stays(id)).cloned().collect();
            let fresh = now.iter().filter(|id| !old.iter().any(|old| old == *id));
            all.extend(fresh.map(|id| (*id).to_owned()));
            if all.len() > limits::TOOLS_PER_REQUEST {
                all.retain(|id| now.contains(&id.as_str()));
            }
            all.into()
        });
    }

    /// What was offered at `from` counts at `to`, too.
    pub(super) fn carry(&self, from: Place, to: Place) {
        if let Some(offered) = self.sets.get(&from) {
            self.sets.insert(to, offered);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(session: &str) -> Place {
        Place::digest(["owner", "user", "dialect", "session", session])
    }

    #[test]
    fn a_set_grows_at_its_end_and_nothing_offered_forgets_nothing() {
        let sticky = StickySets::default();
        let remember = |now: &[&str]| sticky.remember(place("s"), now, |id| id != "gone");
        remember(&["b", "gone"]);
        remember(&["c", "b", "a"]);
        remember(&[]);
        assert_eq!(sticky.offered([place("t"), place("s")]), ["b", "c", "a"]);
        sticky.carry(place("s"), place("t"));
        sticky.carry(place("unknown"), place("s"));
        assert_eq!(sticky.offered([place("t")]), ["b", "c", "a"]);
        assert!(sticky.offered([place("u")]).is_empty());
    }

    #[test]
    fn a_set_has_no_more_skills_than_a_request_has_tools() {
        let sticky = StickySets::default();
        for batch in 0..10 {
            let ids: Vec<String> = (0..50).map(|n| format!("{batch} {n}")).collect();
            let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
            sticky.remember(place("s"), &ids, |_| true);
            let offered = sticky.offered([place("s")]);
            assert!(
                offered.len() <= limits::TOOLS_PER_REQUEST && offered.ends_with(&[format!("{batch} 49")])
            );
        }
    }

    #[test]
    fn every_part_of_a_place_counts() {
        let parts = ["a", "b", "c", "d", "e"];
        for at in 0..parts.len() {
            let mut other = parts;
            other[at] = "x";
            assert_ne!(Place::digest(parts), Place::digest(other));
        }
        assert_ne!(Place::digest(["ab", "c", "", "", ""]), Place::digest(["a", "bc", "", "", ""]));
    }

    #[test]
    fn a_hundred_thousand_conversations_stay_within_the_bound() {
        let sticky = StickySets::default();
        let ids: Vec<String> = (0..7).map(|_| domain::ids::new_id()).collect();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        for n in 0..100_000 {
            sticky.remember(place(&n.to_string()), &ids, |_| true);
        }
        sticky.sets.run_pending_tasks();
        assert!(sticky.sets.weighted_size() <= limits::STICKY_BYTES);
        assert!(sticky.sets.entry_count() > 20_000, "{}", sticky.sets.entry_count());
        assert_eq!(sticky.offered([place("99999")]), ids, "the last used are the last to go");
        assert!(sticky.offered([place("0")]).is_empty());
    }
}
