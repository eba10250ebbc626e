//! Where Gemini answers 400. Never lets a doubtful body pass.

use serde_json::Value;

use super::{call_mark, declarations, is_user_text, list, member, mode, schema};
use crate::fake_upstream::provider::{Incoming, Refusal};
use crate::fake_upstream::rules;

/// The whole examination.
pub(super) fn check(ask: &Incoming<'_>) -> Result<(), Refusal> {
    let key = ask.headers.get("x-goog-api-key").and_then(|value| value.to_str().ok());
    rules::credential(ask.script.require_key.as_deref(), key)?;
    rules::common(ask)?;
    if ask.body.get("key").is_some() {
        return Err(Refusal::bad("key", "a credential has reached the upstream's address"));
    }
    if let Some(name) = ask.body.get("unknown") {
        return Err(unknown(name.as_str().unwrap_or_default(), "request"));
    }
    // What the fake itself has put in beside what the provider knows.
    let known = [
        "contents",
        "tools",
        "toolConfig",
        "safetySettings",
        "systemInstruction",
        "generationConfig",
        "cachedContent",
        "labels",
        "model",
        "stream",
        "alt",
    ];
    only(ask.body, &known, "request")?;
    let names = tools(ask.body)?;
    calling(ask.body, &names)?;
    let count = member(member(ask.body, "generationConfig"), "candidateCount");
    if !count.is_null() && !count.as_u64().is_some_and(|count| (1..=8).contains(&count)) {
        return Err(Refusal::bad("generation_config.candidate_count", "must be between 1 and 8"));
    }
    contents(ask)
}

fn unknown(name: &str, at: &str) -> Refusal {
    Refusal::bad(
        at,
        format!("Invalid JSON payload received. Unknown name \"{name}\" at '{at}': Cannot find field."),
    )
}

/// No member but these, under either name.
fn only(object: &Value, known: &[&str], at: &str) -> Result<(), Refusal> {
    let Some(members) = object.as_object() else { return Err(Refusal::bad(at, "must be an object")) };
    let same = |name: &str, known: &str| name.replace('_', "").eq_ignore_ascii_case(known);
    match members.keys().find(|name| !known.iter().any(|known| same(name, known))) {
        Some(name) => Err(unknown(name, at)),
        None => Ok(()),
    }
}

fn tools(body: &Value) -> Result<Vec<String>, Refusal> {
    let tools = member(body, "tools");
    if tools.is_null() {
        return Ok(Vec::new());
    }
    let entries = list(tools);
    if entries.is_empty() {
        return Err(Refusal::bad("tools", "must not be empty"));
    }
    let known = [
        "functionDeclarations",
        "googleSearch",
        "googleSearchRetrieval",
        "codeExecution",
        "urlContext",
        "computerUse",
        "fileSearch",
        "googleMaps",
    ];
    for (index, tool) in entries.iter().enumerate() {
        let at = format!("tools[{index}]");
        only(tool, &known, &at)?;
        let declared = member(tool, "functionDeclarations");
        if tool.as_object().is_none_or(serde_json::Map::is_empty)
            || (!declared.is_null() && list(declared).is_empty())
        {
            return Err(Refusal::bad(
                format!("{at}.tool_type"),
                "required one_of 'tool_type' must have one initialized field",
            ));
        }
    }
    let mut names = Vec::new();
    for (index, declaration) in declarations(body).iter().enumerate() {
        let at = format!("tools.function_declarations[{index}]");
        let known = [
            "name",
            "description",
            "behavior",
            "parameters",
            "parametersJsonSchema",
            "response",
            "responseJsonSchema",
        ];
        only(declaration, &known, &at)?;
        names.push(function_name(&declaration["name"], &at)?);
        let (own, json) = (&declaration["parameters"], member(declaration, "parametersJsonSchema"));
        if !own.is_null() && !json.is_null() {
            return Err(Refusal::bad(at, "parameters and parameters_json_schema are mutually exclusive"));
        }
        if !own.is_null() {
            schema::parameters(own, &format!("{at}.parameters"))?;
        }
    }
    rules::unique(&names)?;
    Ok(names)
}

