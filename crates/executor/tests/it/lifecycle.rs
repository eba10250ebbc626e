//! Lives of single runs: every end, written once.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use domain::Status::{Error, Pending, Running, Success, Timeout};
use domain::{Execution, Status};
use executor::{ExecutorConfig, model_result};
use serde_json::json;
use store::{ExecutionFilter, ExecutionOutcome, PageRequest, Store};

use crate::fixture::{doing, fixture, run_of, skill, standard};

async fn end_of(what: &str) -> (Execution, Vec<Status>) {
    let fixture = standard();
    let execution = fixture.executor.execute(doing(what)).await.unwrap();
    assert_eq!(fixture.store.rows(), std::slice::from_ref(&execution), "stored and returned are the same");
    assert_eq!(fixture.probe.alive.load(Ordering::SeqCst), 0);
    let life = fixture.store.life(&execution.id);
    (execution, life)
}

#[tokio::test]
async fn every_end_is_written_once() {
    for (what, status, message) in [
        ("succeed", Success, None),
        ("fail", Error, Some("no such thing; name another")),
        ("fail_with_output", Error, Some("exit code 3")),
        ("panic", Error, Some("the handler failed unexpectedly")),
        ("time_out", Timeout, Some("took too long")),
    ] {
        let (execution, life) = end_of(what).await;
        assert_eq!(life, [Pending, Running, status], "{what}");
        assert_eq!(execution.error_message.as_deref(), message, "{what}");
        assert_eq!(execution.attempts, 1, "{what}");
        assert!(execution.duration_ms.is_some(), "{what}");
    }
}

#[tokio::test]
async fn a_failure_keeps_its_output_and_its_engine() {
    for what in ["fail_with_output", "time_out"] {
        let (execution, _) = end_of(what).await;
        assert_eq!(execution.output, Some(json!({ "seen": { "do": what }, "user": "ann" })));
        assert_eq!(execution.engine.as_deref(), Some("puppet"));
        assert_eq!(execution.isolation.as_deref(), Some("none at all"));
    }
}

#[tokio::test]
async fn a_timeout_stops_the_handler_for_real() {
    let fixture = standard();
    let mut run = doing("forever");
    run.timeout_ms = Some(20);
    let execution = fixture.executor.execute(run).await.unwrap();
    assert_eq!(execution.error_message.as_deref(), Some("Skill execution timed out after 20 ms"));
    assert_eq!(fixture.store.life(&execution.id), [Pending, Running, Timeout]);
    assert_eq!(fixture.probe.alive.load(Ordering::SeqCst), 0, "its future was dropped");
}

#[tokio::test]
async fn the_call_then_the_skill_then_the_default_say_how_long() {
    let fixture = fixture(ExecutorConfig { max_timeout_ms: 40, ..ExecutorConfig::default() });
    fixture.executor.set_timeout(10);
    for (of_call, of_skill, ms) in [
        (None, None, 10),
        (None, Some(20), 20),
        (Some(15), Some(20), 15),
        (Some(99_999), None, 40),
        (None, Some(99_999), 40),
        (Some(0), None, 1),
    ] {
        let mut run = doing("forever");
        run.timeout_ms = of_call;
        Arc::make_mut(&mut run.skill).timeout_ms = of_skill;
        let execution = fixture.executor.execute(run).await.unwrap();
        let message = format!("Skill execution timed out after {ms} ms");
        assert_eq!(execution.error_message, Some(message), "{of_call:?} {of_skill:?}");
    }
}

