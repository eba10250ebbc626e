//! Where Anthropic messages answers 400. Never lets a doubtful body pass.

use std::collections::HashSet;

use serde_json::Value;

use super::{blocks, is_user_text, mark, media};
use crate::fake_upstream::provider::{Incoming, Refusal, at};
use crate::fake_upstream::rules;

const NAME_MAX: usize = 128;

/// The whole examination.
pub(super) fn check(ask: &Incoming<'_>) -> Result<(), Refusal> {
    let header = |name: &str| ask.headers.get(name).and_then(|value| value.to_str().ok());
    rules::credential(ask.script.require_key.as_deref(), header("x-api-key"))?;
    rules::common(ask)?;
    if header("anthropic-version").is_none() {
        return Err(Refusal::bad("anthropic-version", "header is required"));
    }
    if ask.body["max_tokens"].as_u64().is_none_or(|tokens| tokens == 0) {
        return Err(Refusal::bad("max_tokens", "Field required"));
    }
    let names = tools(ask.body)?;
    choice(ask, &names)?;
    messages(ask, !names.is_empty())
}

fn thinks(body: &Value) -> bool {
    matches!(at(body, "/thinking/type").as_str(), Some("enabled" | "adaptive"))
}

fn tools(body: &Value) -> Result<Vec<String>, Refusal> {
    let Some(tools) = body.get("tools") else { return Ok(Vec::new()) };
    let Some(tools) = tools.as_array() else {
        return Err(Refusal::bad("tools", "Input should be a valid array"));
    };
    if tools.is_empty() {
        return Err(Refusal::bad("tools", "List should have at least 1 item"));
    }
    let mut names = Vec::new();
    for (index, tool) in tools.iter().enumerate() {
        let kind = tool["type"].as_str();
        let dated = |kind: &str| {
            kind.rsplit('_').next().is_some_and(|end| end.len() == 8 && end.parse::<u32>().is_ok())
        };
        match kind {
            None | Some("custom") => {
                let param = format!("tools.{index}.custom");
                names.push(rules::tool_name(&tool["name"], NAME_MAX, &format!("{param}.name"))?);
                rules::parameters(&tool["input_schema"], &format!("{param}.input_schema"))?;
                let allowed = [
                    "type",
                    "name",
                    "description",
                    "input_schema",
                    "cache_control",
                    "strict",
                    "defer_loading",
                    "allowed_callers",
                    "input_examples",
                    "eager_input_streaming",
                ];
                extra(tool, &allowed, &param)?;
            }
            Some(kind) if dated(kind) => names.push(tool["name"].as_str().unwrap_or_default().to_owned()),
            Some(kind) => {
                return Err(Refusal::bad(
                    format!("tools.{index}"),
                    format!("Input tag '{kind}' does not match any tag"),
                ));
            }
        }
    }
    rules::unique(&names)?;
    Ok(names)
}

fn choice(ask: &Incoming<'_>, names: &[String]) -> Result<(), Refusal> {
    let Some(choice) = ask.body.get("tool_choice") else { return Ok(()) };
    if names.is_empty() {
        return Err(Refusal::bad("tool_choice", "tool_choice may only be specified while providing tools"));
    }
    let kind = choice["type"].as_str().unwrap_or_default();
    let known = match kind {
        "auto" | "none" | "any" => true,
        "tool" => choice["name"].as_str().is_some_and(|name| names.iter().any(|known| known == name)),
        _ => false,
    };
    if !known {
        return Err(Refusal::bad("tool_choice", "Tool not found in provided tools"));
    }
    if thinks(ask.body) && ["any", "tool"].contains(&kind) {
        return Err(Refusal::bad(
            "tool_choice",
            "Thinking may not be enabled when tool_choice forces tool use.",
        ));
    }
    Ok(())
}

