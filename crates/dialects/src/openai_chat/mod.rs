//! Chat completions: `POST /v1/chat/completions`, plain and streamed.
//!
//! Knows the shapes of the original chat API and of what imitates it. Never judges a request that the upstream can
//! judge itself.

mod assemble;
mod chunk;
mod memory;
mod plain;
mod spliced;
mod stream;
mod writer;

use bytes::Bytes;
use domain::{ToolDefinition, ToolResult};
use serde_json::{Value, json};

use crate::answer::{Answer, Fault, Finish, Owned, Round, Shown, Tokens};
use crate::history;
use crate::kept::{Anchor, Keeping, Kept};
use crate::reading;
use crate::request::{Ask, BadRequest, ClientRequest, WireError};
use crate::splice::{Container, Edits};
use crate::usage::Totals;
use crate::writing::{self, Wire};
use crate::{Dialect, json};

/// The dialect.
pub(crate) struct OpenaiChat;

const WIRE: Wire = Wire {
    tool: |tool| {
        let function =
            json!({"name": tool.wire_name, "description": tool.description, "parameters": tool.parameters});
        json!({"type": "function", "function": function}).to_string()
    },
    auto: |_| "\"auto\"".to_owned(),
    none: "\"none\"",
    tool_members: &["tools", "tool_choice", "parallel_tool_calls"],
};

impl Dialect for OpenaiChat {
    fn name(&self) -> &'static str {
        "openai_chat"
    }

    fn routes(&self) -> &'static [&'static str] {
        &["/v1/chat/completions"]
    }

    fn provider(&self) -> &'static str {
        "openai"
    }

    fn read_request(&self, target: &str, body: Bytes) -> Result<ClientRequest, BadRequest> {
        let body = spliced::made_legal(body);
        let top = reading::open(&body)?;
        let edited = ["messages", "tools", "tool_choice", "parallel_tool_calls"];
        let mut request = reading::common(&top, &edited)?;
        let user = reading::text(&top, "safety_identifier")?;
        request.user = user.map_or_else(|| reading::text(&top, "user"), |user| Ok(Some(user)))?;
        request.inhibit = inhibit(&top)?;
        let options = top.child("stream_options");
        request.include_usage = options.is_some_and(|options| options.value("include_usage") == Some("true"));
        target.clone_into(&mut request.target);
        request.raw = body;
        Ok(request)
    }

    fn inject(&self, request: &ClientRequest, tools: &[ToolDefinition]) -> Bytes {
        writing::inject(&WIRE, request, tools)
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
        let mut messages = vec![replay(&round.message)?];
        messages.extend(results.iter().map(|result| memory::result_message(result).to_string()));
        writing::follow_up(&WIRE, body, &messages, ask, ours)
    }

    fn answer(&self, request: &ClientRequest, owned: Owned) -> Box<dyn Answer> {
        if request.stream {
            Box::new(stream::Stream::new(owned, request.include_usage))
        } else {
            Box::new(plain::Plain::new(owned))
        }
    }

    fn with_usage(&self, request: &ClientRequest, body: Bytes) -> Bytes {
        if !request.stream || request.include_usage {
            return body;
        }
        let Ok(top) = reading::open(&body) else { return body };
        let mut edits = Edits::new(top.doc());
        let member = ("include_usage", "true".to_owned());
        match top.child("stream_options") {
            Some(options) => edits.members(&options, &[], &[member]),
            None => edits.members(&top, &[], &[("stream_options", "{\"include_usage\":true}".to_owned())]),
        }
        edits.apply().into()
    }

    fn anchors(&self, request: &ClientRequest) -> Vec<Anchor> {
        history::anchors(&memory::WAYS, request)
    }

    fn restore(&self, request: &ClientRequest, kept: &[(Anchor, Kept)]) -> Bytes {
        let restored = history::restore(&memory::WAYS, request, kept, memory::put_back);
        restored.unwrap_or_else(|| request.raw.clone())
    }

    fn keep(
        &self,
        request: &ClientRequest,
        body: &Bytes,
        last: &Round,
        parked: &[ToolResult],
        shown: &Shown,
    ) -> Option<Keeping> {
        let last = Round { message: replay(&last.message).ok()?.into(), ..last.clone() };
        history::keep(&memory::WAYS, request, body, &last, parked, shown)
    }

    fn error_body(&self, error: &WireError) -> Bytes {
        error_json(error).to_string().into()
    }
}

fn inhibit(top: &Container<'_>) -> Result<Option<&'static str>, BadRequest> {
    if let Some(reason) = reading::inhibited_by_choice(top)? {
        return Ok(Some(reason));
    }
    let format = top.child("response_format").and_then(|format| json::string(format.value("type")?));
    Ok(if format.is_some_and(|format| format != "text") {
        Some("structured output")
    } else if top.value("n").and_then(|n| n.parse::<f64>().ok()).is_some_and(|n| n > 1.0) {
        Some("several choices")
    } else if top.value("functions").is_some() || top.value("function_call").is_some() {
        Some("legacy functions")
    } else {
        None
    })
}

/// The model's message as it came, except that arguments left out or blank become `{}`: upstreams that leave them
/// blank in an answer refuse them blank in a history.
fn replay(message: &Bytes) -> Result<String, Fault> {
    let text = std::str::from_utf8(message).map_err(|error| Fault::Unreadable(error.to_string()))?;
    let message = Container::object(text, text).map_err(|error| Fault::Unreadable(error.to_string()))?;
    let mut edits = Edits::new(text);
    if let Some(calls) = message.children("tool_calls") {
        for function in calls.items.iter().filter_map(|call| calls.element(call)?.child("function")) {
            let arguments = function.value("arguments");
            if arguments.is_none_or(|raw| json::string(raw).is_some_and(|text| text.trim().is_empty())) {
                edits.members(&function, &[], &[("arguments", "\"{}\"".to_owned())]);
            }
        }
    }
    Ok(edits.apply())
}

fn error_json(error: &WireError) -> Value {
    let kind = match error.status {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        429 => "rate_limit_error",
        500.. => "server_error",
        _ => "invalid_request_error",
    };
    json!({"error": {"message": error.message, "type": kind, "param": null, "code": error.code}})
}

/// Reads a finish reason.
fn finish_of(reason: Option<&str>) -> Finish {
    match reason {
        Some("length" | "content_filter" | "refusal" | "max_tokens" | "model_context_window_exceeded") => {
            Finish::Cut
        }
        _ => Finish::Normal,
    }
}

/// The choice that a turn is about: number 0, else the first.
fn first_choice<'a>(choices: &Container<'a>) -> Option<Container<'a>> {
    let mut all = choices.items.iter().filter_map(|item| choices.element(item));
    let first = all.next()?;
    if first.value("index").is_none_or(|index| index == "0") {
        return Some(first);
    }
    Some(all.find(|choice| choice.value("index") == Some("0")).unwrap_or(first))
}

/// Tokens over all rounds.
fn tokens(totals: &Totals) -> Tokens {
    totals.tokens(&["prompt_tokens"], &["completion_tokens"])
}

/// Usage over all rounds; the total follows its parts.
fn usage(totals: &Totals, input_of_last: bool) -> Option<Value> {
    let input = ["prompt_tokens", "prompt_tokens_details"];
    totals.with_total(input_of_last, &input, ["prompt_tokens", "completion_tokens"])
}
