//! Every answer of every test against the document: its status, its code, its type, and each member of its body.
//!
//! In the document answers may have members that are not described, so that they can gain some; here they may not.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};

use axum::http::Method;
use jsonschema::Validator;
use serde_json::{Map, Value, json};
use server::openapi;

use crate::harness::Answer;

/// Looks the operation up and panics where the answer is not as described. Paths of the proxy and paths that do not
/// exist are described elsewhere or nowhere.
pub(crate) fn check(method: &Method, path: &str, answer: &Answer) {
    if path.starts_with("/v1") {
        return;
    }
    let Some((template, item)) = find(path) else { return };
    let Some(operation) = item.get(method.as_str().to_ascii_lowercase()) else { return };
    let what = format!("{method} {template} -> {}", answer.status.as_u16());
    let status = answer.status.as_u16().to_string();
    let described = operation["responses"].get(&status);
    let described = described.unwrap_or_else(|| panic!("{what} is not in the document: {answer:?}"));
    let shared = described["$ref"].as_str().and_then(referred);
    let described = shared.unwrap_or(described);
    let Some(content) = described["content"].as_object() else {
        assert!(answer.bytes.is_empty(), "{what} has a body that is not described");
        return;
    };
    let media = answer.headers.get("content-type").and_then(|v| v.to_str().ok()).unwrap_or_default();
    let media = media.split(';').next().unwrap_or_default();
    let schema = content.get(media).unwrap_or_else(|| panic!("{what}: `{media}` is not in the document"));
    if media != "application/json" {
        return;
    }
    let body = answer.json();
    let fits = validator(&what, &schema["schema"]);
    let faults: Vec<String> =
        fits.iter_errors(&body).map(|e| format!("{}: {e}", e.instance_path())).take(5).collect();
    assert!(faults.is_empty(), "{what} is not as described: {faults:#?}\n{body:#}");
    if let Some(codes) = described["x-codes"].as_array() {
        assert!(codes.contains(&body["code"]), "{what}: the code is not in the document: {body}");
    }
}

/// What a reference of the document leads to.
pub(crate) fn referred(reference: &str) -> Option<&'static Value> {
    openapi().pointer(reference.strip_prefix('#')?)
}

/// The path of the document that an address means; one without parameters comes first.
fn find(path: &str) -> Option<(&'static str, &'static Value)> {
    let paths = openapi()["paths"].as_object().unwrap();
    let named = paths.get_key_value(path);
    let found = named.or_else(|| paths.iter().find(|(template, _)| means(template, path)));
    found.map(|(template, item)| (template.as_str(), item))
}

fn means(template: &str, path: &str) -> bool {
    let (mut names, mut parts) = (template.split('/'), path.split('/'));
    loop {
        match (names.next(), parts.next()) {
            (None, None) => return true,
            (Some(name), Some(part)) if name == part || (name.starts_with('{') && !part.is_empty()) => {}
            // A wildcard of the router is one parameter in the document.
            (Some(name), Some(_)) if name.starts_with('{') && names.clone().next().is_none() => return true,
            _ => return false,
        }
    }
}

type Validators = Mutex<HashMap<String, Arc<Validator>>>;
static VALIDATORS: LazyLock<Validators> = LazyLock::new(Validators::default);

fn validator(what: &str, schema: &Value) -> Arc<Validator> {
    let mut made = VALIDATORS.lock().unwrap();
    let validator = made.entry(what.to_owned()).or_insert_with(|| {
        let mut whole = json!({"allOf": [schema], "components": openapi()["components"]});
        close(&mut whole);
        Arc::new(jsonschema::options().should_validate_formats(true).build(&whole).unwrap())
    });
    Arc::clone(validator)
}

/// No member that is not described.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            if members.get("properties").is_some_and(Value::is_object) && members.contains_key("type") {
                members.entry("additionalProperties").or_insert(false.into());
            }
            members.values_mut().for_each(close);
        }
        Value::Array(items) => items.iter_mut().for_each(close),
        _ => {}
    }
}

/// Everything in a document that is an object and has this member.
pub(crate) fn each_with<'d>(document: &'d Value, member: &str, found: &mut Vec<&'d Map<String, Value>>) {
    match document {
        Value::Object(members) => {
            if members.contains_key(member) {
                found.push(members);
            }
            members.values().for_each(|inner| each_with(inner, member, found));
        }
        Value::Array(items) => items.iter().for_each(|inner| each_with(inner, member, found)),
        _ => {}
    }
}
