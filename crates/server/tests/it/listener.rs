//! The listener over a real socket: heads that never end, large bodies, an orderly stop.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::json;
use server::serve;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use crate::harness::{Gateway, TOKEN};

struct Running {
    gateway: Gateway,
    stop: CancellationToken,
    address: std::net::SocketAddr,
    task: tokio::task::JoinHandle<Result<(), server::ServeError>>,
}

async fn start() -> Running {
    let gateway = Gateway::start().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let stop = CancellationToken::new();
    let task = tokio::spawn(serve(Arc::clone(&gateway.app), listener, stop.clone()));
    Running { gateway, stop, address, task }
}

/// Sends bytes and reads until the peer closes.
async fn talk(running: &Running, bytes: &[u8]) -> String {
    let mut socket = TcpStream::connect(running.address).await.unwrap();
    let (mut read, mut write) = socket.split();
    let mut answer = Vec::new();
    // A refusal may come before everything is sent: what matters is that it arrives.
    let (_, received) = tokio::join!(write.write_all(bytes), read.read_to_end(&mut answer));
    received.unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn answers_and_refuses_too_many_headers() {
    let running = start().await;
    let good = talk(&running, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").await;
    assert!(good.starts_with("HTTP/1.1 200"), "{good}");
    let mut many = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n".to_vec();
    for n in 0..200 {
        many.extend_from_slice(format!("x-{n}: 1\r\n").as_bytes());
    }
    many.extend_from_slice(b"\r\n");
    let bad = talk(&running, &many).await;
    assert!(bad.starts_with("HTTP/1.1 431"), "{bad}");
}

#[tokio::test]
async fn a_large_body_is_refused_in_a_way_that_the_client_can_read() {
    let running = start().await;
    let size = 5 * 1024 * 1024;
    let head = format!(
        "POST /api/skills/install HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n\
         Content-Type: application/json\r\nConnection: close\r\nContent-Length: {size}\r\n\r\n"
    );
    let mut bytes = head.into_bytes();
    bytes.resize(bytes.len() + size, b' ');
    let answer = talk(&running, &bytes).await;
    assert!(answer.starts_with("HTTP/1.1 413") && answer.contains("body_too_large"), "{answer}");
}

#[tokio::test]
async fn a_closed_connection_cancels_the_run() {
    let running = start().await;
    running.gateway.install("slow", json!({"handlerCode": "slow-handler"})).await.ok();
    let body = json!({"skillName": "slow", "input": {"text": "x"}}).to_string();
    let ask = format!(
        "POST /api/skills/executions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut socket = TcpStream::connect(running.address).await.unwrap();
    socket.write_all(ask.as_bytes()).await.unwrap();
    let cancelled = async {
        while !running.gateway.started.load(Ordering::SeqCst) {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        drop(socket);
        while !running.gateway.dropped.load(Ordering::SeqCst) {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), cancelled).await.expect("the run is cancelled");
}

#[tokio::test]
async fn a_stop_lets_requests_under_way_end() {
    let running = start().await;
    running.gateway.install("slow", json!({"handlerCode": "slow-handler", "timeoutMs": 300})).await.ok();
    let body = json!({"skillName": "slow", "input": {"text": "x"}}).to_string();
    let ask = format!(
        "POST /api/skills/executions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let stopping = async {
        while !running.gateway.started.load(Ordering::SeqCst) {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        running.stop.cancel();
    };
    let (answer, ()) = tokio::join!(talk(&running, ask.as_bytes()), stopping);
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("timed out after 300 ms"), "{answer}");
    running.task.await.unwrap().unwrap();
    assert!(TcpStream::connect(running.address).await.is_err());
}
