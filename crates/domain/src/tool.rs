//! The three things of a tool loop: what the model is offered, what it asks for, what it gets.
//!
//! Dialect-free: `dialects` writes and reads the wire shapes.

use serde_json::Value;

use crate::execution::Part;

/// A skill as the model is offered it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolDefinition {
    /// Legal at every provider, see [`crate::tool_name`].
    pub wire_name: String,
    /// At most [`crate::limits::DESCRIPTION_CHARS`] characters.
    pub description: String,
    /// JSON Schema of the input, always an object schema.
    pub parameters: Value,
}

/// A call as the model wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCall {
    /// The upstream's id of the call.
    pub id: String,
    /// The wire name.
    pub name: String,
    /// The arguments' JSON text, exactly as sent; may be empty or malformed.
    pub arguments: String,
}

/// What the model gets for a call. A failure is a result too, never an error of the gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolResult {
    /// The id of the call it answers.
    pub call_id: String,
    /// The wire name of the call.
    pub name: String,
    /// Text for the model, already bounded. It names every part and says where to find it.
    pub content: String,
    /// Images and files that the dialect and the model take; never text, and small enough.
    pub parts: Vec<Part>,
    /// Whether the skill failed.
    pub is_error: bool,
}
