//! Gemini: `generateContent` and `streamGenerateContent`, the latter as events or as one JSON array.
//!
//! Replays the model's contents as they came, thought signatures and all, and never makes one up. Never judges a
//! request that the service can judge itself.

mod array;
mod content;
mod ids;
mod members;
mod memory;
mod part;
mod plain;
mod request;
mod response;
mod result;
mod schema;
mod spliced;
mod stream;
mod usage;
mod wire;
mod write;

use bytes::Bytes;
use domain::{ToolDefinition, ToolResult};
use serde_json::{Map, Value, json};

use crate::Dialect;
use crate::answer::{Answer, Fault, Owned, Round, Shown};
use crate::kept::{Anchor, Keeping, Kept};
use crate::media;
use crate::request::{Ask, BadRequest, ClientRequest, WireError};
use wire::Form;

/// The dialect.
pub(crate) struct Gemini;

impl Dialect for Gemini {
    fn name(&self) -> &'static str {
        "gemini"
    }

    fn routes(&self) -> &'static [&'static str] {
        &["/v1beta/models/{call}", "/v1/models/{call}"]
    }

    fn is_chat(&self, path: &str) -> bool {
        request::is_chat(path)
    }

    fn provider(&self) -> &'static str {
        "google"
    }

    fn read_request(&self, target: &str, body: Bytes) -> Result<ClientRequest, BadRequest> {
        request::read(target, body)
    }

    fn inject(&self, request: &ClientRequest, tools: &[ToolDefinition]) -> Bytes {
        write::inject(request, tools)
    }

    fn follow_up(
        &self,
        _request: &ClientRequest,
        body: &Bytes,
        round: &Round,
        results: &[ToolResult],
        ask: Ask,
        ours: &[String],
    ) -> Result<Bytes, Fault> {
        write::follow_up(body, round, results, ask, ours)
    }

    fn media(&self, model: &str) -> &'static [&'static str] {
        result::media(model)
    }

    fn without_media(&self, kept: Kept) -> Kept {
        media::edited(kept, result::without_media)
    }

    fn stream_media_type(&self, request: &ClientRequest) -> &'static str {
        match form(request) {
            Form::Events => "text/event-stream; charset=utf-8",
            Form::Array => "application/json; charset=utf-8",
        }
    }

    fn can_emit(&self, tool: &ToolDefinition) -> bool {
        schema::reduce(&tool.parameters).is_ok()
    }

    fn restore_arguments(&self, parameters: &Value, arguments: Map<String, Value>) -> Map<String, Value> {
        match schema::reduce(parameters) {
            Ok(node) => node.restore(arguments),
            Err(_) => arguments,
        }
    }

    fn answer(&self, request: &ClientRequest, owned: Owned) -> Box<dyn Answer> {
        if request.stream {
            Box::new(stream::Stream::new(owned, form(request)))
        } else {
            Box::new(plain::Plain::new(owned))
        }
    }

    fn anchors(&self, request: &ClientRequest) -> Vec<Anchor> {
        memory::anchors(request)
    }

    fn restore(&self, request: &ClientRequest, kept: &[(Anchor, Kept)]) -> Bytes {
        memory::restore(request, kept).unwrap_or_else(|| request.raw.clone())
    }

    fn keep(
        &self,
        request: &ClientRequest,
        body: &Bytes,
        last: &Round,
        parked: &[ToolResult],
        shown: &Shown,
    ) -> Option<Keeping> {
        memory::keep(request, body, last, parked, shown)
    }

    fn error_body(&self, error: &WireError) -> Bytes {
        error_json(error).to_string().into()
    }
}

fn form(request: &ClientRequest) -> Form {
    if request::wants_events(&request.target) { Form::Events } else { Form::Array }
}

fn error_json(error: &WireError) -> Value {
    let status = match error.status {
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        409 => "ABORTED",
        429 => "RESOURCE_EXHAUSTED",
        499 => "CANCELLED",
        501 => "UNIMPLEMENTED",
        502 | 503 => "UNAVAILABLE",
        504 => "DEADLINE_EXCEEDED",
        500.. => "INTERNAL",
        _ => "INVALID_ARGUMENT",
    };
    json!({"error": {"code": error.status, "message": error.message, "status": status}})
}
