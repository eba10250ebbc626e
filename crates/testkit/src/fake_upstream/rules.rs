//! Refusals that all providers share: tool names, schemas, and anything of the gateway's own that leaks upstream.

use std::collections::HashSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderMap;
use serde_json::Value;

use super::provider::{Incoming, Refusal};

/// Refuses the gateway's own headers, keys and body members, and a missing model.
pub(crate) fn common(ask: &Incoming<'_>) -> Result<(), Refusal> {
    no_leaks(ask.headers)?;
    let Some(body) = ask.body.as_object() else {
        return Err(Refusal::bad("body", "We could not parse the JSON body of your request."));
    };
    if let Some(key) = body.keys().find(|key| key.starts_with("omni") || key.starts_with("x_omni")) {
        return Err(Refusal::bad(key, format!("Unrecognized request argument supplied: {key}")));
    }
    match body.get("model").and_then(Value::as_str) {
        Some(model) if !model.is_empty() => Ok(()),
        _ => Err(Refusal::bad("model", "you must provide a model parameter")),
    }
}

/// Refuses the gateway's own headers and keys.
pub(crate) fn no_leaks(headers: &HeaderMap) -> Result<(), Refusal> {
    for (name, value) in headers {
        if name.as_str().starts_with("x-omni") {
            return Err(Refusal::bad(name.as_str(), format!("header {name} is not for the upstream")));
        }
        if String::from_utf8_lossy(value.as_bytes()).contains("osk_") {
            return Err(Refusal::bad(name.as_str(), "a gateway key has reached the upstream"));
        }
    }
    Ok(())
}

/// The wanted credential in the provider's place.
pub(crate) fn credential(wanted: Option<&str>, found: Option<&str>) -> Result<(), Refusal> {
    match wanted {
        Some(wanted) if found != Some(wanted) => Err(Refusal::status(401, "Incorrect API key provided")),
        _ => Ok(()),
    }
}

/// A tool name: letters, digits, `_`, `-`, at most `max` characters.
pub(crate) fn tool_name(name: &Value, max: usize, param: &str) -> Result<String, Refusal> {
    let legal = |name: &&str| {
        (1..=max).contains(&name.len())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
    };
    name.as_str().filter(legal).map(str::to_owned).ok_or_else(|| {
        Refusal::bad(
            param,
            format!("Invalid '{param}': expected a string that matches '^[a-zA-Z0-9_-]{{1,{max}}}$'"),
        )
    })
}

/// No name twice.
pub(crate) fn unique(names: &[String]) -> Result<(), Refusal> {
    let mut seen = HashSet::new();
    match names.iter().find(|name| !seen.insert(name.as_str())) {
        Some(name) => Err(Refusal::bad("tools", format!("Tool names must be unique: '{name}'"))),
        None => Ok(()),
    }
}

/// The schema of a tool's parameters: an object schema whose members are schemas.
pub(crate) fn parameters(schema: &Value, param: &str) -> Result<(), Refusal> {
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        return Err(Refusal::bad(
            param,
            format!("Invalid schema: schema must be of type \"object\" in {param}"),
        ));
    }
    schema_at(schema, param)
}

fn schema_at(schema: &Value, at: &str) -> Result<(), Refusal> {
    let wrong = |what: &str| Err(Refusal::bad(at, format!("Invalid schema at {at}: {what}")));
    let object = match schema {
        Value::Bool(_) => return Ok(()),
        Value::Object(object) => object,
        _ => return wrong("a schema is an object or a boolean"),
    };
    for (key, value) in object {
        let here = format!("{at}.{key}");
        match key.as_str() {
            "type" if !types(value) => return wrong("unknown type"),
            "required" if !strings(value) => return wrong("'required' is an array of strings"),
            "enum" if value.as_array().is_none_or(Vec::is_empty) => {
                return wrong("'enum' is a non-empty array");
            }
            "description" | "title" if !value.is_string() => return wrong("descriptions are strings"),
            "properties" | "$defs" | "definitions" | "patternProperties" => {
                let Some(members) = value.as_object() else { return wrong("properties are an object") };
                for (name, member) in members {
                    schema_at(member, &format!("{here}.{name}"))?;
                }
            }
            "items" | "additionalProperties" | "not" => schema_at(value, &here)?,
            "anyOf" | "oneOf" | "allOf" => {
                let Some(members) = value.as_array().filter(|members| !members.is_empty()) else {
                    return wrong("a combination is a non-empty array");
                };
                members.iter().try_for_each(|member| schema_at(member, &here))?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn types(value: &Value) -> bool {
    const KNOWN: [&str; 7] = ["object", "array", "string", "number", "integer", "boolean", "null"];
    match value {
        Value::String(name) => KNOWN.contains(&name.as_str()),
        Value::Array(names) => !names.is_empty() && names.iter().all(types),
        _ => false,
    }
}

fn strings(value: &Value) -> bool {
    value.as_array().is_some_and(|list| list.iter().all(Value::is_string))
}

/// Base64 of some bytes.
pub(crate) fn base64(data: &Value, param: &str) -> Result<(), Refusal> {
    match data.as_str().map(|data| STANDARD.decode(data)) {
        Some(Ok(bytes)) if !bytes.is_empty() => Ok(()),
        _ => Err(Refusal::bad(param, format!("Invalid base64 data in {param}"))),
    }
}

/// A data URL of one of these media types.
pub(crate) fn data_url(url: &Value, types: &[&str], param: &str) -> Result<(), Refusal> {
    let parts = url.as_str().and_then(|url| url.strip_prefix("data:")?.split_once(";base64,"));
    match parts {
        Some((mime, data)) if types.contains(&mime) => base64(&data.into(), param),
        _ => Err(Refusal::bad(param, format!("Invalid '{param}': expected a data URL of {types:?}"))),
    }
}

/// A call id under the nine-character rule.
pub(crate) fn mistral_id(on: bool, id: &str, param: &str) -> Result<(), Refusal> {
    if on && !(id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric())) {
        return Err(Refusal::bad(
            param,
            format!("Tool call id was {id} but must be a-z, A-Z, 0-9, with a length of 9."),
        ));
    }
    Ok(())
}
