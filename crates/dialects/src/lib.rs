//! What providers say on the wire: pure bytes to bytes, one file per dialect.
//!
//! A dialect reads a client's request, writes our tools into it, reads what the model answered, and writes one
//! answer out of several rounds. It never opens a connection, never decides whether a call may run, and never
//! touches bytes that it has no reason to change.

mod answer;
mod anthropic_messages;
mod json;
mod limits;
mod merge;
mod openai_chat;
mod plain_body;
mod reading;
mod request;
mod splice;
mod sse;
mod usage;
mod writing;

pub use answer::{Answer, Call, Ending, Fault, Finish, Owned, Round};
pub use request::{Ask, BadRequest, ClientRequest, WireError};

use bytes::Bytes;
use domain::{ToolDefinition, ToolResult};

/// One wire format of an LLM API.
pub trait Dialect: Send + Sync {
    /// The word in configuration and logs, such as `openai_chat`.
    fn name(&self) -> &'static str;

    /// The route that speaks it, such as `/v1/chat/completions`.
    fn path(&self) -> &'static str;

    /// The provider word for selection hints: `openai`, `anthropic`, `google`.
    fn provider(&self) -> &'static str;

    /// Reads what the gateway needs from a request; the body itself is kept as it is.
    fn read_request(&self, body: Bytes) -> Result<ClientRequest, BadRequest>;

    /// The body for the first round: `omni:` entries taken out, `tools` appended after the client's. Without
    /// either the client's bytes come back unchanged.
    fn inject(&self, request: &ClientRequest, tools: &[ToolDefinition]) -> Bytes;

    /// The body for the next round: `body` (of the round before) with the model's whole message and one result
    /// per call of it appended, in call order. A forced choice becomes automatic. `ours` are the wire names of
    /// the tools we injected; see [`Ask`] for what happens to them.
    fn follow_up(
        &self,
        request: &ClientRequest,
        body: &Bytes,
        round: &Round,
        results: &[ToolResult],
        ask: Ask,
        ours: &[String],
    ) -> Result<Bytes, Fault>;

    /// A fresh reader and writer for the answer of one turn, streamed or not as the request says.
    fn answer(&self, request: &ClientRequest, owned: Owned) -> Box<dyn Answer>;

    /// An error in the shape that this dialect's SDKs understand, for an answer that has not begun.
    fn error_body(&self, error: &WireError) -> Bytes;
}

/// Every dialect.
pub const ALL: &[&dyn Dialect] = &[&openai_chat::OpenaiChat, &anthropic_messages::AnthropicMessages];

/// The dialect of that name.
pub fn by_name(name: &str) -> Option<&'static dyn Dialect> {
    ALL.iter().copied().find(|dialect| dialect.name() == name)
}

/// The dialect that is spoken on that path.
pub fn by_path(path: &str) -> Option<&'static dyn Dialect> {
    ALL.iter().copied().find(|dialect| dialect.path() == path)
}
