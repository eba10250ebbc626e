//! What a fake provider has sent and wants to see again, unchanged. Never forgets while the server lives.

use std::collections::HashMap;

use serde_json::Value;

/// Sent blocks and reasoning.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    /// Thinking blocks by signature or redacted data.
    pub(crate) blocks: HashMap<String, Value>,
    /// Thinking blocks in front of each call, by call id.
    pub(crate) before_call: HashMap<String, Vec<Value>>,
    /// Reasoning text beside each call, by call id.
    pub(crate) reasoning: HashMap<String, String>,
    /// Stored answers and conversations: everything said up to and with each, by id.
    pub(crate) stored: HashMap<String, Vec<Value>>,
    /// Stored answers as they are shown when somebody asks for them, by id.
    pub(crate) answers: HashMap<String, Value>,
    /// What each stored answer was asked with, all that was said before included, by id.
    pub(crate) inputs: HashMap<String, Vec<Value>>,
    /// Conversations that are held, by the id of their last answer.
    pub(crate) threads: HashMap<String, Held>,
    /// Reasoning items as sent whole, by id, each with the item that it led to.
    pub(crate) led_to: HashMap<String, (Value, Value)>,
}

/// A conversation that a provider holds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Held {
    /// Everything said, the answer included.
    pub(crate) messages: Vec<Value>,
    /// The tools, null without any.
    pub(crate) tools: Value,
    /// Whether a request has gone on with the answer.
    pub(crate) is_continued: bool,
}
