//! `Idempotency-Key`: a request that comes again runs nothing again.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::fake_upstream::FakeUpstream;
use testkit::gateway::Gateway;
use testkit::script::{Call, Round, Script};

use crate::client::{DIALECTS, ask, body, gateway, history, http, send};

fn slow() -> Call {
    let code = "import time; time.sleep(1.5); print('slept')";
    Call::new("eval_code", json!({"language": "python", "code": code}))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_that_is_sent_again_gets_the_stored_outcome() {
    for dialect in DIALECTS {
        for stream in [false, true] {
            let two =
                || [1, 2].map(|n| Call::new("file_write", json!({"path": format!("{n}"), "content": "x"})));
            let upstream = FakeUpstream::start(Script::rounds([
                Round::calls(two()),
                Round::calls(two()),
                Round::text("done"),
            ]))
            .await;
            let gateway = gateway(&upstream.base_url(), "");
            let chat = body(dialect, stream, "please", &[]);
            for (key, runs) in [("a", 4), ("a", 4), ("b", 8)] {
                let headers = [("x-omni-use", "file_write"), ("idempotency-key", key)];
                let seen = send(&gateway.base, dialect, &chat, &headers).await;
                assert!(seen.text.ends_with("done"), "{dialect}: {seen:?}");
                assert_eq!(history(&gateway).await.len(), runs, "{dialect} stream={stream} key {key}");
            }
            assert!(upstream.requests().iter().all(|r| !r.headers.contains_key("idempotency-key")));
            assert_eq!(upstream.refusals(), Vec::<String>::new());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_gave_up_and_asks_again_waits_for_the_first_run() {
    let upstream = FakeUpstream::start(Script::rounds([Round::calls([slow()]), Round::text("done")])).await;
    let gateway = gateway(&upstream.base_url(), "");
    let chat = body("openai_chat", false, "please", &[]);
    let first = ask(&gateway.base, "openai_chat", &chat).header("idempotency-key", "k");
    let first = tokio::spawn(first.timeout(Duration::from_mins(1)).send());
    let start = Instant::now();
    while !history(&gateway).await.iter().any(|row| row["status"] == "running") {
        assert!(start.elapsed() < Duration::from_secs(20));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    first.abort();
    let seen = send(&gateway.base, "openai_chat", &chat, &[("idempotency-key", "k")]).await;
    assert_eq!(seen.text, "done");
    let rows = history(&gateway).await;
    assert_eq!((rows.len(), &rows[0]["status"]), (1, &json!("success")), "{rows:?}");
    assert!(upstream.requests().last().unwrap().body.to_string().contains("slept"));
}

async fn run(gateway: &Gateway, key: &str, code: &str) -> (u16, Value) {
    let body = json!({"skillName": "eval_code", "input": {"language": "javascript", "code": code}});
    let request = http().post(format!("{}/api/skills/executions", gateway.base)).bearer_auth(&gateway.token);
    let request = request.header("content-type", "application/json").header("idempotency-key", key);
    let answer = request.body(body.to_string()).send().await.unwrap();
    let status = answer.status().as_u16();
    (status, serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn over_rest_a_repeat_is_the_same_row_also_after_a_restart_and_another_input_is_409() {
    let upstream = FakeUpstream::start(Script::default()).await;
    let mut gateway = gateway(&upstream.base_url(), "");
    let (status, first) = run(&gateway, "k", "console.log(1)").await;
    assert_eq!((status, &first["execution"]["status"]), (200, &json!("success")), "{first}");
    gateway.kill_and_restart();
    let (status, again) = run(&gateway, "k", "console.log(1)").await;
    assert_eq!((status, &again["execution"]["id"]), (200, &first["execution"]["id"]), "{again}");
    let (status, other) = run(&gateway, "k", "console.log(2)").await;
    assert_eq!((status, other["code"].as_str()), (409, Some("idempotency_key_reused")), "{other}");
    let (status, _) = run(&gateway, "l", "console.log(2)").await;
    assert_eq!((status, history(&gateway).await.len()), (200, 2));
    let (status, long) = run(&gateway, &"x".repeat(256), "1").await;
    assert_eq!((status, long["code"].as_str()), (400, Some("bad_header")), "{long}");
}
