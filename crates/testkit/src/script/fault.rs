//! How an answer fails, and how its bytes are cut. Says what happens, never how a dialect writes it.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// A failure instead of, or within, an answer.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Fault {
    /// An answer with an error status.
    Http {
        /// The status, 400 to 599.
        status: u16,
        /// Headers beside the content type.
        #[serde(default)]
        headers: BTreeMap<String, String>,
        /// The body: JSON, or a string sent as `text/plain`. Absent: the provider's own shape.
        #[serde(default)]
        body: Option<Value>,
    },
    /// The connection closes before the first byte.
    Drop,
    /// The connection breaks after so many events of a stream; a plain answer breaks in the middle.
    DropAfterEvents(usize),
    /// The connection breaks after so many bytes of the body.
    DropAfterBytes(usize),
    /// The body ends, as if it were complete, after so many events of a stream.
    EndAfterEvents(usize),
    /// The provider's error event after so many events of a stream; a plain answer is a 529 or 500.
    ErrorEvent {
        /// Events before it.
        after_events: usize,
        /// Its message.
        message: String,
    },
}

impl Fault {
    /// An error status in the provider's own shape.
    pub fn status(status: u16) -> Self {
        Self::Http { status, headers: BTreeMap::new(), body: None }
    }
}

/// How a stream's bytes are cut into writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Chunking {
    /// All at once.
    Whole,
    /// One write for each event.
    #[default]
    Event,
    /// Writes of so many bytes, which cuts inside characters and line ends; 0 counts as 1.
    Bytes(usize),
}
