//! What the gateway reads from a client's request, and what it asks of the next round.

use bytes::Bytes;

/// Where the tools of a request are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolPlace {
    /// In its body.
    #[default]
    Body,
    /// With the provider, who holds the conversation and takes no others.
    Provider,
}

/// A request as far as the gateway reads it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientRequest {
    /// Path and query that the upstream is asked for.
    pub target: String,
    /// The body, untouched except for kept rounds that were put back.
    pub raw: Bytes,
    /// The client's own body, where kept rounds were put back into `raw`.
    pub unrestored: Option<Bytes>,
    /// The model's name; never empty.
    pub model: String,
    /// Whether the client wants a stream.
    pub stream: bool,
    /// The end user that the body names.
    pub user: Option<String>,
    /// Texts of the last three user turns, oldest first. No system prompts, tool results or tool JSON.
    pub recent_user_texts: Vec<String>,
    /// Text of the first user turn, for the session.
    pub first_user_text: Option<String>,
    /// What the request says it goes on with, where the dialect has a name for that: a stored conversation or an
    /// earlier answer.
    pub conversation: Option<String>,
    /// Call ids of ours in the conversation that the request goes on with by name, as far as they are known.
    pub hidden_calls: Vec<String>,
    /// Where the conversation's tools are.
    pub tool_place: ToolPlace,
    /// Names of the tools that the client declared, in order.
    pub client_tools: Vec<String>,
    /// `NAME` of each `{"type":"omni:NAME"}` entry of `tools`, in order.
    pub omni_entries: Vec<String>,
    /// Why nothing of ours may be offered: the client forbade tools, wants structured output, several choices...
    pub inhibit: Option<&'static str>,
    /// Whether the history held calls and results that an earlier answer had shown, now in their legal places.
    pub was_spliced: bool,
    /// Whether the client asked for the usage chunk of a stream, where the dialect has that question.
    pub include_usage: bool,
}

impl ClientRequest {
    /// The body as the client knows it.
    pub fn seen(&self) -> &Bytes {
        self.unrestored.as_ref().unwrap_or(&self.raw)
    }
}

/// A body that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadRequest {
    /// Not JSON.
    #[error("the body is not valid JSON: {0}")]
    Json(String),
    /// JSON, but a member is missing or has a wrong type.
    #[error("`{field}` {problem}")]
    Field {
        /// Path of the member, such as `messages[2].content`.
        field: String,
        /// What is wrong and what to send.
        problem: String,
    },
}

/// What the next round is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Go on; our tools stay.
    Again,
    /// A budget is used up: answer with what there is. Without client tools the tools stay and the choice is
    /// none; with client tools ours are taken out and the client's choice is kept.
    Last,
}

/// An error of the gateway on its way to a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WireError {
    /// HTTP status that it has, or would have had.
    pub status: u16,
    /// Stable word, such as `skills_disabled`.
    pub code: String,
    /// One sentence that says what to do.
    pub message: String,
    /// Seconds after which asking again makes sense, where that is known; for the head, the body never has them.
    pub retry_after_s: Option<u64>,
}