fn function_name(name: &Value, at: &str) -> Result<String, Refusal> {
    let name = rules::tool_name(name, 63, &format!("{at}.name"))?;
    if name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') {
        return Ok(name);
    }
    Err(Refusal::bad(
        format!("{at}.name"),
        "Invalid function name. Must start with a letter or an underscore.",
    ))
}

fn calling(body: &Value, names: &[String]) -> Result<(), Refusal> {
    let config = member(member(body, "toolConfig"), "functionCallingConfig");
    if config.is_null() {
        return Ok(());
    }
    let at = "tool_config.function_calling_config";
    only(config, &["mode", "allowedFunctionNames"], at)?;
    if names.is_empty() {
        return Err(Refusal::bad(at, "Function calling config is set without function_declarations."));
    }
    if !matches!(mode(body), "" | "AUTO" | "ANY" | "NONE" | "VALIDATED") {
        return Err(Refusal::bad(format!("{at}.mode"), "Invalid value"));
    }
    let allowed = list(member(config, "allowedFunctionNames"));
    if !allowed.is_empty() && !matches!(mode(body), "ANY" | "VALIDATED") {
        return Err(Refusal::bad(
            at,
            "allowed_function_names should only be set when mode is ANY or VALIDATED",
        ));
    }
    let known = |name: &Value| name.as_str().is_some_and(|name| names.iter().any(|known| known == name));
    if allowed.iter().all(known) {
        Ok(())
    } else {
        Err(Refusal::bad(at, "allowed_function_names are not declared"))
    }
}

fn contents(ask: &Incoming<'_>) -> Result<(), Refusal> {
    let contents = list(member(ask.body, "contents"));
    let (Some(first), Some(last)) = (contents.first(), contents.last()) else {
        return Err(Refusal::bad("contents", "contents is not specified"));
    };
    if first["role"] == "model" || last["role"] == "model" {
        return Err(Refusal::bad("contents", "multiturn requests begin and end with a user role"));
    }
    let turn_start = contents.iter().rposition(is_user_text).unwrap_or(0);
    let mut open: Vec<Value> = Vec::new();
    for (index, content) in contents.iter().enumerate() {
        let at = format!("contents[{index}]");
        only(content, &["role", "parts"], &at)?;
        let parts = list(&content["parts"]);
        if parts.is_empty() {
            return Err(Refusal::bad(format!("{at}.parts"), "contents.parts must not be empty."));
        }
        parts.iter().try_for_each(|part| one_part(ask, part, &at))?;
        match content["role"].as_str() {
            Some("model") => {
                let follows_model =
                    index > 0 && contents.get(index - 1).is_some_and(|before| before["role"] == "model");
                if !open.is_empty() && !follows_model {
                    return Err(uneven());
                }
                if let Some(response) = responses(&parts).next() {
                    let problem = format!("a function response in a model's content: {response}");
                    return Err(Refusal::bad(at, problem));
                }
                signatures(ask, &parts, index > turn_start, &at)?;
                open.extend(calls(&parts));
            }
            None | Some("user" | "function") => answers(&parts, &mut open, &at)?,
            Some(_) => return Err(Refusal::bad(at, "Please use a valid role: user, model.")),
        }
    }
    if open.is_empty() { Ok(()) } else { Err(uneven()) }
}

fn uneven() -> Refusal {
    Refusal::bad(
        "contents",
        "Please ensure that the number of function response parts is equal to the number of function call parts of \
         the function call turn.",
    )
}

fn calls(parts: &[Value]) -> impl Iterator<Item = Value> + '_ {
    parts.iter().map(|part| member(part, "functionCall").clone()).filter(|call| !call.is_null())
}

fn responses(parts: &[Value]) -> impl Iterator<Item = &Value> {
    parts.iter().map(|part| member(part, "functionResponse")).filter(|response| !response.is_null())
}

