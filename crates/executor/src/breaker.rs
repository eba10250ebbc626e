//! Spares what fails again and again: after some failures in a row it is not asked for a moment, then one tries.
//!
//! The one state machine for it, whatever is asked: a skill (see `breakers`), or an upstream of the server. What counts
//! as a failure is the caller's to say; who says nothing has told nothing.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// How long one may try until another does, too: it may take long, or wait long.
pub(crate) const TRYING: Duration = Duration::from_secs(10);

/// Counts the failures of one thing.
#[derive(Debug)]
pub struct Breaker {
    failures: u32,
    pause: Duration,
    while_trying: Duration,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// In a row.
    failures: u32,
    /// End of the pause; there is one until somebody tells that it answers.
    until: Option<Instant>,
    /// Since when somebody tries.
    trying: Option<Instant>,
}

/// Leave to ask once. Dropped without a word it has told nothing.
#[derive(Debug)]
pub struct Leave {
    breaker: Arc<Breaker>,
    /// Since when it is the one that tries.
    tries: Option<Instant>,
}

impl Breaker {
    /// A pause after so many failures in a row (0: never), after which one tries; meanwhile the others are sent away for
    /// `while_trying`, or for what is left of ten seconds.
    pub fn new(failures: u32, pause: Duration, while_trying: Duration) -> Self {
        Self { failures, pause, while_trying, state: Mutex::default() }
    }

    /// Leave to ask now, or how long to wait.
    pub fn enter(self: &Arc<Self>) -> Result<Leave, Duration> {
        let leave = |tries| Leave { breaker: Arc::clone(self), tries };
        let mut state = self.state();
        let Some(until) = state.until else { return Ok(leave(None)) };
        let now = Instant::now();
        let left = until.saturating_duration_since(now);
        if !left.is_zero() {
            return Err(left);
        }
        let tried_for = state.trying.map(|since| now.saturating_duration_since(since));
        if let Some(tried_for) = tried_for.filter(|tried_for| *tried_for < TRYING) {
            return Err(self.while_trying.min(TRYING.saturating_sub(tried_for)));
        }
        state.trying = Some(now);
        Ok(leave(Some(now)))
    }

    /// How it goes: `ok`, `failing`, or `paused` while it is not asked.
    pub fn health(&self) -> &'static str {
        let state = self.state();
        match (state.until, state.failures) {
            (Some(_), _) => "paused",
            (None, 0) => "ok",
            (None, _) => "failing",
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it holds the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Leave {
    /// It answers.
    pub fn answered(self) {
        let mut state = self.breaker.state();
        state.failures = 0;
        state.until = None;
    }

    /// It failed. Says whether a pause begins with it.
    pub fn failed(self) -> bool {
        let Breaker { failures, pause, .. } = *self.breaker;
        let mut state = self.breaker.state();
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
    const FAILURES: u32 = 5;
    const WHILE_TRYING: Duration = Duration::from_secs(1);

    fn breaker(pause: Duration) -> Arc<Breaker> {
        Arc::new(Breaker::new(FAILURES, pause, WHILE_TRYING))
    }

    fn fail(breaker: &Arc<Breaker>, times: u32) {
        (0..times).for_each(|_| {
            breaker.enter().ok().unwrap().failed();
        });
    }

    #[tokio::test(start_paused = true)]
    async fn five_failures_in_a_row_begin_a_pause_and_an_answer_starts_over() {
        let breaker = breaker(PAUSE);
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
        let breaker = breaker(PAUSE);
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
        let breaker = breaker(PAUSE);
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
        let breaker = breaker(PAUSE);
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
        let breaker = breaker(PAUSE);
        fail(&breaker, FAILURES - 1);
        (0..100).for_each(|_| drop(breaker.enter().ok().unwrap()));
        assert!(breaker.enter().is_ok());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn one_at_most_tries_and_an_answer_always_opens(words in prop::collection::vec(0u8..4, 0..40)) {
            let breaker = breaker(Duration::ZERO);
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
                let trying = out.iter().filter(|leave: &&Leave| leave.tries.is_some()).count();
                prop_assert!(trying <= 1);
                prop_assert_eq!(breaker.state().trying.is_some(), trying == 1);
            }
        }
    }
}
