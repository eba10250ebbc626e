//! Runs that may be asked for twice: one runs, everybody gets its outcome.

use std::sync::atomic::Ordering;

use domain::{Policy, Status};
use executor::{Decider, Refusal, Run};
use serde_json::json;

use crate::fixture::{doing, standard};

fn named(run: Run) -> Run {
    Run { once: Some("k".repeat(64)), outlives_caller: true, ..run }
}

#[tokio::test]
async fn a_repeat_gets_the_outcome_of_the_first() {
    let fixture = standard();
    let run = named(doing("it"));
    let first = fixture.executor.execute(run.clone()).await.unwrap();
    let again = fixture.executor.execute(run).await.unwrap();
    assert_eq!((again.id, again.output), (first.id, first.output));
    assert_eq!(fixture.store.rows().len(), 1);
}

#[tokio::test]
async fn a_repeat_waits_for_the_first_while_it_runs() {
    let fixture = standard();
    let run = named(doing("hold"));
    let ask = |run: Run| {
        let executor = fixture.executor.clone();
        tokio::spawn(async move { executor.execute(run).await })
    };
    let first = ask(run.clone());
    fixture.probe.started.notified().await;
    let second = ask(run);
    tokio::task::yield_now().await;
    fixture.probe.release.add_permits(1);
    let (first, second) = (first.await.unwrap().unwrap(), second.await.unwrap().unwrap());
    assert_eq!((first.id, Status::Success), (second.id, second.status));
    assert_eq!(fixture.probe.most.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_first_that_lost_its_caller_goes_on_for_the_repeat() {
    let fixture = standard();
    let run = named(doing("hold"));
    let executor = fixture.executor.clone();
    let first = tokio::spawn({
        let run = run.clone();
        async move { executor.execute(run).await }
    });
    fixture.probe.started.notified().await;
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    fixture.probe.release.add_permits(1);
    assert_eq!(fixture.executor.execute(run).await.unwrap().status, Status::Success);
    assert_eq!(fixture.store.rows().len(), 1);
}

#[tokio::test]
async fn a_key_that_meant_something_else_is_refused() {
    let fixture = standard();
    let run = named(doing("it"));
    fixture.executor.execute(run.clone()).await.unwrap();
    let other = Run { input: json!({"do": "that"}), ..run };
    assert!(matches!(fixture.executor.execute(other).await, Err(Refusal::KeyReused)));
}

#[tokio::test]
async fn a_repeat_of_a_run_that_takes_too_long_is_told_to_come_back() {
    let fixture = standard();
    let run = Run { timeout_ms: Some(60_000), ..named(doing("hold")) };
    let executor = fixture.executor.clone();
    let first = tokio::spawn({
        let run = run.clone();
        async move { executor.execute(run).await }
    });
    fixture.probe.started.notified().await;
    let impatient = Run { timeout_ms: Some(1), ..run };
    let told = fixture.executor.execute(impatient).await;
    assert!(matches!(told, Err(Refusal::StillRunning { .. })), "{told:?}");
    fixture.probe.release.add_permits(1);
    assert_eq!(first.await.unwrap().unwrap().status, Status::Success);
}

fn token() -> Decider {
    Decider { id: "management".into(), is_token: true }
}

#[tokio::test]
async fn a_run_that_was_made_stays_made_whatever_changes_about_the_skill() {
    let fixture = standard();
    let run = named(doing("it"));
    let first = fixture.executor.execute_recorded(run.clone()).await.unwrap().execution;
    for policy in [Policy::Hybrid, Policy::Manual] {
        let again = fixture.executor.execute_recorded(Run { policy, ..run.clone() }).await.unwrap();
        assert!(again.refusal.is_none() && again.execution.id == first.id, "{again:?}");
    }
    fixture.executor.set_enabled(false);
    assert_eq!(fixture.executor.execute(run).await.unwrap().id, first.id);
    assert_eq!(fixture.store.rows().len(), 1);
}

#[tokio::test]
async fn a_question_that_was_put_stays_the_question() {
    let fixture = standard();
    let run = Run { policy: Policy::Hybrid, ..named(doing("it")) };
    let waiting = fixture.executor.execute_recorded(run.clone()).await.unwrap();
    assert!(matches!(waiting.refusal, Some(Refusal::ApprovalPending { .. })));
    let free = Run { policy: Policy::Auto, ..run.clone() };
    let again = fixture.executor.execute_recorded(free).await.unwrap();
    assert!(matches!(again.refusal, Some(Refusal::ApprovalPending { .. })), "{again:?}");
    assert_eq!(fixture.store.rows().len(), 1, "nothing ran, nothing else was asked");
}

#[tokio::test]
async fn one_approval_answers_one_name_and_that_again_and_again() {
    let fixture = standard();
    let run = Run { policy: Policy::Hybrid, ..named(doing("it")) };
    let waiting = fixture.executor.execute_recorded(run.clone()).await.unwrap().execution;
    let approved = Run { policy: Policy::Auto, once: None, ..run.clone() };
    fixture.executor.approve(&waiting.id, approved, &token()).await.unwrap();
    for _ in 0..2 {
        let told = fixture.executor.execute_recorded(run.clone()).await.unwrap();
        assert!(told.refusal.is_none() && told.execution.id == waiting.id, "{told:?}");
    }
    for other in [Some("l".repeat(64)), None] {
        let told = fixture.executor.execute_recorded(Run { once: other, ..run.clone() }).await.unwrap();
        assert!(told.refusal.is_some() && told.execution.id != waiting.id, "a new question: {told:?}");
    }
}

#[tokio::test]
async fn an_outcome_that_somebody_else_took_is_still_there_for_whoever_asked_first() {
    let fixture = standard();
    let run = Run { policy: Policy::Hybrid, ..named(doing("it")) };
    let waiting = fixture.executor.execute_recorded(run.clone()).await.unwrap().execution;
    let approved = Run { policy: Policy::Auto, once: None, ..run.clone() };
    fixture.executor.approve(&waiting.id, approved, &token()).await.unwrap();
    let nameless = fixture.executor.execute_recorded(Run { once: None, ..run.clone() }).await.unwrap();
    assert_eq!(nameless.execution.id, waiting.id);
    let told = fixture.executor.execute_recorded(run).await.unwrap();
    assert!(told.refusal.is_none() && told.execution.id == waiting.id, "{told:?}");
}
