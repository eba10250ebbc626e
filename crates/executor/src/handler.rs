//! The contract between the executor and the code that does the work.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use domain::{Door, Part};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

/// What a run may know about where it came from. Never contains a secret.
#[derive(Clone, Debug)]
pub struct RunContext {
    /// Id of the execution's row.
    pub execution_id: String,
    /// Owner of the run: an API key id, or `anonymous` or `management`.
    pub api_key_id: String,
    /// The end user, when known.
    pub user: Option<String>,
    /// The conversation, when known.
    pub session_id: Option<String>,
    /// The turn, when a model called.
    pub turn_id: Option<String>,
    /// The way it came in.
    pub door: Door,
    /// When the executor gives up. Handlers with a clock of their own stay below it.
    pub deadline: Instant,
    /// Cancelled when the caller goes away or the deadline passes.
    pub cancel: CancellationToken,
}

/// Which sandbox ran it, for the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sandboxed {
    /// Engine name.
    pub engine: String,
    /// Isolation in force, in words.
    pub isolation: String,
}

/// What a handler returns: structured JSON, and parts beside it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Output {
    /// A JSON object.
    pub value: Map<String, Value>,
    /// Text, images, files.
    pub parts: Vec<Part>,
    /// For sandboxed runs.
    pub sandboxed: Option<Sandboxed>,
}

impl From<Map<String, Value>> for Output {
    fn from(value: Map<String, Value>) -> Self {
        Self { value, ..Self::default() }
    }
}

/// A run that did not succeed. The message is for the model: short, without internals, says what to do.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum HandlerError {
    /// It failed; `output` may hold what there is to show.
    #[error("{message}")]
    Failed {
        /// Stable word, such as `not_found`, `path_refused`, `sandbox_unavailable`.
        code: &'static str,
        /// For the model.
        message: String,
        /// Whole outcome, when there is one.
        output: Option<Box<Output>>,
        /// Whether the same run may succeed later without a change. It is then tried again, if its skill may run twice.
        transient: bool,
        /// Time until which trying again is useless, where that is known; for a transient failure.
        retry_after: Option<Duration>,
    },
    /// The handler's own time limit ended it.
    #[error("{message}")]
    TimedOut {
        /// For the model.
        message: String,
        /// What there was until then.
        output: Option<Box<Output>>,
    },
}

impl HandlerError {
    /// A failure without output that repeating does not mend.
    pub fn failed(code: &'static str, message: impl Into<String>) -> Self {
        Self::Failed { code, message: message.into(), output: None, transient: false, retry_after: None }
    }

    /// A failure that may pass by itself: what the handler depends on is not there, or asks for patience.
    pub fn transient(code: &'static str, message: impl Into<String>, retry_after: Option<Duration>) -> Self {
        Self::Failed { code, message: message.into(), output: None, transient: true, retry_after }
    }
}

/// Code that runs an execution.
///
/// Dropping the returned future must stop the work for real (kill the process, close the connection).
#[async_trait]
pub trait Handler: Send + Sync {
    /// Does the work. The input has been validated against the skill's schema.
    async fn run(&self, input: Map<String, Value>, ctx: &RunContext) -> Result<Output, HandlerError>;

    /// Tidies an input before it is validated, such as dropping `null` on an optional field. The history keeps
    /// the input as it was given.
    fn prepare(&self, input: Map<String, Value>) -> Map<String, Value> {
        input
    }

    /// Whether a run with this input reads and changes nothing outside itself: no network, no writable
    /// workspace, no secrets. Such runs of a `hybrid` skill need no approval.
    fn effect_free(&self, _input: &Map<String, Value>) -> bool {
        false
    }

    /// What a run with this input depends on, such as a host, where that differs from input to input. When it fails again
    /// and again, further runs that depend on it are refused for a moment; by default, all of the skill.
    fn dependency(&self, _input: &Map<String, Value>) -> Option<String> {
        None
    }
}

/// Handlers by name: what `handlerCode` may name.
#[derive(Clone, Default)]
pub struct HandlerTable {
    handlers: BTreeMap<String, Arc<dyn Handler>>,
}

impl HandlerTable {
    /// Adds a handler; a later one of the same name replaces it.
    pub fn register(&mut self, name: impl Into<String>, handler: Arc<dyn Handler>) {
        self.handlers.insert(name.into(), handler);
    }

    /// The handler of this name.
    pub fn get(&self, name: &str) -> Option<Arc<dyn Handler>> {
        self.handlers.get(name).cloned()
    }

    /// Every name, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.handlers.keys().map(String::as_str)
    }
}
