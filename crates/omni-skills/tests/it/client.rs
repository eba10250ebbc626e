//! A small client for every dialect: sends a chat, reads the answer, holds every stream against the linter.

use std::path::Path;

use serde_json::{Value, json};
use testkit::gateway::Gateway;
use testkit::sse_lint;

pub(crate) const DIALECTS: [&str; 4] = ["openai_chat", "openai_responses", "anthropic_messages", "gemini"];

/// What a client has after a turn, whichever way it asked.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) status: u16,
    pub(crate) text: String,
    pub(crate) calls: Vec<String>,
    pub(crate) finish: Option<String>,
    pub(crate) stop: Option<String>,
    pub(crate) output_tokens: Option<u64>,
    pub(crate) error: Option<String>,
    pub(crate) should_retry: Option<String>,
    pub(crate) raw: String,
}

pub(crate) fn gateway(upstream: &str, more: &str) -> Gateway {
    Gateway::in_front_of(Path::new(env!("CARGO_BIN_EXE_omni-skills")), upstream, more)
}

pub(crate) fn http() -> reqwest::Client {
    // Fails when another test of this process was first: then it is installed.
    drop(rustls::crypto::ring::default_provider().install_default());
    reqwest::Client::builder().no_proxy().build().unwrap()
}

fn path(dialect: &str) -> &'static str {
    match dialect {
        "openai_chat" => "/v1/chat/completions",
        "openai_responses" => "/v1/responses",
        _ => "/v1/messages",
    }
}

/// A chat of one user message; `tools` are names of client tools.
pub(crate) fn body(dialect: &str, stream: bool, text: &str, tools: &[&str]) -> Value {
    let mut body = match dialect {
        "openai_responses" => json!({"model": "m", "input": text, "stream": stream}),
        // Model and stream go into the path; see `ask`.
        "gemini" => {
            let contents = json!([{"role": "user", "parts": [{"text": text}]}]);
            json!({"model": "m", "contents": contents, "stream": stream})
        }
        _ => json!({"model": "m", "messages": [{"role": "user", "content": text}], "stream": stream}),
    };
    match dialect {
        "openai_chat" if stream => body["stream_options"] = json!({"include_usage": true}),
        "anthropic_messages" => body["max_tokens"] = json!(500),
        _ => {}
    }
    let schema = json!({"type": "object", "properties": {}});
    let tools: Vec<_> = tools
        .iter()
        .map(|name| match dialect {
            "openai_chat" => json!({"type": "function", "function": {"name": name, "parameters": schema}}),
            "openai_responses" => {
                json!({"type": "function", "name": name, "parameters": schema, "strict": false})
            }
            "gemini" => json!({"name": name}),
            _ => json!({"name": name, "input_schema": schema}),
        })
        .collect();
    if !tools.is_empty() && dialect == "gemini" {
        body["tools"] = json!([{"functionDeclarations": tools}]);
    } else if !tools.is_empty() {
        body["tools"] = json!(tools);
    }
    body
}

/// A request that still lacks its body.
pub(crate) fn chat(base: &str, dialect: &str) -> reqwest::RequestBuilder {
    let request = http().post(format!("{base}{}", path(dialect))).header("content-type", "application/json");
    match dialect {
        "anthropic_messages" => request.header("anthropic-version", "2023-06-01"),
        _ => request,
    }
}

/// A request with its body.
pub(crate) fn ask(base: &str, dialect: &str, body: &Value) -> reqwest::RequestBuilder {
    if dialect != "gemini" {
        return chat(base, dialect).body(bytes(dialect, body));
    }
    let method = if body["stream"] == true { "streamGenerateContent?alt=sse" } else { "generateContent" };
    let url = format!("{base}/v1beta/models/{}:{method}", body["model"].as_str().unwrap());
    http().post(url).header("content-type", "application/json").body(bytes(dialect, body))
}

/// A body as it is sent.
pub(crate) fn bytes(dialect: &str, body: &Value) -> String {
    let mut body = body.clone();
    if dialect == "gemini" {
        body.as_object_mut().unwrap().retain(|name, _| name != "model" && name != "stream");
    }
    body.to_string()
}

