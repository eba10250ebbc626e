//! What the gateway adds to a request, against an instant upstream on the same machine, in one run.
//!
//! Starts the built binary on a fresh data folder; prints medians and 99th percentiles. Never asserts a time.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    clippy::allow_attributes,
    reason = "a benchmark stops at the first surprise"
)]

mod process;

use std::path::Path;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::http::header::CONTENT_TYPE;
use axum::routing::post;
use serde_json::{Value, json};
use testkit::gateway::Gateway;

/// Requests of each row, after [`WARM_UP`] that are not counted.
const REQUESTS: usize = 2_000;
const WARM_UP: usize = 200;
/// Auto skills in the registry, all scored on every chat.
const SKILLS: usize = 1_000;
/// Words of the user's message.
const WORDS: usize = 200;

fn main() {
    rustls::crypto::ring::default_provider().install_default().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(run());
}

async fn run() {
    let upstream = instant_upstream().await;
    let gateway = Gateway::in_front_of(Path::new(env!("CARGO_BIN_EXE_omni-skills")), &upstream, "");
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    install(&client, &gateway).await;
    let chat = |text: &str| json!({"model": "m", "messages": [{"role": "user", "content": text}]});
    let words: Vec<String> = (0..WORDS).map(|i| format!("word{}", i * 7919 % 5000)).collect();
    let plain = chat(&words.join(" "));
    let tool = chat("please CALL the tool");
    let url = |base: &str| format!("{base}/v1/chat/completions");

    let direct = measure("direct to the upstream", &client, &url(&upstream), &plain, &[], REQUESTS).await;
    let off = [("x-omni-skills", "off")];
    let off = measure("through, skills off", &client, &url(&gateway.base), &plain, &off, REQUESTS).await;
    let scored =
        measure("through, 1,000 auto skills scored", &client, &url(&gateway.base), &plain, &[], REQUESTS)
            .await;
    let two = direct * 2;
    let turn =
        measure("tool turn (2 rounds, echo skill)", &client, &url(&gateway.base), &tool, &[], REQUESTS).await;
    println!(
        "\nadded at the median: passthrough {:?}, scored {:?}, tool turn {:?} (over two direct requests)",
        off.saturating_sub(direct),
        scored.saturating_sub(direct),
        turn.saturating_sub(two)
    );

    let runs = format!("{}/api/skills/executions", gateway.base);
    for (language, code) in [("javascript", "console.log(1)"), ("python", "print(1)")] {
        let body = json!({"skillName": "eval_code", "input": {"language": language, "code": code}});
        let label = format!("REST eval_code {language} {code}");
        measure(&label, &client, &runs, &body, &[], REQUESTS / 4).await;
    }
    let target = url(&gateway.base);
    let sample = measure("(CPU sample)", &client, &target, &plain, &[], REQUESTS);
    let (cpu_ms, _) = process::cpu_of(&gateway, sample).await;
    #[expect(clippy::cast_precision_loss, reason = "a few thousand requests")]
    let cpu = cpu_ms / (REQUESTS + WARM_UP) as f64;
    let memory = process::resident(&gateway);
    println!("gateway CPU per scored request: {cpu:.3} ms; resident memory {memory} KiB");
}

/// Posts `body` again and again over one connection; returns the median.
async fn measure(
    label: &str,
    client: &reqwest::Client,
    url: &str,
    body: &Value,
    headers: &[(&str, &str)],
    requests: usize,
) -> Duration {
    let text = body.to_string();
    let mut times = Vec::with_capacity(requests);
    for index in 0..requests + WARM_UP {
        let mut request = client.post(url).header("content-type", "application/json").body(text.clone());
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let start = Instant::now();
        let response = request.send().await.unwrap();
        let status = response.status();
        let body = response.bytes().await.unwrap();
        if index >= WARM_UP {
            times.push(start.elapsed());
        }
        assert!(status.is_success(), "{label}: {status} {}", String::from_utf8_lossy(&body));
    }
    times.sort();
    let at = |share: usize| times[(times.len() * share / 100).min(times.len() - 1)];
    println!("{label:40} p50 {:>9.1?}  p95 {:>9.1?}  p99 {:>9.1?}", at(50), at(95), at(99));
    at(50)
}

/// Answers at once: a call of the echo skill when the user asks for one, else text.
async fn instant_upstream() -> String {
    async fn answer(body: Bytes) -> ([(axum::http::HeaderName, &'static str); 1], String) {
        let text = String::from_utf8_lossy(&body);
        let message = if text.contains("CALL the tool") && !text.contains("\"role\":\"tool\"") {
            json!({"role": "assistant", "content": null, "tool_calls": [{"id": "call_1", "type": "function",
                "function": {"name": "bench-echo__1_0_0", "arguments": "{\"text\":\"hello\"}"}}]})
        } else {
            json!({"role": "assistant", "content": "done"})
        };
        let finish = if message["tool_calls"].is_array() { "tool_calls" } else { "stop" };
        let body = json!({"id": "x", "object": "chat.completion", "created": 0, "model": "m",
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}});
        ([(CONTENT_TYPE, "application/json")], body.to_string())
    }
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = Router::new().route("/v1/chat/completions", post(answer));
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}")
}

async fn install(client: &reqwest::Client, gateway: &Gateway) {
    let url = format!("{}/api/skills/install", gateway.base);
    let schema = json!({"input": {"type": "object", "properties": {"text": {"type": "string"}}}});
    let mut bodies = vec![json!({"name": "bench-echo", "description": "Echo", "schema": schema,
        "handlerCode": "echo-handler", "mode": "on"})];
    for index in 0..SKILLS {
        bodies.push(json!({
            "name": format!("tool-{}-{}", index % 97, index), "handlerCode": "echo-handler", "mode": "auto",
            "description": format!("Handles word{} and other{} of kind{}", index % 5000, index, index % 13),
            "tags": [format!("tag{}", index % 50)], "schema": schema,
        }));
    }
    for body in bodies {
        let request =
            client.post(&url).bearer_auth(&gateway.token).header("content-type", "application/json");
        let response = request.body(body.to_string()).send().await.unwrap();
        assert!(response.status().is_success(), "{}", response.text().await.unwrap());
    }
}
