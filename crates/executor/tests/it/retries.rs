//! Passing failures: tried again where that is harmless and there is time; refused for a moment when they go on.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use domain::Annotations;
use domain::Status::{Error, Success};
use executor::{ExecutorConfig, OwnerLimits, Refusal, Run};
use serde_json::json;

use crate::fixture::{Fixture, doing, fixture, run_of, skill, standard};

/// A run that fails until the call of this number, of a skill that may run twice.
fn flaky(until: u64, max_retries: Option<u32>) -> Run {
    let mut skill = skill("puppet");
    skill.id = "flaky".into();
    skill.max_retries = max_retries;
    skill.annotations.idempotent = true;
    run_of(skill, json!({ "do": "flaky", "until": until }))
}

fn calls(fixture: &Fixture) -> usize {
    fixture.probe.calls.load(Ordering::SeqCst)
}

#[tokio::test(start_paused = true)]
async fn a_passing_failure_is_tried_again_and_attempts_are_recorded() {
    let fixture = standard();
    let row = fixture.executor.execute(flaky(3, Some(2))).await.unwrap();
    assert_eq!((row.status, row.attempts, row.error_message.as_deref()), (Success, 3, None));
    assert_eq!(fixture.store.rows()[0].attempts, 3);
    let row = fixture.executor.execute(flaky(99, Some(2))).await.unwrap();
    assert_eq!((row.status, row.attempts), (Error, 3));
    assert_eq!(row.error_message.as_deref(), Some("call 6 failed"), "the last one's words");
}

#[tokio::test(start_paused = true)]
async fn the_skill_then_the_owner_then_the_default_say_how_often_and_three_is_the_most() {
    for (of_skill, of_owner, default, attempts) in [
        (None, None, 0, 1),
        (None, None, 2, 3),
        (None, Some(1), 2, 2),
        (Some(0), Some(1), 2, 1),
        (Some(99), None, 0, 4),
        (None, Some(99), 0, 4),
        (None, None, 99, 4),
    ] {
        let fixture = standard();
        fixture.executor.set_max_retries(default);
        let limits = OwnerLimits { max_retries: of_owner, ..OwnerLimits::default() };
        let row = fixture.executor.execute(Run { limits, ..flaky(99, of_skill) }).await.unwrap();
        assert_eq!(row.attempts, attempts, "{of_skill:?} {of_owner:?} {default}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_may_do_harm_twice_runs_once() {
    for (annotations, attempts) in [
        (Annotations::default(), 1),
        (Annotations { destructive: true, open_world: true, ..Annotations::default() }, 1),
        (Annotations { read_only: true, ..Annotations::default() }, 4),
        (Annotations { idempotent: true, ..Annotations::default() }, 4),
    ] {
        let fixture = standard();
        let mut run = flaky(99, Some(3));
        Arc::make_mut(&mut run.skill).annotations = annotations;
        fixture.executor.execute(run).await.unwrap();
        assert_eq!(calls(&fixture), attempts, "{annotations:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn only_what_the_handler_calls_passing_is_tried_again() {
    for what in ["fail", "fail_with_output", "panic", "time_out"] {
        let fixture = standard();
        let mut run = flaky(99, Some(3));
        run.input = json!({ "do": what });
        assert_eq!(fixture.executor.execute(run).await.unwrap().attempts, 1, "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_tried_past_the_deadline() {
    let fixture = standard();
    let mut run = flaky(99, Some(3));
    run.timeout_ms = Some(100);
    let row = fixture.executor.execute(run).await.unwrap();
    assert_eq!((row.status, row.attempts), (Error, 1), "the first pause is longer than there is time");

    let mut run = flaky(99, Some(3));
    run.input["after"] = json!(29_999);
    let row = fixture.executor.execute(run.clone()).await.unwrap();
    assert_eq!(row.attempts, 2, "what the handler asks for is waited, once");
    run.input["after"] = json!(30_000);
    assert_eq!(fixture.executor.execute(run).await.unwrap().attempts, 1);
}

#[tokio::test]
async fn a_cancelled_run_is_not_tried_again() {
    let fixture = standard();
    let mut run = flaky(99, Some(3));
    run.input["after"] = json!(20_000);
    let cancel = run.cancel.clone();
    let (row, ()) = tokio::join!(fixture.executor.execute(run), async {
        fixture.probe.started.notified().await;
        cancel.cancel();
    });
    let row = row.unwrap();
    assert_eq!((row.status, row.error_message.as_deref(), row.attempts), (Error, Some("cancelled"), 1));
}

#[tokio::test(start_paused = true)]
async fn a_skill_that_fails_again_and_again_is_refused_for_a_moment() {
    let config = ExecutorConfig { breaker_failures: 3, ..ExecutorConfig::default() };
    let pause = config.breaker_pause;
    let fixture = fixture(config);
    for _ in 0..3 {
        fixture.executor.execute(flaky(6, None)).await.unwrap();
    }
    let refused = fixture.executor.execute(flaky(6, None)).await.unwrap_err();
    assert!(matches!(refused, Refusal::Unavailable { retry_after_s: 10, .. }), "{refused:?}");
    assert_eq!((refused.code(), calls(&fixture)), ("skill_unavailable", 3));
    assert_eq!(fixture.store.rows().len(), 3, "a refusal leaves no row");
    let recorded = fixture.executor.execute_recorded(flaky(6, None)).await.unwrap();
    assert_eq!(recorded.refusal.unwrap().code(), "skill_unavailable", "but the loop's does");

    let other = Run { api_key_id: "key-2".into(), ..flaky(0, None) };
    assert_eq!(fixture.executor.execute(other).await.unwrap().status, Success, "another key's runs go on");
    let mut elsewhere = flaky(0, None);
    elsewhere.input["on"] = json!("another host");
    assert_eq!(fixture.executor.execute(elsewhere).await.unwrap().status, Success);
    assert_eq!(fixture.executor.execute(doing("it")).await.unwrap().status, Success, "other skills go on");

    tokio::time::advance(pause).await;
    assert_eq!(fixture.executor.execute(flaky(99, None)).await.unwrap().status, Error, "one tries");
    assert_eq!(fixture.executor.execute(flaky(0, None)).await.unwrap_err().code(), "skill_unavailable");
    tokio::time::advance(pause).await;
    for _ in 0..3 {
        assert_eq!(fixture.executor.execute(flaky(0, None)).await.unwrap().status, Success);
    }
}

#[tokio::test(start_paused = true)]
async fn failures_that_are_the_callers_own_never_take_a_skill_away() {
    let fixture = fixture(ExecutorConfig {
        breaker_failures: 1,
        breaker_pause: Duration::from_hours(1),
        ..ExecutorConfig::default()
    });
    for what in ["fail", "panic", "time_out", "fail", "it"] {
        let mut run = flaky(0, None);
        run.input["do"] = json!(what);
        fixture.executor.execute(run).await.unwrap();
    }
}
