//! Turns, sets, tokens, artifacts, the audit table and upstreams over REST.

use domain::{Artifact, StopReason, TurnRecord, ids};
use serde_json::json;

use crate::harness::Gateway;

pub(crate) fn turn(owner: &str) -> TurnRecord {
    TurnRecord {
        id: ids::new_id(),
        api_key_id: owner.to_owned(),
        user: None,
        session_id: Some("s".to_owned()),
        dialect: "openai_chat".to_owned(),
        model: "m".to_owned(),
        upstream: "u".to_owned(),
        streamed: false,
        upstream_status: Some(200),
        stop_reason: StopReason::Completed,
        error_code: None,
        candidates: vec![domain::TurnCandidate {
            skill: "a@1.0.0".to_owned(),
            score: Some(4),
            skipped: None,
        }],
        rounds: vec![domain::TurnRound { status: 200, tokens: 12, calls: 0, duration_ms: 3 }],
        round_count: 1,
        input_tokens: 10,
        output_tokens: 2,
        executions: 0,
        first_byte_ms: Some(2),
        duration_ms: 3,
        created_at: "2026-01-31T12:00:00.000Z".to_owned(),
    }
}

pub(crate) fn artifact(owner: &str) -> Artifact {
    Artifact {
        id: ids::new_id(),
        execution_id: ids::new_id(),
        api_key_id: owner.to_owned(),
        name: "Übersicht\"\n.html".to_owned(),
        mime: "text/html".to_owned(),
        bytes: 8,
        sha256: ids::sha256_hex("<script>"),
        created_at: "2026-01-31T12:00:00.000Z".to_owned(),
    }
}

#[tokio::test]
async fn a_turn_is_its_owners_and_managements() {
    let gateway = Gateway::start().await;
    let (alice, alices) = gateway.key("alice", &["read:skills"]).await;
    let (_, bobs) = gateway.key("bob", &["read:skills"]).await;
    let record = turn(&alice);
    gateway.app.store.record_turn(record.clone()).await.unwrap();
    let path = format!("/api/turns/{}", record.id);
    let seen = gateway.call(&alices, "GET", &path, None).await.ok();
    assert_eq!(seen["turn"]["candidates"][0]["skill"], "a@1.0.0");
    gateway.call(&bobs, "GET", &path, None).await.expect(404, "turn_not_found");
    gateway.manage("GET", &path, None).await.ok();
    let list = gateway.call(&alices, "GET", "/api/turns?model=m&stop=completed", None).await.ok();
    assert_eq!((&list["total"], list["data"][0].get("candidates")), (&json!(1), None));
    assert_eq!(gateway.call(&bobs, "GET", "/api/turns", None).await.ok()["total"], 0);
    let others = format!("/api/turns?apiKeyId={alice}");
    gateway.call(&bobs, "GET", &others, None).await.expect(403, "foreign_owner");
    gateway.call(&alices, "GET", "/api/turns?stop=sometimes", None).await.expect(400, "invalid_field");
    for (by, group) in [("key", alice.as_str()), ("model", "m"), ("day", "2026-01-31")] {
        let usage = gateway.call(&alices, "GET", &format!("/api/usage?by={by}"), None).await.ok();
        assert_eq!(
            (&usage["data"][0]["group"], &usage["data"][0]["inputTokens"]),
            (&json!(group), &json!(10))
        );
        let usage = gateway.call(&bobs, "GET", &format!("/api/usage?by={by}"), None).await.ok();
        assert_eq!(usage["data"], json!([]));
    }
}

#[tokio::test]
async fn an_artifact_is_handed_out_as_a_file_and_never_shown() {
    let gateway = Gateway::start().await;
    let (alice, alices) = gateway.key("alice", &["read:skills"]).await;
    let (_, bobs) = gateway.key("bob", &["read:skills"]).await;
    let artifact = artifact(&alice);
    gateway.app.store.put_artifact(&artifact, b"<script>".to_vec()).await.unwrap();
    let path = format!("/api/artifacts/{}", artifact.id);
    let file = gateway.call(&alices, "GET", &path, None).await;
    assert_eq!((file.status.as_u16(), &file.bytes[..]), (200, &b"<script>"[..]));
    assert_eq!(file.headers["content-type"], "application/octet-stream");
    assert_eq!(file.headers["x-content-type-options"], "nosniff");
    let disposition = file.headers["content-disposition"].to_str().unwrap();
    assert_eq!(disposition, "attachment; filename*=UTF-8''%C3%9Cbersicht%22%0A%2Ehtml");
    gateway.call(&bobs, "GET", &path, None).await.expect(404, "artifact_not_found");
}

