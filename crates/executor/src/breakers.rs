//! Spares what a skill depends on when it fails again and again: then the skill is refused for a moment.
//!
//! Counted for each owner by itself, so that nobody can switch off a skill of somebody else. What fails for good proves
//! that the dependency is there; what was cancelled, panicked or took too long says nothing either way.

use std::sync::Arc;
use std::time::Duration;

use moka::sync::Cache;

use crate::breaker::{Breaker, Leave, TRYING};

/// Breakers that are kept; the least recently used are forgotten, and begin anew.
const BREAKERS: u64 = 10_000;

/// All breakers.
pub(crate) struct Breakers {
    failures: u32,
    pause: Duration,
    known: Cache<String, Arc<Breaker>>,
}

impl Breakers {
    /// A pause after so many failures in a row; 0: never.
    pub(crate) fn new(failures: u32, pause: Duration) -> Self {
        Self { failures, pause, known: Cache::new(BREAKERS) }
    }

    /// Leave to run now, or how long to wait. `dependency` tells apart what one skill may depend on.
    pub(crate) fn enter(&self, owner: &str, skill: &str, dependency: &str) -> Result<Leave, Duration> {
        let key = format!("{} {owner} {skill} {dependency}", owner.len());
        let new = || Arc::new(Breaker::new(self.failures, self.pause, TRYING));
        self.known.get_with(key, new).enter()
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
