//! What the gateway reads from a request. The model and the wish for a stream stand in the path.
//!
//! Never decodes more than it needs, and never judges what the service can judge itself.

use bytes::Bytes;

use super::members::{both, child, children, each, item, value};
use super::part::Part;
use super::spliced;
use crate::json;
use crate::reading::{self, bad, note_user_text};
use crate::request::{BadRequest, ClientRequest};
use crate::splice::Container;

/// Members that the gateway may have to change.
const EDITED: [&str; 3] = ["contents", "tools", "toolConfig"];
const PLAIN: &str = "generateContent";
const STREAM: &str = "streamGenerateContent";

/// See [`crate::Dialect::read_request`].
pub(super) fn read(target: &str, body: Bytes) -> Result<ClientRequest, BadRequest> {
    let mut request = read_target(target)?;
    let (body, was_spliced) = match spliced::made_legal(&body) {
        Some(legal) => (legal, true),
        None => (body, false),
    };
    let top = reading::open(&body)?;
    for name in EDITED {
        let [camel, snake] = both(name);
        if top.items.iter().filter(|item| item.name == camel || item.name == snake).count() > 1 {
            return Err(bad(name, "is given more than once; send it once"));
        }
    }
    read_contents(&top, &mut request)?;
    let has_provider_tools = read_tools(&top, &mut request)?;
    request.inhibit = inhibit(&top, has_provider_tools);
    request.was_spliced = was_spliced;
    request.raw = body;
    Ok(request)
}

/// Whether a path asks a model for content.
pub(super) fn is_chat(path: &str) -> bool {
    let path = percent_encoding::percent_decode_str(path).decode_utf8_lossy();
    matches!(path.rsplit_once(':'), Some((_, PLAIN | STREAM)))
}

/// Path and query, as the upstream is asked for them.
fn read_target(target: &str) -> Result<ClientRequest, BadRequest> {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let (prefix, call) = path.rsplit_once('/').unwrap_or(("", path));
    let call = percent_encoding::percent_decode_str(call).decode_utf8();
    let call = call.map_err(|_| bad("path", "is not UTF-8 behind its escapes"))?;
    let (model, method) = call.rsplit_once(':').unwrap_or((&call, ""));
    if !matches!(method, PLAIN | STREAM) {
        let problem = format!("names no method that is served here; use `:{PLAIN}` or `:{STREAM}`");
        return Err(bad("path", problem));
    }
    if !is_safe(model) {
        return Err(bad("path", "must name a model made of letters, digits and `-_.:@~+`"));
    }
    let stream = method == STREAM;
    let mut kept: Vec<&str> = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        match (alt(pair), stream) {
            (None, _) | (Some("sse"), true) => kept.push(pair),
            (Some("json" | ""), _) | (Some("sse"), false) => {}
            (Some(_), _) => return Err(bad("alt", "must be `sse` or `json`")),
        }
    }
    let mark = if kept.is_empty() { "" } else { "?" };
    Ok(ClientRequest {
        target: format!("{prefix}/{model}:{method}{mark}{}", kept.join("&")),
        model: model.to_owned(),
        stream,
        ..ClientRequest::default()
    })
}

/// The wanted form of the answer.
fn alt(pair: &str) -> Option<&str> {
    pair.strip_prefix("alt=").or_else(|| pair.strip_prefix("$alt=")).or_else(|| pair.strip_prefix("%24alt="))
}

/// Whether a stream is wanted as events; else it is one array.
pub(super) fn wants_events(target: &str) -> bool {
    target.split_once('?').is_some_and(|(_, query)| query.split('&').any(|pair| alt(pair) == Some("sse")))
}

/// One segment of a path that needs no escape and leads nowhere else.
fn is_safe(model: &str) -> bool {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:@~+".contains(&byte);
    !model.is_empty() && model.bytes().all(known) && model.bytes().any(|byte| byte != b'.')
}

fn read_contents(top: &Container<'_>, request: &mut ClientRequest) -> Result<(), BadRequest> {
    let raw = value(top, "contents")
        .ok_or_else(|| bad("contents", "is missing; send the conversation as an array"))?;
    if let Some(list) = children(top, "contents") {
        for (i, item) in list.items.iter().enumerate() {
            list.element(item).ok_or_else(|| bad(format!("contents[{i}]"), "must be an object"))?;
        }
    } else if !raw.starts_with('{') {
        return Err(bad("contents", "must be an array"));
    }
    for content in each(top, "contents") {
        if let Some(text) = user_text(&content) {
            note_user_text(request, text);
        }
    }
    Ok(())
}

