//! `eval_code` over a puppet engine: what goes in, and how each outcome is told.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use executor::{HandlerError, RunContext};
use sandbox::{Engine, Language, Outcome, Probe, Reason, SandboxError, Spec};
use serde_json::{Value, json};

use crate::fixture::{Fixture, ctx, fixture, object};

struct Puppet {
    answer: Mutex<Option<Result<Outcome, SandboxError>>>,
    asked: Mutex<Option<Spec>>,
    available: bool,
}

#[async_trait]
impl Engine for Puppet {
    fn name(&self) -> &'static str {
        "wasm"
    }

    fn probe(&self) -> Probe {
        Probe {
            available: self.available,
            isolation: String::new(),
            limits: String::new(),
            languages: vec![],
            reason: (!self.available).then(|| "its runtimes are missing".to_owned()),
        }
    }

    async fn run(&self, spec: Spec) -> Result<Outcome, SandboxError> {
        *self.asked.lock().unwrap() = Some(spec);
        self.answer.lock().unwrap().take().unwrap()
    }

    async fn kill_all(&self) {}
}

fn outcome(reason: Reason, exit_code: Option<i32>) -> Outcome {
    Outcome {
        exit_code,
        signal: None,
        reason,
        stdout: "out".into(),
        stderr: "err".into(),
        truncated: false,
        hint: None,
        duration_ms: 7,
        engine: "wasm",
        isolation: "a puppet's".into(),
    }
}

fn over(answer: Result<Outcome, SandboxError>) -> (Fixture, Arc<Puppet>) {
    let puppet =
        Arc::new(Puppet { answer: Mutex::new(Some(answer)), asked: Mutex::new(None), available: true });
    (fixture(builtins::WorkspaceLimits::default(), Some(Arc::clone(&puppet) as _)), puppet)
}

fn python(more: Value) -> Value {
    let mut input = object(json!({ "language": "py", "code": "print(1)" }));
    input.extend(object(more));
    Value::Object(input)
}

#[tokio::test]
async fn a_success_is_told_whole() {
    let (fixture, puppet) = over(Ok(outcome(Reason::Ok, Some(0))));
    let input = python(json!({ "stdin": "in", "timeoutMs": 2_000, "engine": "wasm", "image": "" }));
    let output = fixture.run("eval_code", &ctx("key-1"), input).await.unwrap();
    let expected = json!({
        "success": true, "language": "python", "engine": "wasm", "isolation": "a puppet's", "exitCode": 0,
        "stdout": "out", "stderr": "err", "output": "out\nerr", "truncated": false, "durationMs": 7, "reason": "ok"
    });
    assert_eq!(Value::Object(output.value), expected);
    assert_eq!(output.sandboxed.unwrap().engine, "wasm");
    let spec = puppet.asked.lock().unwrap().take().unwrap();
    assert_eq!(
        (spec.language, spec.code.as_str(), spec.stdin.as_str()),
        (Language::Python, "print(1)", "in")
    );
    assert_eq!((spec.limits.timeout, spec.limits.output_chars), (Duration::from_secs(2), 100_000));
}

#[tokio::test]
async fn the_time_is_the_default_and_stays_below_the_deadline() {
    let asked = async |input: Value, left: Duration| {
        let (fixture, puppet) = over(Ok(outcome(Reason::Ok, Some(0))));
        let ctx = RunContext { deadline: Instant::now() + left, ..ctx("key-1") };
        fixture.run("eval_code", &ctx, input).await.unwrap();
        puppet.asked.lock().unwrap().take().unwrap().limits.timeout
    };
    assert_eq!(asked(python(json!({})), Duration::from_secs(90)).await, Duration::from_secs(10));
    assert_eq!(
        asked(python(json!({ "timeoutMs": 5.0 })), Duration::from_secs(90)).await,
        Duration::from_millis(5)
    );
    assert_eq!(
        asked(python(json!({ "timeoutMs": 99_999 })), Duration::from_secs(90)).await,
        Duration::from_mins(1)
    );
    assert!(asked(python(json!({})), Duration::from_secs(3)).await < Duration::from_secs(3));
    assert!(asked(python(json!({})), Duration::ZERO).await > Duration::ZERO);
}

