//! Every route of the route list against every kind of credential: a new route cannot be forgotten.

use axum::http::{Method, StatusCode};
use domain::Scope;
use serde_json::json;
use server::{Access, route_list};

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
