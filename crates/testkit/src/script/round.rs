//! One round: what the model thinks, says and calls, and how the answer travels.

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use super::{Chunking, Fault};

/// One answer of the model. Everything absent is left out; an empty round says an empty text.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Round {
    /// Thinking blocks in front (Anthropic, only when the request enables thinking).
    pub thinking: Vec<Thinking>,
    /// `reasoning_content` (OpenAI-like providers); must be echoed within the turn.
    pub reasoning: Option<String>,
    /// Text, before the calls.
    pub text: Option<String>,
    /// Tool calls, in order.
    pub calls: Vec<Call>,
    /// Overrules the finish reason. `length` and `refusal` are translated, other words are sent as they are.
    pub finish: Option<String>,
    /// Tokens that the answer reports.
    pub usage: Usage,
    /// Failures of the first requests for this round, one each, before it is answered.
    pub first: Vec<Fault>,
    /// A failure of every request for this round.
    pub fault: Option<Fault>,
    /// Milliseconds before the first byte.
    pub delay_ms: u64,
    /// Milliseconds before each further write.
    pub delay_within_ms: u64,
    /// How a stream is cut.
    pub chunking: Chunking,
}

/// A thinking block.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Thinking {
    /// Readable, with its signature.
    Signed {
        /// What it thought.
        text: String,
        /// The provider's signature.
        signature: String,
    },
    /// Opaque data.
    Redacted(String),
}

/// A tool call.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Call {
    /// The tool. If the request offers no tool of this name but one that is `name__...`, that one is called.
    pub name: String,
    /// The arguments.
    pub arguments: Value,
    /// Argument text to send as it is instead, well-formed or not.
    pub raw: Option<String>,
    /// The call's id; absent: made up.
    pub id: Option<String>,
    /// Call exactly `name`, whatever is offered.
    pub exact: bool,
}

/// Token counts of one answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Usage {
    /// Input tokens that were not cached.
    pub input: u64,
    /// Output tokens.
    pub output: u64,
    /// Input tokens read from the cache.
    pub cache_read: u64,
    /// Input tokens written to the cache (Anthropic).
    pub cache_write: u64,
}

impl Default for Usage {
    fn default() -> Self {
        Self { input: 11, output: 7, cache_read: 0, cache_write: 0 }
    }
}

impl Call {
    /// A call with well-formed arguments.
    pub fn new(name: &str, arguments: Value) -> Self {
        Self { name: name.to_owned(), arguments, ..Self::default() }
    }

    /// A call with this argument text.
    pub fn raw(name: &str, text: &str) -> Self {
        Self { name: name.to_owned(), raw: Some(text.to_owned()), ..Self::default() }
    }

    /// With this id.
    #[must_use]
    pub fn id(mut self, id: &str) -> Self {
        self.id = Some(id.to_owned());
        self
    }

    /// With exactly this name, offered or not.
    #[must_use]
    pub fn exactly(mut self) -> Self {
        self.exact = true;
        self
    }
}

impl Round {
    /// An answer in words.
    pub fn text(text: &str) -> Self {
        Self { text: Some(text.to_owned()), ..Self::default() }
    }

    /// An answer that calls tools.
    pub fn calls(calls: impl IntoIterator<Item = Call>) -> Self {
        Self { calls: calls.into_iter().collect(), ..Self::default() }
    }

    /// A failure.
    pub fn fails(fault: Fault) -> Self {
        Self { fault: Some(fault), ..Self::default() }
    }

    /// An error status with this body.
    pub fn http_error(status: u16, body: Value) -> Self {
        Self::fails(Fault::Http { status, headers: std::collections::BTreeMap::new(), body: Some(body) })
    }

    /// With this text before the calls.
    #[must_use]
    pub fn saying(mut self, text: &str) -> Self {
        self.text = Some(text.to_owned());
        self
    }

    /// With this finish reason.
    #[must_use]
    pub fn finish(mut self, reason: &str) -> Self {
        self.finish = Some(reason.to_owned());
        self
    }

    /// With these input and output tokens.
    #[must_use]
    pub fn usage(mut self, input: u64, output: u64) -> Self {
        self.usage = Usage { input, output, ..self.usage };
        self
    }

    /// With one more signed thinking block in front.
    #[must_use]
    pub fn thinking(mut self, text: &str, signature: &str) -> Self {
        self.thinking.push(Thinking::Signed { text: text.to_owned(), signature: signature.to_owned() });
        self
    }

    /// With one more redacted thinking block in front.
    #[must_use]
    pub fn redacted_thinking(mut self, data: &str) -> Self {
        self.thinking.push(Thinking::Redacted(data.to_owned()));
        self
    }

    /// With `reasoning_content`.
    #[must_use]
    pub fn reasoning(mut self, text: &str) -> Self {
        self.reasoning = Some(text.to_owned());
        self
    }

    /// The first requests fail, one fault each.
    #[must_use]
    pub fn first(mut self, faults: impl IntoIterator<Item = Fault>) -> Self {
        self.first = faults.into_iter().collect();
        self
    }

    /// Fails within the answer, or instead of it.
    #[must_use]
    pub fn then(mut self, fault: Fault) -> Self {
        self.fault = Some(fault);
        self
    }

    /// Waits before the first byte.
    #[must_use]
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
        self
    }

    /// Waits before each further write.
    #[must_use]
    pub fn delay_within(mut self, delay: Duration) -> Self {
        self.delay_within_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
        self
    }

    /// Cuts a stream like this.
    #[must_use]
    pub fn chunked(mut self, chunking: Chunking) -> Self {
        self.chunking = chunking;
        self
    }
}
