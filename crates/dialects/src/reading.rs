//! What all message-list dialects read from a request in the same way. Never decodes more than it needs.

use crate::json;
use crate::request::{BadRequest, ClientRequest};
use crate::splice::{Container, Item};

/// User turns whose text selection looks at.
const RECENT: usize = 3;
/// How `tools` entries that name a skill begin.
const OMNI: &str = "omni:";

pub(crate) fn bad(field: impl Into<String>, problem: impl Into<String>) -> BadRequest {
    BadRequest::Field { field: field.into(), problem: problem.into() }
}

/// The body's members.
pub(crate) fn open(body: &[u8]) -> Result<Container<'_>, BadRequest> {
    let doc = std::str::from_utf8(body).map_err(|error| BadRequest::Json(error.to_string()))?;
    let parsed = Container::object(doc, doc);
    parsed.map_err(|error| match serde_json::from_str::<serde::de::IgnoredAny>(doc) {
        Ok(_) => bad("body", "must be a JSON object"),
        Err(_) => BadRequest::Json(error.to_string()),
    })
}

/// Reads `model`, `stream`, `tools` and `messages`. `edited` are the members that the gateway may have to change.
pub(crate) fn common(top: &Container<'_>, edited: &[&str]) -> Result<ClientRequest, BadRequest> {
    let mut request = head(top, edited)?;
    read_messages(top, &mut request)?;
    Ok(request)
}

/// Reads `model`, `stream` and `tools`.
pub(crate) fn head(top: &Container<'_>, edited: &[&str]) -> Result<ClientRequest, BadRequest> {
    for name in ["model", "stream"].iter().chain(edited) {
        if top.is_repeated(name) {
            return Err(bad(*name, "is given more than once; send it once"));
        }
    }
    let mut request = ClientRequest {
        model: text(top, "model")?.ok_or_else(|| bad("model", "is missing; name the model to ask"))?,
        stream: match top.value("stream") {
            None | Some("false") => false,
            Some("true") => true,
            Some(_) => return Err(bad("stream", "must be true or false")),
        },
        ..ClientRequest::default()
    };
    read_tools(top, &mut request)?;
    Ok(request)
}

/// A member that must be a string if it is there. An empty one counts as absent.
pub(crate) fn text(object: &Container<'_>, name: &str) -> Result<Option<String>, BadRequest> {
    let Some(raw) = object.value(name) else { return Ok(None) };
    let text = json::string(raw).ok_or_else(|| bad(name, "must be a string"))?;
    Ok(Some(text).filter(|text| !text.is_empty()))
}

fn array<'a>(object: &Container<'a>, name: &str) -> Result<Option<Container<'a>>, BadRequest> {
    match (object.value(name), object.children(name)) {
        (None, _) => Ok(None),
        (_, Some(array)) => Ok(Some(array)),
        _ => Err(bad(name, "must be an array")),
    }
}

fn read_tools(top: &Container<'_>, request: &mut ClientRequest) -> Result<(), BadRequest> {
    let Some(tools) = array(top, "tools")? else { return Ok(()) };
    for (i, item) in tools.items.iter().enumerate() {
        let tool = tools.element(item).ok_or_else(|| bad(format!("tools[{i}]"), "must be an object"))?;
        match omni(&tool) {
            Some(name) if name.is_empty() => {
                return Err(bad(format!("tools[{i}].type"), "must name a skill behind \"omni:\""));
            }
            Some(name) => request.omni_entries.push(name),
            None => request.client_tools.extend(tool_name(&tool)),
        }
    }
    Ok(())
}

/// `NAME` of an `omni:NAME` entry.
pub(crate) fn omni(tool: &Container<'_>) -> Option<String> {
    Some(json::string(tool.value("type")?)?.strip_prefix(OMNI)?.to_owned())
}

/// Whether an element of `tools` asks for a skill of ours.
pub(crate) fn is_omni(tools: &Container<'_>, item: &Item<'_>) -> bool {
    tools.element(item).is_some_and(|tool| omni(&tool).is_some())
}

