//! What ends a turn early, per request and per key: the model always gets one last round to answer in.
//!
//! And what a client's SDK must know of a turn in which a skill ran: that it must not send the request again.

use serde_json::{Value, json};
use testkit::fake_upstream::FakeUpstream;
use testkit::gateway::Gateway;
use testkit::script::{Call, Fault, Round, Script};

use crate::client::{self, DIALECTS, Seen, body, gateway, history, http, send};

/// Whether a round may call no more tools.
fn is_last(body: &Value) -> bool {
    let choice = &body["tool_choice"];
    let mode = &body["toolConfig"]["functionCallingConfig"]["mode"];
    choice == "none" || choice["type"] == "none" || mode == "NONE"
}

/// A model that calls two tools in every round, until it may not.
fn restless() -> Script {
    Script::choose(|body, index| {
        if is_last(body) {
            return Round::text("done");
        }
        let path =
            |n: usize| Call::new("file_write", json!({"path": format!("{index}-{n}"), "content": "x"}));
        Round::calls([path(0), path(1)]).usage(100, 10)
    })
}

/// A key with these settings; its secret.
async fn key(gateway: &Gateway, settings: Value) -> String {
    let mut body = json!({"name": "k"});
    body.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
    let made = http().post(format!("{}/api/keys", gateway.base)).bearer_auth(&gateway.token);
    let made = made.header("content-type", "application/json").body(body.to_string()).send().await.unwrap();
    let made: Value = serde_json::from_slice(&made.bytes().await.unwrap()).unwrap();
    made["key"].as_str().unwrap_or_else(|| panic!("{made}")).to_owned()
}

/// What a turn used.
struct Used {
    stop: &'static str,
    rounds: usize,
    ran: usize,
}

async fn check(cell: &str, seen: Seen, upstream: &FakeUpstream, gateway: &Gateway, used: &Used) {
    assert_eq!(upstream.refusals(), Vec::<String>::new(), "{cell}");
    assert_eq!((seen.status, seen.error.as_deref()), (200, None), "{cell}: {seen:?}");
    assert_eq!(seen.stop.as_deref(), Some(used.stop), "{cell}: {seen:?}");
    assert!(seen.text.ends_with("done") && seen.calls.is_empty(), "{cell}: {seen:?}");
    let bodies: Vec<Value> = upstream.requests().into_iter().map(|request| request.body).collect();
    assert_eq!(bodies.len(), used.rounds + 1, "{cell}: the rounds, and the last");
    assert!(is_last(&bodies[used.rounds]) && bodies[used.rounds].get("tools").is_some(), "{cell}");
    assert!(bodies[..used.rounds].iter().all(|body| !is_last(body)), "{cell}");
    let ran = history(gateway).await.into_iter().filter(|row| row["status"] == "success").count();
    assert_eq!(ran, used.ran, "{cell}");
}

