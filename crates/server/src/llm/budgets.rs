//! What bounds a turn. A budget never cuts an upstream's answer: it is asked before a round or a call starts.

use std::time::{Duration, Instant};

use domain::{StopReason, limits};

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
            parallel: 8,
            keep_alive: Duration::from_millis(limits::KEEP_ALIVE_MS),
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
    pub(super) repeated: bool,
}

impl Spent {
    pub(super) fn new() -> Self {
        Self { started: Instant::now(), rounds: 0, executions: 0, result_bytes: 0, repeated: false }
    }

    /// Whether no execution may start any more, and why.
    pub(super) fn no_execution(&self, budgets: &Budgets) -> Option<StopReason> {
        if self.started.elapsed() >= budgets.turn {
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
        if self.result_bytes >= budgets.turn_result_bytes {
            return Some(StopReason::OutputBudget);
        }
        (self.rounds >= budgets.rounds).then_some(StopReason::MaxRounds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
