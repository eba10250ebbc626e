//! Model lists and the paths that are no chats: who may use the server's credential for what.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::IntoResponse;
use serde_json::{Value, json};
use server::UpstreamConfig;

use crate::harness::{Answer, Gateway, Setup, TOKEN, request};

type Asked = Arc<Mutex<Vec<(Method, String, HeaderMap, Bytes)>>>;

/// A provider that says what it was asked, and lists two models.
struct Provider {
    base: String,
    asked: Asked,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Provider {
    async fn start() -> Self {
        let asked = Asked::default();
        let seen = Arc::clone(&asked);
        let answer = move |method: Method, uri: Uri, headers: HeaderMap, body: Bytes| async move {
            let refused = headers.values().any(|v| v.to_str().is_ok_and(|v| v.contains("refused")));
            seen.lock().unwrap().push((method.clone(), uri.to_string(), headers, body));
            if refused {
                return (StatusCode::UNAUTHORIZED, "who are you?").into_response();
            }
            let models = ["m-1", "n-1"];
            let body = match (method, uri.path()) {
                (Method::GET, "/v1/models") => {
                    json!({"object": "list", "data": models.map(|m| json!({"id": m}))})
                }
                (Method::GET, "/v1beta/models") => {
                    json!({"models": models.map(|m| json!({"name": format!("models/{m}")}))})
                }
                _ => json!({"from": "provider"}),
            };
            ([("x-provider", "1")], axum::Json(body)).into_response()
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let app = Router::new().fallback(answer);
        let task = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { base, asked, task }
    }

    fn last(&self) -> (Method, String, HeaderMap, Bytes) {
        self.asked.lock().unwrap().last().cloned().unwrap()
    }

    fn count(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

const DIALECTS: [&str; 3] = ["openai_chat", "anthropic_messages", "gemini"];

fn upstream(base: &str, passthrough: bool) -> UpstreamConfig {
    UpstreamConfig { passthrough, ..UpstreamConfig::new("a", &DIALECTS, base, Some("sk-server".to_owned())) }
}

async fn gateway(upstreams: Vec<UpstreamConfig>, demo: bool) -> Gateway {
    // Fails when another test of this process was first: then it is installed.
    drop(rustls::crypto::ring::default_provider().install_default());
    Gateway::with(Setup { upstreams, demo, ..Setup::default() }).await
}

async fn get(gateway: &Gateway, path: &str, headers: &[(&str, &str)]) -> Answer {
    let asked = headers.iter().fold(request("GET", path), |r, (name, value)| r.header(*name, *value));
    gateway.send(asked.body(Body::empty()).unwrap()).await
}

fn ids(list: &Value, member: &str, id: &str) -> Vec<String> {
    list[member].as_array().unwrap().iter().map(|m| m[id].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn models_are_listed_in_the_callers_dialect() {
    let provider = Provider::start().await;
    let gateway = gateway(vec![upstream(&provider.base, false)], true).await;
    let (_, key) = gateway.key("k", &["proxy"]).await;
    let bearer = format!("Bearer {key}");
    let openai = get(&gateway, "/v1/models", &[("authorization", &bearer)]).await.ok();
    assert_eq!(openai["object"], "list");
    assert_eq!(ids(&openai, "data", "id"), ["m-1", "n-1", "demo"]);
    assert_eq!(provider.last().2["authorization"], "Bearer sk-server");

    let version = ("anthropic-version", "2023-06-01");
    let anthropic = get(&gateway, "/v1/models?limit=9", &[("x-api-key", &key), version]).await.ok();
    assert_eq!(anthropic["data"][2]["type"], "model");
    let (_, target, headers, _) = provider.last();
    assert_eq!(
        (target.as_str(), &headers["x-api-key"]),
        ("/v1/models?limit=9", &"sk-server".parse().unwrap())
    );

    let in_query = format!("/v1beta/models?key={key}");
    let own_place = [("x-goog-api-key", key.as_str())];
    for (path, headers) in [("/v1beta/models", &own_place[..]), (&in_query, &[]), ("/v1/models", &own_place)]
    {
        let gemini = get(&gateway, path, headers).await.ok();
        let (_, target, headers, _) = provider.last();
        assert_eq!(headers["x-goog-api-key"], "sk-server", "{path}");
        assert!(!target.contains(&key), "{target}");
        if path.starts_with("/v1beta") {
            assert_eq!(ids(&gemini, "models", "name"), ["models/m-1", "models/n-1", "models/demo"]);
        }
    }
    let demo = get(&gateway, "/v1/models/demo", &[("authorization", &bearer)]).await.ok();
    assert_eq!(demo["object"], "model");
    let demo = get(&gateway, "/v1beta/models/demo", &own_place).await.ok();
    assert_eq!(demo["name"], "models/demo");
    get(&gateway, "/v1/models/meta/llama", &[("authorization", &bearer)]).await.ok();
    assert_eq!(provider.last().1, "/v1/models/meta/llama");
}

#[tokio::test]
async fn lists_are_merged_by_who_is_asked_for_the_model() {
    let (one, two) = (Provider::start().await, Provider::start().await);
    let first = UpstreamConfig { models: vec!["n-*".to_owned()], ..upstream(&one.base, false) };
    let second = UpstreamConfig { name: "b".to_owned(), ..upstream(&two.base, false) };
    let merged = gateway(vec![first.clone(), second], false).await;
    let list = merged.call(TOKEN, "GET", "/v1/models", None).await.ok();
    assert_eq!(ids(&list, "data", "id"), ["n-1", "m-1"]);
    let chat_only = UpstreamConfig { dialects: vec!["anthropic_messages".to_owned()], ..first };
    let none = gateway(vec![chat_only], false).await;
    assert_eq!(ids(&none.call(TOKEN, "GET", "/v1/models", None).await.ok(), "data", "id"), [""; 0]);
}

#[tokio::test]
async fn an_upstream_that_cannot_be_asked_leaves_the_demo() {
    let closed = upstream("http://127.0.0.1:1", false);
    let with_demo = gateway(vec![closed.clone()], true).await;
    let list = with_demo.call(TOKEN, "GET", "/v1/models", None).await.ok();
    assert_eq!(ids(&list, "data", "id"), ["demo"]);
    let without = gateway(vec![closed], false).await.call(TOKEN, "GET", "/v1/models", None).await;
    assert_eq!(without.status, StatusCode::BAD_GATEWAY);
    assert!(without.json()["error"]["message"].as_str().unwrap().contains("`a`"));

    // A refused credential: the server's is the operator's affair, the client's own is the client's.
    let provider = Provider::start().await;
    let refused = UpstreamConfig { api_key: Some("refused".to_owned()), ..upstream(&provider.base, true) };
    let gateway = gateway(vec![refused], true).await;
    assert_eq!(ids(&gateway.call(TOKEN, "GET", "/v1/models", None).await.ok(), "data", "id"), ["demo"]);
    let own =
        get(&gateway, "/v1/models", &[("x-omni-key", TOKEN), ("authorization", "Bearer refused-too")]).await;
    assert_eq!((own.status, &own.bytes[..]), (StatusCode::UNAUTHORIZED, &b"who are you?"[..]));
}

#[tokio::test]
async fn the_servers_credential_opens_only_what_is_nobodys() {
    let provider = Provider::start().await;
    let gateway = gateway(vec![upstream(&provider.base, true)], true).await;
    let (_, plain) = gateway.key("plain", &["proxy"]).await;
    let (_, wide) = gateway.key("wide", &["proxy", "passthrough"]).await;
    let paths = [
        ("GET", "/v1/files"),
        ("POST", "/v1/responses/compact"),
        ("DELETE", "/v1/files/f"),
        ("DELETE", "/v1/models/ft:m"),
        ("POST", "/v1/messages/batches"),
        ("GET", "/v1beta/cachedContents"),
        ("POST", "/v1beta/models/m:generateAnswer"),
    ];
    for (method, path) in paths {
        let before = provider.count();
        let answer = gateway.call(&plain, method, path, None).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{method} {path}");
        let said = answer.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(said.contains("passthrough"), "{said}");
        assert_eq!(provider.count(), before, "{method} {path}");
        gateway.call(&wide, method, path, None).await.ok();
        let (asked, target, _, _) = provider.last();
        assert_eq!((asked.as_str(), target.as_str()), (method, path));
        let own = request(method, path).header("x-omni-key", &plain).header("authorization", "Bearer sk-own");
        gateway.send(own.body(Body::empty()).unwrap()).await.ok();
        assert_eq!(provider.last().2["authorization"], "Bearer sk-own");
    }
    let before = provider.count();
    for path in ["/v1/models/../files", "/v1/models/%2e%2E/files", "/v1/models/a%2F..%2F..%2Ffiles"] {
        let answer = gateway.call(&wide, "GET", path, None).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{path}");
    }
    assert_eq!(provider.count(), before);
}

#[tokio::test]
async fn ids_that_the_key_was_not_given_are_not_found() {
    let provider = Provider::start().await;
    let gateway = gateway(vec![upstream(&provider.base, true)], true).await;
    let (_, plain) = gateway.key("plain", &["proxy"]).await;
    let (_, wide) = gateway.key("wide", &["proxy", "passthrough"]).await;
    for (method, path) in [
        ("GET", "/v1/responses/resp_1"),
        ("DELETE", "/v1/responses/resp_1"),
        ("POST", "/v1/responses/resp_1/cancel"),
        ("GET", "/v1/responses/resp_1/input_items"),
    ] {
        let before = provider.count();
        let answer = gateway.call(&plain, method, path, None).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{method} {path}");
        assert_eq!(answer.json()["error"]["type"], "not_found_error", "{method} {path}");
        assert_eq!(provider.count(), before, "{method} {path}");
        gateway.call(&wide, method, path, None).await.ok();
        assert_eq!(provider.last().1, path);
        let own = request(method, path).header("x-omni-key", &plain).header("authorization", "Bearer sk-own");
        gateway.send(own.body(Body::empty()).unwrap()).await.ok();
        assert_eq!(provider.last().2["authorization"], "Bearer sk-own");
    }
}

#[tokio::test]
async fn an_escaped_key_is_a_credential_like_any_other() {
    let provider = Provider::start().await;
    let gateway = gateway(vec![upstream(&provider.base, true)], true).await;
    let (_, key) = gateway.key("k", &["proxy"]).await;
    let escaped: String = key.bytes().map(|byte| format!("%{byte:02x}")).collect::<Vec<_>>().concat();
    for query in
        [format!("k%65y={key}"), format!("key={escaped}&a=%20"), format!("%6b%65%79={escaped}&&a=%20")]
    {
        get(&gateway, &format!("/v1beta/models?{query}"), &[]).await.ok();
        let (_, target, headers, _) = provider.last();
        let left = if query.contains("&a") { "/v1beta/models?a=%20" } else { "/v1beta/models" };
        assert_eq!((target.as_str(), &headers["x-goog-api-key"]), (left, &"sk-server".parse().unwrap()));
    }
    let key_of_their_own = format!("/v1beta/models?k%65y=AI%7Aa&other={key}");
    get(&gateway, &key_of_their_own, &[("x-omni-key", &key)]).await.ok();
    let (_, target, headers, _) = provider.last();
    assert_eq!((target.as_str(), &headers["x-goog-api-key"]), ("/v1beta/models", &"AIza".parse().unwrap()));
}

#[tokio::test]
async fn bodies_go_through_and_nothing_of_ours_does() {
    let provider = Provider::start().await;
    let gateway = gateway(vec![upstream(&provider.base, false)], true).await;
    let (_, key) = gateway.key("k", &["proxy"]).await;
    let ask = async |path: &str, kind: &str, body: &[u8]| {
        let asked = request("POST", path)
            .header("authorization", format!("Bearer {key}"))
            .header("content-type", kind)
            .header("content-length", body.len())
            .header("x-omni-session", "s")
            .header("x-forwarded-for", "10.0.0.1");
        gateway.send(asked.body(Body::from(body.to_vec())).unwrap()).await
    };
    let multipart = "multipart/form-data; boundary=b";
    for (path, kind, body) in [
        ("/v1/embeddings", "application/json", &br#"{ "model":"m","input":"x" }"#[..]),
        ("/v1/audio/transcriptions", multipart, b"--b\r\n\0\xff--b--"),
        ("/v1/messages/count_tokens?beta=true", "application/json", b"{}"),
        ("/v1beta/models/m:countTokens", "application/json", b"{\"contents\":[]}"),
        ("/v1beta/models/m:embedContent", "application/json", b"{}"),
    ] {
        let answer = ask(path, kind, body).await;
        assert_eq!(answer.headers["x-provider"], "1", "{path}");
        let (method, target, headers, sent) = provider.last();
        assert_eq!((method.as_str(), target.as_str(), &sent[..]), ("POST", path, body));
        assert_eq!(headers["content-type"], kind);
        assert_eq!(headers["content-length"], body.len().to_string());
        let leaked = |name: &&str| headers.contains_key(*name);
        assert_eq!(["x-omni-session", "x-forwarded-for", "x-omni-key"].iter().find(|n| leaked(n)), None);
        assert!(headers.values().all(|v| !v.to_str().unwrap().contains("osk_")), "{headers:?}");
    }
    let demo = ask("/v1/embeddings", "application/json", br#"{"model":"demo"}"#).await;
    assert_eq!(demo.status, StatusCode::OK, "the glob of the upstream takes every name");
}

#[tokio::test]
async fn the_model_in_a_body_or_path_chooses_the_upstream() {
    let (one, two) = (Provider::start().await, Provider::start().await);
    let first = UpstreamConfig { models: vec!["n-*".to_owned()], ..upstream(&one.base, false) };
    let second =
        UpstreamConfig { name: "b".to_owned(), models: vec!["m-*".to_owned()], ..upstream(&two.base, false) };
    let gateway = gateway(vec![first, second], false).await;
    gateway.call(TOKEN, "POST", "/v1/embeddings", Some(json!({"model": "m-1"}))).await.ok();
    gateway.call(TOKEN, "GET", "/v1/models/m-2", None).await.ok();
    gateway.call(TOKEN, "POST", "/v1beta/models/m-3:countTokens", Some(json!({}))).await.ok();
    assert_eq!((one.count(), two.count()), (0, 3));
    let unknown = gateway.call(TOKEN, "POST", "/v1/embeddings", Some(json!({"model": "x"}))).await;
    assert_eq!(unknown.status, StatusCode::NOT_FOUND);
    assert!(unknown.json()["error"]["message"].as_str().unwrap().contains("`x`"));
}
