//! Every route of the route list against every kind of credential: a new route cannot be forgotten.
//!
//! What a caller asks for is somebody else's wherever the path names a thing that has an owner.

use axum::http::{Method, StatusCode};
use domain::{ManagementToken, Scope, ids};
use serde_json::{Value, json};
use server::{Access, openapi, route_list};

use crate::harness::{Answer, Gateway, TOKEN, request};

/// Whether the answer came from behind the guard: whatever the handler said, it was asked.
fn let_in(answer: &Answer) -> bool {
    answer.status != StatusCode::UNAUTHORIZED && answer.status != StatusCode::FORBIDDEN
}

async fn try_route(gateway: &Gateway, credential: &str, method: &Method, path: &str) -> Answer {
    let path = path.replace("{id}", "018f0000-0000-7000-8000-000000000000");
    let path = path.replace("executions/stream", "executions/stream?approver=nobody");
    let body = (*method != Method::GET).then(|| json!({}));
    gateway.call(credential, method.as_str(), &path, body).await
}

#[tokio::test]
async fn each_route_asks_for_what_the_list_says() {
    let gateway = Gateway::start().await;
    let (_, none) = gateway.key("no scope", &[]).await;
    for route in route_list() {
        let (method, path) = (&route.method, route.path);
        let what = format!("{method} {path}");
        let scope = match route.access {
            Access::Public => {
                assert!(let_in(&try_route(&gateway, "", method, path).await), "{what}");
                continue;
            }
            Access::Needs(scope) => scope,
        };
        for credential in ["", "sk-somebody-else", "osk_unknown", "omt_wrong"] {
            let answer = try_route(&gateway, credential, method, path).await;
            assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{what} {credential:?}");
            assert!(answer.headers.contains_key("www-authenticate"), "{what}");
        }
        let answer = try_route(&gateway, &none, method, path).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{what}");
        let said = String::from_utf8_lossy(&answer.bytes).into_owned();
        assert!(said.contains(scope.as_str()), "{what}: {said}");
        for other in Scope::ALL {
            let (id, secret) = gateway.key("one scope", &[other.as_str()]).await;
            let answer = try_route(&gateway, &secret, method, path).await;
            let may = other == scope || other == Scope::Manage;
            assert_eq!(let_in(&answer), may, "{what} with {}: {answer:?}", other.as_str());
            gateway.manage("DELETE", &format!("/api/keys/{id}"), None).await.ok();
        }
        assert!(let_in(&try_route(&gateway, TOKEN, method, path).await), "{what}");
    }
}

/// Paths that name a thing with an owner, with the code of the answer to anybody else.
const OWNED: &[(&str, &str)] = &[
    ("/api/skills/executions/{id}", "execution_not_found"),
    ("/api/turns/{id}", "turn_not_found"),
    ("/api/artifacts/{id}", "artifact_not_found"),
];

/// The id of an execution of a key, of a turn and of an artifact of the same key, and that key.
async fn somebodys_execution(gateway: &Gateway) -> (String, String) {
    gateway.install("echo", json!({})).await.ok();
    let (_, secret) = gateway.key("somebody", &["execute:skills", "read:skills"]).await;
    let body = json!({"skillName": "echo", "input": {"text": "mine"}});
    let ran = gateway.call(&secret, "POST", "/api/skills/executions", Some(body)).await.ok();
    let (id, owner) =
        (ran["execution"]["id"].as_str().unwrap(), ran["execution"]["apiKeyId"].as_str().unwrap());
    let turn = domain::TurnRecord { id: id.to_owned(), ..crate::records::turn(owner) };
    gateway.app.store.record_turn(turn).await.unwrap();
    let artifact = domain::Artifact { id: id.to_owned(), ..crate::records::artifact(owner) };
    gateway.app.store.put_artifact(&artifact, b"<script>".to_vec()).await.unwrap();
    (id.to_owned(), secret)
}

