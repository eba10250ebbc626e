//! What bounds a turn. A budget never cuts an upstream's answer: it is asked before a round or a call starts.

use std::time::{Duration, Instant};

use domain::{StopReason, TurnBudgets, limits};

/// Bounds of one turn.
#[derive(Clone, Debug)]
pub struct Budgets {
    /// Rounds in which our tools may run.
    pub rounds: u32,
    /// Wall time after which no further round or execution starts.
    pub turn: Duration,
    /// Executions.
    pub executions: u32,
    /// Bytes of one tool result that reach the model.
    pub result_bytes: usize,
    /// Bytes of all tool results that reach the model.
    pub turn_result_bytes: usize,
    /// Tokens, input and output, that the upstream reports for the rounds; absent: any number.
    pub tokens: Option<u64>,
    /// Executions of one round at the same time.
    pub parallel: usize,
    /// Silence after which a stream gets a keep-alive.
    pub keep_alive: Duration,
}

impl Default for Budgets {
    fn default() -> Self {
        Self {
            rounds: limits::ROUNDS,
            turn: Duration::from_millis(limits::TURN_MS),
            executions: limits::EXECUTIONS_PER_TURN,
            result_bytes: limits::RESULT_BYTES,
            turn_result_bytes: limits::TURN_RESULT_BYTES,
            tokens: None,
            parallel: 8,
            keep_alive: Duration::from_millis(limits::KEEP_ALIVE_MS),
        }
    }
}

impl Budgets {
    /// With these bounds where they are the narrower ones; nothing is ever widened.
    #[must_use]
    pub(super) fn narrowed(&self, by: TurnBudgets) -> Self {
        let bytes = |mine: usize, by: Option<u64>| {
            by.map_or(mine, |by| usize::try_from(by).map_or(mine, |by| mine.min(by)))
        };
        Self {
            rounds: by.rounds.map_or(self.rounds, |by| self.rounds.min(by)),
            turn: by.wall_ms.map_or(self.turn, |by| self.turn.min(Duration::from_millis(by))),
            executions: by.executions.map_or(self.executions, |by| self.executions.min(by)),
            result_bytes: bytes(self.result_bytes, by.result_bytes),
            turn_result_bytes: bytes(self.turn_result_bytes, by.results_bytes),
            tokens: self.tokens.into_iter().chain(by.tokens).min(),
            ..self.clone()
        }
    }
}

/// What a turn has used so far.
#[derive(Debug)]
pub(super) struct Spent {
    started: Instant,
    pub(super) rounds: u32,
    pub(super) executions: u32,
    pub(super) result_bytes: usize,
    /// Base64 of images and files.
    pub(super) part_bytes: usize,
    /// Tokens that the upstream reported.
    pub(super) tokens: u64,
    pub(super) repeated: bool,
    /// A call of this turn waits for a person.
    pub(super) approval_pending: bool,
    /// Time that was spent waiting for persons; it counts for nothing.
    pub(super) waited: Duration,
}

impl Spent {
    pub(super) fn new() -> Self {
        Self {
            started: Instant::now(),
            rounds: 0,
            executions: 0,
            result_bytes: 0,
            part_bytes: 0,
            tokens: 0,
            repeated: false,
            approval_pending: false,
            waited: Duration::ZERO,
        }
    }

    /// Whether no execution may start any more, and why.
    pub(super) fn no_execution(&self, budgets: &Budgets) -> Option<StopReason> {
        if self.started.elapsed().saturating_sub(self.waited) >= budgets.turn {
            return Some(StopReason::Deadline);
        }
        (self.executions >= budgets.executions).then_some(StopReason::ExecutionBudget)
    }

    /// Whether the next round is the last, and why.
    pub(super) fn last_round(&self, budgets: &Budgets) -> Option<StopReason> {
        if self.repeated {
            return Some(StopReason::RepeatedCall);
        }
        if let Some(reason) = self.no_execution(budgets) {
            return Some(reason);
        }
        let too_many_tokens = budgets.tokens.is_some_and(|tokens| self.tokens >= tokens);
        if self.result_bytes >= budgets.turn_result_bytes || too_many_tokens {
            return Some(StopReason::OutputBudget);
        }
        (self.rounds >= budgets.rounds).then_some(StopReason::MaxRounds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_budget_has_its_own_reason() {
        let budgets = Budgets { rounds: 2, executions: 3, turn_result_bytes: 10, ..Budgets::default() };
        let mut spent = Spent::new();
        assert_eq!(spent.last_round(&budgets), None);
        spent.rounds = 2;
        assert_eq!(spent.last_round(&budgets), Some(StopReason::MaxRounds));
        spent.result_bytes = 10;
        assert_eq!(spent.last_round(&budgets), Some(StopReason::OutputBudget));
        spent.executions = 3;
        assert_eq!(spent.last_round(&budgets), Some(StopReason::ExecutionBudget));
        let late = Budgets { turn: Duration::ZERO, ..budgets };
        assert_eq!(spent.last_round(&late), Some(StopReason::Deadline));
        spent.repeated = true;
        assert_eq!(spent.last_round(&late), Some(StopReason::RepeatedCall));
    }

    #[test]
    fn tokens_count_where_they_are_bounded() {
        let spent = Spent { tokens: 100, ..Spent::new() };
        assert_eq!(spent.last_round(&Budgets::default()), None);
        for (tokens, reason) in [(101, None), (100, Some(StopReason::OutputBudget))] {
            let budgets = Budgets { tokens: Some(tokens), ..Budgets::default() };
            assert_eq!(spent.last_round(&budgets), reason);
        }
    }

    fn bounds(budgets: &Budgets) -> [u128; 6] {
        [
            budgets.rounds.into(),
            budgets.turn.as_millis(),
            budgets.executions.into(),
            budgets.result_bytes as u128,
            budgets.turn_result_bytes as u128,
            budgets.tokens.map_or(u128::MAX, u128::from),
        ]
    }

    proptest! {
        #[test]
        fn a_budget_only_ever_narrows(key in any::<[Option<u32>; 6]>(), request in any::<[Option<u32>; 6]>()) {
            let of = |n: [Option<u32>; 6]| TurnBudgets {
                rounds: n[0],
                wall_ms: n[1].map(u64::from),
                executions: n[2],
                result_bytes: n[3].map(u64::from),
                results_bytes: n[4].map(u64::from),
                tokens: n[5].map(u64::from),
            };
            let global = Budgets::default();
            let narrowed = bounds(&global.narrowed(of(key)).narrowed(of(request)));
            for (at, bound) in narrowed.into_iter().enumerate() {
                let least = [key[at], request[at]].into_iter().flatten().map(u128::from).min();
                prop_assert_eq!(bound, bounds(&global)[at].min(least.unwrap_or(u128::MAX)));
            }
        }
    }
}
