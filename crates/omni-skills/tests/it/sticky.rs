//! The tools of a conversation stay the same from turn to turn, byte for byte, whatever the next message is about.

use serde_json::{Value, json};
use testkit::fake_upstream::FakeUpstream;
use testkit::gateway::Gateway;
use testkit::script::{Call, Round, Script};

use crate::client::{DIALECTS, body, gateway, http, send};

async fn manage(gateway: &Gateway, method: &str, path: &str, body: Value) -> Value {
    let asks = http().request(method.parse().unwrap(), format!("{}{path}", gateway.base));
    let asks = asks.bearer_auth(&gateway.token).header("content-type", "application/json");
    let answer = asks.body(body.to_string()).send().await.unwrap();
    assert_eq!(answer.status(), 200, "{path}");
    serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap()
}

/// Installs an `auto` skill; its id.
async fn install(gateway: &Gateway, name: &str, version: &str) -> String {
    let skill = json!({
        "name": name, "version": version, "description": "d", "handlerCode": "echo-handler",
        "schema": {"input": {"text": "string"}}, "mode": "auto",
    });
    let made = manage(gateway, "POST", "/api/skills/install", skill).await;
    made["id"].as_str().unwrap().to_owned()
}

async fn start(more: &str) -> (FakeUpstream, Gateway) {
    let upstream = FakeUpstream::start(Script::rounds([Round::text("done")])).await;
    let gateway = gateway(&upstream.base_url(), more);
    for name in ["reverse-text", "git-commit"] {
        install(&gateway, name, "1.0.0").await;
    }
    (upstream, gateway)
}

/// What the last request offered: the bytes, and the names of skills in it.
fn tools(upstream: &FakeUpstream) -> (String, Vec<&'static str>) {
    let sent = upstream.requests().pop().unwrap();
    let tools = sent.body.get("tools").map(Value::to_string).unwrap_or_default();
    let names = ["reverse-text__", "git-commit__", "eval_code__"];
    let mut found: Vec<_> = names.into_iter().filter_map(|name| Some((tools.find(name)?, name))).collect();
    found.sort_unstable();
    (tools, found.into_iter().map(|(_, name)| name).collect())
}

const REVERSE: &str = "reverse-text this";
const COMMIT: &str = "now git-commit it";

