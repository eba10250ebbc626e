//! `POST /api/skills/executions/{id}/cancel`: ends a run, whether it waits, is queued or runs.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use domain::Scope;
use executor::Decider;
use serde_json::{Value, json};

use crate::app::App;
use crate::caller::Caller;
use crate::error::{ApiError, Code};
use crate::http::Id;
use crate::openapi::schema::flag;
use crate::openapi::shapes::one_execution;
use crate::openapi::{Operation, Tag};

pub(crate) fn cancel_doc() -> Operation {
    Operation::new(Tag::Executions, "cancelExecution", "End a run")
        .about("One of the caller's own. Answers with the row as it is then; `cancelled` is false where it had ended before.")
        .gives(one_execution().with("cancelled", flag()))
        .errors(&[Code::ExecutionNotFound])
}

/// The handler. Somebody else's run is not there.
pub(crate) async fn cancel(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Id(id): Id,
) -> Result<Json<Value>, ApiError> {
    super::list::visible(&app, &caller, Scope::ExecuteSkills, &id).await?;
    let by = Decider { id: caller.owner().to_owned(), is_token: caller.is_management() };
    let done = app.executor.cancel(&id, &by).await?;
    Ok(Json(json!({"execution": done.execution, "cancelled": !done.was_over})))
}