#[tokio::test]
async fn every_other_end_keeps_what_there_is() {
    for (reason, exit_code, starts) in [
        (Reason::Nonzero, Some(3), "the program ended with exit code 3. Do better"),
        (Reason::Oom, None, "the program needed more memory"),
        (Reason::OutputLimit, None, "the program printed far too much"),
        (Reason::Unsupported, Some(1), "the program needs something"),
        (Reason::EngineError, None, "the interpreter of the program crashed"),
    ] {
        let (fixture, _) = over(Ok(Outcome { hint: Some("Do better".into()), ..outcome(reason, exit_code) }));
        let ended = fixture.run("eval_code", &ctx("key-1"), python(json!({}))).await;
        let Err(HandlerError::Failed { code, message, output: Some(output), transient: false, .. }) = ended
        else {
            panic!("{ended:?}")
        };
        assert_eq!(code, reason.as_str());
        assert!(message.starts_with(starts), "{message}");
        assert_eq!((&output.value["success"], &output.value["stdout"]), (&json!(false), &json!("out")));
    }
    let (fixture, _) = over(Ok(outcome(Reason::Timeout, None)));
    let ended = fixture.run("eval_code", &ctx("key-1"), python(json!({ "timeoutMs": 50 }))).await;
    let Err(HandlerError::TimedOut { message, output: Some(output) }) = ended else { panic!("{ended:?}") };
    assert_eq!(message, "Skill execution timed out after 50 ms");
    assert_eq!(output.value["exitCode"], Value::Null);
}

#[tokio::test]
async fn what_this_engine_cannot_do_is_refused_not_weakened() {
    let node = json!({ "language": "node", "code": "1" });
    for input in [
        node,
        python(json!({ "image": "python:3.12-alpine" })),
        python(json!({ "engine": "container" })),
        python(json!({ "networkEnabled": true })),
    ] {
        let (fixture, puppet) = over(Ok(outcome(Reason::Ok, Some(0))));
        let (code, _) = fixture.call("eval_code", &ctx("key-1"), input.clone()).await.unwrap_err();
        assert_eq!(code, "sandbox_unavailable", "{input}");
        assert!(puppet.asked.lock().unwrap().is_none(), "{input}");
    }
}

#[tokio::test]
async fn a_failing_engine_is_told_apart_from_a_missing_one() {
    let engine = "wasm";
    for (error, expected) in [
        (SandboxError::Unavailable { engine, reason: "broken".into() }, "sandbox_unavailable"),
        (SandboxError::Engine { engine, reason: "broken".into() }, "engine_error"),
        (SandboxError::Cancelled, "cancelled"),
    ] {
        let (fixture, _) = over(Err(error));
        assert_eq!(
            fixture.call("eval_code", &ctx("key-1"), python(json!({}))).await.unwrap_err().0,
            expected
        );
    }
}

#[test]
fn only_the_network_is_an_effect() {
    let (fixture, _) = over(Ok(outcome(Reason::Ok, Some(0))));
    let handler = fixture.handlers.get("eval_code").unwrap();
    assert!(handler.effect_free(&object(python(json!({})))));
    assert!(handler.effect_free(&object(python(json!({ "networkEnabled": false })))));
    assert!(!handler.effect_free(&object(python(json!({ "networkEnabled": true })))));
}

#[tokio::test]
async fn without_an_engine_it_is_there_but_unavailable() {
    let limits = builtins::WorkspaceLimits::default();
    let without = fixture(limits, None);
    assert_eq!(
        without.builtins.unavailable(),
        [("eval_code".into(), "no sandbox engine is installed".into())]
    );
    let (code, _) = without.call("eval_code", &ctx("key-1"), python(json!({}))).await.unwrap_err();
    assert_eq!(code, "sandbox_unavailable");
    let broken = Puppet { answer: Mutex::new(None), asked: Mutex::new(None), available: false };
    let broken = fixture(limits, Some(Arc::new(broken)));
    assert_eq!(broken.builtins.unavailable(), [("eval_code".into(), "its runtimes are missing".into())]);
    assert!(over(Ok(outcome(Reason::Ok, Some(0)))).0.builtins.unavailable().is_empty());
}