#[tokio::test]
async fn sets_are_written_read_and_removed_and_each_change_is_on_record() {
    let gateway = Gateway::start().await;
    let put = |skills| gateway.manage("PUT", "/api/sets/mine", Some(json!({"skills": skills})));
    put(json!(["a", "b@^1"])).await.ok();
    put(json!(["c"])).await.ok();
    let set = gateway.manage("GET", "/api/sets/mine", None).await.ok();
    assert_eq!(set["set"]["skills"], json!(["c"]));
    put(json!(["a@nonsense"])).await.expect(400, "invalid_field");
    gateway.manage("PUT", "/api/sets/a,b", Some(json!({"skills": []}))).await.expect(400, "invalid_field");
    gateway.manage("PUT", "/api/sets/x", Some(json!({}))).await.expect(400, "invalid_field");
    gateway.manage("DELETE", "/api/sets/mine", None).await.ok();
    gateway.manage("DELETE", "/api/sets/mine", None).await.expect(404, "set_not_found");
    let audit = gateway.manage("GET", "/api/audit?target=mine", None).await.ok();
    let actions: Vec<_> = audit["data"].as_array().unwrap().iter().map(|e| e["action"].clone()).collect();
    assert_eq!(actions, [json!("set.delete"), json!("set.put"), json!("set.put")]);
    assert_eq!(audit["data"][1]["before"]["skills"], json!(["a", "b@^1"]));
    assert_eq!(audit["data"][1]["actor"], "management");
}

#[tokio::test]
async fn a_named_token_manages_until_it_is_removed() {
    let gateway = Gateway::start().await;
    let body = json!({"name": "ci"});
    let made = gateway.manage("POST", "/api/tokens", Some(body.clone())).await.ok();
    let secret = made["token"].as_str().unwrap().to_owned();
    gateway.manage("POST", "/api/tokens", Some(body)).await.expect(409, "name_taken");
    gateway.call(&secret, "GET", "/api/keys", None).await.ok();
    gateway.call(&secret, "PUT", "/api/sets/by-token", Some(json!({"skills": []}))).await.ok();
    let id = made["id"].as_str().unwrap();
    let audit = gateway.manage("GET", "/api/audit?target=by-token", None).await.ok();
    assert_eq!(audit["data"][0]["actor"], format!("token:{id}"));
    let few = gateway
        .manage("POST", "/api/tokens", Some(json!({"name": "few", "scopes": ["read:skills"]})))
        .await
        .ok();
    let few = few["token"].as_str().unwrap();
    gateway.call(few, "GET", "/api/keys", None).await.expect(403, "missing_scope");
    let whole = gateway.manage("GET", "/api/audit", None).await.ok().to_string();
    assert!(!whole.contains(&secret), "a secret in the audit table");
    gateway.manage("DELETE", &format!("/api/tokens/{id}"), None).await.ok();
    gateway.call(&secret, "GET", "/api/keys", None).await.expect(401, "invalid_credential");
    gateway.manage("DELETE", &format!("/api/tokens/{id}"), None).await.expect(404, "token_not_found");
}

#[tokio::test]
async fn versions_are_resolved_for_the_caller() {
    let gateway = Gateway::start().await;
    let (alice, alices) = gateway.key("alice", &["read:skills"]).await;
    for (version, owner) in [("1.9.0", "system"), ("1.10.0", "system"), ("2.0.0", alice.as_str())] {
        let body = json!({"name": "shout", "version": version, "description": "d", "schema": {},
            "handlerCode": "echo-handler", "apiKeyId": owner});
        gateway.manage("POST", "/api/skills/install", Some(body)).await.ok();
    }
    let ask = |credential: &str, query: &str| {
        let (credential, path) = (credential.to_owned(), format!("/api/skills/resolve?name=shout{query}"));
        let gateway = &gateway;
        async move { gateway.call(&credential, "GET", &path, None).await }
    };
    let mine = ask(&alices, "").await.ok();
    assert_eq!(mine["version"], "2.0.0");
    assert_eq!(mine["versions"], json!(["2.0.0", "1.10.0", "1.9.0"]));
    assert_eq!(ask(&alices, "&constraint=%5E1").await.ok()["version"], "1.10.0");
    ask(&alices, "&constraint=3").await.expect(404, "version_not_found");
    ask(&alices, "&constraint=nonsense").await.expect(400, "invalid_field");
    ask(&alices, "&apiKeyId=system").await.expect(403, "foreign_owner");
    let (_, bobs) = gateway.key("bob", &["read:skills"]).await;
    assert_eq!(ask(&bobs, "").await.ok()["version"], "1.10.0");
    gateway.call(&bobs, "GET", "/api/skills/resolve", None).await.expect(400, "invalid_field");
    gateway.call(&bobs, "GET", "/api/skills/resolve?name=nothing", None).await.expect(404, "skill_not_found");
}

