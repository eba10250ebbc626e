//! Messages: `POST /v1/messages`, plain and streamed.
//!
//! Replays the model's blocks in their order, signatures and all. Never judges a request that the upstream can
//! judge itself.

mod block;
mod memory;
mod plain;
mod result;
mod spliced;
mod stream;
mod threads;

use bytes::Bytes;
use domain::{ToolDefinition, ToolResult};
use serde_json::{Map, Value, json};

use crate::Dialect;
use crate::answer::{Answer, Fault, Finish, Owned, Round, Shown, Tokens};
use crate::history;
use crate::issued::Issued;
use crate::kept::{Anchor, Keeping, Kept};
use crate::media;
use crate::reading;
use crate::request::{Ask, BadRequest, ClientRequest, ToolPlace, WireError};
use crate::splice::{Container, Edits};
use crate::usage::Totals;
use crate::writing::{self, Wire};

/// The dialect.
pub(crate) struct AnthropicMessages;

const WIRE: Wire = Wire {
    tool: |tool| {
        json!({"name": tool.wire_name, "description": tool.description, "input_schema": tool.parameters})
            .to_string()
    },
    auto,
    none: "{\"type\":\"none\"}",
    tool_members: &["tools", "tool_choice"],
};

/// The client's choice made automatic; whether calls may be parallel is kept.
fn auto(top: &Container<'_>) -> String {
    let Some(raw) = top.value("tool_choice") else { return "{\"type\":\"auto\"}".to_owned() };
    let Ok(choice) = Container::object(raw, raw) else { return "{\"type\":\"auto\"}".to_owned() };
    let mut edits = Edits::new(raw);
    edits.members(&choice, &["name"], &[("type", "\"auto\"".to_owned())]);
    edits.apply()
}

impl Dialect for AnthropicMessages {
    fn name(&self) -> &'static str {
        "anthropic_messages"
    }

    fn routes(&self) -> &'static [&'static str] {
        &["/v1/messages"]
    }

    fn provider(&self) -> &'static str {
        "anthropic"
    }

    fn read_request(&self, target: &str, body: Bytes) -> Result<ClientRequest, BadRequest> {
        let (body, was_spliced) = match spliced::made_legal(&body) {
            Some(legal) => (legal, true),
            None => (body, false),
        };
        let top = reading::open(&body)?;
        let mut request = reading::common(&top, &["messages", "tools", "tool_choice"])?;
        if let Some(metadata) = top.child("metadata") {
            let user = reading::text(&metadata, "user_id");
            request.user = user.map_err(|_| reading::bad("metadata.user_id", "must be a string"))?;
        }
        let wants_format = top.child("output_config").is_some_and(|config| config.value("format").is_some());
        request.inhibit = reading::inhibited_by_choice(&top)?;
        if request.inhibit.is_none() && (wants_format || top.value("output_format").is_some()) {
            request.inhibit = Some("structured output");
        }
        target.clone_into(&mut request.target);
        request.was_spliced = was_spliced;
        request.conversation = threads::previous(&top);
        if request.conversation.is_some() && top.value("tools").is_none() {
            request.tool_place = ToolPlace::Provider;
        }
        request.raw = body;
        Ok(request)
    }

    fn names_answers(&self) -> bool {
        true
    }

    fn inject(&self, request: &ClientRequest, tools: &[ToolDefinition]) -> Bytes {
        if request.tool_place == ToolPlace::Provider {
            return request.raw.clone();
        }
        let body = writing::inject(&WIRE, request, tools);
        if request.unrestored.is_some() || request.was_spliced { memory::declare_called(body) } else { body }
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
        if let Some(body) = threads::follow_up(body, round, results, ask, ours) {
            return body;
        }
        let message = String::from_utf8(threads::split(round).1.message.to_vec())
            .map_err(|error| Fault::Unreadable(error.to_string()))?;
        let blocks: Vec<Value> = results.iter().map(result::tool_result).collect();
        let answers = json!({"role": "user", "content": blocks}).to_string();
        writing::follow_up(&WIRE, body, &[message, answers], ask, ours)
    }

    fn media(&self, model: &str) -> &'static [&'static str] {
        result::media(model)
    }

    fn without_media(&self, kept: Kept) -> Kept {
        media::edited(kept, result::without_media)
    }

    fn answer(&self, request: &ClientRequest, owned: Owned) -> Box<dyn Answer> {
        let is_held = threads::is_held(request);
        if request.stream {
            Box::new(stream::Stream::new(owned, is_held))
        } else {
            Box::new(plain::Plain::new(owned, is_held))
        }
    }

    fn anchors(&self, request: &ClientRequest) -> Vec<Anchor> {
        threads::anchor(request).into_iter().chain(history::anchors(&memory::WAYS, request)).collect()
    }

    fn restore(&self, request: &ClientRequest, kept: &[(Anchor, Kept)]) -> Bytes {
        let restored = history::restore(&memory::WAYS, request, kept, memory::put_back);
        let restored = restored.unwrap_or_else(|| request.raw.clone());
        threads::restore(&restored, kept).unwrap_or(restored)
    }

    fn keep(
        &self,
        request: &ClientRequest,
        body: &Bytes,
        last: &Round,
        parked: &[ToolResult],
        shown: &Shown,
    ) -> Option<Keeping> {
        threads::keep(request, body, last, parked, shown)
    }

    fn issued(
        &self,
        request: &ClientRequest,
        last: Option<&Round>,
        shown: &Shown,
        ours: &[String],
    ) -> Option<Issued> {
        threads::issued(request, last, shown, ours)
    }

    fn error_body(&self, error: &WireError) -> Bytes {
        error_json(error).to_string().into()
    }
}

fn error_json(error: &WireError) -> Value {
    let kind = match error.status {
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        504 => "timeout_error",
        503 | 529 => "overloaded_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    };
    json!({"type": "error", "error": {"type": kind, "message": error.message}})
}

/// Reads a stop reason. A paused turn is the model's own affair and goes to the client as it is.
fn finish_of(reason: Option<&str>) -> Finish {
    match reason {
        Some("max_tokens" | "model_context_window_exceeded" | "refusal" | "length" | "content_filter") => {
            Finish::Cut
        }
        _ => Finish::Normal,
    }
}

/// Tokens over all rounds; what went into a cache or came out of it is not in `input_tokens`.
fn tokens(totals: &Totals) -> Tokens {
    totals.tokens(
        &["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"],
        &["output_tokens"],
    )
}

/// Usage over all rounds.
fn usage(totals: &Totals, input_of_last: bool) -> Option<Map<String, Value>> {
    let input = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "cache_creation"];
    totals.report(input_of_last, &input)
}

/// The model's message for the next request, out of its blocks; with its id where the provider holds it.
fn message_of<'a>(id: Option<&str>, blocks: impl Iterator<Item = &'a str>) -> Bytes {
    let blocks: Vec<&str> = blocks.collect();
    let id = id.map(|id| format!("\"id\":{},", crate::json::quote(id))).unwrap_or_default();
    format!("{{{id}\"role\":\"assistant\",\"content\":[{}]}}", blocks.join(",")).into()
}