fn messages(ask: &Incoming<'_>, has_tools: bool) -> Result<(), Refusal> {
    let messages = super::messages(ask.body);
    let Some(first) = messages.first() else {
        return Err(Refusal::bad("messages", "at least one message is required"));
    };
    if first["role"] != "user" {
        return Err(Refusal::bad("messages", "first message must use the \"user\" role"));
    }
    let turn_start = messages.iter().rposition(is_user_text).unwrap_or(0);
    let mut uses: HashSet<String> = HashSet::new();
    let mut open: Vec<String> = Vec::new();
    let mut before = "";
    for (index, message) in messages.iter().enumerate() {
        let param = format!("messages.{index}");
        extra(message, &["role", "content", "id"], &param)?;
        let role = message["role"].as_str().unwrap_or_default();
        let is_last = index + 1 == messages.len();
        contents(message, is_last && role == "assistant", &param)?;
        match role {
            "user" => user(message, &mut open, &param)?,
            "assistant" => {
                if before != "assistant" {
                    open.clear();
                }
                assistant(message, &mut uses, &mut open, &param)?;
                if thinks(ask.body) {
                    thinking(ask, message, index > turn_start, &param)?;
                }
                if is_last && !open.is_empty() {
                    return Err(unanswered(&open, &param));
                }
            }
            other => {
                return Err(Refusal::bad(
                    format!("{param}.role"),
                    format!("Input should be 'user' or 'assistant', not '{other}'"),
                ));
            }
        }
        let next_role = messages.get(index + 1).map_or("", |next| next["role"].as_str().unwrap_or_default());
        if role == "user" && next_role != "user" && !open.is_empty() {
            return Err(unanswered(&open, &param));
        }
        before = role;
    }
    if !uses.is_empty() && !has_tools {
        return Err(Refusal::bad(
            "tools",
            "Requests which have `tool_use` or `tool_result` blocks in messages must define tools.",
        ));
    }
    Ok(())
}

fn unanswered(open: &[String], param: &str) -> Refusal {
    Refusal::bad(
        param,
        format!(
            "`tool_use` ids were found without `tool_result` blocks immediately after: {}. Each `tool_use` block \
             must have a corresponding `tool_result` block in the next message.",
            open.join(", ")
        ),
    )
}

/// Strings and blocks are non-empty; the last assistant message may be empty and must not end in white space.
fn contents(message: &Value, is_prefill: bool, param: &str) -> Result<(), Refusal> {
    let empty = || {
        Err(Refusal::bad(
            param,
            "all messages must have non-empty content except for the optional final assistant message",
        ))
    };
    match &message["content"] {
        Value::String(text) if text.is_empty() && !is_prefill => empty(),
        Value::Array(list) if list.is_empty() && !is_prefill => empty(),
        Value::String(text) if is_prefill && text.ends_with(char::is_whitespace) => {
            Err(Refusal::bad(param, "final assistant content cannot end with trailing whitespace"))
        }
        Value::String(_) => Ok(()),
        Value::Array(list) => list
            .iter()
            .enumerate()
            .try_for_each(|(index, block)| one_block(block, &format!("{param}.content.{index}"))),
        _ => Err(Refusal::bad(format!("{param}.content"), "Input should be a valid string or list")),
    }
}

fn one_block(block: &Value, param: &str) -> Result<(), Refusal> {
    match block["type"].as_str() {
        Some("text") => {
            extra(block, &["type", "text", "cache_control", "citations"], param)?;
            match block["text"].as_str() {
                Some("") => Err(Refusal::bad("messages", "text content blocks must be non-empty")),
                Some(_) => Ok(()),
                None => Err(Refusal::bad(format!("{param}.text"), "Field required")),
            }
        }
        Some("tool_use") => {
            extra(block, &["type", "id", "name", "input", "cache_control", "caller"], param)?;
            let id = block["id"].as_str().unwrap_or_default();
            if id.is_empty()
                || !id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
            {
                return Err(Refusal::bad(
                    format!("{param}.id"),
                    "String should match pattern '^[a-zA-Z0-9_-]+$'",
                ));
            }
            rules::tool_name(&block["name"], NAME_MAX, &format!("{param}.tool_use.name"))?;
            if block["input"].is_object() {
                Ok(())
            } else {
                Err(Refusal::bad(format!("{param}.tool_use.input"), "Input should be a valid dictionary"))
            }
        }
        Some("tool_result") => result_block(block, param),
        Some("image") => media::image(block, param),
        Some("document") => media::document(block, param),
        Some("thinking") => {
            extra(block, &["type", "thinking", "signature"], param)?;
            if block["signature"].is_string() && block["thinking"].is_string() {
                Ok(())
            } else {
                Err(Refusal::bad(format!("{param}.thinking.signature"), "Field required"))
            }
        }
        Some(_) => Ok(()),
        None => Err(Refusal::bad(format!("{param}.type"), "Field required")),
    }
}

