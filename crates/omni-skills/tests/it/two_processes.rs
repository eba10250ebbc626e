//! Two gateways on one database: what is changed over one holds at once on the other, through every door.

use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::fake_upstream::FakeUpstream;
use testkit::gateway::Gateway;
use testkit::postgres::Schema;
use testkit::script::{Call, Round, Script};

use crate::client::{DIALECTS, body, gateway, history, http, send};

/// Longest wait for what has to come. On a server it comes within milliseconds, on a file within the next look at it.
const PATIENCE: Duration = Duration::from_secs(20);

/// Two gateways in front of one upstream.
struct Pair {
    what: &'static str,
    one: Gateway,
    two: Gateway,
    upstream: FakeUpstream,
    _schema: Option<Schema>,
}

/// On a file, and on a server where there is one.
async fn pairs() -> Vec<Pair> {
    let upstream = FakeUpstream::start(Script::rounds([Round::text("done")])).await;
    let one = gateway(&upstream.base_url(), "");
    let two = one.beside();
    let mut pairs = vec![Pair { what: "SQLite", one, two, upstream, _schema: None }];
    if let Some(schema) = Schema::new().await {
        let upstream = FakeUpstream::start(Script::rounds([Round::text("done")])).await;
        let start = || {
            let config = Gateway::config_in_front_of(&upstream.base_url(), "");
            let program = std::path::Path::new(env!("CARGO_BIN_EXE_omni-skills"));
            Gateway::start_with(program, &config, &[("DATABASE_URL", &schema.url())])
        };
        let (one, two) = (start(), start());
        pairs.push(Pair { what: "PostgreSQL", one, two, upstream, _schema: Some(schema) });
    }
    pairs
}

/// Status and JSON of a request as an operator, or with a key.
async fn call(
    gateway: &Gateway,
    bearer: &str,
    method: &str,
    path: &str,
    body: Option<Value>,
) -> (u16, Value) {
    let url = format!("{}{path}", gateway.base);
    let request = http().request(method.parse().unwrap(), url).bearer_auth(bearer);
    let request = match body {
        Some(body) => request.header("content-type", "application/json").body(body.to_string()),
        None => request,
    };
    let answer = request.send().await.unwrap();
    let status = answer.status().as_u16();
    (status, serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap_or_default())
}

async fn manage(gateway: &Gateway, method: &str, path: &str, body: Option<Value>) -> Value {
    let (status, answer) = call(gateway, &gateway.token, method, path, body).await;
    assert!((200..300).contains(&status), "{method} {path}: {status} {answer}");
    answer
}

