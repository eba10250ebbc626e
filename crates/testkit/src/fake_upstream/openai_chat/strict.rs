//! Where `OpenAI` chat completions (and vLLM, for empty tool lists) answer 400. Never lets a doubtful body pass.

use std::collections::HashSet;

use http::header::AUTHORIZATION;
use serde_json::Value;

use crate::fake_upstream::memory::Memory;
use crate::fake_upstream::provider::{Incoming, Refusal, at};
use crate::fake_upstream::rules;

const NAME_MAX: usize = 64;
const TOOLS_MAX: usize = 128;

/// The whole examination.
pub(super) fn check(ask: &Incoming<'_>) -> Result<(), Refusal> {
    let bearer = ask.headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    rules::credential(
        ask.script.require_key.as_deref(),
        bearer.and_then(|value| value.strip_prefix("Bearer ")),
    )?;
    rules::common(ask)?;
    let names = tools(ask.body)?;
    choice(ask.body, &names)?;
    if ask.body.get("stream_options").is_some_and(|options| !options.is_null()) && ask.body["stream"] != true
    {
        return Err(Refusal::bad(
            "stream_options",
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
        ));
    }
    messages(ask)
}

fn tools(body: &Value) -> Result<Vec<String>, Refusal> {
    let Some(tools) = body.get("tools").filter(|tools| !tools.is_null()) else { return Ok(Vec::new()) };
    let Some(tools) = tools.as_array().filter(|tools| !tools.is_empty()) else {
        return Err(Refusal::bad("tools", "[] is too short - 'tools'"));
    };
    if tools.len() > TOOLS_MAX {
        return Err(Refusal::bad("tools", "Invalid 'tools': array too long. Expected at most 128."));
    }
    let mut names = Vec::new();
    for (index, tool) in tools.iter().enumerate() {
        let Some(member @ ("function" | "custom")) = tool["type"].as_str() else {
            let param = format!("tools[{index}].type");
            return Err(Refusal::bad(param, format!("Invalid value: {}", tool["type"])));
        };
        let function = &tool[member];
        names.push(rules::tool_name(&function["name"], NAME_MAX, &format!("tools[{index}].{member}.name"))?);
        if let Some(text) = function.get("description").filter(|text| !text.is_null() && !text.is_string()) {
            return Err(Refusal::bad(
                format!("tools[{index}].{member}.description"),
                format!("not a string: {text}"),
            ));
        }
        if let Some(schema) = function.get("parameters") {
            rules::parameters(schema, &format!("tools[{index}].function.parameters"))?;
        }
    }
    rules::unique(&names)?;
    Ok(names)
}

fn choice(body: &Value, names: &[String]) -> Result<(), Refusal> {
    for key in ["tool_choice", "parallel_tool_calls"] {
        if names.is_empty() && body.get(key).is_some_and(|value| !value.is_null()) {
            return Err(Refusal::bad(key, format!("'{key}' is only allowed when 'tools' are specified.")));
        }
    }
    let known = match body.get("tool_choice") {
        None | Some(Value::Null) => true,
        Some(Value::String(word)) => ["none", "auto", "required"].contains(&word.as_str()),
        Some(chosen) => match chosen["type"].as_str() {
            Some(kind @ ("function" | "custom")) => at(chosen, &format!("/{kind}/name"))
                .as_str()
                .is_some_and(|name| names.iter().any(|known| known == name)),
            Some("allowed_tools") => true,
            _ => false,
        },
    };
    if known {
        Ok(())
    } else {
        Err(Refusal::bad("tool_choice", "Tool choice not found in 'tools' parameter."))
    }
}

fn messages(ask: &Incoming<'_>) -> Result<(), Refusal> {
    let messages = super::messages(ask.body);
    if messages.is_empty() {
        return Err(Refusal::bad("messages", "[] is too short - 'messages'"));
    }
    let turn_start = messages.iter().rposition(|message| message["role"] == "user").unwrap_or(0);
    let mut open: Vec<String> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let param = format!("messages[{index}]");
        let role = message["role"].as_str().unwrap_or_default();
        if role != "tool" {
            answered(&open, &param)?;
            open.clear();
        }
        if let Some(key) = ["tool_results", "omni"].iter().find(|key| message.get(**key).is_some()) {
            return Err(Refusal::bad(&param, format!("Additional properties are not allowed ('{key}')")));
        }
        match role {
            "system" | "developer" | "user" => content(message, false, &param)?,
            "assistant" => {
                open = assistant(message, ask.script.mistral_ids, &param)?;
                if index > turn_start {
                    reasoning(message, &open, ask.memory, &param)?;
                }
            }
            "tool" => {
                content(message, false, &param)?;
                text_alone(message, &param)?;
                result(message, &mut open, &param)?;
            }
            "function" => content(message, true, &param)?,
            other => return Err(Refusal::bad(format!("{param}.role"), format!("Invalid value: '{other}'."))),
        }
    }
    answered(&open, "messages")
}

