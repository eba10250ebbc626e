//! Judges a whole streamed answer as a strict client would: one lifecycle, indexes without gaps, one terminal event.
//!
//! Written without the product's own reader, so that a fault there cannot hide itself. Never repairs anything: the
//! first broken rule is the answer.

mod anthropic_messages;
mod frames;
mod gemini;
mod openai_chat;
mod openai_responses;

use serde_json::Value;

/// What a client has after reading the stream.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// The id of the answer.
    pub id: String,
    /// All answer text; for blocks of text, one after the other.
    pub text: String,
    /// The text of each block, or the whole text where the dialect has no blocks.
    pub texts: Vec<String>,
    /// All reasoning text.
    pub thinking: String,
    /// The calls that the client has to run.
    pub calls: Vec<Call>,
    /// Why the model stopped; none if an error ended the stream.
    pub finish: Option<String>,
    /// Usage as last reported.
    pub usage: Option<Value>,
    /// The `omni` member of the last chunk.
    pub omni: Option<Value>,
    /// The error event that ended the stream.
    pub error: Option<Value>,
    /// Events that carry data.
    pub events: usize,
}

/// A call that the client has to run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// Its id.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments' text.
    pub arguments: String,
}

/// Checks a stream in the dialect of that name; `gemini_array` is the form of `gemini` that is one array. The error says which event breaks which rule.
pub fn lint(dialect: &str, bytes: &[u8]) -> Result<Summary, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| format!("not UTF-8: {error}"))?;
    if text.contains('\u{FFFD}') || text.to_ascii_lowercase().contains("\\ufffd") {
        return Err("a replacement character: text was damaged".to_owned());
    }
    if dialect == "gemini_array" {
        return gemini::lint_array(text);
    }
    let frames = frames::read(text)?;
    let mut summary = match dialect {
        "openai_chat" => openai_chat::lint(&frames)?,
        "openai_responses" => openai_responses::lint(&frames)?,
        "anthropic_messages" => anthropic_messages::lint(&frames)?,
        "gemini" => gemini::lint(text, &frames)?,
        other => return Err(format!("no rules for the dialect {other}")),
    };
    summary.events = frames.len();
    summary.text = summary.texts.concat();
    Ok(summary)
}

/// Fails with a message that names the event.
fn rule(holds: bool, event: usize, problem: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(format!("event {event}: {problem}")) }
}

fn str_at<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests;