#[tokio::test]
async fn a_write_of_another_process_is_seen_after_an_invalidation() {
    let gateway = Gateway::start().await;
    let body = json!({"name": "shout", "description": "d", "schema": {}, "handlerCode": "echo-handler"});
    let id = gateway.manage("POST", "/api/skills/install", Some(body)).await.ok()["id"].clone();
    // Behind the registry's back, as another process would.
    gateway.app.store.delete_skill(id.as_str().unwrap()).await.unwrap();
    let path = "/api/skills/resolve?name=shout";
    gateway.manage("GET", path, None).await.ok();
    gateway.manage("POST", "/api/skills/cache/invalidate", None).await.ok();
    gateway.manage("GET", path, None).await.expect(404, "skill_not_found");
}

#[tokio::test]
async fn upstreams_are_shown_without_their_credentials() {
    // Fails when another test of this process was first: then it is installed.
    drop(rustls::crypto::ring::default_provider().install_default());
    let mut setup = crate::harness::Setup::default();
    let mut config = server::UpstreamConfig::new(
        "one",
        &["openai_chat"],
        "http://u:p@127.0.0.1:9/v1?k=secret",
        Some("sk-secret".into()),
    );
    config.models = vec!["gpt-*".to_owned()];
    setup.upstreams = vec![config];
    let gateway = Gateway::with(setup).await;
    let shown = gateway.manage("GET", "/api/upstreams", None).await.ok();
    assert_eq!(shown["data"][0]["baseUrl"], "http://127.0.0.1:9/v1");
    assert_eq!((&shown["data"][0]["health"], &shown["data"][0]["lastError"]), (&json!("ok"), &json!(null)));
    assert!(!shown.to_string().contains("secret"));
    let body = json!({"model": "gpt-x", "messages": [{"role": "user", "content": "x"}]});
    gateway.manage("POST", "/v1/chat/completions", Some(body)).await;
    let shown = gateway.manage("GET", "/api/upstreams", None).await.ok();
    assert_eq!(shown["data"][0]["health"], "failing");
    assert!(shown["data"][0]["lastError"]["message"].is_string() && !shown.to_string().contains("u:p"));
}

#[tokio::test]
async fn a_run_is_cancelled_by_its_owner_alone() {
    let gateway = Gateway::start().await;
    let body = json!({"name": "slow", "description": "d", "schema": {}, "handlerCode": "slow-handler"});
    gateway.manage("POST", "/api/skills/install", Some(body)).await.ok();
    let (_, alices) = gateway.key("alice", &["read:skills", "execute:skills"]).await;
    let (_, bobs) = gateway.key("bob", &["read:skills", "execute:skills"]).await;
    let run = gateway.call(
        &alices,
        "POST",
        "/api/skills/executions",
        Some(json!({"skillName": "slow", "input": {}})),
    );
    let cancel = async {
        loop {
            let rows = gateway.call(&alices, "GET", "/api/skills/executions?status=running", None).await.ok();
            if let Some(id) = rows["data"][0]["id"].as_str() {
                let path = format!("/api/skills/executions/{id}/cancel");
                gateway.call(&bobs, "POST", &path, None).await.expect(404, "execution_not_found");
                let done = gateway.call(&alices, "POST", &path, None).await.ok();
                assert_eq!(done["cancelled"], true);
                let again = gateway.call(&alices, "POST", &path, None).await.ok();
                break assert_eq!(again["cancelled"], false);
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    let both = async { tokio::join!(run, cancel) };
    let (ran, ()) = tokio::time::timeout(std::time::Duration::from_secs(20), both).await.unwrap();
    let ran = ran.ok();
    assert_eq!(
        (&ran["execution"]["status"], &ran["execution"]["errorMessage"]),
        (&json!("error"), &json!("cancelled"))
    );
}