#[tokio::test(flavor = "multi_thread")]
async fn the_next_turn_has_the_same_tools_and_new_ones_follow() {
    for dialect in DIALECTS {
        let (upstream, gateway) = start("").await;
        let ask = async |text: &str, more: &[(&str, &str)]| {
            let headers = [&[("x-omni-session", "s")], more].concat();
            send(&gateway.base, dialect, &body(dialect, false, text, &[]), &headers).await;
            tools(&upstream)
        };
        let (first, names) = ask(REVERSE, &[]).await;
        assert_eq!(names, ["eval_code__", "reverse-text__"], "{dialect}: {first}");
        assert_eq!(ask("thanks", &[]).await.0, first, "{dialect}");
        // Nothing offered, nothing forgotten.
        assert_eq!(ask("thanks", &[("x-omni-skills", "off")]).await.0, "", "{dialect}");
        let (third, names) = ask(COMMIT, &[]).await;
        assert_eq!(names, ["eval_code__", "reverse-text__", "git-commit__"], "{dialect}");
        let open = first.trim_end_matches([']', '}']);
        assert!(third.starts_with(open), "{dialect}: {first} then {third}");
        assert_eq!(ask("thanks", &[]).await.0, third, "{dialect}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_skill_that_is_switched_off_disappears_at_once_and_comes_back_to_its_place() {
    let upstream = FakeUpstream::start(Script::rounds([Round::text("done")])).await;
    let gateway = gateway(&upstream.base_url(), "");
    let id = install(&gateway, "reverse-text", "1.0.0").await;
    install(&gateway, "git-commit", "1.0.0").await;
    let ask = async |text: &str| {
        let chat = body("openai_chat", true, text, &[]);
        send(&gateway.base, "openai_chat", &chat, &[("x-omni-session", "s")]).await;
        tools(&upstream)
    };
    let first = ask("reverse-text and git-commit").await.0;
    for (change, stays) in [
        (json!({"mode": "off"}), false),
        (json!({"mode": "auto"}), true),
        (json!({"enabled": false}), false),
        (json!({"enabled": true}), true),
        (json!({"policy": "manual"}), false),
        (json!({"policy": "auto"}), true),
    ] {
        manage(&gateway, "PUT", &format!("/api/skills/{id}"), change.clone()).await;
        let (now, names) = ask("thanks").await;
        assert_eq!(names.contains(&"reverse-text__"), stays, "{change}");
        assert_eq!(now == first, stays, "{change}");
    }
    install(&gateway, "reverse-text", "2.0.0").await;
    assert_eq!(ask("thanks").await.0, first, "a new version waits for the next conversation");
    manage(&gateway, "DELETE", &format!("/api/skills/{id}"), json!({})).await;
    assert!(!ask("thanks").await.0.contains("reverse-text__1_0_0"));
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_else_sees_anything_of_it() {
    let (upstream, gateway) = start("").await;
    let key = async |name: &str| {
        let made = manage(&gateway, "POST", "/api/keys", json!({"name": name})).await;
        made["key"].as_str().unwrap().to_owned()
    };
    let (alice, bob) = (key("alice").await, key("bob").await);
    let ask = async |key: &str, user: &str, session: &str, text: &str| {
        let headers = [("x-omni-key", key), ("x-omni-user", user), ("x-omni-session", session)];
        send(&gateway.base, "openai_chat", &body("openai_chat", false, text, &[]), &headers).await;
        tools(&upstream).1
    };
    assert!(ask(&alice, "u", "s", REVERSE).await.contains(&"reverse-text__"));
    for (key, user, session) in [(&bob, "u", "s"), (&alice, "v", "s"), (&alice, "u", "t"), (&alice, "", "s")]
    {
        assert_eq!(ask(key, user, session, "thanks").await, ["eval_code__"], "{user} {session}");
    }
    assert_eq!(ask(&alice, "u", "s", "thanks").await, ["eval_code__", "reverse-text__"]);
    let other = [("x-omni-key", alice.as_str()), ("x-omni-user", "u"), ("x-omni-session", "s")];
    send(&gateway.base, "anthropic_messages", &body("anthropic_messages", false, "thanks", &[]), &other)
        .await;
    assert_eq!(tools(&upstream).1, ["eval_code__"], "another dialect has a cache of its own");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_without_a_name_is_known_by_its_beginning() {
    let (upstream, gateway) = start("").await;
    let say = |role: &str, text: &str| json!({"role": role, "content": text});
    let mut chat = body("openai_chat", false, REVERSE, &[]);
    send(&gateway.base, "openai_chat", &chat, &[]).await;
    let first = tools(&upstream).0;
    for text in ["thanks", "really", "very much so", "again"] {
        let messages = chat["messages"].as_array_mut().unwrap();
        messages.extend([say("assistant", "done"), say("user", text)]);
        send(&gateway.base, "openai_chat", &chat, &[]).await;
        assert_eq!(tools(&upstream).0, first, "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_and_conversations_of_the_provider_lead_back_to_it() {
    for stream in [false, true] {
        let (upstream, gateway) = start("").await;
        let echo = Round::calls([Call::new("reverse-text", json!({"text": "x"}))]);
        for script in [Script::rounds([Round::text("done")]), Script::rounds([echo, Round::text("done")])] {
            upstream.set_script(script);
            let mut chat = json!({"model": "m", "input": REVERSE, "stream": stream});
            let mut first = String::new();
            for turn in 0..4 {
                let seen = send(&gateway.base, "openai_responses", &chat, &[]).await;
                let now = tools(&upstream).0;
                if turn == 0 {
                    assert!(now.contains("reverse-text__"), "{now}");
                    first = now;
                } else {
                    assert_eq!(now, first, "turn {turn} stream={stream}");
                }
                let id = seen.raw.split("\"resp_").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
                chat = json!({
                    "model": "m", "input": "thanks", "stream": stream, "previous_response_id": format!("resp_{id}"),
                });
            }
        }
        let named =
            |text: &str| json!({"model": "m", "input": text, "stream": stream, "conversation": "conv_1"});
        let management = [("x-omni-key", gateway.token.as_str())];
        send(&gateway.base, "openai_responses", &named(COMMIT), &management).await;
        let first = tools(&upstream).0;
        assert!(first.contains("git-commit__"), "{first}");
        send(&gateway.base, "openai_responses", &named("thanks"), &management).await;
        assert_eq!(tools(&upstream).0, first);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn it_can_be_switched_off_and_a_restart_begins_anew() {
    let session = [("x-omni-session", "s")];
    for (more, stays) in [("[selection]\nsticky = false\n", false), ("", true)] {
        let (upstream, mut gateway) = start(more).await;
        for (text, offered) in [(REVERSE, true), ("thanks", stays)] {
            send(&gateway.base, "gemini", &body("gemini", false, text, &[]), &session).await;
            assert_eq!(tools(&upstream).1.contains(&"reverse-text__"), offered, "{text}");
        }
        gateway.kill_and_restart();
        send(&gateway.base, "gemini", &body("gemini", false, "thanks", &[]), &session).await;
        assert_eq!(tools(&upstream).1, ["eval_code__"]);
    }
}