#[tokio::test]
async fn what_belongs_to_somebody_is_not_there_for_others() {
    let gateway = Gateway::start().await;
    let (id, owner) = somebodys_execution(&gateway).await;
    for route in route_list() {
        let Access::Needs(scope) = route.access else { continue };
        let ours = route.path.starts_with("/api") && route.path.contains('{') && scope != Scope::Manage;
        if !ours {
            continue;
        }
        let what = format!("{} {}", route.method, route.path);
        let found = OWNED.iter().find(|(path, _)| route.path.starts_with(path));
        let (_, code) = found.unwrap_or_else(|| panic!("{what}: whose is it? Say so in OWNED"));
        let path = route.path.replace("{id}", &id);
        let body = (route.method != Method::GET).then(|| json!({}));
        let (_, foreign) = gateway.key("foreign", &[scope.as_str()]).await;
        gateway.call(&foreign, route.method.as_str(), &path, body.clone()).await.expect(404, code);
        if route.method == Method::GET {
            for credential in [owner.as_str(), TOKEN] {
                let answer = gateway.call(credential, "GET", &path, None).await;
                assert_eq!(answer.status, StatusCode::OK, "{what}: {answer:?}");
            }
        }
    }
}

#[tokio::test]
async fn nobody_but_management_names_somebody_else() {
    let gateway = Gateway::start().await;
    let mut tried = 0;
    for route in route_list().iter().filter(|route| route.path.starts_with("/api")) {
        let Access::Needs(scope) = route.access else { continue };
        if scope == Scope::Manage {
            continue;
        }
        let method = route.method.as_str();
        let operation = &openapi()["paths"][route.path][method.to_ascii_lowercase()];
        let in_query =
            operation["parameters"].as_array().into_iter().flatten().any(|p| p["name"] == "apiKeyId");
        let content = &operation["requestBody"]["content"]["application/json"];
        let in_body = content["schema"]["properties"].get("apiKeyId").is_some();
        if !in_query && !in_body {
            continue;
        }
        let (own_id, foreign) = gateway.key("foreign", &[scope.as_str()]).await;
        for named in ["system", "management", "anonymous", "018f0000-0000-7000-8000-000000000000"] {
            let path =
                if in_query { format!("{}?apiKeyId={named}", route.path) } else { route.path.to_owned() };
            let body = in_body.then(|| with(&content["example"], "apiKeyId", named));
            gateway.call(&foreign, method, &path, body.clone()).await.expect(403, "foreign_owner");
            tried += 1;
        }
        let path = if in_query { format!("{}?apiKeyId={own_id}", route.path) } else { route.path.to_owned() };
        let body = in_body.then(|| with(&content["example"], "apiKeyId", &own_id));
        assert!(let_in(&gateway.call(&foreign, method, &path, body).await), "{method} {path}");
    }
    assert!(tried >= 8, "the document names `apiKeyId` in two operations at least");
}

fn with(body: &Value, member: &str, value: &str) -> Value {
    let mut body = body.clone();
    body[member] = value.into();
    body
}

#[tokio::test]
async fn a_named_token_may_what_its_scopes_say_and_stops_at_once() {
    let gateway = Gateway::start().await;
    let (id, _) = somebodys_execution(&gateway).await;
    let token = |scopes: &[Scope]| ManagementToken {
        id: ids::new_id(),
        name: format!("token {}", ids::new_id()),
        scopes: scopes.to_vec(),
        created_at: "2026-01-01T00:00:00.000Z".to_owned(),
        last_used_at: None,
    };
    let one = format!("/api/skills/executions/{id}");
    gateway.call("omt_all", "GET", "/api/keys", None).await.expect(401, "invalid_credential");
    let all = token(&[Scope::Manage]);
    gateway.app.keyring.create_token(&all, "omt_all").await.unwrap();
    gateway.call("omt_all", "GET", "/api/keys", None).await.ok();
    gateway.call("omt_all", "GET", &one, None).await.ok();
    let reader = token(&[Scope::ReadSkills]);
    gateway.app.keyring.create_token(&reader, "omt_reader").await.unwrap();
    let told = gateway.call("omt_reader", "GET", "/api/keys", None).await.expect(403, "missing_scope");
    assert!(told.json()["error"].as_str().unwrap().contains("manage"));
    // Without `manage` it acts as itself.
    gateway.call("omt_reader", "GET", &one, None).await.expect(404, "execution_not_found");
    let page = gateway.call("omt_reader", "GET", "/api/skills/executions", None).await.ok();
    assert_eq!(page["total"], 0);
    gateway.app.keyring.delete_token(&all.id).await.unwrap();
    gateway.call("omt_all", "GET", "/api/keys", None).await.expect(401, "invalid_credential");
}