fn answered(open: &[String], param: &str) -> Result<(), Refusal> {
    if open.is_empty() {
        return Ok(());
    }
    Err(Refusal::bad(
        param,
        format!(
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each \
             'tool_call_id'. The following tool_call_ids did not have response messages: {}",
            open.join(", ")
        ),
    ))
}

fn content(message: &Value, may_be_null: bool, param: &str) -> Result<(), Refusal> {
    let fine = match message.get("content") {
        Some(Value::String(_)) => true,
        Some(Value::Array(parts)) => !parts.is_empty() && parts.iter().all(|part| part["type"].is_string()),
        None | Some(Value::Null) => may_be_null,
        Some(_) => false,
    };
    let param = format!("{param}.content");
    if fine {
        Ok(())
    } else {
        Err(Refusal::bad(&param, format!("Invalid value for '{param}': expected a string or content parts.")))
    }
}

/// A tool's message has no images and files.
fn text_alone(message: &Value, param: &str) -> Result<(), Refusal> {
    let parts = message["content"].as_array();
    if parts.is_none_or(|parts| parts.iter().all(|part| part["type"] == "text" && part["text"].is_string())) {
        return Ok(());
    }
    Err(Refusal::bad(
        format!("{param}.content"),
        "Invalid content part: messages with role 'tool' take parts of type 'text' only.",
    ))
}

fn assistant(message: &Value, mistral_ids: bool, param: &str) -> Result<Vec<String>, Refusal> {
    let calls = match message.get("tool_calls") {
        None | Some(Value::Null) => {
            let other = ["refusal", "audio", "function_call"].iter().any(|key| !message[*key].is_null());
            content(message, other, param)?;
            return Ok(Vec::new());
        }
        Some(calls) => calls,
    };
    content(message, true, param)?;
    let param = format!("{param}.tool_calls");
    let Some(calls) = calls.as_array().filter(|calls| !calls.is_empty()) else {
        return Err(Refusal::bad(&param, format!("[] is too short - '{param}'")));
    };
    let mut ids = Vec::new();
    for (index, call) in calls.iter().enumerate() {
        let param = format!("{param}[{index}]");
        let Some(id) = call["id"].as_str().filter(|id| !id.is_empty()) else {
            return Err(Refusal::bad(format!("{param}.id"), "Missing required parameter: 'id'."));
        };
        rules::mistral_id(mistral_ids, id, &param)?;
        let (member, text) = match call["type"].as_str() {
            Some("function") => ("function", "arguments"),
            Some("custom") => ("custom", "input"),
            _ => return Err(Refusal::bad(format!("{param}.type"), "Missing required parameter: 'type'.")),
        };
        rules::tool_name(at(call, &format!("/{member}/name")), NAME_MAX, &format!("{param}.{member}.name"))?;
        if !at(call, &format!("/{member}/{text}")).is_string() {
            return Err(Refusal::bad(format!("{param}.{member}.{text}"), "expected a string"));
        }
        ids.push(id.to_owned());
    }
    if ids.iter().collect::<HashSet<_>>().len() != ids.len() {
        return Err(Refusal::bad(&param, "Duplicate tool call ids."));
    }
    Ok(ids)
}

fn reasoning(message: &Value, ids: &[String], memory: &Memory, param: &str) -> Result<(), Refusal> {
    let sent = ids.iter().find_map(|id| memory.reasoning.get(id));
    match sent {
        Some(sent) if message["reasoning_content"].as_str() != Some(sent) => Err(Refusal::bad(
            param,
            "Missing `reasoning_content` field in the assistant message of this turn",
        )),
        _ => Ok(()),
    }
}

fn result(message: &Value, open: &mut Vec<String>, param: &str) -> Result<(), Refusal> {
    let id = message["tool_call_id"].as_str().unwrap_or_default();
    let Some(index) = open.iter().position(|wanted| wanted == id) else {
        return Err(Refusal::bad(
            format!("{param}.role"),
            "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
        ));
    };
    open.remove(index);
    Ok(())
}
