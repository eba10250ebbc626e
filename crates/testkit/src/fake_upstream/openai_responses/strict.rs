//! Where `OpenAI` responses answers 400, as far as tools and members go. Never lets a doubtful body pass.

use http::header::AUTHORIZATION;
use serde_json::Value;

use super::{conversation, history};
use crate::fake_upstream::provider::{Incoming, Refusal, at};
use crate::fake_upstream::rules;

const NAME_MAX: usize = 64;
const TOOLS_MAX: usize = 128;

/// Tools that the provider runs, or that need no schema; versions of a name count as the name.
const HOSTED: [&str; 12] = [
    "apply_patch",
    "code_interpreter",
    "computer",
    "file_search",
    "image_generation",
    "local_shell",
    "mcp",
    "namespace",
    "programmatic_tool_calling",
    "shell",
    "tool_search",
    "web_search",
];

/// The whole examination.
pub(super) fn check(ask: &Incoming<'_>) -> Result<(), Refusal> {
    let bearer = ask.headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    rules::credential(
        ask.script.require_key.as_deref(),
        bearer.and_then(|value| value.strip_prefix("Bearer ")),
    )?;
    rules::common(ask)?;
    if ask.body.get("messages").is_some() {
        return Err(Refusal::bad(
            "messages",
            "Unsupported parameter: 'messages'. In the Responses API, this parameter has moved to 'input'.",
        ));
    }
    let names = tools(ask.body)?;
    choice(ask.body, &names)?;
    previous(ask)?;
    history::check(ask)
}

fn tools(body: &Value) -> Result<Vec<String>, Refusal> {
    let Some(tools) = body.get("tools").filter(|tools| !tools.is_null()) else { return Ok(Vec::new()) };
    let Some(tools) = tools.as_array() else {
        return Err(Refusal::bad("tools", "Invalid type for 'tools': expected an array of objects"));
    };
    if tools.len() > TOOLS_MAX {
        return Err(Refusal::bad("tools", "Invalid 'tools': array too long. Expected at most 128."));
    }
    let mut names = Vec::new();
    for (index, tool) in tools.iter().enumerate() {
        let param = format!("tools[{index}]");
        match tool["type"].as_str() {
            Some("function") => names.push(function(tool, &param)?),
            Some("custom") => {
                names.push(rules::tool_name(&tool["name"], NAME_MAX, &format!("{param}.name"))?);
            }
            Some(kind) if HOSTED.iter().any(|known| kind.starts_with(known)) => {}
            _ => {
                return Err(Refusal::bad(
                    format!("{param}.type"),
                    format!("Invalid value: {}", tool["type"]),
                ));
            }
        }
    }
    rules::unique(&names)?;
    Ok(names)
}

fn function(tool: &Value, param: &str) -> Result<String, Refusal> {
    if tool["name"].is_null() {
        return Err(Refusal::bad(
            format!("{param}.name"),
            format!("Missing required parameter: '{param}.name'."),
        ));
    }
    let name = rules::tool_name(&tool["name"], NAME_MAX, &format!("{param}.name"))?;
    if tool.get("function").is_some() {
        return Err(Refusal::bad(
            format!("{param}.function"),
            format!("Unknown parameter: '{param}.function'."),
        ));
    }
    let schema = &tool["parameters"];
    if !schema.is_null() {
        rules::parameters(schema, &format!("{param}.parameters"))?;
    }
    let is_strict = tool.get("strict").is_none_or(|strict| *strict == true);
    if is_strict && !schema.is_null() && schema["additionalProperties"] != false {
        return Err(Refusal::bad(
            format!("{param}.parameters"),
            format!(
                "Invalid schema for function '{name}': In context=(), 'additionalProperties' is required to be \
                 supplied and to be false."
            ),
        ));
    }
    Ok(name)
}

fn choice(body: &Value, names: &[String]) -> Result<(), Refusal> {
    let has_tools = body["tools"].as_array().is_some_and(|tools| !tools.is_empty());
    let known = match &body["tool_choice"] {
        Value::Null => true,
        Value::String(word) => match word.as_str() {
            "none" | "auto" => true,
            "required" => has_tools,
            _ => false,
        },
        chosen => match chosen["type"].as_str() {
            Some("function" | "custom") => {
                chosen["name"].as_str().is_some_and(|name| names.iter().any(|known| known == name))
            }
            Some(_) => has_tools,
            None => false,
        },
    };
    if known {
        Ok(())
    } else {
        Err(Refusal::bad("tool_choice", "Tool choice not found in 'tools' parameter."))
    }
}

fn previous(ask: &Incoming<'_>) -> Result<(), Refusal> {
    let Some(id) = ask.body.get("previous_response_id").filter(|id| !id.is_null()) else { return Ok(()) };
    if conversation(ask.body).is_some() {
        return Err(Refusal::bad(
            "previous_response_id",
            "Mutually exclusive parameters: 'previous_response_id' and 'conversation'.",
        ));
    }
    if id.as_str().is_some_and(|id| ask.memory.stored.contains_key(id)) {
        return Ok(());
    }
    Err(Refusal::bad("previous_response_id", format!("Previous response with id {id} not found.")))
}

/// What an item's content may consist of.
pub(super) fn content(item: &Value, param: &str) -> Result<(), Refusal> {
    let role = item["role"].as_str().unwrap_or_default();
    if !["user", "assistant", "system", "developer"].contains(&role) {
        return Err(Refusal::bad(format!("{param}.role"), format!("Invalid value: '{role}'.")));
    }
    let parts = match &item["content"] {
        Value::String(_) => return Ok(()),
        Value::Array(parts) => parts,
        _ => return Err(Refusal::bad(format!("{param}.content"), "expected a string or an array of parts")),
    };
    for (index, part) in parts.iter().enumerate() {
        let kind = part["type"].as_str().unwrap_or_default();
        let fits = match role {
            "assistant" => ["output_text", "refusal"].contains(&kind),
            _ => kind.starts_with("input_"),
        };
        if !fits || (kind.ends_with("_text") && !at(part, "/text").is_string()) {
            return Err(Refusal::bad(
                format!("{param}.content[{index}]"),
                format!("Invalid value: '{kind}'."),
            ));
        }
    }
    Ok(())
}