/// The name in a tool's definition, or in a choice of one tool.
pub(crate) fn tool_name(tool: &Container<'_>) -> Option<String> {
    let inner = tool.child("function").or_else(|| tool.child("custom"));
    json::string(inner.as_ref().unwrap_or(tool).value("name")?)
}

fn read_messages(top: &Container<'_>, request: &mut ClientRequest) -> Result<(), BadRequest> {
    let messages = array(top, "messages")?;
    let messages =
        messages.ok_or_else(|| bad("messages", "is missing; send the conversation as an array"))?;
    for (i, item) in messages.items.iter().enumerate() {
        let path = format!("messages[{i}]");
        let message = messages.element(item).ok_or_else(|| bad(&path, "must be an object"))?;
        let role = message.value("role").map(|raw| json::string(raw).ok_or(raw));
        match role.transpose() {
            Err(_) => return Err(bad(format!("{path}.role"), "must be a string")),
            Ok(role) if role.as_deref() != Some("user") => continue,
            Ok(_) => {}
        }
        if let Some(text) = user_text(&message, &path)? {
            note_user_text(request, text);
        }
    }
    Ok(())
}

/// Takes the text of one more user turn.
pub(crate) fn note_user_text(request: &mut ClientRequest, text: String) {
    if request.first_user_text.is_none() {
        request.first_user_text = Some(text.clone());
    }
    if request.recent_user_texts.len() == RECENT {
        request.recent_user_texts.remove(0);
    }
    request.recent_user_texts.push(text);
}

/// The text that a user wrote in a message: none in one that holds only images or tool results.
pub(crate) fn user_text(message: &Container<'_>, path: &str) -> Result<Option<String>, BadRequest> {
    let Some(raw) = message.value("content") else { return Ok(None) };
    if let Some(text) = json::string(raw) {
        return Ok(Some(text));
    }
    let Some(parts) = message.children("content") else {
        return Err(bad(format!("{path}.content"), "must be a string or an array of parts"));
    };
    let mut texts = Vec::new();
    for (i, item) in parts.items.iter().enumerate() {
        let path = format!("{path}.content[{i}]");
        let part = parts.element(item).ok_or_else(|| bad(&path, "must be an object"))?;
        if matches!(part.value("type").and_then(json::string).as_deref(), Some("text" | "input_text")) {
            let text = part.value("text").and_then(json::string);
            texts.push(text.ok_or_else(|| bad(format!("{path}.text"), "must be a string"))?);
        }
    }
    Ok((!texts.is_empty()).then(|| texts.join("\n")))
}

/// What the client wants the model to do with tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// The model decides, or a word that we do not know.
    Free,
    /// No tools.
    None,
    /// Some tool.
    Forced,
    /// This tool.
    Named(String),
    /// One out of a list.
    Listed,
}

/// The request's `tool_choice`.
pub(crate) fn choice(top: &Container<'_>) -> Result<Choice, BadRequest> {
    let Some(raw) = top.value("tool_choice") else { return Ok(Choice::Free) };
    let object = top.child("tool_choice");
    let word = match &object {
        Some(object) => object.value("type").and_then(json::string),
        None => json::string(raw),
    };
    let word = word.ok_or_else(|| bad("tool_choice", "must be a string or an object with a `type`"))?;
    Ok(match (word.as_str(), object.as_ref().and_then(tool_name)) {
        ("none", _) => Choice::None,
        ("required" | "any", _) => Choice::Forced,
        ("allowed_tools", _) => Choice::Listed,
        ("function" | "custom" | "tool", Some(name)) => Choice::Named(name),
        _ => Choice::Free,
    })
}

/// Why the choice alone forbids tools of ours.
pub(crate) fn inhibited_by_choice(top: &Container<'_>) -> Result<Option<&'static str>, BadRequest> {
    Ok(match choice(top)? {
        Choice::None => Some("tool_choice is none"),
        Choice::Listed => Some("tool_choice allows only named tools"),
        Choice::Free | Choice::Forced | Choice::Named(_) => None,
    })
}