/// Waits until it holds.
async fn until(what: &str, holds: impl AsyncFn() -> bool) {
    let start = Instant::now();
    while !holds().await {
        assert!(start.elapsed() < PATIENCE, "{what} did not come to hold");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Installs a skill that answers with its input. Returns its id.
async fn install(gateway: &Gateway, name: &str) -> String {
    let skill = json!({"name": name, "description": "mirrors", "schema": {"input": {}}, "handlerCode": "echo-handler",
        "mode": "on"});
    let answer = manage(gateway, "POST", "/api/skills/install", Some(skill)).await;
    answer["id"].as_str().or(answer["skill"]["id"].as_str()).unwrap().to_owned()
}

/// What a REST run of it answers.
async fn run(gateway: &Gateway, name: &str) -> u16 {
    let body = json!({"skillName": name, "input": {"text": "x"}});
    call(gateway, &gateway.token, "POST", "/api/skills/executions", Some(body)).await.0
}

/// Runs of it that succeeded.
async fn successes(gateway: &Gateway, name: &str) -> usize {
    let rows = history(gateway).await;
    rows.iter().filter(|row| row["skillName"] == name && row["status"] == "success").count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_skill_that_is_switched_off_over_one_is_refused_by_the_other_through_every_door() {
    for Pair { what, one, two, upstream, _schema } in pairs().await {
        for dialect in DIALECTS {
            let name = format!("mirror-{}", dialect.replace('_', "-"));
            let id = install(&one, &name).await;
            until("an install", async || run(&two, &name).await == 200).await;

            // While it is on, the other one offers and runs it.
            let calls = Round::calls([Call::new(&name, json!({"text": "x"}))]);
            upstream.set_script(Script::rounds([calls.clone(), Round::text("done")]));
            let chat = body(dialect, false, "please", &[]);
            let headers = [("x-omni-use", name.as_str())];
            let seen = send(&two.base, dialect, &chat, &headers).await;
            assert_eq!(seen.text, "done", "{what} {dialect}: {seen:?}");
            assert_eq!(successes(&two, &name).await, 2, "{what} {dialect}: over REST and in the loop");

            // A turn in which it was offered, and whose model calls it when it is off.
            let (began, held) = hold(&upstream, calls.clone());
            let turn = {
                let (base, chat, name) = (two.base.clone(), chat.clone(), name.clone());
                tokio::spawn(async move { send(&base, dialect, &chat, &[("x-omni-use", &name)]).await })
            };
            began.await.unwrap();
            manage(&one, "PUT", &format!("/api/skills/{id}"), Some(json!({"mode": "off"}))).await;
            assert_eq!(run(&one, &name).await, 409, "{what} {dialect}: at once where it was switched off");
            until("a skill that is off", async || run(&two, &name).await == 409).await;
            // A file is looked at now and then: it may have run until it was seen that it is off.
            let ran = successes(&two, &name).await;
            held.send(()).unwrap();
            let seen = turn.await.unwrap();
            assert_eq!(seen.text, "done", "{what} {dialect}: {seen:?}");
            let told = upstream.requests().last().unwrap().body.to_string();
            assert!(told.contains("switched off"), "{what} {dialect}: {told}");

            // From then on it is not offered, and a call of it that the model remembers runs nothing.
            let wire = wire_name(&upstream, &name);
            let remembered = Round::calls([Call::new(&wire, json!({"text": "x"})).exactly()]);
            upstream.set_script(Script::rounds([remembered, Round::text("done")]));
            let before = upstream.requests().len();
            send(&two.base, dialect, &chat, &headers).await;
            for request in &upstream.requests()[before..=before] {
                assert!(
                    !request.body["tools"].to_string().contains(&wire),
                    "{what} {dialect}: it is offered"
                );
            }
            assert_eq!(successes(&two, &name).await, ran, "{what} {dialect}: it ran");
        }
    }
}

/// Holds the first round of a turn until the sender is used; the receiver says when a turn waits there.
fn hold(upstream: &FakeUpstream, first: Round) -> (tokio::sync::oneshot::Receiver<()>, mpsc::Sender<()>) {
    let (began, has_begun) = tokio::sync::oneshot::channel();
    let (go_on, held) = mpsc::channel();
    let waits = Arc::new(Mutex::new(Some((began, held))));
    upstream.set_script(Script::choose(move |_, round| {
        if round > 0 {
            return Round::text("done");
        }
        if let Some((began, held)) = waits.lock().unwrap().take() {
            began.send(()).unwrap();
            tokio::task::block_in_place(|| held.recv_timeout(3 * PATIENCE)).unwrap();
        }
        first.clone()
    }));
    (has_begun, go_on)
}

/// The name that the model knows the skill by.
fn wire_name(upstream: &FakeUpstream, name: &str) -> String {
    let sent =
        upstream.requests().iter().rev().map(|request| request.body["tools"].to_string()).collect::<String>();
    sent.split('"').find(|word| word.starts_with(&format!("{name}__"))).unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_that_is_rotated_or_deleted_over_one_stops_on_the_other() {
    for Pair { what, one, two, upstream, _schema } in pairs().await {
        let made = manage(&one, "POST", "/api/keys", Some(json!({"name": "a"}))).await;
        let path = format!("/api/keys/{}", made["id"].as_str().unwrap());
        let chat = body("openai_chat", false, "please", &[]);
        let ask = async |key: &Value| {
            let bearer = format!("Bearer {}", key.as_str().unwrap());
            send(&two.base, "openai_chat", &chat, &[("authorization", bearer.as_str())]).await.status
        };
        until("a new key", async || ask(&made["key"]).await == 200).await;
        let rotated = manage(&one, "POST", &format!("{path}/rotate"), None).await;
        until("a rotated key", async || ask(&made["key"]).await == 401).await;
        until("its new secret", async || ask(&rotated["key"]).await == 200).await;
        manage(&one, "DELETE", &path, None).await;
        until("a deleted key", async || ask(&rotated["key"]).await == 401).await;
        let before = upstream.requests().len();
        assert_eq!(ask(&rotated["key"]).await, 401, "{what}");
        assert_eq!(upstream.requests().len(), before, "{what}: nothing went up");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_master_switch_and_settings_hold_on_both() {
    for Pair { what, one, two, upstream: _upstream, _schema } in pairs().await {
        install(&one, "mirror").await;
        until("an install", async || run(&two, "mirror").await == 200).await;
        manage(&one, "PATCH", "/api/settings", Some(json!({"skillsEnabled": false}))).await;
        until("the master switch", async || run(&two, "mirror").await == 503).await;
        let there = manage(&two, "GET", "/api/settings", None).await;
        assert_eq!(there["skillsEnabled"], false, "{what}");
        manage(&two, "PATCH", "/api/settings", Some(json!({"skillsEnabled": true}))).await;
        until("the master switch, back", async || run(&one, "mirror").await == 200).await;
    }
}

/// Rows of a killed process are closed by the other one; the other one's own go on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_killed_process_ran_is_closed_by_the_other() {
    for Pair { what, mut one, two, upstream: _upstream, _schema } in pairs().await {
        let code = |seconds: u32| format!("import time; time.sleep({seconds}); print('slept')");
        let start = |gateway: &Gateway, seconds| {
            let body =
                json!({"skillName": "eval_code", "input": {"language": "python", "code": code(seconds)}});
            let url = format!("{}/api/skills/executions", gateway.base);
            let request = http().post(url).bearer_auth(&gateway.token);
            let request = request.header("content-type", "application/json").body(body.to_string());
            tokio::spawn(request.send())
        };
        let running = async |gateway: &Gateway| {
            history(gateway).await.iter().filter(|row| row["status"] == "running").count()
        };
        let dies = start(&one, 9);
        until("a run", async || running(&two).await == 1).await;
        one.kill();
        drop(dies.await);
        let lives = start(&two, 3);
        until("the end of the dead", async || {
            history(&two).await.iter().any(|row| row["errorMessage"] == "interrupted")
        })
        .await;
        let answer = lives.await.unwrap().unwrap();
        assert_eq!(answer.status(), 200, "{what}");
        until("the end of all", async || running(&two).await == 0).await;
        let rows = history(&two).await;
        let ends: Vec<_> = rows.iter().map(|row| row["status"].as_str().unwrap()).collect();
        assert_eq!(ends, ["success", "error"], "{what}: {rows:?}");
        one.restart();
        assert_eq!(history(&one).await.len(), 2, "{what}");
    }
}
