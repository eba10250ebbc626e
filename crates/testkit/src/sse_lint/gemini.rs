//! Rules of a Gemini stream, as events or as one array.

use std::collections::HashSet;

use serde_json::Value;

use super::frames::Frame;
use super::{Call, Summary, rule, str_at};

/// Events: no names, no comments.
pub(super) fn lint(text: &str, frames: &[Frame]) -> Result<Summary, String> {
    if text.lines().any(|line| line.starts_with(':')) {
        return Err("a comment, which this dialect's SDKs cannot read".to_owned());
    }
    let mut chunks = Vec::new();
    for (i, frame) in frames.iter().enumerate() {
        rule(frame.event.is_empty(), i, "the event has a name")?;
        chunks.push(serde_json::from_str(&frame.data).map_err(|error| format!("event {i}: {error}"))?);
    }
    check(&chunks)
}

/// One array.
pub(super) fn lint_array(text: &str) -> Result<Summary, String> {
    let chunks: Vec<Value> = serde_json::from_str(text).map_err(|error| format!("no array: {error}"))?;
    check(&chunks)
}

fn check(chunks: &[Value]) -> Result<Summary, String> {
    let mut summary = Summary { texts: vec![String::new()], events: chunks.len(), ..Summary::default() };
    let mut head: [Option<&Value>; 2] = [None, None];
    let mut ids: HashSet<String> = HashSet::new();
    for (i, chunk) in chunks.iter().enumerate() {
        rule(chunk.is_object(), i, "a chunk is no object")?;
        rule(summary.error.is_none(), i, "comes after the error")?;
        rule(summary.omni.is_none(), i, "comes after the last chunk")?;
        if let Some(error) = chunk.get("error") {
            let whole = error["code"].is_u64() && error["message"].is_string() && error["status"].is_string();
            rule(whole, i, "an error without code, message and status")?;
            summary.error = Some(error.clone());
            summary.finish = None;
            continue;
        }
        for (known, name) in head.iter_mut().zip(["responseId", "modelVersion"]) {
            if let Some(value) = chunk.get(name) {
                rule(*known.get_or_insert(value) == value, i, "id or model differ from the first chunk's")?;
            }
        }
        let output = |usage: &Value| usage["candidatesTokenCount"].as_u64().unwrap_or_default();
        if let Some(usage) = chunk.get("usageMetadata") {
            let before = summary.usage.as_ref().map(output).unwrap_or_default();
            rule(output(usage) >= before, i, "the output tokens shrink")?;
            summary.usage = Some(usage.clone());
        }
        let blocked = str_at(chunk, "/promptFeedback/blockReason");
        if !blocked.is_empty() {
            summary.finish = Some(blocked.to_owned());
        }
        for candidate in chunk["candidates"].as_array().into_iter().flatten() {
            if candidate["index"].as_u64().unwrap_or_default() == 0 {
                take(candidate, &mut summary, &mut ids, i)?;
            }
        }
        summary.omni = chunk.get("omni").cloned();
    }
    rule(summary.error.is_some() || summary.finish.is_some(), chunks.len(), "no finish reason")?;
    summary.text = summary.texts.concat();
    let [id, _] = head;
    id.and_then(Value::as_str).unwrap_or_default().clone_into(&mut summary.id);
    Ok(summary)
}

fn take(candidate: &Value, summary: &mut Summary, ids: &mut HashSet<String>, i: usize) -> Result<(), String> {
    rule(summary.finish.is_none(), i, "a candidate after the finish reason")?;
    if let Some(content) = candidate.get("content") {
        rule(content["role"] == "model", i, "the role is not model")?;
        let parts = content["parts"].as_array().filter(|parts| !parts.is_empty());
        for part in parts.ok_or_else(|| format!("event {i}: a content without parts"))? {
            rule(part.as_object().is_some_and(|part| !part.is_empty()), i, "an empty part")?;
            let text = str_at(part, "/text");
            match summary.texts.last_mut() {
                Some(whole) if part["thought"] != true => whole.push_str(text),
                _ => summary.thinking.push_str(text),
            }
            if let Some(call) = part.get("functionCall") {
                let name = str_at(call, "/name").to_owned();
                let arguments =
                    call.get("args").cloned().unwrap_or_else(|| Value::Object(serde_json::Map::new()));
                rule(!name.is_empty(), i, "a call without a name")?;
                rule(arguments.is_object(), i, "a call whose arguments are no object")?;
                let id = str_at(call, "/id").to_owned();
                rule(id.is_empty() || ids.insert(id.clone()), i, "an id twice")?;
                summary.calls.push(Call { id, name, arguments: arguments.to_string() });
            }
        }
    }
    summary.finish = candidate["finishReason"].as_str().map(str::to_owned);
    Ok(())
}
