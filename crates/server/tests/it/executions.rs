//! Runs over REST and their history: who may, what is refused and how, whose rows are seen.

use std::sync::atomic::Ordering;
use std::time::Duration;

use executor::ExecutorConfig;
use serde_json::{Value, json};

use crate::harness::{Answer, Gateway, Setup};

const PATH: &str = "/api/skills/executions";

async fn run(gateway: &Gateway, credential: &str, body: Value) -> Answer {
    gateway.call(credential, "POST", PATH, Some(body)).await
}

#[tokio::test]
async fn each_refusal_has_its_own_code_and_leaves_no_row() {
    let gateway = Gateway::start().await;
    gateway.install("echo", json!({"version": "1.2.0"})).await.ok();
    gateway.install("echo", json!({"version": "2.0.0"})).await.ok();
    gateway.install("off", json!({"mode": "off"})).await.ok();
    let input = json!({"text": "x"});
    for (body, status, code) in [
        (json!({"skillName": "nothing", "input": input}), 404, "skill_not_found"),
        (json!({"skillName": "echo@^3", "input": input}), 404, "version_not_found"),
        (json!({"skillName": "off", "input": input}), 409, "skill_inactive"),
        (json!({"skillName": "echo@banana", "input": input}), 400, "invalid_field"),
        (json!({"skillName": "", "input": input}), 400, "invalid_field"),
        (json!({"input": input}), 400, "invalid_field"),
        (json!({"skillName": "echo", "input": input, "extra": 1}), 400, "invalid_field"),
        (json!({"skillName": 7}), 422, "invalid_type"),
        (json!({"skillName": "echo", "input": {"text": 7}}), 422, "invalid_input"),
        (json!({"skillName": "echo", "input": [1]}), 422, "invalid_input"),
        (json!({"skillName": "echo", "input": input, "timeoutMs": 0}), 400, "invalid_field"),
    ] {
        run(&gateway, "", body.clone()).await.expect(status, code);
    }
    let said =
        run(&gateway, "", json!({"skillName": "echo@^3"})).await.json()["error"].as_str().unwrap().to_owned();
    assert!(said.contains("2.0.0, 1.2.0"), "{said}");
    let wrong = run(&gateway, "", json!({"skillName": "echo", "input": {"text": 7}})).await.json();
    assert_eq!(wrong["details"][0]["field"], "/text", "{wrong}");
    assert_eq!(gateway.manage("GET", PATH, None).await.ok()["total"], 0);
}

#[tokio::test]
async fn a_run_is_answered_and_recorded() {
    let gateway = Gateway::start().await;
    gateway.install("echo", json!({"version": "1.2.0"})).await.ok();
    gateway.install("echo", json!({"version": "2.0.0"})).await.ok();
    let body = json!({"skillName": "echo@^1", "input": {"text": "é"}, "sessionId": "s1"});
    let ran = run(&gateway, "", body).await.ok()["execution"].clone();
    assert_eq!((&ran["status"], &ran["version"]), (&json!("success"), &json!("1.2.0")));
    assert_eq!(
        (&ran["door"], &ran["sessionId"], &ran["apiKeyId"]),
        (&json!("rest"), &json!("s1"), &json!("anonymous"))
    );
    let one = gateway.call("", "GET", &format!("{PATH}/{}", ran["id"].as_str().unwrap()), None).await.ok();
    assert_eq!(one["execution"]["output"], json!({"text": "é"}));
    let total = async |query: &str| {
        gateway.call("", "GET", &format!("{PATH}?{query}"), None).await.ok()["total"].clone()
    };
    let created = ran["createdAt"].as_str().unwrap();
    for query in [
        "skill=echo".to_owned(),
        format!("skill={}", ran["skillId"].as_str().unwrap()),
        "status=success".to_owned(),
        "door=rest".to_owned(),
        "session=s1".to_owned(),
        format!("since={created}"),
        "apiKeyId=anonymous".to_owned(),
    ] {
        assert_eq!(total(&query).await, 1, "{query}");
    }
    for query in [
        "skill=ech",
        "status=error",
        "door=loop",
        "session=s2",
        "since=2999-01-01T00:00:00Z",
        "until=2001-01-01T00:00:00Z",
    ] {
        assert_eq!(total(query).await, 0, "{query}");
    }
    for query in [
        "limit=0",
        "limit=201",
        "limit=-1",
        "limit=1e9",
        "page=0",
        "status=x",
        "door=window",
        "since=now",
        "x=1",
    ] {
        gateway.call("", "GET", &format!("{PATH}?{query}"), None).await.expect(400, "invalid_field");
    }
    gateway.call("", "GET", &format!("{PATH}/nothing"), None).await.expect(404, "execution_not_found");
}

#[tokio::test]
async fn a_timeout_is_a_recorded_run() {
    let gateway = Gateway::start().await;
    gateway.install("slow", json!({"handlerCode": "slow-handler"})).await.ok();
    let body = json!({"skillName": "slow", "input": {"text": "x"}, "timeoutMs": 20});
    let ran = run(&gateway, "", body).await.ok()["execution"].clone();
    assert_eq!(ran["status"], "timeout");
    assert_eq!(ran["errorMessage"], "Skill execution timed out after 20 ms");
    assert!(gateway.dropped.load(Ordering::SeqCst));
}

