//! Dialect x stream x what a turn can meet. The upstream is strict: a request it refuses fails the test.

use serde_json::{Value, json};
use testkit::fake_upstream::FakeUpstream;
use testkit::gateway::Gateway;
use testkit::script::{Call, Fault, Round, Script};

use crate::client::{DIALECTS, Seen, body, gateway, history, send};

/// Runs `check` in every cell, on a fresh upstream and gateway each.
async fn matrix<F>(script: impl Fn() -> Script, more: &str, tools: &[&str], check: F)
where
    F: AsyncFn(&str, Seen, &FakeUpstream, &Gateway),
{
    for dialect in DIALECTS {
        for stream in [false, true] {
            let upstream = FakeUpstream::start(script()).await;
            let gateway = gateway(&upstream.base_url(), more);
            let seen = send(&gateway.base, dialect, &body(dialect, stream, "please", tools), &[]).await;
            let cell = format!("{dialect} stream={stream}");
            assert_eq!(upstream.refusals(), Vec::<String>::new(), "{cell}");
            check(&cell, seen, &upstream, &gateway).await;
        }
    }
}

fn run(code: &str) -> Call {
    Call::new("eval_code", json!({"language": "javascript", "code": code}))
}

/// Whether a round may call no more tools.
fn is_last(body: &Value) -> bool {
    let choice = &body["tool_choice"];
    let mode = &body["toolConfig"]["functionCallingConfig"]["mode"];
    choice == "none" || choice["type"] == "none" || mode == "NONE"
}

fn normal(seen: &Seen) -> bool {
    matches!(seen.finish.as_deref(), Some("stop" | "end_turn" | "completed" | "STOP"))
}

