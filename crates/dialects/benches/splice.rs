//! What a request and a stream chunk cost on their way through.
#![expect(clippy::unwrap_used, reason = "a bench stops at the first surprise")]

use std::sync::Arc;

use dialects::{Answer, ClientRequest, Dialect};
use divan::Bencher;
use domain::ToolDefinition;
use serde_json::json;

const PATH: &str = "/v1/chat/completions";

fn main() {
    divan::main();
}

fn chat() -> &'static dyn Dialect {
    dialects::by_name("openai_chat").unwrap()
}

/// About 29 KB: 40 messages and 20 tools.
fn body() -> Vec<u8> {
    let messages: Vec<_> = (0..40)
        .map(|i| json!({"role": if i % 2 == 0 { "user" } else { "assistant" }, "content": "lorem \"ipsum\" ".repeat(35)}))
        .collect();
    let tools: Vec<_> = (0..20)
        .map(|i| {
            let parameters = json!({"type": "object", "properties": {"path": {"type": "string"}}});
            let description = "what it does ".repeat(14);
            json!({"type": "function", "function": {"name": format!("tool_{i}"), "description": description, "parameters": parameters}})
        })
        .collect();
    serde_json::to_vec(&json!({"model": "m", "stream": true, "messages": messages, "tools": tools})).unwrap()
}

#[divan::bench]
fn read_request(bencher: Bencher<'_, '_>) {
    let body = bytes::Bytes::from(body());
    bencher.bench_local(|| chat().read_request(PATH, body.clone()).unwrap());
}

#[divan::bench]
fn inject_one_tool(bencher: Bencher<'_, '_>) {
    let request = chat().read_request(PATH, body().into()).unwrap();
    let tool = ToolDefinition {
        wire_name: "file_read__1_0_0".to_owned(),
        description: "Reads a file.".to_owned(),
        parameters: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
    };
    bencher.bench_local(|| chat().inject(&request, std::slice::from_ref(&tool)));
}

/// One text chunk of a stream that needs no change.
#[divan::bench(args = ["openai_chat", "anthropic_messages"])]
fn pass_chunk(bencher: Bencher<'_, '_>, dialect: &str) {
    let (start, chunk) = match dialect {
        "openai_chat" => (
            "",
            r#"data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":" word"},"finish_reason":null}]}"#,
        ),
        _ => (
            "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
            r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" word"}}"#,
        ),
    };
    let chunk = format!("{chunk}\n\n");
    let request = ClientRequest { stream: true, ..ClientRequest::default() };
    let fresh = || -> Box<dyn Answer> {
        let mut answer = dialects::by_name(dialect).unwrap().answer(&request, Arc::new(|_| false));
        answer.feed(start.as_bytes(), &mut Vec::new()).unwrap();
        answer
    };
    let mut out = Vec::new();
    bencher.with_inputs(fresh).bench_local_values(|mut answer| {
        out.clear();
        answer.feed(chunk.as_bytes(), &mut out).unwrap();
    });
}
