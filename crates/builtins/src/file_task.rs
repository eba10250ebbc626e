//! What the file skills share: the path of a call, its workspace, and blocking work off the async threads.

use std::sync::Arc;

use executor::{HandlerError, RunContext};
use serde_json::{Map, Value};

use crate::files::FileError;
use crate::input::text;
use crate::path_policy::SafePath;
use crate::workspace::{Place, Workspaces};

/// A failure of a file skill.
pub(crate) fn file_failed(code: &'static str, message: &str) -> HandlerError {
    HandlerError::failed(code, message)
}

/// The path of a call, if it may be used.
pub(crate) fn path_of(input: &Map<String, Value>) -> Result<SafePath, HandlerError> {
    SafePath::parse(text(input, "path")?)
        .map_err(|refused| HandlerError::failed("path_refused", refused.to_string()))
}

/// Work on the files of one run.
pub(crate) struct FileTask {
    workspaces: Arc<Workspaces>,
    place: Place,
}

impl FileTask {
    pub(crate) fn new(workspaces: &Arc<Workspaces>, ctx: &RunContext) -> Result<Self, HandlerError> {
        let place = Place::of(ctx).ok_or_else(|| {
            file_failed("no_workspace", "files need an API key, or a session for a caller without one")
        })?;
        Ok(Self { workspaces: Arc::clone(workspaces), place })
    }

    /// Does the work on a thread that may block.
    pub(crate) async fn run<T: Send + 'static>(
        self,
        work: impl FnOnce(&Workspaces, &Place) -> Result<T, FileError> + Send + 'static,
    ) -> Result<T, HandlerError> {
        let done = tokio::task::spawn_blocking(move || work(&self.workspaces, &self.place)).await;
        match done {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => {
                if let FileError::Io(cause) = &error {
                    tracing::warn!(error = %cause, "a file of a workspace could not be used");
                }
                Err(file_failed(error.code(), &error.to_string()))
            }
            Err(error) => {
                tracing::error!(%error, "work on a file ended unexpectedly");
                Err(file_failed("io", "the file system failed"))
            }
        }
    }
}