fn statuses(rows: &[Value]) -> Vec<&str> {
    rows.iter().map(|row| row["status"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn one_call() {
    let script = || {
        Script::rounds([Round::calls([run("console.log(6*7)")]).saying("Let me see."), Round::text("done")])
    };
    matrix(script, "", &[], async |cell, seen, upstream, gateway| {
        assert_eq!(seen.status, 200, "{cell}: {seen:?}");
        assert!(seen.text.contains("Let me see.") && seen.text.ends_with("done"), "{cell}: {seen:?}");
        assert!(seen.calls.is_empty() && normal(&seen), "{cell}: {seen:?}");
        assert!(
            !seen.raw.contains("eval_code__") && !seen.raw.contains("console.log"),
            "{cell}: {}",
            seen.raw
        );
        assert_eq!(seen.output_tokens, Some(14), "{cell}: usage of both rounds");
        assert_eq!(seen.stop.as_deref(), Some("completed"), "{cell}");
        let requests = upstream.requests();
        assert_eq!(requests.len(), 2, "{cell}");
        assert!(requests[1].body.to_string().contains("42"), "{cell}: the result reached the model");
        assert_eq!(statuses(&history(gateway).await), ["success"], "{cell}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn three_parallel_calls_one_of_which_fails() {
    let calls =
        || Round::calls([run("console.log('A')"), run("throw new Error('B')"), run("console.log('C')")]);
    let script = || Script::rounds([calls(), Round::text("done")]);
    matrix(script, "", &[], async |cell, seen, upstream, gateway| {
        assert!(seen.text.ends_with("done") && normal(&seen), "{cell}: {seen:?}");
        let second = upstream.requests()[1].body.to_string();
        let places: Vec<_> = ["\\\"stdout\\\":\\\"A", "Error: B", "\\\"stdout\\\":\\\"C"]
            .iter()
            .map(|text| second.find(text).unwrap_or_else(|| panic!("{cell}: no {text} in {second}")))
            .collect();
        assert!(places.is_sorted(), "{cell}: results in call order");
        let rows = history(gateway).await;
        let mut statuses = statuses(&rows);
        statuses.sort_unstable();
        assert_eq!(statuses, ["error", "success", "success"], "{cell}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_rounds_and_a_mistake_that_the_model_corrects() {
    let wrong = Call::new("file_write", json!({"path": 5, "content": "x"}));
    let right = Call::new("file_write", json!({"path": "a.txt", "content": "x"}));
    let script = || {
        Script::rounds([Round::calls([wrong.clone()]), Round::calls([right.clone()]), Round::text("done")])
    };
    for dialect in DIALECTS {
        for stream in [false, true] {
            let upstream = FakeUpstream::start(script()).await;
            let gateway = gateway(&upstream.base_url(), "");
            let body = body(dialect, stream, "please", &[]);
            let seen = send(&gateway.base, dialect, &body, &[("x-omni-use", "file_write")]).await;
            assert!(seen.text.ends_with("done"), "{dialect}: {seen:?}");
            assert_eq!(upstream.refusals(), Vec::<String>::new());
            assert!(upstream.requests()[1].body.to_string().contains("path"), "the message names the field");
            assert_eq!(statuses(&history(&gateway).await), ["success", "error"]);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_arguments_are_answered_not_run() {
    let script = || {
        Script::rounds([Round::calls([Call::raw("eval_code", "{\"language\":\"py")]), Round::text("done")])
    };
    matrix(script, "", &[], async |cell, seen, _, gateway| {
        assert!(seen.text.ends_with("done"), "{cell}: {seen:?}");
        let rows = history(gateway).await;
        assert_eq!(statuses(&rows), ["error"], "{cell}");
        assert_eq!(rows[0]["attempts"], 0, "{cell}: the handler was not called");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_clients_own_tools_come_back_untouched() {
    let script = || Script::rounds([Round::calls([Call::new("Bash", json!({"cmd": "ls"})).exactly()])]);
    matrix(
        script,
        "[selection]\nwith_client_tools = \"all\"\n",
        &["Bash"],
        async |cell, seen, upstream, gateway| {
            assert_eq!(seen.calls, ["Bash"], "{cell}: {seen:?}");
            assert!(
                matches!(seen.finish.as_deref(), Some("tool_calls" | "tool_use" | "completed" | "STOP")),
                "{cell}: {seen:?}"
            );
            assert_eq!(seen.stop.as_deref(), Some("client_tools"), "{cell}");
            assert_eq!(upstream.requests().len(), 1, "{cell}");
            assert!(history(gateway).await.is_empty(), "{cell}");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_tool_is_answered_with_the_names() {
    let script =
        || Script::rounds([Round::calls([Call::new("no_such", json!({})).exactly()]), Round::text("done")]);
    matrix(script, "", &[], async |cell, seen, upstream, _| {
        assert!(seen.text.ends_with("done"), "{cell}: {seen:?}");
        let second = upstream.requests()[1].body.to_string();
        assert!(second.contains("There is no tool") && second.contains("eval_code__1_0_0"), "{cell}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_never_stops_calling_is_stopped_with_a_last_round() {
    let script = || {
        Script::choose(|body, index| {
            if is_last(body) {
                Round::text("done")
            } else {
                Round::calls([run(&format!("console.log({index})"))])
            }
        })
    };
    matrix(script, "[turn]\nrounds = 3\n", &[], async |cell, seen, upstream, gateway| {
        assert!(seen.text.ends_with("done") && normal(&seen), "{cell}: {seen:?}");
        assert_eq!(seen.stop.as_deref(), Some("max_rounds"), "{cell}");
        assert_eq!(upstream.requests().len(), 4, "{cell}: rounds + 1");
        assert_eq!(history(gateway).await.len(), 3, "{cell}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_call_again_and_again_ends_the_turn() {
    let script = || {
        Script::choose(|body, _| {
            if is_last(body) {
                return Round::text("done");
            }
            Round::calls([Call::new("file_read", json!({"path": "missing"}))])
        })
    };
    for dialect in DIALECTS {
        let upstream = FakeUpstream::start(script()).await;
        let gateway = gateway(&upstream.base_url(), "");
        let body = body(dialect, false, "please", &[]);
        let seen = send(&gateway.base, dialect, &body, &[("x-omni-use", "file_read")]).await;
        assert!(seen.text.ends_with("done"), "{seen:?}");
        assert_eq!(history(&gateway).await.len(), 3, "the fourth is not run");
        assert!(upstream.requests().len() <= 9);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn round_two_is_asked_again_but_the_skill_does_not_run_again() {
    let second = || Round::text("done").first([Fault::status(503), Fault::status(502)]);
    let script = || Script::rounds([Round::calls([run("console.log(1)")]), second()]);
    matrix(script, "", &[], async |cell, seen, upstream, gateway| {
        assert!(seen.text.ends_with("done") && seen.error.is_none(), "{cell}: {seen:?}");
        assert_eq!(upstream.requests().len(), 4, "{cell}");
        assert_eq!(history(gateway).await.len(), 1, "{cell}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_in_round_two_is_an_error_never_prose() {
    for fault in [Fault::status(503), Fault::status(400), Fault::Drop] {
        let script = || Script::rounds([Round::calls([run("console.log(1)")]), Round::fails(fault.clone())]);
        matrix(script, "", &[], async |cell, seen, _, gateway| {
            assert!(seen.error.is_some() && seen.text.is_empty(), "{cell}: {seen:?}");
            if seen.status != 200 {
                assert_eq!(seen.should_retry.as_deref(), Some("false"), "{cell}");
            }
            assert_eq!(history(gateway).await.len(), 1, "{cell}");
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_of_round_one_is_passed_on_as_it_is() {
    let script =
        || Script::rounds([Round::http_error(429, json!({"error": {"message": "slow down", "type": "x"}}))]);
    matrix(script, "", &[], async |cell, seen, upstream, _| {
        assert_eq!(seen.status, 429, "{cell}");
        assert_eq!(seen.raw, r#"{"error":{"message":"slow down","type":"x"}}"#, "{cell}");
        assert_eq!(upstream.requests().len(), 1, "{cell}: never retried");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_round_that_was_cut_runs_nothing() {
    let script = || Script::rounds([Round::calls([Call::raw("eval_code", "{\"lang")]).finish("length")]);
    matrix(script, "", &[], async |cell, seen, upstream, gateway| {
        assert!(
            matches!(
                seen.finish.as_deref(),
                Some("length" | "max_tokens" | "max_output_tokens" | "MAX_TOKENS")
            ),
            "{cell}: {seen:?}"
        );
        assert!(seen.calls.is_empty(), "{cell}");
        assert_eq!(upstream.requests().len(), 1, "{cell}");
        assert!(history(gateway).await.is_empty(), "{cell}");
    })
    .await;
}