/// Budget as a header and as a key's setting, and how the turn ends.
const STOPS: [(&str, &str, Used); 6] = [
    ("rounds=2", r#"{"rounds":2}"#, Used { stop: "max_rounds", rounds: 2, ran: 4 }),
    ("executions=3", r#"{"executions":3}"#, Used { stop: "execution_budget", rounds: 2, ran: 3 }),
    ("executions=0", r#"{"executions":0}"#, Used { stop: "execution_budget", rounds: 1, ran: 0 }),
    ("wall_ms=0", r#"{"wallMs":0}"#, Used { stop: "deadline", rounds: 1, ran: 0 }),
    ("results_bytes=1", r#"{"resultsBytes":1}"#, Used { stop: "output_budget", rounds: 1, ran: 2 }),
    ("tokens=220", r#"{"tokens":220}"#, Used { stop: "output_budget", rounds: 2, ran: 4 }),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_request_bounds_its_turn() {
    for dialect in DIALECTS {
        for stream in [false, true] {
            let upstream = FakeUpstream::start(restless()).await;
            for (budget, _, used) in &STOPS {
                let gateway = gateway(&upstream.base_url(), "");
                upstream.set_script(restless());
                let headers = [("x-omni-use", "file_write"), ("x-omni-budget", *budget)];
                let seen =
                    send(&gateway.base, dialect, &body(dialect, stream, "please", &[]), &headers).await;
                check(&format!("{dialect} stream={stream} {budget}"), seen, &upstream, &gateway, used).await;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_bounds_its_turns_and_no_request_widens_them() {
    for dialect in DIALECTS {
        for (_, settings, used) in &STOPS {
            let upstream = FakeUpstream::start(restless()).await;
            let gateway = gateway(&upstream.base_url(), "");
            let budgets: Value = serde_json::from_str(settings).unwrap();
            let key = key(&gateway, json!({"budgets": budgets})).await;
            let wide = "rounds=99, executions=99, wall_ms=999999, results_bytes=999999, tokens=999999";
            let headers = [("x-omni-use", "file_write"), ("x-omni-key", &*key), ("x-omni-budget", wide)];
            let seen = send(&gateway.base, dialect, &body(dialect, true, "please", &[]), &headers).await;
            check(&format!("{dialect} {settings}"), seen, &upstream, &gateway, used).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_gateways_own_bounds_are_the_widest() {
    let used = Used { stop: "output_budget", rounds: 1, ran: 2 };
    for stream in [false, true] {
        let upstream = FakeUpstream::start(restless()).await;
        let gateway = gateway(&upstream.base_url(), "[turn]\ntokens = 110\n");
        let key = key(&gateway, json!({"budgets": {"tokens": 1_000_000}})).await;
        let headers =
            [("x-omni-use", "file_write"), ("x-omni-key", &*key), ("x-omni-budget", "tokens=1000000")];
        let seen =
            send(&gateway.base, "openai_chat", &body("openai_chat", stream, "please", &[]), &headers).await;
        check(&format!("stream={stream}"), seen, &upstream, &gateway, &used).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn usage_that_was_only_asked_for_by_us_is_not_shown() {
    let upstream = FakeUpstream::start(restless()).await;
    let gateway = gateway(&upstream.base_url(), "");
    let mut chat = body("openai_chat", true, "please", &[]);
    chat.as_object_mut().unwrap().shift_remove("stream_options");
    for budget in ["tokens=110", "rounds=1"] {
        upstream.set_script(restless());
        let headers = [("x-omni-use", "file_write"), ("x-omni-budget", budget)];
        let seen = send(&gateway.base, "openai_chat", &chat, &headers).await;
        assert_eq!((seen.text.as_str(), seen.output_tokens), ("done", None), "{seen:?}");
        assert!(!seen.raw.contains("prompt_tokens"), "{}", seen.raw);
        let asked = upstream.requests().iter().all(|r| r.body["stream_options"]["include_usage"] == true);
        assert_eq!(asked, budget.starts_with("tokens"), "only where it is needed");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn results_are_cut_to_what_the_request_allows() {
    let long =
        || Call::new("eval_code", json!({"language": "javascript", "code": "console.log('y'.repeat(5000))"}));
    for dialect in DIALECTS {
        let upstream =
            FakeUpstream::start(Script::rounds([Round::calls([long()]), Round::text("done")])).await;
        let gateway = gateway(&upstream.base_url(), "");
        let headers = [("x-omni-budget", "result_bytes=300")];
        let seen = send(&gateway.base, dialect, &body(dialect, false, "please", &[]), &headers).await;
        assert!(seen.text.ends_with("done"), "{seen:?}");
        let second = upstream.requests()[1].body.to_string();
        assert!(second.contains(&"y".repeat(100)) && !second.contains(&"y".repeat(301)), "{dialect}");
        assert!(second.contains("[cut: "), "{dialect}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_budget_that_cannot_be_read_is_refused_before_anything_is_asked() {
    let upstream = FakeUpstream::start(restless()).await;
    let gateway = gateway(&upstream.base_url(), "");
    for dialect in DIALECTS {
        for budget in ["rounds=0", "money=3", "rounds"] {
            let seen = send(
                &gateway.base,
                dialect,
                &body(dialect, true, "please", &[]),
                &[("x-omni-budget", budget)],
            )
            .await;
            assert_eq!(seen.status, 400, "{seen:?}");
            assert!(seen.error.unwrap().contains("x-omni-budget"));
        }
    }
    assert!(upstream.requests().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn with_tools_of_the_client_the_last_round_keeps_those_alone() {
    let script = || {
        Script::choose(|body, index| {
            if !body.to_string().contains("file_write__") || index == 9 {
                return Round::text("done");
            }
            Round::calls([Call::new("file_write", json!({"path": format!("{index}"), "content": "x"}))])
        })
    };
    for dialect in DIALECTS {
        for stream in [false, true] {
            let upstream = FakeUpstream::start(script()).await;
            let gateway = gateway(&upstream.base_url(), "");
            let headers = [("x-omni-use", "file_write"), ("x-omni-budget", "rounds=1")];
            let body = body(dialect, stream, "please", &["Bash"]);
            let seen = send(&gateway.base, dialect, &body, &headers).await;
            let cell = format!("{dialect} stream={stream}");
            assert_eq!(upstream.refusals(), Vec::<String>::new(), "{cell}");
            assert_eq!(seen.stop.as_deref(), Some("max_rounds"), "{cell}: {seen:?}");
            let last = upstream.requests().pop().unwrap().body;
            let tools = last["tools"].to_string();
            assert!(tools.contains("Bash") && !tools.contains("file_write"), "{cell}: {tools}");
            assert!(!is_last(&last), "{cell}: the client's choice is kept");
        }
    }
}

/// A chat in which some tool has to be called.
fn forced(dialect: &str, stream: bool) -> Value {
    let mut body = body(dialect, stream, "please", &[]);
    match dialect {
        "anthropic_messages" => body["tool_choice"] = json!({"type": "any"}),
        "gemini" => body["toolConfig"] = json!({"functionCallingConfig": {"mode": "ANY"}}),
        _ => body["tool_choice"] = json!("required"),
    }
    body
}

/// The choice of a body, in one word.
fn choice(body: &Value) -> String {
    let mode = &body["toolConfig"]["functionCallingConfig"]["mode"];
    let choice =
        [&body["tool_choice"]["type"], &body["tool_choice"], mode].into_iter().find_map(Value::as_str);
    choice.unwrap_or("auto").to_lowercase()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forced_choice_holds_until_a_tool_of_ours_ran() {
    let script = || {
        Script::rounds([
            Round::calls([Call::new("file_write", json!({"path": "a", "content": "x"}))]),
            Round::calls([Call::new("file_read", json!({"path": "a"}))]),
            Round::text("done"),
        ])
    };
    for dialect in DIALECTS {
        for stream in [false, true] {
            let upstream = FakeUpstream::start(script()).await;
            let gateway = gateway(&upstream.base_url(), "");
            let headers = [("x-omni-use", "file_write, file_read")];
            let seen = send(&gateway.base, dialect, &forced(dialect, stream), &headers).await;
            let cell = format!("{dialect} stream={stream}");
            assert_eq!(upstream.refusals(), Vec::<String>::new(), "{cell}");
            assert!(seen.text.ends_with("done"), "{cell}: {seen:?}");
            let choices: Vec<String> = upstream.requests().iter().map(|r| choice(&r.body)).collect();
            assert_eq!(choices.len(), 3, "{cell}");
            assert!(matches!(choices[0].as_str(), "required" | "any"), "{cell}: {choices:?}");
            assert_eq!(choices[1..], ["auto", "auto"], "{cell}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sdks_are_told_not_to_repeat_exactly_where_a_skill_ran() {
    let runs = || Round::calls([Call::new("file_write", json!({"path": "a", "content": "x"}))]);
    for dialect in DIALECTS {
        for fault in [Fault::status(429), Fault::status(500), Fault::status(400), Fault::Drop] {
            let cell = format!("{dialect} {fault:?}");
            let upstream = FakeUpstream::start(Script::rounds([runs(), Round::fails(fault.clone())])).await;
            let gateway = gateway(&upstream.base_url(), "");
            let chat = |stream| client::ask(&gateway.base, dialect, &body(dialect, stream, "please", &[]));
            let named = |stream| chat(stream).header("x-omni-use", "file_write");
            let plain = named(false).send().await.unwrap();
            assert!(plain.status().as_u16() >= 400, "{cell}");
            assert_eq!(plain.headers()["x-should-retry"], "false", "{cell}");
            // A stream's head is out before anything ran; its error is an event, which no SDK repeats.
            let stream = named(true).send().await.unwrap();
            assert_eq!(
                (stream.status().as_u16(), stream.headers().get("x-should-retry")),
                (200, None),
                "{cell}"
            );
            let text = stream.text().await.unwrap();
            let error = testkit::sse_lint::lint(dialect, text.as_bytes()).unwrap().error;
            assert!(error.is_some(), "{cell}: {text}");
            // Nothing ran: as the upstream says.
            upstream.set_script(Script::rounds([Round::fails(fault.clone())]));
            for stream in [false, true] {
                let first = named(stream).send().await.unwrap();
                assert!(first.status().as_u16() >= 400, "{cell}");
                assert!(first.headers().get("x-should-retry").is_none(), "{cell}: {:?}", first.headers());
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_skill_that_is_manual_for_a_key_is_not_offered_to_it() {
    let upstream = FakeUpstream::start(Script::rounds([Round::text("done")])).await;
    let gateway = gateway(&upstream.base_url(), "");
    let held = key(&gateway, json!({"policies": {"eval_code": "manual"}})).await;
    let free = key(&gateway, json!({})).await;
    for dialect in DIALECTS {
        for (key, offered) in [(&held, false), (&free, true)] {
            for named in ["", "eval_code"] {
                let headers = [("x-omni-key", key.as_str()), ("x-omni-use", named)];
                send(&gateway.base, dialect, &body(dialect, false, "please", &[]), &headers).await;
                let sent = upstream.requests().pop().unwrap().body.to_string();
                assert_eq!(sent.contains("eval_code__"), offered, "{dialect} {named}: {sent}");
            }
        }
    }
}
