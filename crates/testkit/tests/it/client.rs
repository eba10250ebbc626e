//! A bare HTTP client for the fake upstream's tests.

use reqwest::{Client, Response};
use serde_json::Value;
use testkit::fake_upstream::FakeUpstream;

/// A client that knows nothing about dialects.
pub(crate) fn client() -> Client {
    // A second installation fails and changes nothing.
    drop(rustls::crypto::ring::default_provider().install_default());
    Client::builder().tls_certs_only([]).no_proxy().build().unwrap()
}

/// Posts a body to a route.
pub(crate) async fn post(fake: &FakeUpstream, path: &str, body: &Value) -> Response {
    let request = client().post(format!("{}{path}", fake.base_url()));
    let request = request.header("anthropic-version", "2023-06-01").body(body.to_string());
    request.send().await.unwrap()
}

/// Posts to the chat route; the status and the JSON.
pub(crate) async fn chat(fake: &FakeUpstream, body: &Value) -> (u16, Value) {
    json(post(fake, "/v1/chat/completions", body).await).await
}

/// Posts to the responses route; the status and the JSON.
pub(crate) async fn response(fake: &FakeUpstream, body: &Value) -> (u16, Value) {
    json(post(fake, "/v1/responses", body).await).await
}

/// Posts to the messages route; the status and the JSON.
pub(crate) async fn message(fake: &FakeUpstream, body: &Value) -> (u16, Value) {
    json(post(fake, "/v1/messages", body).await).await
}

/// The status and the JSON of an answer.
pub(crate) async fn json(response: Response) -> (u16, Value) {
    let status = response.status().as_u16();
    (status, serde_json::from_slice(&response.bytes().await.unwrap()).unwrap())
}
