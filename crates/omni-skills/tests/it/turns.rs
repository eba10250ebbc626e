//! What is left of a turn: candidates, rounds, tokens and how it ended; never a word of what was said.

use serde_json::{Value, json};
use testkit::fake_upstream::FakeUpstream;
use testkit::gateway::Gateway;
use testkit::script::{Call, Round, Script};

use crate::client::{DIALECTS, body, gateway, http, send};

/// A word that must not be in any record.
const CANARY: &str = "canary-73619";

async fn get(gateway: &Gateway, path: &str) -> Value {
    let request = http().get(format!("{}{path}", gateway.base)).bearer_auth(&gateway.token);
    let answer = request.send().await.unwrap().error_for_status().unwrap();
    serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap()
}

/// Records are written behind the answer.
async fn turns(gateway: &Gateway, count: usize) -> Vec<Value> {
    for _ in 0..200 {
        let page = get(gateway, "/api/turns").await;
        let rows = page["data"].as_array().unwrap().clone();
        if rows.len() >= count {
            return rows;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    panic!("fewer than {count} turns were recorded");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_with_a_skill_is_recorded_whole() {
    for dialect in DIALECTS {
        for stream in [false, true] {
            let call = Call::new("file_write", json!({"path": "a", "content": CANARY}));
            let script = Script::rounds([Round::calls([call]), Round::text(CANARY)]);
            let upstream = FakeUpstream::start(script).await;
            let gateway = gateway(&upstream.base_url(), "");
            let chat = body(dialect, stream, CANARY, &[]);
            let seen =
                send(&gateway.base, dialect, &chat, &[("x-omni-use", "file_write, no-such-skill")]).await;
            assert_eq!(seen.text, CANARY, "{dialect}: {seen:?}");

            let listed = turns(&gateway, 1).await.remove(0);
            assert!(listed.get("candidates").is_none_or(|list| list == &json!([])), "{listed}");
            let id = listed["id"].as_str().unwrap();
            let turn = get(&gateway, &format!("/api/turns/{id}")).await;
            let turn = turn.get("turn").cloned().unwrap_or(turn);
            let what = format!("{dialect} stream={stream}: {turn}");
            assert_eq!(turn["dialect"], dialect, "{what}");
            assert_eq!(turn["streamed"], stream, "{what}");
            assert_eq!((&turn["model"], &turn["upstream"]), (&json!("m"), &json!("fake")), "{what}");
            assert_eq!(
                (&turn["stopReason"], &turn["upstreamStatus"]),
                (&json!("completed"), &json!(200)),
                "{what}"
            );
            assert_eq!((&turn["roundCount"], &turn["executions"]), (&json!(2), &json!(1)), "{what}");
            assert_eq!(turn["rounds"][0]["calls"], 1, "{what}");
            assert!(
                turn["inputTokens"].as_u64() > Some(0) && turn["outputTokens"].as_u64() > Some(0),
                "{what}"
            );
            let of = |name: &str| {
                let all = turn["candidates"].as_array().unwrap();
                all.iter()
                    .find(|c| c["skill"].as_str().unwrap().starts_with(name))
                    .cloned()
                    .unwrap_or_default()
            };
            assert!(of("file_write@1.0.0").get("skipped").is_none(), "{what}");
            assert_eq!(of("no-such-skill")["skipped"], "unknown", "{what}");
            assert!(!turn.to_string().contains(CANARY), "{what}");

            let of_turn = get(&gateway, &format!("/api/skills/executions?turn={id}")).await;
            assert_eq!(of_turn["total"], 1, "{what}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_passes_through_is_counted_and_not_touched() {
    for dialect in DIALECTS {
        for stream in [false, true] {
            let upstream = FakeUpstream::start(Script::rounds([Round::text("hello")])).await;
            let gateway = gateway(&upstream.base_url(), "");
            let chat = body(dialect, stream, "hi", &[]);
            let seen = send(&gateway.base, dialect, &chat, &[("x-omni-skills", "off")]).await;
            assert_eq!(seen.text, "hello", "{dialect}: {seen:?}");
            let turn = turns(&gateway, 1).await.remove(0);
            let what = format!("{dialect} stream={stream}: {turn}");
            assert_eq!(
                (&turn["stopReason"], &turn["roundCount"]),
                (&json!("completed"), &json!(1)),
                "{what}"
            );
            assert!(turn["inputTokens"].as_u64() > Some(0), "{what}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ends_that_are_no_answers_are_recorded_too() {
    let upstream = FakeUpstream::start(Script::rounds([Round::text("never")])).await;
    let address = upstream.base_url();
    let gateway = gateway(&address, "");
    let wrong = json!({"model": "m", "messages": [{"role": "nobody", "content": "x"}]});
    let refused = send(&gateway.base, "openai_chat", &wrong, &[("x-omni-use", "file_write")]).await;
    assert!(refused.status >= 400, "{refused:?}");
    let turn = turns(&gateway, 1).await.remove(0);
    assert_eq!(
        (&turn["stopReason"], &turn["errorCode"]),
        (&json!("upstream_error"), &json!("upstream_refused"))
    );
    drop(upstream);
    let gone = send(&gateway.base, "openai_chat", &body("openai_chat", false, "x", &[]), &[]).await;
    assert!(gone.status >= 500, "{gone:?}");
    let turn = turns(&gateway, 2).await.remove(0);
    assert_eq!(turn["stopReason"], "upstream_error", "{turn}");
    let usage = get(&gateway, "/api/usage?by=model").await;
    assert_eq!(usage["data"][0]["group"], "m", "{usage}");
    assert_eq!(usage["data"][0]["turns"], 2, "{usage}");
}
