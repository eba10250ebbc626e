//! Totals of large lists, remembered for a while: to count a million rows takes longer than to show a page of them.
//!
//! Small totals are remembered only if counting them was costly. Holds numbers only, never rows.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use store::ExecutionFilter;

/// Totals up to here are counted each time, which an index does in a moment.
const EXACT: u64 = 10_000;
/// So old a total is given out as it is, at least.
const FRESH: Duration = Duration::from_secs(5);
/// One part in so many of the time may be spent on counting a filter that is asked for all the time.
const SHARE: u32 = 30;
/// So much older it is still given out, while it is counted anew.
const STALE: Duration = Duration::from_mins(1);
/// Filters that are remembered at most.
const FILTERS: usize = 256;

/// What is known of a filter's total.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// Nothing that could be shown.
    Nothing,
    /// To be shown.
    Fresh(u64),
    /// To be shown, and to be counted anew by the one who was told so.
    Stale(u64),
}

/// A total that was just counted.
#[derive(Clone, Copy)]
pub(crate) struct Counted {
    pub(crate) total: u64,
    /// How long it took, if it was so much work that it should be remembered.
    pub(crate) costly: Option<Duration>,
}

#[derive(Default)]
pub(crate) struct Totals {
    known: Mutex<HashMap<String, Entry>>,
}

struct Entry {
    total: u64,
    counted: Instant,
    /// So long it is shown as it is.
    fresh: Duration,
    /// When somebody was told to count anew.
    asked: Option<Instant>,
}

impl Totals {
    /// Names a filter, without its cursor.
    pub(crate) fn key(filter: &ExecutionFilter) -> String {
        format!("{:?}", ExecutionFilter { before: None, ..filter.clone() })
    }

    pub(crate) fn look(&self, key: &str, now: Instant) -> Known {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(entry) = known.get_mut(key) else { return Known::Nothing };
        match now.saturating_duration_since(entry.counted) {
            age if age <= entry.fresh => Known::Fresh(entry.total),
            age if age > entry.fresh + STALE => Known::Nothing,
            // One counts; when it takes long or fails, another one does.
            _ if entry.asked.is_some_and(|asked| now.saturating_duration_since(asked) < entry.fresh) => {
                Known::Fresh(entry.total)
            }
            _ => {
                entry.asked = Some(now);
                Known::Stale(entry.total)
            }
        }
    }

    /// Remembers a total that was just counted, if it is worth it.
    pub(crate) fn counted(&self, key: String, counted: Counted, now: Instant) {
        match counted.costly {
            Some(took) => self.keep(key, counted.total, now, took),
            None => self.note(key, counted.total, now),
        }
    }

    /// Remembers a large total, and forgets one that has become small.
    fn note(&self, key: String, total: u64, now: Instant) {
        if total <= EXACT {
            self.known.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
        } else {
            self.keep(key, total, now, Duration::ZERO);
        }
    }

    /// Remembers a total that was costly to count, however small it is: the longer it took, the longer it is shown.
    fn keep(&self, key: String, total: u64, now: Instant, took: Duration) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= FILTERS {
            known.retain(|_, entry| now.saturating_duration_since(entry.counted) <= entry.fresh + STALE);
        }
        if known.len() < FILTERS || known.contains_key(&key) {
            let fresh = took.saturating_mul(SHARE).clamp(FRESH, STALE);
            known.insert(key, Entry { total, counted: now, fresh, asked: None });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_total_is_shown_for_a_while_and_counted_anew_by_one() {
        let (totals, start) = (Totals::default(), Instant::now());
        let key = || "k".to_owned();
        assert_eq!(totals.look("k", start), Known::Nothing);
        totals.note(key(), EXACT, start);
        assert_eq!(totals.look("k", start), Known::Nothing, "small totals are counted");
        totals.note(key(), EXACT + 1, start);
        assert_eq!(totals.look("k", start + FRESH), Known::Fresh(EXACT + 1));
        let later = start + FRESH + Duration::from_secs(1);
        assert_eq!(totals.look("k", later), Known::Stale(EXACT + 1));
        assert_eq!(totals.look("k", later), Known::Fresh(EXACT + 1), "one counts");
        assert_eq!(totals.look("k", later + FRESH), Known::Stale(EXACT + 1), "the other one failed");
        totals.note(key(), EXACT + 2, later);
        assert_eq!(totals.look("k", later), Known::Fresh(EXACT + 2));
        assert_eq!(totals.look("k", later + FRESH + STALE + FRESH), Known::Nothing);
        totals.note(key(), 1, later);
        assert_eq!(totals.look("k", later), Known::Nothing);
        totals.keep(key(), 1, later, Duration::from_secs(1));
        assert_eq!(totals.look("k", later + 2 * FRESH), Known::Fresh(1), "it was costly");
    }

    #[test]
    fn many_filters_do_not_add_up() {
        let (totals, start) = (Totals::default(), Instant::now());
        for n in 0..2 * FILTERS {
            totals.note(n.to_string(), EXACT + 1, start);
        }
        assert_eq!(totals.known.lock().unwrap().len(), FILTERS);
        totals.note("late".to_owned(), EXACT + 1, start + FRESH + STALE + FRESH);
        assert_eq!(totals.known.lock().unwrap().len(), 1);
    }

    #[test]
    fn the_cursor_is_no_part_of_a_filter() {
        let deep = ExecutionFilter { before: Some("x".to_owned()), ..ExecutionFilter::default() };
        assert_eq!(Totals::key(&deep), Totals::key(&ExecutionFilter::default()));
        let owner = ExecutionFilter { api_key_id: Some("x".to_owned()), ..ExecutionFilter::default() };
        assert_ne!(Totals::key(&owner), Totals::key(&ExecutionFilter::default()));
    }
}