/// One response for each call, in the order of the calls.
fn answers(parts: &[Value], open: &mut Vec<Value>, at: &str) -> Result<(), Refusal> {
    if let Some(call) = calls(parts).next() {
        return Err(Refusal::bad(at, format!("a function call in a user's content: {call}")));
    }
    let responses: Vec<&Value> = responses(parts).collect();
    if responses.len() != open.len() {
        return Err(uneven());
    }
    for (call, response) in open.drain(..).zip(responses) {
        if call.get("name") != response.get("name") || call.get("id") != response.get("id") {
            return Err(Refusal::bad(at, format!("the response {response} does not answer the call {call}")));
        }
    }
    Ok(())
}

fn one_part(ask: &Incoming<'_>, part: &Value, at: &str) -> Result<(), Refusal> {
    let data = [
        "text",
        "inlineData",
        "fileData",
        "functionCall",
        "functionResponse",
        "executableCode",
        "codeExecutionResult",
    ];
    let known: Vec<&str> = data.into_iter().chain(["thought", "thoughtSignature", "videoMetadata"]).collect();
    only(part, &known, &format!("{at}.parts"))?;
    if data.iter().filter(|name| !member(part, name).is_null()).count() != 1 {
        return Err(Refusal::bad(
            format!("{at}.parts.data"),
            "required oneof field 'data' must have one initialized field",
        ));
    }
    let call = member(part, "functionCall");
    if !call.is_null() {
        only(call, &["id", "name", "args"], &format!("{at}.parts.function_call"))?;
        function_name(&call["name"], at)?;
        if call.get("args").is_some_and(|args| !args.is_object()) || no_id(call) {
            return Err(Refusal::bad(format!("{at}.parts.function_call"), "Invalid value (args or id)"));
        }
    }
    let response = member(part, "functionResponse");
    if !response.is_null() {
        only(response, &["id", "name", "response", "parts"], &format!("{at}.parts.function_response"))?;
        function_name(&response["name"], at)?;
        if !response["response"].is_object() || no_id(response) {
            return Err(Refusal::bad(
                format!("{at}.parts.function_response"),
                "Invalid value (response or id)",
            ));
        }
        if !response["parts"].is_null() {
            response_parts(ask, &response["parts"], &format!("{at}.parts.function_response.parts"))?;
        }
    }
    Ok(())
}

/// Images and files of a response; models before the third generation have none.
fn response_parts(ask: &Incoming<'_>, parts: &Value, at: &str) -> Result<(), Refusal> {
    let model = ask.body["model"].as_str().unwrap_or_default();
    if ["gemini-1", "gemini-2"].iter().any(|old| model.contains(old)) {
        return Err(Refusal::bad(at, "Multimodal function responses are not supported for this model"));
    }
    for part in list(parts) {
        only(&part, &["inlineData"], at)?;
        let blob = member(&part, "inlineData");
        only(blob, &["mimeType", "data", "displayName"], at)?;
        let taken = ["image/png", "image/jpeg", "image/webp", "application/pdf", "text/plain"];
        if !taken.iter().any(|mime| member(blob, "mimeType") == mime) {
            return Err(Refusal::bad(at, format!("Unsupported MIME type: {}", member(blob, "mimeType"))));
        }
        rules::base64(&blob["data"], at)?;
    }
    Ok(())
}

/// Whether there is an id that cannot be one of the provider's.
fn no_id(named: &Value) -> bool {
    named
        .get("id")
        .is_some_and(|id| id.as_str().is_none_or(|id| id.is_empty() || id.starts_with("gemini_call_")))
}

/// Signatures come back exactly as they were sent; those of calls in the current turn must.
fn signatures(ask: &Incoming<'_>, parts: &[Value], in_turn: bool, at: &str) -> Result<(), Refusal> {
    for part in parts {
        let sent =
            member(part, "thoughtSignature").as_str().map(|signature| ask.memory.blocks.get(signature));
        let is_call = !member(part, "functionCall").is_null();
        match sent {
            Some(Some(sent)) if sent == part => {}
            Some(_) => return Err(Refusal::bad(at, "Thought signature is not valid.")),
            None if in_turn && is_call && ask.memory.blocks.contains_key(&call_mark(part)) => {
                return Err(Refusal::bad(
                    at,
                    "Function call is missing a thought_signature in functionCall parts.",
                ));
            }
            None => {}
        }
    }
    Ok(())
}
