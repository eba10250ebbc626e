//! One turn's answer, written out of several rounds; the same trait for streams and plain bodies.

use std::sync::Arc;

use bytes::Bytes;
use domain::{ToolCall, ToolResult};
use serde_json::Value;

use crate::request::WireError;

/// Whether a called wire name is the gateway's to answer. Everything that the client declared is not.
pub type Owned = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// A call of the model and whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The call.
    pub call: ToolCall,
    /// Whether the gateway answers it.
    pub owned: bool,
}

/// How the model ended a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// It answered or called tools.
    Normal,
    /// Cut by length, refused or filtered: the turn ends as it is and nothing is run.
    Cut,
}

/// One round as the model wrote it.
#[derive(Clone, Debug, PartialEq)]
pub struct Round {
    /// Its calls, in order.
    pub calls: Vec<Call>,
    /// How it ended.
    pub finish: Finish,
    /// The model's message as JSON, complete and unchanged, for the next request.
    pub message: Bytes,
}

/// What a client will have of a turn's answer, as far as a later request can show it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// All visible text, as the client will hold it.
    pub text: String,
    /// Ids of the client's calls, in order.
    pub call_ids: Vec<String>,
    /// The id of the answer.
    pub id: Option<String>,
    /// Whether calls of ours and their results stand in it, though a later request may not show them: it may name
    /// the answer by its id instead.
    pub spliced: bool,
    /// Members, as a JSON object, in which the answer differs from the object that the provider stores under its own
    /// id; none where it does not, or the provider stores nothing.
    pub differs: Option<String>,
}

/// The ids of the client's calls, in order.
pub(crate) fn client_ids(calls: &[Call]) -> Vec<String> {
    calls.iter().filter(|call| !call.owned).map(|call| call.call.id.clone()).collect()
}

/// Tokens as an upstream counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    /// All that went in, cached or not.
    pub input: u64,
    /// All that came out, thoughts included.
    pub output: u64,
}

impl Tokens {
    /// Both together.
    pub const fn total(self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

/// What the gateway adds when it ends a turn.
#[derive(Clone, Debug, Default)]
pub struct Ending {
    /// The `omni` member of a stream's last chunk.
    pub omni: Option<Value>,
    /// Report the input tokens of the last round instead of the sum over rounds.
    pub input_usage_of_last_round: bool,
}

/// An upstream answer that cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Fault {
    /// Not the dialect's JSON.
    #[error("the upstream's answer cannot be read: {0}")]
    Unreadable(String),
    /// The stream ended before its end.
    #[error("the upstream's stream broke off")]
    Truncated,
    /// The upstream reported an error inside its stream. Holds the upstream's error as it came.
    #[error("the upstream reported an error in its stream")]
    Upstream(Value),
    /// One event, or the whole plain answer, is larger than the gateway holds.
    #[error("the upstream's answer is too large")]
    TooLarge,
}

/// Reads the upstream's rounds of one turn and writes the client's single answer.
///
/// Call order: for each round [`Answer::feed`] until the body ends, then [`Answer::end_round`], and before the next
/// one [`Answer::asks`]; at the end of the turn [`Answer::finish`], or [`Answer::fail`]. A plain answer writes nothing before `finish`.
pub trait Answer: Send {
    /// Takes bytes of the upstream's body, cut anywhere; appends to `out` what the client may see now.
    fn feed(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Fault>;

    /// The upstream's body of this round has ended. The finish itself is held back.
    fn end_round(&mut self, out: &mut Vec<u8>) -> Result<Round, Fault>;

    /// Shows these results of our calls in a plain answer; to be asked between [`Answer::end_round`] of their round
    /// and whatever comes next. With `last` no round follows, so that the calls are shown in every dialect. Says
    /// whether nothing is to be kept of the turn, because every later request shows it all.
    fn splice(&mut self, _results: &[ToolResult], _last: bool) -> bool {
        false
    }

    /// The next round is asked with this body.
    fn asks(&mut self, _body: &Bytes) {}

    /// Ends the turn: the held finish, usage over all rounds, terminal marks. Calls of ours never show; with
    /// no call of the client's left, a finish that says "tool calls" becomes the normal one.
    fn finish(&mut self, ending: &Ending, out: &mut Vec<u8>) -> Result<(), Fault>;

    /// What the upstream has reported for the rounds that have ended.
    fn tokens(&self) -> Tokens;

    /// The client's view of the answer; to be asked after [`Answer::finish`].
    fn shown(&self) -> Shown {
        Shown::default()
    }

    /// Something that a silent stream may carry; nothing in a plain answer.
    fn keep_alive(&mut self, out: &mut Vec<u8>);

    /// The dialect's error event, for a stream that has begun; nothing in a plain answer.
    fn fail(&mut self, error: &WireError, out: &mut Vec<u8>);
}