#[tokio::test]
async fn a_cancelled_run_is_an_error() {
    let fixture = standard();
    let run = doing("forever");
    let cancel = run.cancel.clone();
    let (execution, ()) = tokio::join!(fixture.executor.execute(run), async {
        fixture.probe.started.notified().await;
        cancel.cancel();
    });
    let execution = execution.unwrap();
    assert_eq!(execution.error_message.as_deref(), Some("cancelled"));
    assert_eq!(fixture.store.life(&execution.id), [Pending, Running, Error]);
    assert_eq!(fixture.probe.alive.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_caller_that_goes_away_leaves_a_finished_row() {
    let fixture = standard();
    tokio::select! {
        _ = fixture.executor.execute(doing("forever")) => panic!("it never ends by itself"),
        () = fixture.probe.started.notified() => {}
    }
    let row = fixture.store.settled().await;
    assert_eq!((row.status, row.error_message.as_deref()), (Error, Some("cancelled")));
    assert_eq!(fixture.probe.alive.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn an_output_against_its_schema_is_an_error_that_keeps_it() {
    let fixture = standard();
    let mut run = doing("succeed");
    run.output_schema = Some(Arc::new(json!({ "properties": { "user": { "type": "integer" } } })));
    let execution = fixture.executor.execute(run).await.unwrap();
    assert_eq!(execution.status, Error);
    assert!(execution.error_message.as_deref().unwrap().contains("/user"), "{execution:?}");
    assert_eq!(execution.output, Some(json!({ "seen": { "do": "succeed" }, "user": "ann" })));

    let mut run = doing("succeed");
    run.output_schema = Some(Arc::new(json!({})));
    assert_eq!(fixture.executor.execute(run).await.unwrap().status, Success);
}

#[tokio::test]
async fn a_row_that_somebody_else_ended_stays_as_it_is() {
    let fixture = standard();
    let (execution, ()) = tokio::join!(fixture.executor.execute(doing("hold")), async {
        fixture.probe.started.notified().await;
        assert_eq!(fixture.executor.interrupt_stale().await.unwrap(), 1);
        fixture.probe.release.add_permits(1);
    });
    let execution = execution.unwrap();
    assert_eq!((execution.status, execution.error_message.as_deref()), (Error, Some("interrupted")));
    assert_eq!(fixture.store.life(&execution.id), [Pending, Running, Error]);
    let again = ExecutionOutcome {
        status: Success,
        output: None,
        parts: vec![],
        error_message: None,
        duration_ms: 1,
        attempts: 1,
        engine: None,
        isolation: None,
    };
    assert!(!fixture.store.finish_execution(&execution.id, again).await.unwrap());
}

#[tokio::test]
async fn the_history_is_bounded_and_the_answer_is_not() {
    let fixture = fixture(ExecutorConfig { history_bytes: 64, ..ExecutorConfig::default() });
    let input = json!({ "text": "中".repeat(100) });
    let execution = fixture.executor.execute(run_of(skill("echo-handler"), input.clone())).await.unwrap();
    assert_eq!(execution.output.as_ref(), Some(&input));
    let stored = fixture.executor.get_execution(&execution.id).await.unwrap().unwrap();
    for kept in [stored.input, stored.output.unwrap()] {
        assert_eq!(kept.get("bytes"), Some(&json!(input.to_string().len())));
        assert_eq!(kept.get("preview"), Some(&json!("{\"text\":\"中中中中中中中")));
    }
}

#[tokio::test]
async fn the_history_can_be_listed_and_counted() {
    let fixture = standard();
    for what in ["succeed", "fail", "succeed"] {
        fixture.executor.execute(doing(what)).await.unwrap();
    }
    let filter = ExecutionFilter { status: Some(Success), ..ExecutionFilter::default() };
    assert_eq!(fixture.executor.count_executions(&filter).await.unwrap(), 2);
    let page = fixture.executor.list_executions(&filter, PageRequest { page: 1, limit: 1 }).await.unwrap();
    assert_eq!((page.data.len(), page.total_pages), (1, 2));
}

#[tokio::test]
async fn the_model_is_told_the_output_or_the_error_with_what_there_is() {
    let (success, _) = end_of("succeed").await;
    assert_eq!(model_result(&success), (r#"{"seen":{"do":"succeed"},"user":"ann"}"#.to_owned(), false));
    let (failure, _) = end_of("fail").await;
    assert_eq!(model_result(&failure), (r#"{"error":"no such thing; name another"}"#.to_owned(), true));
    let (mut partial, _) = end_of("time_out").await;
    partial.output = Some(json!({ "error": "of the program", "stdout": "half" }));
    assert_eq!(model_result(&partial), (r#"{"error":"took too long","stdout":"half"}"#.to_owned(), true));
}