#[tokio::test]
async fn the_list_holds_what_is_promised() {
    let list = route_list();
    let of = |method: &str, path: &str| {
        list.iter().find(|r| r.method.as_str() == method && r.path == path).map(|r| r.access).unwrap()
    };
    for (method, path) in [
        ("GET", "/api/skills"),
        ("GET", "/api/skills/{id}"),
        ("PUT", "/api/skills/{id}"),
        ("DELETE", "/api/skills/{id}"),
        ("POST", "/api/skills/install"),
        ("GET", "/api/keys"),
        ("POST", "/api/keys"),
        ("PUT", "/api/keys/{id}"),
        ("DELETE", "/api/keys/{id}"),
        ("POST", "/api/keys/{id}/rotate"),
        ("GET", "/api/settings"),
        ("PATCH", "/api/settings"),
    ] {
        assert_eq!(of(method, path), Access::MANAGE, "{method} {path}");
    }
    assert_eq!(of("GET", "/api/skills/executions"), Access::Needs(Scope::ReadSkills));
    assert_eq!(of("POST", "/api/skills/executions"), Access::Needs(Scope::ExecuteSkills));
    assert_eq!(of("GET", "/healthz"), Access::Public);
}

#[tokio::test]
async fn unknown_paths_and_methods_tell_nothing_to_strangers() {
    let gateway = Gateway::start().await;
    for (method, path) in
        [("GET", "/api/nothing"), ("GET", "/api"), ("PATCH", "/api/skills"), ("GET", "/api/skills/")]
    {
        gateway.call("", method, path, None).await.expect(401, "missing_credential");
        gateway.call("sk-x", method, path, None).await.expect(401, "invalid_credential");
    }
    let (_, secret) = gateway.key("k", &[]).await;
    gateway.call(&secret, "GET", "/api/nothing", None).await.expect(404, "route_not_found");
    gateway.manage("GET", "/api/nothing", None).await.expect(404, "route_not_found");
    let answer = gateway.manage("PATCH", "/api/skills", None).await.expect(405, "method_not_allowed");
    assert!(answer.headers["allow"].to_str().unwrap().contains("GET"));
    gateway.call("", "GET", "/nothing", None).await.expect(404, "route_not_found");
}

#[tokio::test]
async fn errors_under_v1_have_the_shape_of_the_dialect() {
    let gateway = Gateway::start().await;
    gateway.key("k", &[]).await;
    let openai = gateway.call("", "POST", "/v1/nothing", None).await;
    assert_eq!(openai.status, StatusCode::UNAUTHORIZED);
    let body = openai.json();
    assert!(body["error"]["message"].is_string() && body.get("requestId").is_none(), "{body}");
    let missing = gateway.manage("POST", "/v1/nothing", None).await;
    assert_eq!(missing.status, StatusCode::NOT_FOUND);
    assert!(missing.json()["error"]["message"].is_string());
    let ask = request("POST", "/v1/nothing").header("anthropic-version", "2023-06-01");
    let anthropic = gateway.send(ask.body(axum::body::Body::empty()).unwrap()).await.json();
    assert_eq!(anthropic["type"], "error", "{anthropic}");
    for dialect in dialects::ALL {
        let refused = gateway.call("", "POST", dialect.routes()[0], Some(json!({}))).await;
        assert_eq!(refused.status, StatusCode::UNAUTHORIZED);
        assert!(refused.json()["error"]["message"].is_string());
    }
}
