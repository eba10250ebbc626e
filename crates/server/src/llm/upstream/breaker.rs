//! Spares an upstream that cannot be reached: after some failures in a row it is not asked for a moment, then one
//! request tries.
//!
//! Only what keeps an answer from beginning counts: no connection, or no first byte in time. A status is the
//! provider's own word and proves that it is there. A request that was given up on, or whose body was the trouble,
//! says nothing either way.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Failures in a row after which an upstream is not asked.
const FAILURES: u32 = 5;
/// How long one request may try until another does, too: an answer may begin late.
const TRYING: Duration = Duration::from_secs(10);
/// When to ask again while somebody else's request tries.
const WHILE_TRYING: Duration = Duration::from_secs(1);

pub(super) struct Breaker {
    pause: Duration,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// In a row.
    failures: u32,
    /// End of the pause; there is one from the last of [`FAILURES`] on until an answer begins.
    until: Option<Instant>,
    /// When the request went out that tries.
    trying: Option<Instant>,
}

/// Leave to ask once. Dropped without a word it has told nothing.
pub(super) struct Leave<'b> {
    breaker: &'b Breaker,
    /// Since when it is the one that tries.
    tries: Option<Instant>,
}

impl Breaker {
    /// With this pause.
    pub(super) fn new(pause: Duration) -> Self {
        Self { pause, state: Mutex::default() }
    }

    /// Leave to ask now, or how long to wait.
    pub(super) fn enter(&self) -> Result<Leave<'_>, Duration> {
        let mut state = self.state();
        let Some(until) = state.until else { return Ok(Leave { breaker: self, tries: None }) };
        let left = until.saturating_duration_since(Instant::now());
        if !left.is_zero() {
            return Err(left);
        }
        if state.trying.is_some_and(|since| since.elapsed() < TRYING) {
            return Err(WHILE_TRYING);
        }
        let tries = Some(Instant::now());
        state.trying = tries;
        Ok(Leave { breaker: self, tries })
    }

    /// How it goes: `ok`, `failing`, or `paused` while it is not asked.
    pub(super) fn health(&self) -> &'static str {
        let state = self.state();
        match (state.until, state.failures) {
            (Some(_), _) => "paused",
            (None, 0) => "ok",
            (None, _) => "failing",
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing below can panic while it holds the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Leave<'_> {
    /// An answer has begun.
    pub(super) fn answered(self) {
        let mut state = self.breaker.state();
        state.failures = 0;
        state.until = None;
    }

    /// None did. Says whether a pause begins with it.
    pub(super) fn failed(self) -> bool {
        let mut state = self.breaker.state();
        state.failures = state.failures.saturating_add(1);
        // What was asked before the pause began does not make it longer.
        let begins = if state.until.is_some() { self.tries.is_some() } else { state.failures >= FAILURES };
        if begins {
            state.until = Some(Instant::now() + self.breaker.pause);
        }
        begins
    }
}

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        let mut state = self.breaker.state();
        if self.tries.is_some() && state.trying == self.tries {
            state.trying = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PAUSE: Duration = Duration::from_secs(10);

    fn fail(breaker: &Breaker, times: u32) {
        (0..times).for_each(|_| {
            breaker.enter().ok().unwrap().failed();
        });
    }

    #[tokio::test(start_paused = true)]
    async fn five_failures_in_a_row_begin_a_pause_and_an_answer_starts_over() {
        let breaker = Breaker::new(PAUSE);
        fail(&breaker, FAILURES - 1);
        breaker.enter().ok().unwrap().answered();
        fail(&breaker, FAILURES - 1);
        assert!(breaker.enter().ok().unwrap().failed());
        assert_eq!(breaker.enter().err(), Some(PAUSE));
        tokio::time::advance(PAUSE / 2).await;
        assert_eq!(breaker.enter().err(), Some(PAUSE / 2));
    }

    #[tokio::test(start_paused = true)]
    async fn after_the_pause_one_request_tries() {
        let breaker = Breaker::new(PAUSE);
        fail(&breaker, FAILURES);
        tokio::time::advance(PAUSE).await;
        let first = breaker.enter().ok().unwrap();
        assert_eq!(breaker.enter().err(), Some(WHILE_TRYING));
        assert!(first.failed());
        assert_eq!(breaker.enter().err(), Some(PAUSE));
        tokio::time::advance(PAUSE).await;
        // Given up on: the next one tries.
        drop(breaker.enter().ok().unwrap());
        breaker.enter().ok().unwrap().answered();
        let (one, two) = (breaker.enter(), breaker.enter());
        assert!(one.is_ok() && two.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_tries_for_long_does_not_keep_the_others_out() {
        let breaker = Breaker::new(PAUSE);
        fail(&breaker, FAILURES);
        tokio::time::advance(PAUSE).await;
        let slow = breaker.enter().ok().unwrap();
        tokio::time::advance(TRYING).await;
        let second = breaker.enter().ok().unwrap();
        drop(slow);
        assert_eq!(breaker.enter().err(), Some(WHILE_TRYING));
        second.answered();
        assert!(breaker.enter().is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_asked_before_the_pause_neither_prolongs_it_nor_is_unheard() {
        let breaker = Breaker::new(PAUSE);
        let (slow, slower) = (breaker.enter().ok().unwrap(), breaker.enter().ok().unwrap());
        fail(&breaker, FAILURES);
        tokio::time::advance(PAUSE / 2).await;
        assert!(!slow.failed());
        assert_eq!(breaker.enter().err(), Some(PAUSE / 2));
        slower.answered();
        assert!(breaker.enter().is_ok());
    }

    #[test]
    fn requests_that_are_given_up_on_say_nothing() {
        let breaker = Breaker::new(PAUSE);
        fail(&breaker, FAILURES - 1);
        (0..100).for_each(|_| drop(breaker.enter().ok().unwrap()));
        assert!(breaker.enter().is_ok());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn one_at_most_tries_and_an_answer_always_opens(words in prop::collection::vec(0u8..4, 0..40)) {
            let breaker = Breaker::new(Duration::ZERO);
            let mut out = Vec::new();
            for word in words {
                match (word, out.pop()) {
                    (0, last) => {
                        out.extend(last);
                        out.extend(breaker.enter().ok());
                    }
                    (_, None) => {}
                    (1, Some(leave)) => {
                        Leave::answered(leave);
                        prop_assert!(breaker.enter().is_ok());
                    }
                    (2, Some(leave)) => {
                        leave.failed();
                    }
                    (_, Some(leave)) => drop(leave),
                }
                let trying = out.iter().filter(|leave: &&Leave<'_>| leave.tries.is_some()).count();
                prop_assert!(trying <= 1);
                prop_assert_eq!(breaker.state().trying.is_some(), trying == 1);
            }
        }
    }
}