/// The text that a user wrote; none in a content that holds only results or files.
pub(super) fn user_text(content: &Container<'_>) -> Option<String> {
    let role = content.value("role").and_then(json::string);
    if role.is_some_and(|role| role != "user") {
        return None;
    }
    let parts = each(content, "parts");
    let texts: Vec<String> = parts.into_iter().filter_map(|whole| Part { whole }.text()).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

/// Reads names; says whether there are tools that are no functions.
fn read_tools(top: &Container<'_>, request: &mut ClientRequest) -> Result<bool, BadRequest> {
    let mut others = false;
    if let Some(list) = children(top, "tools") {
        for (i, item) in list.items.iter().enumerate() {
            let tool = list.element(item).ok_or_else(|| bad(format!("tools[{i}]"), "must be an object"))?;
            if let Some(name) = reading::omni(&tool) {
                if name.is_empty() {
                    return Err(bad(format!("tools[{i}].type"), "must name a skill behind \"omni:\""));
                }
                request.omni_entries.push(name);
                continue;
            }
            others |= read_tool(&tool, request);
        }
    } else if let Some(tool) = child(top, "tools") {
        others = read_tool(&tool, request);
    } else if value(top, "tools").is_some() {
        return Err(bad("tools", "must be an array"));
    }
    Ok(others)
}

fn read_tool(tool: &Container<'_>, request: &mut ClientRequest) -> bool {
    request.client_tools.extend(each(tool, DECLARATIONS).iter().filter_map(declared_name));
    let [camel, snake] = both(DECLARATIONS);
    tool.items.iter().any(|item| item.value != "null" && item.name != camel && item.name != snake)
}

/// The member of a tool that declares functions.
pub(super) const DECLARATIONS: &str = "functionDeclarations";

/// The name in a declaration.
pub(super) fn declared_name(declaration: &Container<'_>) -> Option<String> {
    declaration.value("name").and_then(json::string)
}

/// What the client wants the model to do with functions.
pub(super) struct Calling {
    /// In capitals; empty if it is not said.
    pub(super) mode: String,
    /// Whether only some functions are allowed.
    pub(super) is_limited: bool,
}

pub(super) fn calling(top: &Container<'_>) -> Calling {
    let config = child(top, "toolConfig").and_then(|config| child(&config, "functionCallingConfig"));
    let mode = config.as_ref().and_then(|config| config.value("mode")).unwrap_or_default();
    let mode = match json::string(mode).unwrap_or_else(|| mode.to_owned()).to_ascii_uppercase() {
        // The service's own definition numbers its words.
        number if number == "2" => "ANY".to_owned(),
        number if number == "3" => "NONE".to_owned(),
        word => word,
    };
    let allowed = config.as_ref().and_then(|config| item(config, "allowedFunctionNames"));
    let is_limited = allowed.is_some_and(|names| !matches!(names.value, "null" | "[]"));
    Calling { mode, is_limited }
}

fn inhibit(top: &Container<'_>, has_provider_tools: bool) -> Option<&'static str> {
    let calling = calling(top);
    let config = child(top, "generationConfig");
    let has = |name: &str| config.as_ref().is_some_and(|config| value(config, name).is_some());
    let mime = config.as_ref().and_then(|config| json::string(value(config, "responseMimeType")?));
    let count = config.as_ref().and_then(|config| value(config, "candidateCount")?.parse::<f64>().ok());
    let structured = has("responseSchema") || has("responseJsonSchema") || has("_responseJsonSchema");
    let function_config = child(top, "toolConfig").and_then(|config| child(&config, "functionCallingConfig"));
    if calling.mode == "NONE" {
        Some("the function calling mode is NONE")
    } else if calling.is_limited {
        Some("the function calling mode allows only named functions")
    } else if structured || mime.is_some_and(|mime| !mime.is_empty() && mime != "text/plain") {
        Some("structured output")
    } else if count.is_some_and(|count| count > 1.0) {
        Some("several candidates")
    } else if value(top, "cachedContent").is_some() {
        Some("cached content")
    } else if has_provider_tools {
        Some("tools that are no functions")
    } else if function_config
        .is_some_and(|config| value(&config, "streamFunctionCallArguments") == Some("true"))
    {
        Some("streamed function arguments")
    } else {
        None
    }
}
