//! Spares what a skill depends on when it fails again and again: after some passing failures in a row the skill is
//! refused for a moment, then one run tries.
//!
//! Counted for each owner by itself, so that nobody can switch off a skill of somebody else. What fails for good proves
//! that the dependency is there; what was cancelled, panicked or took too long says nothing either way.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use moka::sync::Cache;
use tokio::time::Instant;

/// Breakers that are kept; the least recently used are forgotten, and begin anew.
const BREAKERS: u64 = 10_000;
/// How long one run may try until another does, too: it may take long, or wait long.
const TRYING: Duration = Duration::from_secs(10);

/// All breakers.
pub(crate) struct Breakers {
    failures: u32,
    pause: Duration,
    known: Cache<String, Arc<Breaker>>,
}

/// One skill of one owner.
struct Breaker {
    failures: u32,
    pause: Duration,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// In a row.
    failures: u32,
    /// End of the pause; there is one until a run tells that the dependency is there.
    until: Option<Instant>,
    /// When the run began that tries.
    trying: Option<Instant>,
}

impl Breakers {
    /// A pause after so many failures in a row; 0: never.
    pub(crate) fn new(failures: u32, pause: Duration) -> Self {
        Self { failures, pause, known: Cache::new(BREAKERS) }
    }

    /// Leave to run now, or how long to wait. `dependency` tells apart what one skill may depend on.
    pub(crate) fn enter(&self, owner: &str, skill: &str, dependency: &str) -> Result<Leave, Duration> {
        let key = format!("{} {owner} {skill} {dependency}", owner.len());
        let new = || Breaker { failures: self.failures, pause: self.pause, state: Mutex::default() };
        Breaker::enter(self.known.get_with(key, || Arc::new(new())))
    }
}

impl Breaker {
    fn enter(self: Arc<Self>) -> Result<Leave, Duration> {
        let mut state = self.lock();
        let Some(until) = state.until else {
            drop(state);
            return Ok(Leave { breaker: self, tries: None });
        };
        let now = Instant::now();
        let left = until.saturating_duration_since(now);
        if !left.is_zero() {
            return Err(left);
        }
        if let Some(since) = state.trying
            && since.elapsed() < TRYING
        {
            return Err(TRYING.saturating_sub(since.elapsed()));
        }
        state.trying = Some(now);
        drop(state);
        Ok(Leave { breaker: self, tries: Some(now) })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it holds the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Leave to run once. Dropped without a word it has told nothing.
pub(crate) struct Leave {
    breaker: Arc<Breaker>,
    /// Since when it is the one that tries.
    tries: Option<Instant>,
}

impl Leave {
    /// The dependency is there.
    pub(crate) fn answered(self) {
        let mut state = self.breaker.lock();
        state.failures = 0;
        state.until = None;
    }

    /// It failed, and may not fail later. Says whether a pause begins with it.
    pub(crate) fn failed(self) -> bool {
        let Breaker { failures, pause, .. } = *self.breaker;
        let mut state = self.breaker.lock();
        state.failures = state.failures.saturating_add(1);
        // What began before the pause does not make it longer.
        let begins = if state.until.is_some() {
            self.tries.is_some()
        } else {
            failures > 0 && state.failures >= failures
        };
        if begins {
            state.until = Some(Instant::now() + pause);
        }
        begins
    }
}

impl Drop for Leave {
    fn drop(&mut self) {
        let mut state = self.breaker.lock();
        if self.tries.is_some() && state.trying == self.tries {
            state.trying = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSE: Duration = Duration::from_secs(10);

    fn breakers() -> Breakers {
        Breakers::new(3, PAUSE)
    }

    fn enter(breakers: &Breakers) -> Result<Leave, Duration> {
        breakers.enter("owner", "skill", "")
    }

    fn fail(breakers: &Breakers, times: u32) {
        (0..times).for_each(|_| {
            enter(breakers).ok().unwrap().failed();
        });
    }

    #[tokio::test(start_paused = true)]
    async fn failures_in_a_row_begin_a_pause_and_success_starts_over() {
        let breakers = breakers();
        fail(&breakers, 2);
        enter(&breakers).ok().unwrap().answered();
        fail(&breakers, 2);
        assert!(enter(&breakers).ok().unwrap().failed());
        assert_eq!(enter(&breakers).err(), Some(PAUSE));
        for other in [("other", "skill", ""), ("owner", "other", ""), ("owner", "skill", "other")] {
            assert!(breakers.enter(other.0, other.1, other.2).is_ok(), "{other:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn after_the_pause_one_run_tries() {
        let breakers = breakers();
        fail(&breakers, 3);
        tokio::time::advance(PAUSE).await;
        let first = enter(&breakers).ok().unwrap();
        assert_eq!(enter(&breakers).err(), Some(TRYING));
        assert!(first.failed());
        assert_eq!(enter(&breakers).err(), Some(PAUSE));
        tokio::time::advance(PAUSE).await;
        // Given up on: the next one tries.
        drop(enter(&breakers).ok().unwrap());
        enter(&breakers).ok().unwrap().answered();
        let (one, two) = (enter(&breakers), enter(&breakers));
        assert!(one.is_ok() && two.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_tries_for_long_does_not_keep_the_others_out() {
        let breakers = breakers();
        fail(&breakers, 3);
        tokio::time::advance(PAUSE).await;
        let slow = enter(&breakers).ok().unwrap();
        tokio::time::advance(TRYING).await;
        let second = enter(&breakers).ok().unwrap();
        drop(slow);
        assert_eq!(enter(&breakers).err(), Some(TRYING));
        second.answered();
        assert!(enter(&breakers).is_ok());
    }

    #[test]
    fn runs_that_say_nothing_and_a_breaker_that_is_off_change_nothing() {
        let breakers = breakers();
        fail(&breakers, 2);
        (0..100).for_each(|_| drop(enter(&breakers).ok().unwrap()));
        assert!(enter(&breakers).is_ok());
        let off = Breakers::new(0, PAUSE);
        fail(&off, 100);
        assert!(enter(&off).is_ok());
    }
}
