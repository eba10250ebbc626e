//! What providers say on the wire: pure bytes to bytes, one file per dialect.
//!
//! A dialect reads a client's request, writes our tools into it, reads what the model answered, and writes one
//! answer out of several rounds. It never opens a connection, never decides whether a call may run, and never
//! touches bytes that it has no reason to change.

mod answer;
mod anthropic_messages;
mod first_id;
mod gemini;
mod history;
mod issued;
mod json;
pub mod kept;
mod limits;
mod media;
mod merge;
mod openai_chat;
mod openai_responses;
mod plain_body;
mod reading;
mod request;
mod splice;
mod sse;
mod usage;
mod writing;

pub use answer::{Answer, Call, Ending, Fault, Finish, Owned, Round, Shown, Tokens};
pub use first_id::FirstId;
pub use issued::Issued;
pub use kept::{Anchor, Keeping, Kept};
pub use request::{Ask, BadRequest, ClientRequest, ToolPlace, WireError};

use bytes::Bytes;
use domain::{ToolDefinition, ToolResult};
use serde_json::{Map, Value};

/// One wire format of an LLM API.
pub trait Dialect: Send + Sync {
    /// The word in configuration and logs, such as `openai_chat`.
    fn name(&self) -> &'static str;

    /// The routes that speak it, such as `/v1/chat/completions`; `{name}` stands for one path segment. The first
    /// is the usual one.
    fn routes(&self) -> &'static [&'static str];

    /// Whether a path of those routes is a chat; others on them are the provider's and none of ours.
    fn is_chat(&self, _path: &str) -> bool {
        true
    }

    /// The provider word for selection hints: `openai`, `anthropic`, `google`.
    fn provider(&self) -> &'static str;

    /// Reads what the gateway needs from a request; the body itself is kept as it is, except that a history with
    /// results of ours where an answer has shown them (see [`Answer::splice`]) is made legal again. `target` is the
    /// path and query that the client asked for, without a credential.
    fn read_request(&self, target: &str, body: Bytes) -> Result<ClientRequest, BadRequest>;

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

    /// Media types of the images and files that a result may bring this model, as [`ToolResult::parts`]; none where
    /// it takes text alone. A model that is not known takes none.
    fn media(&self, _model: &str) -> &'static [&'static str] {
        &[]
    }

    /// Kept rounds without the images and files of results; the texts that name them stay.
    fn without_media(&self, kept: Kept) -> Kept {
        kept
    }

    /// `body` so that the answer's tokens are reported to us, where the dialect leaves them out unless it is asked.
    fn with_usage(&self, _request: &ClientRequest, body: Bytes) -> Bytes {
        body
    }

    /// Whether a later request can go on with an answer by its id alone.
    fn names_answers(&self) -> bool {
        false
    }

    /// Media type of the answer to a request that wants a stream.
    fn stream_media_type(&self, _request: &ClientRequest) -> &'static str {
        "text/event-stream; charset=utf-8"
    }

    /// Whether a definition can be written in this dialect; one that cannot is left out of the request.
    fn can_emit(&self, _tool: &ToolDefinition) -> bool {
        true
    }

    /// Arguments as the skill's own schema names them, where the dialect had to rename properties.
    fn restore_arguments(&self, _parameters: &Value, arguments: Map<String, Value>) -> Map<String, Value> {
        arguments
    }

    /// A fresh reader and writer for the answer of one turn, streamed or not as the request says.
    fn answer(&self, request: &ClientRequest, owned: Owned) -> Box<dyn Answer>;

    /// Places of the request's history where hidden rounds of earlier turns may belong.
    fn anchors(&self, _request: &ClientRequest) -> Vec<Anchor> {
        Vec::new()
    }

    /// The request with hidden rounds put back at their places. Whatever does not fit is left out; the result is
    /// a request that the provider accepts, or the client's own.
    fn restore(&self, request: &ClientRequest, _kept: &[(Anchor, Kept)]) -> Bytes {
        request.raw.clone()
    }

    /// What has to be kept of a turn with hidden rounds. `body` asked the last round, which gave `last`; `parked`
    /// are results of our calls in `last` where the client has calls to answer in the same message. `shown` is
    /// the client's own view of the answer, as `Answer::shown` gives it.
    fn keep(
        &self,
        _request: &ClientRequest,
        _body: &Bytes,
        _last: &Round,
        _parked: &[ToolResult],
        _shown: &Shown,
    ) -> Option<Keeping> {
        None
    }

    /// What has to be noted of an answer that the provider stores under ids and that has ended well; none if it does
    /// not. `last` is the last round, absent where the answer passed unread; `ours` as in [`Dialect::follow_up`].
    fn issued(
        &self,
        _request: &ClientRequest,
        _last: Option<&Round>,
        _shown: &Shown,
        _ours: &[String],
    ) -> Option<Issued> {
        None
    }

    /// What the provider says of a stored answer, as the client is to see it who knows the answer by `id`; none if it
    /// cannot be read.
    fn retrieved(&self, _body: &Bytes, _id: &str, _issued: &Issued) -> Option<Bytes> {
        None
    }

    /// An error in the shape that this dialect's SDKs understand, for an answer that has not begun.
    fn error_body(&self, error: &WireError) -> Bytes;
}

/// Every dialect.
pub const ALL: &[&dyn Dialect] = &[
    &openai_chat::OpenaiChat,
    &openai_responses::OpenaiResponses,
    &anthropic_messages::AnthropicMessages,
    &gemini::Gemini,
];

/// The dialect of that name.
pub fn by_name(name: &str) -> Option<&'static dyn Dialect> {
    ALL.iter().copied().find(|dialect| dialect.name() == name)
}

/// The dialect that is spoken on that path.
pub fn by_path(path: &str) -> Option<&'static dyn Dialect> {
    ALL.iter().copied().find(|dialect| dialect.routes().iter().any(|route| fits(route, path)))
}

/// Whether a path is one of a route's.
fn fits(route: &str, path: &str) -> bool {
    let (mut wanted, mut given) = (route.split('/'), path.split('/'));
    loop {
        match (wanted.next(), given.next()) {
            (None, None) => return true,
            (Some(wanted), Some(given))
                if wanted == given || (wanted.starts_with('{') && !given.is_empty()) => {}
            _ => return false,
        }
    }
}