/// Sends `body`, with `headers`, and reads the answer to its end.
pub(crate) async fn send(base: &str, dialect: &str, body: &Value, headers: &[(&str, &str)]) -> Seen {
    let mut request = ask(base, dialect, body);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    let header = |name: &str| response.headers().get(name).map(|v| v.to_str().unwrap().to_owned());
    let (stop, should_retry) = (header("x-omni-stop"), header("x-should-retry"));
    let streamed = header("content-type").is_some_and(|t| t.starts_with("text/event-stream"));
    let raw = response.text().await.unwrap();
    if streamed {
        return from_stream(dialect, status, raw);
    }
    let value: Value = serde_json::from_str(&raw).unwrap_or_default();
    let mut seen = match dialect {
        "openai_chat" => from_chat(&value),
        "openai_responses" => from_response(&value),
        "gemini" => from_gemini(&value),
        _ => from_message(&value),
    };
    seen.error = value.pointer("/error/message").and_then(Value::as_str).map(str::to_owned);
    Seen { status, stop, should_retry, raw, ..seen }
}

fn from_stream(dialect: &str, status: u16, raw: String) -> Seen {
    let summary = sse_lint::lint(dialect, raw.as_bytes()).unwrap_or_else(|e| panic!("{e}\n{raw}"));
    let member = |name: &str| summary.usage.as_ref().and_then(|u| u.get(name)?.as_u64());
    let omni = summary.omni.as_ref();
    Seen {
        status,
        text: summary.text.clone(),
        calls: summary.calls.iter().map(|c| c.name.clone()).collect(),
        finish: summary.finish.clone(),
        stop: omni.and_then(|o| o.get("stop")?.as_str()).map(str::to_owned),
        output_tokens: ["completion_tokens", "output_tokens", "candidatesTokenCount"]
            .into_iter()
            .find_map(member),
        error: summary.error.as_ref().map(Value::to_string),
        should_retry: None,
        raw,
    }
}

fn empty() -> Seen {
    Seen {
        status: 0,
        text: String::new(),
        calls: Vec::new(),
        finish: None,
        stop: None,
        output_tokens: None,
        error: None,
        should_retry: None,
        raw: String::new(),
    }
}

fn from_chat(value: &Value) -> Seen {
    let message = &value["choices"][0]["message"];
    let names = message["tool_calls"].as_array().into_iter().flatten();
    Seen {
        text: message["content"].as_str().unwrap_or_default().to_owned(),
        calls: names.map(|c| c["function"]["name"].as_str().unwrap().to_owned()).collect(),
        finish: value["choices"][0]["finish_reason"].as_str().map(str::to_owned),
        output_tokens: value["usage"]["completion_tokens"].as_u64(),
        ..empty()
    }
}

fn from_response(value: &Value) -> Seen {
    let items = value["output"].as_array().cloned().unwrap_or_default();
    let of = |kind: &str| items.iter().filter(|i| i["type"] == kind).cloned().collect::<Vec<_>>();
    let texts = of("message").into_iter().map(|i| i["content"][0]["text"].as_str().unwrap().to_owned());
    let reason = value["incomplete_details"]["reason"].as_str();
    Seen {
        text: texts.collect::<String>(),
        calls: of("function_call").iter().map(|i| i["name"].as_str().unwrap().to_owned()).collect(),
        finish: reason.or(value["status"].as_str()).map(str::to_owned),
        output_tokens: value["usage"]["output_tokens"].as_u64(),
        ..empty()
    }
}

fn from_gemini(value: &Value) -> Seen {
    let candidate = &value["candidates"][0];
    let parts = candidate["content"]["parts"].as_array().cloned().unwrap_or_default();
    let calls = parts.iter().filter_map(|part| part["functionCall"]["name"].as_str());
    Seen {
        text: parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        calls: calls.map(str::to_owned).collect(),
        finish: candidate["finishReason"].as_str().map(str::to_owned),
        output_tokens: value["usageMetadata"]["candidatesTokenCount"].as_u64(),
        ..empty()
    }
}

fn from_message(value: &Value) -> Seen {
    let blocks = value["content"].as_array().cloned().unwrap_or_default();
    let of = |kind: &str, member: &str| -> Vec<String> {
        let fits = blocks.iter().filter(|b| b["type"] == kind);
        fits.map(|b| b[member].as_str().unwrap_or_default().to_owned()).collect()
    };
    Seen {
        text: of("text", "text").concat(),
        calls: of("tool_use", "name"),
        finish: value["stop_reason"].as_str().map(str::to_owned),
        output_tokens: value["usage"]["output_tokens"].as_u64(),
        ..empty()
    }
}

/// The rows of the history, newest first.
pub(crate) async fn history(gateway: &Gateway) -> Vec<Value> {
    let url = format!("{}/api/skills/executions?limit=200", gateway.base);
    let response = http().get(url).bearer_auth(&gateway.token).send().await.unwrap();
    let page: Value = serde_json::from_slice(&response.bytes().await.unwrap()).unwrap();
    page["data"].as_array().unwrap().clone()
}
