//! What every fake provider can do: refuse like the real one, find its place in the script, write an answer.

use http::HeaderMap;
use serde_json::Value;

use super::memory::Memory;
use crate::script::{Script, Thinking, Usage};

/// One dialect as its strictest provider speaks it.
pub(crate) trait Provider: Send + Sync {
    /// The route.
    fn path(&self) -> &'static str;

    /// Whether a path is this provider's.
    fn serves(&self, path: &str) -> bool {
        self.path() == path
    }

    /// The body with what the path and the query say put in.
    fn request(&self, _path: &str, _query: &str, body: Value) -> Value {
        body
    }

    /// Whether thinking may be sent.
    fn thinks(&self, body: &Value) -> bool {
        matches!(at(body, "/thinking/type").as_str(), Some("enabled" | "adaptive"))
    }

    /// Media type of a streamed answer.
    fn stream_type(&self, _body: &Value) -> &'static str {
        "text/event-stream; charset=utf-8"
    }

    /// Where the real provider would answer 400 or 401.
    fn check(&self, ask: &Incoming<'_>) -> Result<(), Refusal>;

    /// What is answered on a path that asks no model; none where there is no such path.
    fn other(&self, _ask: &Other<'_>, _memory: &mut Memory) -> Option<Result<Value, Refusal>> {
        None
    }

    /// The request with what the provider remembers for it put in.
    fn whole(&self, body: &Value, _memory: &Memory) -> Value {
        body.clone()
    }

    /// Assistant messages after the last real user text: the index of the round that is asked for.
    fn round_index(&self, body: &Value) -> usize;

    /// The last real user text.
    fn user_text(&self, body: &Value) -> String;

    /// Names of the offered tools; empty when the request forbids calls.
    fn callable(&self, body: &Value) -> Vec<String>;

    /// A new call id.
    fn call_id(&self, number: u64) -> String;

    /// The whole answer.
    fn plain(&self, reply: &Reply) -> Value;

    /// The answer as events.
    fn events(&self, reply: &Reply) -> Vec<String>;

    /// The error event of a stream.
    fn error_event(&self, message: &str) -> String;

    /// The error event of the stream that this request asked for.
    fn error_event_in(&self, message: &str, _asked: &Value) -> String {
        self.error_event(message)
    }

    /// An error in the provider's shape.
    fn error(&self, refusal: &Refusal) -> Value;

    /// Keeps what must come back unchanged.
    fn remember(&self, reply: &Reply, memory: &mut Memory);
}

/// A request under examination.
pub(crate) struct Incoming<'a> {
    /// Its headers.
    pub(crate) headers: &'a HeaderMap,
    /// Its body.
    pub(crate) body: &'a Value,
    /// What was sent before.
    pub(crate) memory: &'a Memory,
    /// Rules of the script.
    pub(crate) script: &'a Script,
}

/// A request that asks no model.
pub(crate) struct Other<'a> {
    /// The method.
    pub(crate) method: &'a str,
    /// Path without query.
    pub(crate) path: &'a str,
    /// The query; empty if there is none.
    pub(crate) query: &'a str,
    /// Its headers.
    pub(crate) headers: &'a HeaderMap,
    /// Rules of the script.
    pub(crate) script: &'a Script,
}

/// Why a request is refused.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    /// The status.
    pub(crate) status: u16,
    /// One sentence.
    pub(crate) message: String,
    /// The member at fault.
    pub(crate) param: Option<String>,
}

impl Refusal {
    /// A 400 about one member.
    pub(crate) fn bad(param: impl Into<String>, message: impl Into<String>) -> Self {
        Self { status: 400, message: message.into(), param: Some(param.into()) }
    }

    /// Another status.
    pub(crate) fn status(status: u16, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), param: None }
    }
}

/// An answer ready to be written.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    /// A number that makes the answer's id.
    pub(crate) number: u64,
    /// The requested model.
    pub(crate) model: String,
    /// Thinking blocks, already filtered by what the request allows.
    pub(crate) thinking: Vec<Thinking>,
    /// Reasoning text.
    pub(crate) reasoning: Option<String>,
    /// Text before the calls.
    pub(crate) text: Option<String>,
    /// Calls with real names and ids.
    pub(crate) calls: Vec<ReplyCall>,
    /// Finish word of the script.
    pub(crate) finish: Option<String>,
    /// Tokens.
    pub(crate) usage: Usage,
    /// Whether the request asked for the usage chunk.
    pub(crate) include_usage: bool,
    /// The request.
    pub(crate) asked: Value,
}

/// A call as it goes out.
#[derive(Clone, Debug)]
pub(crate) struct ReplyCall {
    /// Its id.
    pub(crate) id: String,
    /// The wire name.
    pub(crate) name: String,
    /// The argument text.
    pub(crate) arguments: String,
}

/// What stands at a JSON pointer; null where nothing does.
pub(crate) fn at<'a>(value: &'a Value, pointer: &str) -> &'a Value {
    static NULL: Value = Value::Null;
    value.pointer(pointer).unwrap_or(&NULL)
}

/// Splits a text into at most three pieces between characters.
pub(crate) fn pieces(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    let size = letters.len().div_ceil(3).max(1);
    letters.chunks(size).map(|piece| piece.iter().collect()).collect()
}

/// A number as a fixed-width word of letters and digits.
pub(crate) fn word(number: u64, width: usize) -> String {
    const LETTERS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let mut rest = number.wrapping_mul(0x9E37_79B9).wrapping_add(0x1234_5678);
    (0..width)
        .map(|_| {
            let letter = LETTERS.get(usize::try_from(rest % 36).unwrap_or(0)).copied().unwrap_or(b'0');
            rest /= 36;
            char::from(letter)
        })
        .collect()
}
