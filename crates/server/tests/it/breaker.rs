//! An upstream that cannot be reached is spared, and asked again in time.

use std::net::SocketAddr;
use std::time::Duration;

use axum::body::Body;
use axum::http::{StatusCode, header};
use futures_util::StreamExt;
use serde_json::{Value, json};
use server::UpstreamConfig;
use testkit::fake_upstream::FakeUpstream;
use testkit::script::{Fault, Round, Script};

use crate::harness::{Answer, Gateway, Setup, request};

const ALL: [&str; 4] = ["openai_chat", "openai_responses", "anthropic_messages", "gemini"];

/// An address where nobody listens for now.
async fn closed_port() -> SocketAddr {
    tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap()
}

/// A gateway whose upstream `a` is at this address, and another one for the model `other`.
async fn gateway(address: SocketAddr, pause: Duration) -> (Gateway, FakeUpstream) {
    // Fails when another test of this process was first: then it is installed.
    drop(rustls::crypto::ring::default_provider().install_default());
    let upstream = |name: &str, models: &str, base: &str| UpstreamConfig {
        models: vec![models.to_owned()],
        pause,
        first_byte_timeout: Duration::from_secs(20),
        ..UpstreamConfig::new(name, &ALL, base, Some("sk".to_owned()))
    };
    let fake = FakeUpstream::start(Script::rounds([Round::text("hello")])).await;
    let upstreams =
        vec![upstream("b", "other", &fake.base_url()), upstream("a", "*", &format!("http://{address}"))];
    (Gateway::with(Setup { upstreams, demo: true, ..Setup::default() }).await, fake)
}

fn body(dialect: &str, model: &str) -> (String, Value) {
    let messages = json!([{"role": "user", "content": "hello"}]);
    match dialect {
        "openai_chat" => ("/v1/chat/completions".into(), json!({"model": model, "messages": messages})),
        "openai_responses" => ("/v1/responses".into(), json!({"model": model, "input": "hello"})),
        "anthropic_messages" => {
            ("/v1/messages".into(), json!({"model": model, "max_tokens": 9, "messages": messages}))
        }
        _ => (
            format!("/v1beta/models/{model}:generateContent"),
            json!({"contents": [{"role": "user", "parts": [{"text": "hello"}]}]}),
        ),
    }
}

async fn ask(gateway: &Gateway, dialect: &str, model: &str) -> Answer {
    let (path, body) = body(dialect, model);
    let asks = request("POST", &path).header(header::CONTENT_TYPE, "application/json");
    let asks = asks.header("anthropic-version", "2023-06-01");
    gateway.send(asks.body(Body::from(body.to_string())).unwrap()).await
}

#[tokio::test]
async fn after_five_failures_in_a_row_it_is_not_asked() {
    let (gateway, _other) = gateway(closed_port().await, Duration::from_hours(1)).await;
    for n in 0..5 {
        let answer = ask(&gateway, ALL[n % 4], "m").await;
        assert_eq!(answer.status, StatusCode::BAD_GATEWAY, "{n}");
        assert!(answer.headers.get("retry-after").is_none());
    }
    for dialect in ALL {
        let answer = ask(&gateway, dialect, "m").await;
        let (body, after) = (answer.json(), &answer.headers["retry-after"]);
        assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE, "{dialect}: {body}");
        let seconds: u64 = after.to_str().unwrap().parse().unwrap();
        assert!((3500..=3600).contains(&seconds), "{seconds}");
        let text = body["error"]["message"].as_str().unwrap();
        assert!(text.contains("upstream `a`") && !text.contains("127.0.0.1"), "{text}");
        match dialect {
            "openai_chat" | "openai_responses" => assert_eq!(body["error"]["code"], "upstream_unavailable"),
            "gemini" => assert_eq!(body["error"]["status"], "UNAVAILABLE"),
            _ => assert_eq!(body["type"], "error"),
        }
        // Other paths of it neither; others go on.
        let embed = request("POST", "/v1/embeddings").header(header::CONTENT_TYPE, "application/json");
        let embed = embed.body(Body::from(r#"{"model":"m"}"#)).unwrap();
        assert_eq!(gateway.send(embed).await.status, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(ask(&gateway, dialect, "demo").await.status, StatusCode::OK);
        assert_eq!(ask(&gateway, dialect, "other").await.status, StatusCode::OK);
    }
}

#[tokio::test]
async fn one_request_tries_and_an_answer_of_any_status_ends_it() {
    let address = closed_port().await;
    let (gateway, _other) = gateway(address, Duration::ZERO).await;
    for _ in 0..7 {
        assert_eq!(ask(&gateway, "openai_chat", "m").await.status, StatusCode::BAD_GATEWAY);
    }
    let slow = Round::fails(Fault::status(500)).delay(Duration::from_millis(300));
    let fake = FakeUpstream::bind(address, Script::rounds([slow])).await.unwrap();
    let asks = (0..4).map(|_| ask(&gateway, "openai_chat", "m"));
    let mut answers: Vec<Answer> = futures_util::future::join_all(asks).await;
    answers.sort_by_key(|answer| answer.status);
    let statuses: Vec<u16> = answers.iter().map(|answer| answer.status.as_u16()).collect();
    assert_eq!((statuses, fake.requests().len()), (vec![500, 503, 503, 503], 1));
    assert_eq!(answers[1].headers["retry-after"], "1");
    fake.set_script(Script::rounds([Round::text("hello")]));
    for _ in 0..2 {
        assert_eq!(ask(&gateway, "openai_chat", "m").await.status, StatusCode::OK);
    }
}

#[tokio::test]
async fn statuses_bodies_and_clients_that_leave_are_no_failures() {
    let address = closed_port().await;
    let (gateway, _other) = gateway(address, Duration::from_hours(1)).await;
    let fake = FakeUpstream::bind(address, Script::rounds([Round::fails(Fault::status(503))])).await.unwrap();
    for _ in 0..10 {
        assert_eq!(ask(&gateway, "openai_chat", "m").await.status, StatusCode::SERVICE_UNAVAILABLE);
    }
    assert_eq!(fake.requests().len(), 10);
    fake.set_script(Script::rounds([Round::text("hello").delay(Duration::from_mins(1))]));
    for _ in 0..10 {
        let left = tokio::time::timeout(Duration::from_millis(20), ask(&gateway, "openai_chat", "m")).await;
        assert!(left.is_err());
    }
    let piece = axum::body::Bytes::from(vec![b'x'; 1 << 20]);
    let endless = || futures_util::stream::repeat(piece.clone()).map(Ok::<_, std::io::Error>);
    for _ in 0..6 {
        let large = request("POST", "/v1/audio/transcriptions").body(Body::from_stream(endless())).unwrap();
        assert_eq!(gateway.send(large).await.status, StatusCode::PAYLOAD_TOO_LARGE);
        let breaks = futures_util::stream::iter([Ok(vec![b'x']), Err(std::io::Error::other("gone"))]);
        let broken = request("POST", "/v1/audio/transcriptions").body(Body::from_stream(breaks)).unwrap();
        assert_eq!(gateway.send(broken).await.status, StatusCode::BAD_GATEWAY);
    }
    fake.set_script(Script::rounds([Round::text("hello")]));
    assert_eq!(ask(&gateway, "openai_chat", "m").await.status, StatusCode::OK);
}
