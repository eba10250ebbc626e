//! What the gateway costs a stream: time to the first token against the upstream itself, CPU for each chunk of a long
//! stream, memory of streams that wait. In one run, against an upstream on the same machine. Never asserts a time.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    clippy::cast_precision_loss,
    clippy::allow_attributes,
    reason = "a benchmark stops at the first surprise"
)]

mod process;

use std::convert::Infallible;
use std::path::Path;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use axum::routing::post;
use futures_util::{StreamExt, stream};
use serde_json::json;
use testkit::gateway::Gateway;

/// First tokens that are timed, after [`WARM_UP`] that are not.
const REQUESTS: usize = 1_000;
const WARM_UP: usize = 100;
/// Chunks of the long stream.
const CHUNKS: usize = 10_000;
/// Long streams of each row.
const LONG: usize = 5;
/// Streams that wait.
const IDLE: usize = 1_000;

fn main() {
    rustls::crypto::ring::default_provider().install_default().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(run());
}

async fn run() {
    let upstream = upstream().await;
    let gateway = Gateway::in_front_of(Path::new(env!("CARGO_BIN_EXE_omni-skills")), &upstream, "");
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let off: &[(&str, &str)] = &[("x-omni-skills", "off")];

    let direct = first_token("first token, direct", &client, &upstream, &[]).await;
    let passed = first_token("first token, skills off", &client, &gateway.base, off).await;
    let read = first_token("first token, a skill on offer", &client, &gateway.base, &[]).await;
    println!(
        "added at the median: passed {:?}, read {:?}\n",
        passed.saturating_sub(direct),
        read.saturating_sub(direct)
    );

    for (label, headers) in [("skills off", off), ("a skill on offer", &[])] {
        let long = async {
            for _ in 0..LONG {
                ask(&client, &gateway.base, "LONG", headers).await.bytes().await.unwrap();
            }
        };
        let start = Instant::now();
        let (cpu_ms, ()) = process::cpu_of(&gateway, long).await;
        let chunks = (CHUNKS * LONG) as f64;
        let wall = start.elapsed().as_secs_f64() * 1e6 / chunks;
        println!("{label}: {:.2} µs CPU and {wall:.2} µs wall for each chunk", cpu_ms * 1000.0 / chunks);
    }

    let before = process::resident(&gateway);
    let mut waiting = Vec::with_capacity(IDLE);
    for _ in 0..IDLE {
        let mut answer = ask(&client, &gateway.base, "HOLD", &[]).await;
        answer.chunk().await.unwrap().unwrap();
        waiting.push(answer);
    }
    let after = process::resident(&gateway);
    println!(
        "\n{} streams that wait: {} KiB more, {:.1} KiB each",
        waiting.len(),
        after.saturating_sub(before),
        after.saturating_sub(before) as f64 / IDLE as f64
    );
}

async fn ask(
    client: &reqwest::Client,
    base: &str,
    text: &str,
    headers: &[(&str, &str)],
) -> reqwest::Response {
    let body =
        json!({"model": "m", "stream": true, "messages": [{"role": "user", "content": text}]}).to_string();
    let mut request = client.post(format!("{base}/v1/chat/completions")).body(body);
    request = request.header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.send().await.unwrap().error_for_status().unwrap()
}

/// The median of the times until the first content arrives.
async fn first_token(
    label: &str,
    client: &reqwest::Client,
    base: &str,
    headers: &[(&str, &str)],
) -> Duration {
    let mut times = Vec::with_capacity(REQUESTS);
    for index in 0..REQUESTS + WARM_UP {
        let start = Instant::now();
        let mut answer = ask(client, base, "SHORT", headers).await;
        let first = answer.chunk().await.unwrap().unwrap();
        if index >= WARM_UP {
            times.push(start.elapsed());
        }
        assert!(!first.is_empty());
        while answer.chunk().await.unwrap().is_some() {}
    }
    times.sort();
    let at = |share: usize| times[times.len() * share / 100];
    println!("{label:32} p50 {:>9.1?}  p95 {:>9.1?}  p99 {:>9.1?}", at(50), at(95), at(99));
    at(50)
}

fn event(delta: &serde_json::Value, finish: Option<&str>) -> Bytes {
    let chunk = json!({"id": "x", "object": "chat.completion.chunk", "created": 0, "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
    Bytes::from(format!("data: {chunk}\n\n"))
}

/// Streams as the user's text says: a few chunks, many, or one and then nothing.
async fn upstream() -> String {
    async fn answer(body: Bytes) -> Response {
        let text = String::from_utf8_lossy(&body);
        let count = if text.contains("LONG") { CHUNKS } else { 3 };
        let first = event(&json!({"role": "assistant", "content": "hello"}), None);
        let more = event(&json!({"content": " word"}), None);
        let end = [event(&json!({}), Some("stop")), Bytes::from("data: [DONE]\n\n")];
        let all = stream::iter(std::iter::once(first).chain((1..count).map(move |_| more.clone())));
        let body = if text.contains("HOLD") {
            Body::from_stream(all.take(1).chain(stream::pending()).map(Ok::<_, Infallible>))
        } else {
            Body::from_stream(all.chain(stream::iter(end)).map(Ok::<_, Infallible>))
        };
        Response::builder().header(CONTENT_TYPE, "text/event-stream").body(body).unwrap()
    }
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = Router::new().route("/v1/chat/completions", post(answer));
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}")
}
