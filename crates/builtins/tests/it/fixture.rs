//! Built-ins over a temporary data folder, and runs of them.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use builtins::{Builtins, EvalLimits, WorkspaceLimits, Workspaces};
use domain::Door;
use executor::{HandlerError, HandlerTable, Output, RunContext};
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

pub(crate) struct Fixture {
    pub(crate) data: TempDir,
    pub(crate) handlers: HandlerTable,
    pub(crate) builtins: Builtins,
}

pub(crate) fn fixture(limits: WorkspaceLimits, engine: Option<Arc<dyn sandbox::Engine>>) -> Fixture {
    let data = tempfile::tempdir().unwrap();
    let workspaces = Arc::new(Workspaces::open(data.path(), limits).unwrap());
    let builtins = Builtins::new(&workspaces, engine, EvalLimits::default());
    let mut handlers = HandlerTable::default();
    builtins.register(&mut handlers);
    Fixture { data, handlers, builtins }
}

pub(crate) fn standard() -> Fixture {
    fixture(WorkspaceLimits::default(), None)
}

pub(crate) fn ctx(api_key_id: &str) -> RunContext {
    RunContext {
        execution_id: "execution-1".into(),
        api_key_id: api_key_id.into(),
        user: None,
        session_id: None,
        turn_id: None,
        door: Door::Loop,
        deadline: Instant::now() + Duration::from_secs(30),
        cancel: CancellationToken::new(),
    }
}

pub(crate) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        other => panic!("not an object: {other}"),
    }
}

/// Code and message of a failure.
pub(crate) type Failure = (&'static str, String);

impl Fixture {
    pub(crate) async fn run(
        &self,
        name: &str,
        ctx: &RunContext,
        input: Value,
    ) -> Result<Output, HandlerError> {
        let handler = self.handlers.get(name).unwrap();
        handler.run(handler.prepare(object(input)), ctx).await
    }

    pub(crate) async fn call(&self, name: &str, ctx: &RunContext, input: Value) -> Result<Value, Failure> {
        match self.run(name, ctx, input).await {
            Ok(output) => Ok(Value::Object(output.value)),
            Err(HandlerError::Failed { code, message, .. }) => Err((code, message)),
            Err(HandlerError::TimedOut { message, .. }) => Err(("timeout", message)),
        }
    }

    pub(crate) async fn write(&self, path: &str, content: &str) -> Result<Value, Failure> {
        self.call("file_write", &ctx("key-1"), json!({ "path": path, "content": content })).await
    }

    pub(crate) async fn read(&self, path: &str) -> Result<Value, Failure> {
        self.call("file_read", &ctx("key-1"), json!({ "path": path })).await
    }

    /// The workspace of `key-1`, made by a first write.
    pub(crate) async fn workspace(&self) -> PathBuf {
        self.write("first", "").await.unwrap();
        // First 24 hex digits of sha256("key-1").
        self.data.path().join("skills/workspaces/be2974546978e3739e6d6da8")
    }
}
