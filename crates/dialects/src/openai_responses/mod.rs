//! Responses: `POST /v1/responses`, plain and streamed.
//!
//! With the provider's memory (`store`) later rounds name the answer before; without it they carry every item,
//! reasoning and all. Never judges a request that the upstream can judge itself.

mod follow_up;
mod item;
mod memory;
mod past;
mod plain;
mod response;
mod result;
mod spliced;
mod stored;
mod stream;

use bytes::Bytes;
use domain::{ToolDefinition, ToolResult};
use serde_json::{Value, json};

use self::response::Echo;
use crate::answer::{Answer, Fault, Owned, Round, Shown};
use crate::issued::Issued;
use crate::kept::{Anchor, Keeping, Kept};
use crate::media;
use crate::reading;
use crate::request::{Ask, BadRequest, ClientRequest, WireError};
use crate::splice::{Container, Edits};
use crate::writing::{self, Wire};
use crate::{Dialect, json};

/// The dialect.
pub(crate) struct OpenaiResponses;

const WIRE: Wire = Wire {
    // Without `strict` the provider would hold every schema to its strict form.
    tool: |tool| {
        json!({
            "type": "function", "name": tool.wire_name, "description": tool.description,
            "parameters": tool.parameters, "strict": false,
        })
        .to_string()
    },
    auto: |_| "\"auto\"".to_owned(),
    none: "\"none\"",
    tool_members: &["tools", "tool_choice", "parallel_tool_calls"],
};

/// Members that the gateway may have to change.
const EDITED: [&str; 8] = [
    "input",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "store",
    "include",
    "previous_response_id",
    "conversation",
];

/// What makes reasoning replayable where nothing is stored.
const ENCRYPTED: &str = "reasoning.encrypted_content";

impl Dialect for OpenaiResponses {
    fn name(&self) -> &'static str {
        "openai_responses"
    }

    fn routes(&self) -> &'static [&'static str] {
        &["/v1/responses"]
    }

    fn provider(&self) -> &'static str {
        "openai"
    }

    fn read_request(&self, target: &str, body: Bytes) -> Result<ClientRequest, BadRequest> {
        let top = reading::open(&body)?;
        let mut request = reading::head(&top, &EDITED)?;
        read_input(&top, &mut request)?;
        let user = reading::text(&top, "safety_identifier")?;
        request.user = user.map_or_else(|| reading::text(&top, "user"), |user| Ok(Some(user)))?;
        request.conversation = conversation(&top)?;
        request.inhibit = inhibit(&top)?;
        target.clone_into(&mut request.target);
        request.raw = body;
        Ok(request)
    }

    fn names_answers(&self) -> bool {
        true
    }

    fn inject(&self, request: &ClientRequest, tools: &[ToolDefinition]) -> Bytes {
        let body = writing::inject(&WIRE, request, tools);
        if tools.is_empty() || !adds_encrypted(request) {
            return body;
        }
        let Ok(top) = reading::open(&body) else { return body };
        let mut edits = Edits::new(top.doc());
        match top.children("include") {
            Some(list) => edits.elements(&list, &|_| false, &[json::quote(ENCRYPTED)]),
            None => edits.members(&top, &[], &[("include", json!([ENCRYPTED]).to_string())]),
        }
        edits.apply().into()
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
        follow_up::follow_up(body, round, results, ask, ours)
    }

    fn media(&self, model: &str) -> &'static [&'static str] {
        result::media(model)
    }

    fn without_media(&self, kept: Kept) -> Kept {
        media::edited(kept, result::without_media)
    }

    fn answer(&self, request: &ClientRequest, owned: Owned) -> Box<dyn Answer> {
        let (echo, strip) = (Echo::new(request, owned), adds_encrypted(request));
        if request.stream {
            Box::new(stream::Stream::new(echo, strip))
        } else {
            Box::new(plain::Plain::new(echo, strip))
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
        if shown.spliced {
            return spliced::keep(request, last, parked, shown);
        }
        memory::keep(request, body, last, parked, shown)
    }

    fn issued(
        &self,
        request: &ClientRequest,
        last: Option<&Round>,
        shown: &Shown,
        ours: &[String],
    ) -> Option<Issued> {
        stored::issued(request, last, shown, ours)
    }

    fn retrieved(&self, body: &Bytes, id: &str, issued: &Issued) -> Option<Bytes> {
        stored::retrieved(body, id, issued)
    }

    fn error_body(&self, error: &WireError) -> Bytes {
        json!({"error": error_json(error)}).to_string().into()
    }
}

fn read_input(top: &Container<'_>, request: &mut ClientRequest) -> Result<(), BadRequest> {
    let Some(raw) = top.value("input") else { return Ok(()) };
    if let Some(text) = json::string(raw) {
        reading::note_user_text(request, text);
        return Ok(());
    }
    let items = top.children("input");
    let items = items.ok_or_else(|| reading::bad("input", "must be a string or an array of items"))?;
    for (i, raw) in items.items.iter().enumerate() {
        let path = format!("input[{i}]");
        let item = items.element(raw).ok_or_else(|| reading::bad(&path, "must be an object"))?;
        let text = |name: &str| item.value(name).and_then(json::string);
        let is_message = text("type").is_none_or(|kind| kind == "message");
        if is_message
            && text("role").as_deref() == Some("user")
            && let Some(text) = reading::user_text(&item, &path)?
        {
            reading::note_user_text(request, text);
        }
    }
    Ok(())
}

/// The stored conversation, or else the earlier answer, that the request goes on with.
fn conversation(top: &Container<'_>) -> Result<Option<String>, BadRequest> {
    let named = match top.child("conversation") {
        Some(conversation) => reading::text(&conversation, "id"),
        None => reading::text(top, "conversation"),
    };
    let named = named.map_err(|_| reading::bad("conversation", "must be an id or an object with an `id`"))?;
    let previous = reading::text(top, "previous_response_id")?;
    Ok(named.or(previous))
}

fn inhibit(top: &Container<'_>) -> Result<Option<&'static str>, BadRequest> {
    if let Some(reason) = reading::inhibited_by_choice(top)? {
        return Ok(Some(reason));
    }
    let format = top.child("text").and_then(|text| json::string(text.child("format")?.value("type")?));
    Ok(if format.is_some_and(|format| format != "text") {
        Some("structured output")
    } else if top.value("background") == Some("true") {
        Some("background")
    } else {
        None
    })
}

/// Whether the gateway asks for encrypted reasoning that the client did not ask for, and so must not get.
fn adds_encrypted(request: &ClientRequest) -> bool {
    let Ok(top) = reading::open(&request.raw) else { return false };
    let asked = top.children("include").is_some_and(|list| {
        list.items.iter().any(|item| json::string(item.value).as_deref() == Some(ENCRYPTED))
    });
    top.value("store") == Some("false") && !asked
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
    json!({"message": error.message, "type": kind, "param": null, "code": error.code})
}
