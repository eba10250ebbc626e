//! The stand-in in the `gemini` dialect.

use serde_json::{Value, json};

use super::openai_chat::{list, text};
use super::plan::{Reply, Seen};
use super::{DEMO_MODEL, tokens};

pub(super) struct Voice;

impl super::Voice for Voice {
    fn dialect(&self) -> &'static str {
        "gemini"
    }

    fn see(&self, body: &Value) -> Seen {
        let contents = list(body, "contents");
        let parts = |content: Option<&Value>| content.map(|c| list(c, "parts")).unwrap_or_default();
        let has_text = |content: &&Value| {
            content.get("role").and_then(Value::as_str) != Some("model")
                && list(content, "parts").iter().any(|part| part.get("text").is_some())
        };
        let user = contents.iter().rev().find(has_text);
        let tools = list(body, "tools");
        let declared =
            tools.iter().flat_map(|tool| either(tool, "functionDeclarations", "function_declarations"));
        let mode = ["/toolConfig/functionCallingConfig/mode", "/tool_config/function_calling_config/mode"];
        let forbidden = mode.iter().any(|at| body.pointer(at).and_then(Value::as_str) == Some("NONE"));
        Seen {
            tools: declared.map(|one| word(&one, "name")).collect(),
            may_call: !forbidden,
            user: text(user.and_then(|content| content.get("parts"))),
            results: parts(contents.last()).iter().filter_map(result).collect(),
        }
    }

    fn plain(&self, reply: &Reply, id: &str) -> Value {
        response(reply, id, &parts(reply), true)
    }

    fn stream(&self, reply: &Reply, id: &str, _usage_wanted: bool) -> Vec<String> {
        let mut frames: Vec<String> = match reply {
            Reply::Text(text) => {
                let words = text.split_inclusive(' ').map(|word| json!({"text": word}));
                words.map(|part| response(reply, id, &[part], false).to_string()).collect()
            }
            Reply::Calls(_) => vec![response(reply, id, &parts(reply), false).to_string()],
        };
        frames.push(response(reply, id, &[json!({"text": ""})], true).to_string());
        frames
    }

    fn streams(&self, target: &str, _body: &Value) -> bool {
        target.split('?').next().is_some_and(|path| path.ends_with(":streamGenerateContent"))
    }

    fn formed(&self, target: &str, frames: Vec<String>) -> (&'static str, Vec<String>) {
        if target.contains("alt=sse") {
            return (
                "text/event-stream",
                frames.into_iter().map(|frame| format!("data: {frame}\r\n\r\n")).collect(),
            );
        }
        let begun = frames.iter().enumerate().map(|(i, frame)| {
            let mark = if i == 0 { "[" } else { ",\r\n" };
            format!("{mark}{frame}\n")
        });
        ("application/json", begun.chain(["]\n".to_owned()]).collect())
    }
}

fn word(value: &Value, member: &str) -> String {
    value.get(member).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// A list under either of its names.
fn either(value: &Value, camel: &str, snake: &str) -> Vec<Value> {
    let found = list(value, camel);
    if found.is_empty() { list(value, snake) } else { found }
}

/// Name and content of a part that answers a call.
fn result(part: &Value) -> Option<(String, String)> {
    let response = part.get("functionResponse")?;
    let content = response.get("response")?;
    let said = content.get("result").or_else(|| content.get("error")).unwrap_or(content);
    Some((word(response, "name"), said.as_str().map_or_else(|| said.to_string(), str::to_owned)))
}

fn parts(reply: &Reply) -> Vec<Value> {
    match reply {
        Reply::Text(text) => vec![json!({"text": text})],
        Reply::Calls(calls) => {
            calls.iter().map(|(name, args)| json!({"functionCall": {"name": name, "args": args}})).collect()
        }
    }
}

fn response(reply: &Reply, id: &str, said: &[Value], last: bool) -> Value {
    let mut candidate = json!({"content": {"parts": said, "role": "model"}, "index": 0});
    let whole = if last { parts(reply) } else { said.to_vec() };
    let output: u64 = whole.iter().map(|part| tokens(&part.to_string())).sum();
    if let Some(candidate) = candidate.as_object_mut().filter(|_| last) {
        candidate.insert("finishReason".to_owned(), "STOP".into());
    }
    json!({
        "candidates": [candidate], "modelVersion": DEMO_MODEL, "responseId": id,
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": output, "totalTokenCount": output + 1},
    })
}