#[tokio::test]
async fn a_client_that_goes_away_cancels_its_run() {
    let gateway = Gateway::start().await;
    gateway.install("slow", json!({"handlerCode": "slow-handler"})).await.ok();
    let asked = run(&gateway, "", json!({"skillName": "slow", "input": {"text": "x"}}));
    let gone = tokio::time::timeout(Duration::from_secs(20), async {
        tokio::select! {
            answer = asked => panic!("answered: {answer:?}"),
            () = until(|| gateway.started.load(Ordering::SeqCst)) => {}
        }
        until(|| gateway.dropped.load(Ordering::SeqCst)).await;
        while gateway.manage("GET", &format!("{PATH}?status=error"), None).await.ok()["total"] != 1 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    gone.await.expect("the run is cancelled and its row is finished");
}

async fn until(done: impl Fn() -> bool) {
    while !done() {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test]
async fn a_full_executor_says_when_to_come_back() {
    let executor = ExecutorConfig { global_concurrency: 1, queue: 0, ..ExecutorConfig::default() };
    let gateway = Gateway::with(Setup { executor, ..Setup::default() }).await;
    gateway.install("slow", json!({"handlerCode": "slow-handler"})).await.ok();
    let body = json!({"skillName": "slow", "input": {"text": "x"}});
    let first = run(&gateway, "", body.clone());
    let second = async {
        until(|| gateway.started.load(Ordering::SeqCst)).await;
        run(&gateway, "", body).await.expect(503, "busy")
    };
    tokio::select! {
        answer = first => panic!("answered: {answer:?}"),
        busy = second => assert!(busy.headers["retry-after"].to_str().unwrap().parse::<u64>().unwrap() > 0),
    }
}

#[tokio::test]
async fn one_key_neither_runs_nor_sees_what_is_anothers() {
    let gateway = Gateway::start().await;
    let scopes = ["read:skills", "execute:skills"];
    let (alice, alices) = gateway.key("alice", &scopes).await;
    let (_, bobs) = gateway.key("bob", &scopes).await;
    gateway.install("private", json!({"apiKeyId": alice})).await.ok();
    let body = json!({"skillName": "private", "input": {"text": "x"}});
    let ran = run(&gateway, &alices, body.clone()).await.ok()["execution"].clone();
    assert_eq!(ran["apiKeyId"], alice.as_str());
    run(&gateway, &bobs, body.clone()).await.expect(404, "skill_not_found");
    let mut as_alice = body;
    as_alice["apiKeyId"] = json!(alice);
    run(&gateway, &bobs, as_alice.clone()).await.expect(403, "foreign_owner");
    run(&gateway, &alices, as_alice).await.ok();
    let query = format!("{PATH}?apiKeyId={alice}");
    gateway.call(&bobs, "GET", &query, None).await.expect(403, "foreign_owner");
    gateway
        .call(&bobs, "GET", &format!("/api/skills?owner={alice}"), None)
        .await
        .expect(403, "missing_scope");
    assert_eq!(gateway.call(&bobs, "GET", PATH, None).await.ok()["total"], 0);
    let one = format!("{PATH}/{}", ran["id"].as_str().unwrap());
    gateway.call(&bobs, "GET", &one, None).await.expect(404, "execution_not_found");
    gateway.call(&alices, "GET", &one, None).await.ok();
    gateway.manage("GET", &one, None).await.ok();
    assert_eq!(gateway.call(&alices, "GET", &query, None).await.ok()["total"], 2);
    assert_eq!(gateway.manage("GET", &query, None).await.ok()["total"], 2);
}

#[tokio::test]
async fn management_has_to_say_whose_skill_when_several_have_it() {
    let gateway = Gateway::start().await;
    for owner in ["alice", "bob"] {
        gateway.install("shared-name", json!({"apiKeyId": owner})).await.ok();
    }
    let body = json!({"skillName": "shared-name", "input": {"text": "x"}});
    gateway.manage("POST", PATH, Some(body.clone())).await.expect(400, "invalid_field");
    gateway.install("shared-name", json!({})).await.ok();
    let ran = gateway.manage("POST", PATH, Some(body)).await.ok();
    assert_eq!(ran["execution"]["status"], "success");
}

#[tokio::test]
async fn a_key_without_custom_skills_runs_builtins_only() {
    let gateway = Gateway::start().await;
    gateway.install("echo", json!({})).await.ok();
    let make = json!({"name": "k", "customSkillExecutionEnabled": false});
    let key = gateway.manage("POST", "/api/keys", Some(make)).await.ok()["key"].as_str().unwrap().to_owned();
    let custom = json!({"skillName": "echo", "input": {"text": "x"}});
    run(&gateway, &key, custom).await.expect(403, "custom_skills_disabled");
    let builtin = json!({"skillName": "file_write", "input": {"path": "x"}});
    run(&gateway, &key, builtin).await.ok();
}
