//! A provider on loopback that answers from a script and refuses what the real one would refuse.
//!
//! It records every request. It never executes a tool, never calls out, and stops when its handle is dropped.
//! One folder per dialect; adding one means a `Provider` and a line in `PROVIDERS`.

mod anthropic_messages;
mod body;
mod gemini;
mod memory;
mod openai_chat;
mod openai_responses;
mod provider;
mod rules;
mod serve;

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::HeaderMap;
use serde_json::Value;
use tokio::task::JoinHandle;

use crate::script::Script;
use provider::Provider;
use serve::State;

/// Every dialect that the fake speaks.
const PROVIDERS: &[&dyn Provider] = &[
    &openai_chat::OpenAiChat,
    &openai_responses::OpenAiResponses,
    &anthropic_messages::AnthropicMessages,
    &gemini::Gemini,
];

/// A running fake. Dropping it closes its port and all its connections.
#[derive(Debug)]
pub struct FakeUpstream {
    address: SocketAddr,
    state: Arc<State>,
    server: JoinHandle<()>,
}

/// A request as it arrived, and what became of it.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The method.
    pub method: String,
    /// Path without query.
    pub path: String,
    /// Headers.
    pub headers: HeaderMap,
    /// The body as JSON; null when it is not JSON.
    pub body: Value,
    /// The body's bytes.
    pub raw: Bytes,
    /// Status that it got; 0 when the connection was closed without an answer.
    pub status: u16,
    /// Why the strict rules refused it.
    pub refusal: Option<String>,
    /// Whether the answer, or its scripted failure, went out to its end.
    pub finished: bool,
    /// Whether the caller went away before that.
    pub abandoned: bool,
}

impl FakeUpstream {
    /// Starts on a free port of 127.0.0.1.
    #[expect(clippy::panic, reason = "a test without its upstream has nothing to report but this")]
    pub async fn start(script: impl Into<Script>) -> Self {
        match Self::bind(SocketAddr::from(([127, 0, 0, 1], 0)), script.into()).await {
            Ok(fake) => fake,
            Err(error) => panic!("the fake upstream cannot listen on loopback: {error}"),
        }
    }

    /// Starts on this address.
    pub async fn bind(address: SocketAddr, script: Script) -> std::io::Result<Self> {
        let listener = tokio::net::TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let state = Arc::new(State::new(script));
        let server = tokio::spawn(serve::accept(listener, Arc::clone(&state)));
        Ok(Self { address, state, server })
    }

    /// Where it listens, such as `http://127.0.0.1:4010`; without `/v1`.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Every request so far, oldest first.
    pub fn requests(&self) -> Vec<Recorded> {
        self.state.records()
    }

    /// What the strict rules refused so far; empty in a healthy run.
    pub fn refusals(&self) -> Vec<String> {
        self.requests().into_iter().filter_map(|request| request.refusal).collect()
    }

    /// Replaces the script and forgets the requests.
    pub fn set_script(&self, script: impl Into<Script>) {
        self.state.set_script(script.into());
    }

    /// Waits for ever, for the program that wraps it.
    pub async fn serve_forever(mut self) {
        // The accept loop ends only with its task; either way there is nothing left to serve.
        drop((&mut self.server).await);
    }
}

impl Drop for FakeUpstream {
    fn drop(&mut self) {
        self.server.abort();
    }
}
