//! Runs one turn through a dialect the way the server does.

use std::sync::Arc;

use dialects::{ClientRequest, Dialect, Ending, Fault, Owned, Round};
use domain::{ToolDefinition, ToolResult};
use serde_json::{Value, json};

pub(crate) const CHAT: &str = "openai_chat";
pub(crate) const RESPONSES: &str = "openai_responses";
pub(crate) const MESSAGES: &str = "anthropic_messages";
pub(crate) const GEMINI: &str = "gemini";

pub(crate) fn dialect(name: &str) -> &'static dyn Dialect {
    dialects::by_name(name).unwrap()
}

/// What a client asks for; one dialect says in the path what the others say in the body.
pub(crate) fn target(name: &str, stream: bool) -> String {
    match (name, stream) {
        (GEMINI, true) => "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse".to_owned(),
        (GEMINI, false) => "/v1beta/models/gemini-2.5-flash:generateContent".to_owned(),
        _ => dialect(name).routes()[0].to_owned(),
    }
}

/// Ours are the names with a version, as the gateway writes them.
pub(crate) fn owned() -> Owned {
    Arc::new(|name| name.ends_with("__1_0_0"))
}

pub(crate) fn tool(name: &str) -> ToolDefinition {
    ToolDefinition {
        wire_name: name.to_owned(),
        description: "Reads a file.".to_owned(),
        parameters: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
    }
}

pub(crate) fn streamed(include_usage: bool) -> ClientRequest {
    ClientRequest { stream: true, include_usage, ..ClientRequest::default() }
}

pub(crate) fn plain() -> ClientRequest {
    ClientRequest::default()
}

/// The client's bytes and what the model said.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Turn {
    pub(crate) out: Vec<u8>,
    pub(crate) rounds: Vec<Round>,
}

impl Turn {
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.out).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.out).unwrap()
    }

    pub(crate) fn lint(&self, dialect: &str) -> testkit::sse_lint::Summary {
        testkit::sse_lint::lint(dialect, &self.out).unwrap_or_else(|error| panic!("{error}\n{}", self.text()))
    }

    pub(crate) fn message(&self, round: usize) -> Value {
        serde_json::from_slice(&self.rounds[round].message).unwrap()
    }

    /// Name and arguments of a round's calls, ours marked with `*`.
    pub(crate) fn calls(&self, round: usize) -> Vec<String> {
        let calls = self.rounds[round].calls.iter();
        calls
            .map(|c| format!("{}{} {}", if c.owned { "*" } else { "" }, c.call.name, c.call.arguments))
            .collect()
    }
}

/// Runs a turn whose rounds are these bodies, each cut into pieces by `cut`.
pub(crate) fn run_cut<'a>(
    dialect: &str,
    request: &ClientRequest,
    rounds: &[&'a [u8]],
    ending: &Ending,
    cut: impl Fn(&'a [u8]) -> Vec<&'a [u8]>,
) -> Result<Turn, Fault> {
    let mut answer = self::dialect(dialect).answer(request, owned());
    let mut turn = Turn { out: Vec::new(), rounds: Vec::new() };
    for body in rounds {
        for piece in cut(body) {
            answer.feed(piece, &mut turn.out)?;
        }
        turn.rounds.push(answer.end_round(&mut turn.out)?);
    }
    answer.finish(ending, &mut turn.out)?;
    Ok(turn)
}

pub(crate) fn run(dialect: &str, request: &ClientRequest, rounds: &[&str]) -> Result<Turn, Fault> {
    let rounds: Vec<&[u8]> = rounds.iter().map(|round| round.as_bytes()).collect();
    run_cut(dialect, request, &rounds, &Ending::default(), |body| vec![body])
}

/// One result for each call of a round; tools with `broken` in their name fail.
pub(crate) fn results(round: &Round) -> Vec<ToolResult> {
    let result = |call: &dialects::Call| ToolResult {
        call_id: call.call.id.clone(),
        name: call.call.name.clone(),
        content: format!("result of {}", call.call.name),
        parts: Vec::new(),
        is_error: call.call.name.contains("broken"),
    };
    round.calls.iter().map(result).collect()
}

/// Server-sent events out of their data.
pub(crate) fn sse(events: &[Value]) -> String {
    let event = |value: &Value| match value.get("type").and_then(Value::as_str) {
        Some(kind) => format!("event: {kind}\ndata: {value}\n\n"),
        None => format!("data: {value}\n\n"),
    };
    events.iter().map(event).collect()
}

/// A chat stream: chunks with these deltas, the finish, `[DONE]`.
pub(crate) fn chat(deltas: &[Value], finish: &str) -> String {
    let mut text: String = deltas.iter().map(|delta| sse(&[chunk(delta, &Value::Null)])).collect();
    text.push_str(&sse(&[chunk(&json!({}), &finish.into())]));
    text.push_str("data: [DONE]\n\n");
    text
}

pub(crate) fn chunk(delta: &Value, finish: &Value) -> Value {
    json!({
        "id": "c1", "object": "chat.completion.chunk", "created": 7, "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    })
}

/// A delta with one piece of a tool call.
pub(crate) fn call(element: Value) -> Value {
    json!({"tool_calls": [element]})
}

/// A Messages stream: blocks as (start, deltas).
pub(crate) fn messages(blocks: &[(Value, Vec<Value>)], stop: &str) -> String {
    let mut events = vec![json!({"type": "message_start", "message": {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [],
        "stop_reason": null, "usage": {"input_tokens": 10, "output_tokens": 1},
    }})];
    for (index, (start, deltas)) in blocks.iter().enumerate() {
        events.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
        events.extend(
            deltas.iter().map(|delta| json!({"type": "content_block_delta", "index": index, "delta": delta})),
        );
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    events.push(json!({
        "type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": null},
        "usage": {"output_tokens": 5},
    }));
    events.push(json!({"type": "message_stop"}));
    sse(&events)
}
