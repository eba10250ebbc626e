//! The calls of one round: decided in order, run side by side, settled in order again.
//!
//! A call that cannot be run is answered, never dropped: the model gets one result per call, and can act on it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use dialects::Call;
use domain::{Door, OnDisconnect, ToolResult, Version};
use executor::{Recorded, Refusal, RefusedCall, Run};
use futures_util::{StreamExt, stream};
use registry::Entry;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::budgets::{Budgets, Spent};
use super::turn::Turn;
use super::{parts, results};

/// Identical calls with identical results after which the model is told.
const REPEATS: u32 = 3;
/// Failures in a row after which a skill is not run again in this turn.
const FAILURES: u32 = 3;

/// What earlier rounds of this turn showed.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// Result and count by call.
    seen: HashMap<String, (String, u32)>,
    /// Failures in a row by skill name.
    failures: HashMap<String, u32>,
}

/// What becomes of one call.
pub(super) enum Plan {
    /// Answered without running.
    Answered(ToolResult),
    /// Not runnable: answered, and written to the history.
    Refused { call: Call, entry: Option<Arc<Entry>>, code: &'static str, message: String },
    /// Run. `once` names the run for a request that may be repeated.
    Run { call: Call, entry: Arc<Entry>, input: Map<String, Value>, once: Option<String> },
}

/// What became of it.
pub(super) struct Outcome {
    result: ToolResult,
    /// Signature and skill name, for a call that ran.
    ran: Option<(String, String)>,
    execution: Option<String>,
    /// It waits for a person.
    pending: bool,
    /// How long it was waited for a person.
    waited: Duration,
}

impl Outcome {
    fn of(result: ToolResult) -> Self {
        Self { result, ran: None, execution: None, pending: false, waited: Duration::ZERO }
    }
}

/// Decides about each call, in order.
pub(super) fn plan(turn: &Turn, calls: &[&Call], memory: &mut Memory, spent: &mut Spent) -> Vec<Plan> {
    let budgets = &turn.received.budgets;
    let plan = |(place, call): (usize, &&Call)| plan_one(turn, place, call, memory, spent, budgets);
    calls.iter().enumerate().map(plan).collect()
}

fn plan_one(
    turn: &Turn,
    place: usize,
    call: &Call,
    memory: &Memory,
    spent: &mut Spent,
    budgets: &Budgets,
) -> Plan {
    let refused = |entry, code, message: String| Plan::Refused { call: call.clone(), entry, code, message };
    let Some(id) = turn.injected.lookup(&call.call.name) else {
        let names = turn.injected.wire_names().join(", ");
        let message = format!("There is no tool `{}`. Tools you may call: {names}.", call.call.name);
        return refused(None, "unknown_tool", message);
    };
    // Looked up again, so that a skill switched off since the start of the turn does not run.
    let Some(entry) = turn.received.app.registry.current().get(id).cloned() else {
        return refused(None, "unknown_tool", "This tool is not installed any more.".to_owned());
    };
    let name = entry.skill.name.clone();
    let input = match results::arguments(&call.call.arguments) {
        Ok(input) => turn.received.dialect.restore_arguments(entry.input(), input),
        Err(message) => return refused(Some(entry), "malformed_arguments", message),
    };
    if memory.failures.get(&name).is_some_and(|n| *n >= FAILURES) {
        let message = format!("{name} failed {FAILURES} times in a row. Do not retry it in this turn.");
        return Plan::Answered(results::refused(call, "do_not_retry", &message));
    }
    if memory.seen.get(&signature(&name, &input)).is_some_and(|(_, n)| *n >= REPEATS) {
        spent.repeated = true;
        let message = format!("Not run: the same call gave the same result {REPEATS} times.");
        return Plan::Answered(results::refused(call, "repeated_call", &message));
    }
    if let Some(reason) = spent.no_execution(budgets) {
        let message = format!("Not run: this turn's budget is used up ({}).", reason.as_str());
        return Plan::Answered(results::refused(call, "budget", &message));
    }
    spent.executions += 1;
    let once = once(turn, spent.rounds, place, &entry, &input);
    Plan::Run { call: call.clone(), entry, input, once }
}

/// The name of one run of a request with an `Idempotency-Key`: owner, key, round, place, skill and input.
fn once(turn: &Turn, round: u32, place: usize, entry: &Entry, input: &Map<String, Value>) -> Option<String> {
    let received = &turn.received;
    let key = received.idempotency_key.as_deref()?;
    let place = format!("loop {round} {place}");
    let work = signature(&entry.skill.identity(), input);
    let parts = [received.caller.owner(), key, &place, &work].map(|part| format!("{} {part}", part.len()));
    Some(domain::ids::sha256_hex(parts.concat()))
}

fn signature(name: &str, input: &Map<String, Value>) -> String {
    let mut sorted: Vec<_> = input.iter().collect();
    sorted.sort_by(|a, b| a.0.cmp(b.0));
    format!("{name} {}", serde_json::to_string(&sorted).unwrap_or_default())
}

/// Runs what is to be run, side by side, and keeps the order.
pub(super) async fn run(turn: Arc<Turn>, plans: Vec<Plan>) -> Vec<Outcome> {
    let parallel = turn.received.budgets.parallel.max(1);
    let work = plans.into_iter().map(|plan| run_one(Arc::clone(&turn), plan));
    stream::iter(work).buffered(parallel).collect().await
}

async fn run_one(turn: Arc<Turn>, plan: Plan) -> Outcome {
    match plan {
        Plan::Answered(result) => Outcome::of(result),
        Plan::Refused { call, entry, code, message } => {
            refuse(&turn, &call, entry.as_deref(), code, message).await
        }
        Plan::Run { call, entry, input, once } => {
            let ran = Some((signature(&entry.skill.name, &input), entry.skill.name.clone()));
            let run = Run { once, ..request(&turn, &entry, input) };
            match turn.received.app.executor.execute_recorded(run).await {
                Ok(recorded) => Outcome { ran, ..recorded_outcome(&call, recorded) },
                Err(refusal) => {
                    let result = results::refused(&call, refusal.code(), &refusal.to_string());
                    Outcome { ran, ..Outcome::of(result) }
                }
            }
        }
    }
}

fn recorded_outcome(call: &Call, recorded: Recorded) -> Outcome {
    let Recorded { mut execution, refusal, waited } = recorded;
    let result = match &refusal {
        None => {
            let (content, is_error) = executor::model_result(&execution);
            let mut result = results::result(call, content, is_error);
            parts::put(&mut result, std::mem::take(&mut execution.parts));
            result
        }
        Some(refusal) => results::refused(call, refusal.code(), &refusal.to_string()),
    };
    let pending = matches!(refusal, Some(Refusal::ApprovalPending { .. }));
    Outcome { execution: Some(execution.id), pending, waited, ..Outcome::of(result) }
}

fn request(turn: &Turn, entry: &Entry, input: Map<String, Value>) -> Run {
    let received = &turn.received;
    Run {
        skill: Arc::new(entry.skill.clone()),
        input_schema: Arc::new(entry.input().clone()),
        output_schema: entry.output.clone().map(Arc::new),
        input: Value::Object(input),
        api_key_id: received.caller.owner().to_owned(),
        user: received.user.clone(),
        session_id: received.session.clone(),
        turn_id: Some(received.turn_id.clone()),
        door: Door::Loop,
        policy: received.policy(&entry.skill),
        approval_wait: received.approval_wait(),
        once: None,
        timeout_ms: None,
        cancel: CancellationToken::new(),
        outlives_caller: received.idempotency_key.is_some()
            || received.caller.on_disconnect() == OnDisconnect::Finish,
        custom_allowed: received.custom_allowed(),
        limits: received.caller.run_limits(),
    }
}

/// Answers a call that was not run; the history keeps it as an error.
async fn refuse(turn: &Turn, call: &Call, entry: Option<&Entry>, code: &str, message: String) -> Outcome {
    let received = &turn.received;
    let result = results::refused(call, code, &message);
    let refused = RefusedCall {
        skill_id: entry.map(|e| e.skill.id.clone()).unwrap_or_default(),
        skill_name: entry.map_or_else(|| call.call.name.clone(), |e| e.skill.name.clone()),
        version: entry.map_or(Version::new(0, 0, 0), |e| e.skill.version),
        input: RefusedCall::raw_input(&call.call.arguments),
        api_key_id: received.caller.owner().to_owned(),
        user: received.user.clone(),
        session_id: received.session.clone(),
        turn_id: Some(received.turn_id.clone()),
        door: Door::Loop,
        message,
    };
    let execution = match received.app.executor.record_refusal(refused).await {
        Ok(execution) => Some(execution.id),
        Err(error) => {
            tracing::error!(error = &error as &dyn std::error::Error, "a refused call is not in the history");
            None
        }
    };
    Outcome { execution, ..Outcome::of(result) }
}

/// Bounds the results, remembers them, counts them. `media` is what the model takes beside text; ids are those of
/// the executions.
pub(super) fn settle(
    outcomes: Vec<Outcome>,
    budgets: &Budgets,
    media: &[&str],
    memory: &mut Memory,
    spent: &mut Spent,
) -> (Vec<ToolResult>, Vec<String>) {
    let mut results = Vec::with_capacity(outcomes.len());
    let mut ids = Vec::new();
    // Side by side: the longest wait is the turn's.
    spent.waited += outcomes.iter().map(|outcome| outcome.waited).max().unwrap_or_default();
    for outcome in outcomes {
        spent.approval_pending |= outcome.pending;
        let mut result = outcome.result;
        if let Some((signature, skill)) = outcome.ran {
            memory.note(&signature, &skill, &mut result);
        }
        let left = budgets.turn_result_bytes.saturating_sub(spent.result_bytes);
        result.content = results::bound(result.content, budgets.result_bytes.min(left));
        parts::settle(&mut result, outcome.execution.as_deref(), media, &mut spent.part_bytes);
        spent.result_bytes = spent.result_bytes.saturating_add(result.content.len());
        ids.extend(outcome.execution);
        results.push(result);
    }
    (results, ids)
}

impl Memory {
    /// Counts a result; the model is told once when it goes in circles.
    fn note(&mut self, signature: &str, skill: &str, result: &mut ToolResult) {
        let failures = self.failures.entry(skill.to_owned()).or_default();
        *failures = if result.is_error { *failures + 1 } else { 0 };
        let seen = self.seen.entry(signature.to_owned()).or_default();
        let print = parts::fingerprint(result);
        if seen.0 == print {
            seen.1 += 1;
        } else {
            *seen = (print, 1);
        }
        if seen.1 == REPEATS {
            result
                .content
                .push_str("\n[This call gave this result three times. Do not make it again; answer.]");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(content: &str, is_error: bool) -> ToolResult {
        ToolResult {
            call_id: "c".into(),
            name: "n".into(),
            content: content.into(),
            parts: Vec::new(),
            is_error,
        }
    }

    #[test]
    fn a_circle_is_noticed_once_and_a_new_result_starts_over() {
        let mut memory = Memory::default();
        for round in 1..=3 {
            let mut same = result("x", false);
            memory.note("s", "skill", &mut same);
            assert_eq!(same.content != "x", round == 3);
        }
        memory.note("s", "skill", &mut result("y", false));
        assert_eq!(memory.seen["s"].1, 1);
    }

    #[test]
    fn failures_in_a_row_are_counted_per_skill() {
        let mut memory = Memory::default();
        memory.note("a", "skill", &mut result("1", true));
        memory.note("b", "skill", &mut result("2", true));
        assert_eq!(memory.failures["skill"], 2);
        memory.note("c", "skill", &mut result("3", false));
        assert_eq!(memory.failures["skill"], 0);
    }

    #[test]
    fn results_share_the_turns_bytes() {
        let budgets = Budgets { result_bytes: 6, turn_result_bytes: 8, ..Budgets::default() };
        let mut spent = Spent::new();
        let outcome = || Outcome::of(result("abcdef", false));
        let (results, _) =
            settle(vec![outcome(), outcome()], &budgets, &[], &mut Memory::default(), &mut spent);
        assert_eq!(results[0].content, "abcdef");
        assert!(results[1].content.starts_with("ab\n[cut: 4 of 6 bytes"), "{}", results[1].content);
        assert!(spent.last_round(&budgets).is_some());
    }

    #[test]
    fn member_order_does_not_make_a_call_another() {
        let one = serde_json::from_str(r#"{"a":1,"b":2}"#).unwrap();
        let two = serde_json::from_str(r#"{"b":2,"a":1}"#).unwrap();
        assert_eq!(signature("n", &one), signature("n", &two));
    }
}