fn result_block(block: &Value, param: &str) -> Result<(), Refusal> {
    extra(block, &["type", "tool_use_id", "content", "is_error", "cache_control"], param)?;
    let empty = match &block["content"] {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => {
            list.iter()
                .enumerate()
                .try_for_each(|(index, part)| one_block(part, &format!("{param}.content.{index}")))?;
            let kind = |part: &Value| part["type"].as_str().unwrap_or_default().to_owned();
            let known = ["text", "image", "document", "search_result", "tool_reference"];
            if let Some(part) = list.iter().find(|part| !known.contains(&kind(part).as_str())) {
                let problem = format!("Input tag '{}' does not match any of the expected tags", kind(part));
                return Err(Refusal::bad(format!("{param}.tool_result.content"), problem));
            }
            if block["is_error"] == true && list.iter().any(|part| part["type"] != "text") {
                return Err(Refusal::bad(param, "all content must be type `text` if `is_error` is true"));
            }
            list.is_empty()
        }
        _ => return Err(Refusal::bad(format!("{param}.content"), "Input should be a valid string or list")),
    };
    match block.get("is_error") {
        Some(Value::Bool(true)) if empty => {
            Err(Refusal::bad(param, "content cannot be empty if `is_error` is true"))
        }
        None | Some(Value::Bool(_)) => Ok(()),
        Some(_) => Err(Refusal::bad(format!("{param}.is_error"), "Input should be a valid boolean")),
    }
}

pub(super) fn extra(object: &Value, allowed: &[&str], param: &str) -> Result<(), Refusal> {
    let unknown =
        object.as_object().and_then(|object| object.keys().find(|key| !allowed.contains(&key.as_str())));
    match unknown {
        Some(key) => Err(Refusal::bad(format!("{param}.{key}"), "Extra inputs are not permitted")),
        None => Ok(()),
    }
}

fn user(message: &Value, open: &mut Vec<String>, param: &str) -> Result<(), Refusal> {
    for block in blocks(&message["content"]) {
        match block["type"].as_str() {
            Some("tool_result") => {
                let id = block["tool_use_id"].as_str().unwrap_or_default();
                let Some(index) = open.iter().position(|wanted| wanted == id) else {
                    return Err(Refusal::bad(
                        param,
                        format!(
                            "unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block \
                             must have a corresponding `tool_use` block in the previous message."
                        ),
                    ));
                };
                open.remove(index);
            }
            Some("tool_use" | "thinking" | "redacted_thinking") => {
                return Err(Refusal::bad(param, "block is only allowed in assistant messages"));
            }
            _ if !open.is_empty() => return Err(unanswered(open, param)),
            _ => {}
        }
    }
    Ok(())
}

fn assistant(
    message: &Value,
    uses: &mut HashSet<String>,
    open: &mut Vec<String>,
    param: &str,
) -> Result<(), Refusal> {
    for block in blocks(&message["content"]) {
        match block["type"].as_str() {
            Some("tool_use") => {
                let id = block["id"].as_str().unwrap_or_default().to_owned();
                if !uses.insert(id.clone()) {
                    return Err(Refusal::bad(param, "`tool_use` ids must be unique"));
                }
                open.push(id);
            }
            Some("tool_result") => {
                return Err(Refusal::bad(param, "`tool_result` blocks can only be in `user` messages"));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Thinking that this provider has sent stands in front, unchanged, at least in the current turn.
fn thinking(ask: &Incoming<'_>, message: &Value, in_turn: bool, param: &str) -> Result<(), Refusal> {
    let content = blocks(&message["content"]);
    let is_thinking =
        |block: &&Value| matches!(block["type"].as_str(), Some("thinking" | "redacted_thinking"));
    for block in content.iter().filter(is_thinking) {
        match ask.memory.blocks.get(&mark(block)) {
            Some(sent) if sent == block => {}
            Some(_) => {
                return Err(Refusal::bad(
                    param,
                    "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.",
                ));
            }
            None => return Err(Refusal::bad(param, "Invalid `signature` in `thinking` block")),
        }
    }
    if !in_turn {
        return Ok(());
    }
    let mut calls = content.iter().filter_map(|block| block["id"].as_str());
    let Some(sent) = calls.find_map(|id| ask.memory.before_call.get(id)) else { return Ok(()) };
    let leading: Vec<&Value> = content.iter().take_while(is_thinking).collect();
    if leading.len() == sent.len() && leading.iter().zip(sent).all(|(there, sent)| *there == sent) {
        return Ok(());
    }
    Err(Refusal::bad(
        param,
        "Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final \
         `assistant` message must start with a thinking block.",
    ))
}
