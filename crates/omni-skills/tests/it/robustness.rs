//! What breaks gateways: clients that leave, streams cut anywhere, kill -9 in the middle.

use std::time::{Duration, Instant};

use futures_util::StreamExt;
use serde_json::json;
use testkit::fake_upstream::FakeUpstream;
use testkit::script::{Call, Chunking, Fault, Round, Script};

use crate::client::{DIALECTS, ask, body, chat, gateway, history, http, send};

fn forever() -> Call {
    Call::new("eval_code", json!({"language": "python", "code": "while True: pass", "timeoutMs": 25_000}))
}

/// Waits until the history says so.
async fn eventually(gateway: &testkit::gateway::Gateway, fits: impl Fn(&[serde_json::Value]) -> bool) {
    let start = Instant::now();
    loop {
        let rows = history(gateway).await;
        if fits(&rows) {
            return;
        }
        assert!(start.elapsed() < Duration::from_secs(20), "{rows:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_leaves_cancels_what_runs() {
    for dialect in DIALECTS {
        for stream in [false, true] {
            let upstream =
                FakeUpstream::start(Script::rounds([Round::calls([forever()]), Round::text("no")])).await;
            let gateway = gateway(&upstream.base_url(), "");
            let request = ask(&gateway.base, dialect, &body(dialect, stream, "please", &[]));
            let client = tokio::spawn(async move {
                let response = request.send().await?;
                let mut bytes = response.bytes_stream();
                while bytes.next().await.is_some() {}
                Ok::<_, reqwest::Error>(())
            });
            eventually(&gateway, |rows| rows.iter().any(|r| r["status"] == "running")).await;
            client.abort();
            eventually(&gateway, |rows| rows.iter().all(|r| r["status"] == "error")).await;
            let rows = history(&gateway).await;
            assert!(rows[0]["errorMessage"].as_str().unwrap().contains("cancelled"), "{rows:?}");
            assert_eq!(upstream.requests().len(), 1, "no further round");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_cut_anywhere_gives_the_same_answer() {
    let rounds = |chunking| {
        let call = Call::new("eval_code", json!({"language": "javascript", "code": "console.log('那个🙂')"}));
        let first = Round::calls([call]).saying("我看看🙂…");
        Script::rounds([first.chunked(chunking), Round::text("那个🙂 done").chunked(chunking)])
    };
    for dialect in DIALECTS {
        let upstream = FakeUpstream::start(rounds(Chunking::Whole)).await;
        let gateway = gateway(&upstream.base_url(), "");
        let body = body(dialect, true, "please", &[]);
        let whole = send(&gateway.base, dialect, &body, &[]).await;
        assert!(whole.text.starts_with("我看看🙂…") && whole.text.ends_with("那个🙂 done"), "{whole:?}");
        for size in [1, 2, 3, 7, 64] {
            upstream.set_script(rounds(Chunking::Bytes(size)));
            let cut = send(&gateway.base, dialect, &body, &[]).await;
            assert_eq!(cut.text, whole.text, "{size}");
            assert_eq!(upstream.refusals(), Vec::<String>::new());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_breaks_off_ends_with_an_error_event() {
    for dialect in DIALECTS {
        for fault in [Fault::DropAfterEvents(2), Fault::EndAfterEvents(2)] {
            let text = Round::text("one two three four").then(fault);
            let call = Call::new("eval_code", json!({"language": "javascript", "code": "1"}));
            let upstream = FakeUpstream::start(Script::rounds([Round::calls([call]), text])).await;
            let gateway = gateway(&upstream.base_url(), "");
            let seen = send(&gateway.base, dialect, &body(dialect, true, "please", &[]), &[]).await;
            assert!(seen.error.is_some() && seen.finish.is_none(), "{seen:?}");
            assert!(!seen.text.to_lowercase().contains("upstream"), "{seen:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_skill_keeps_the_stream_alive() {
    for dialect in DIALECTS {
        let code = "import time\nend = time.time() + 1\nwhile time.time() < end: pass";
        let call = Call::new("eval_code", json!({"language": "python", "code": code}));
        let upstream = FakeUpstream::start(Script::rounds([Round::calls([call]), Round::text("done")])).await;
        let gateway = gateway(&upstream.base_url(), "[turn]\nkeep_alive_ms = 100\n");
        let seen = send(&gateway.base, dialect, &body(dialect, true, "please", &[]), &[]).await;
        assert!(seen.text.ends_with("done"), "{seen:?}");
        let sign = match dialect {
            "anthropic_messages" => "event: ping",
            "gemini" => r#"data: {"candidates":[{"content":{"role":"model","parts":[{"text":""}]}"#,
            _ => "\n: ",
        };
        assert!(seen.raw.matches(sign).count() >= 2, "{}", seen.raw);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn after_kill_9_nothing_runs_and_the_history_says_interrupted() {
    let upstream = FakeUpstream::start(Script::rounds([Round::calls([forever()]), Round::text("no")])).await;
    let mut gateway = gateway(&upstream.base_url(), "");
    let body = body("openai_chat", false, "please", &[]).to_string();
    let request = chat(&gateway.base, "openai_chat").body(body);
    let client = tokio::spawn(request.send());
    eventually(&gateway, |rows| rows.iter().any(|r| r["status"] == "running")).await;
    let workers = children(gateway.pid());
    assert!(!workers.is_empty(), "the program runs in a process of its own");
    gateway.kill_and_restart();
    assert!(client.await.unwrap().is_err());
    let rows = history(&gateway).await;
    assert_eq!(rows[0]["status"], "error");
    assert!(rows[0]["errorMessage"].as_str().unwrap().contains("interrupted"), "{rows:?}");
    let start = Instant::now();
    while workers.iter().any(|pid| alive(*pid)) {
        assert!(start.elapsed() < Duration::from_secs(10), "a worker outlived its gateway");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Processes whose parent is `parent`.
fn children(parent: u32) -> Vec<u32> {
    let pids = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| stat(*pid).is_some_and(|fields| fields[1] == parent.to_string())).collect()
}

fn alive(pid: u32) -> bool {
    stat(pid).is_some_and(|fields| fields[0] != "Z")
}

/// State, parent and so on of a process.
fn stat(pid: u32) -> Option<Vec<String>> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    Some(text.rsplit_once(')')?.1.split_whitespace().map(str::to_owned).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_key_wants_finished_is_finished_without_its_client() {
    for stream in [false, true] {
        let code = "import time; time.sleep(1); print('done')";
        let slow = Call::new("eval_code", json!({"language": "python", "code": code}));
        let upstream = FakeUpstream::start(Script::rounds([Round::calls([slow]), Round::text("no")])).await;
        let gateway = gateway(&upstream.base_url(), "");
        let made = http().post(format!("{}/api/keys", gateway.base)).bearer_auth(&gateway.token);
        let made = made.header("content-type", "application/json");
        let made = made.body(r#"{"name": "k", "onDisconnect": "finish"}"#).send().await.unwrap();
        let made: serde_json::Value = serde_json::from_slice(&made.bytes().await.unwrap()).unwrap();
        let request = ask(&gateway.base, "openai_chat", &body("openai_chat", stream, "please", &[]));
        let request = request.bearer_auth(made["key"].as_str().unwrap());
        let client = tokio::spawn(async move { request.send().await?.bytes().await });
        eventually(&gateway, |rows| rows.iter().any(|r| r["status"] == "running")).await;
        client.abort();
        eventually(&gateway, |rows| rows.iter().all(|r| r["status"] == "success")).await;
        assert_eq!(upstream.requests().len(), 1, "no further round");
    }
}
