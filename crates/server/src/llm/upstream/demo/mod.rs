//! `demo`: a rule-based stand-in for a model, so that the whole loop can be seen offline and without a key.
//!
//! It calls each tool that the user names with the JSON that follows the name, and reports what came back. It
//! speaks the wire formats like any upstream and knows nothing of the gateway around it.

mod anthropic_messages;
mod gemini;
mod openai_chat;
mod openai_responses;
mod plan;

use async_trait::async_trait;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use serde_json::Value;

use plan::{Reply, Seen};

use super::{DEMO_MODEL, Question, SendError, Upstream, UpstreamAnswer};

/// How the stand-in reads and writes one dialect.
trait Voice: Sync {
    fn dialect(&self) -> &'static str;
    fn see(&self, body: &Value) -> Seen;
    fn plain(&self, reply: &Reply, id: &str) -> Value;
    /// The frames of a stream, complete.
    fn stream(&self, reply: &Reply, id: &str, usage_wanted: bool) -> Vec<String>;

    /// Whether a stream is asked for.
    fn streams(&self, _target: &str, body: &Value) -> bool {
        body.get("stream").and_then(Value::as_bool) == Some(true)
    }

    /// A stream in the form that the address asks for, and its media type.
    fn formed(&self, _target: &str, frames: Vec<String>) -> (&'static str, Vec<String>) {
        ("text/event-stream", frames)
    }
}

/// Every dialect it speaks.
const VOICES: &[&dyn Voice] =
    &[&openai_chat::Voice, &openai_responses::Voice, &anthropic_messages::Voice, &gemini::Voice];

pub(super) struct Demo;

#[async_trait]
impl Upstream for Demo {
    fn name(&self) -> &str {
        DEMO_MODEL
    }

    async fn send(&self, question: Question<'_>) -> Result<UpstreamAnswer, SendError> {
        let wanted = question.dialect.name();
        let body = serde_json::from_slice::<Value>(&question.body);
        let (Some(voice), Ok(body)) = (VOICES.iter().find(|v| v.dialect() == wanted), body) else {
            let text = format!("the demo model does not speak {wanted}");
            return Ok(answer(StatusCode::BAD_REQUEST, "text/plain", vec![text]));
        };
        let reply = plan::reply(&voice.see(&body));
        let id = domain::ids::new_id().replace('-', "");
        if voice.streams(question.target, &body) {
            let usage = body.pointer("/stream_options/include_usage").and_then(Value::as_bool) == Some(true);
            let frames = voice.stream(&reply, &id, usage);
            let (media, frames) = voice.formed(question.target, frames);
            return Ok(answer(StatusCode::OK, media, frames));
        }
        Ok(answer(StatusCode::OK, "application/json", vec![voice.plain(&reply, &id).to_string()]))
    }
}

fn answer(status: StatusCode, media: &'static str, pieces: Vec<String>) -> UpstreamAnswer {
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
    let body = stream::iter(pieces.into_iter().map(|p| Ok(Bytes::from(p)))).boxed();
    UpstreamAnswer { status, headers, body }
}

/// A frame without an event name.
fn data(value: &Value) -> String {
    format!("data: {value}\n\n")
}

/// Four characters a token: good enough for a stand-in, and never zero.
fn tokens(text: &str) -> u64 {
    u64::try_from(text.len().div_ceil(4)).unwrap_or(u64::MAX).max(1)
}
