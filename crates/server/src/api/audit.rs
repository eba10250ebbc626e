//! `GET /api/audit`, and the one way into that table: who changed what, before and after, without secrets.

use std::sync::Arc;

use axum::Json;
use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use domain::{AuditEntry, ids};
use serde::Serialize;
use serde_json::Value;
use store::{AuditFilter, Page, StoreError};

use super::now;
use super::page::page;
use super::time::time;
use crate::app::App;
use crate::caller::Caller;
use crate::error::ApiError;
use crate::http::{Fields, RequestId};
use crate::openapi::schema::{any, object, text, time as time_text, uuid};
use crate::openapi::shapes::page_of;
use crate::openapi::{Operation, Shape, Tag};

/// Who does something, in which request.
pub(crate) struct Actor {
    name: String,
    request_id: Option<String>,
}

impl<S: Send + Sync> FromRequestParts<S> for Actor {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let caller = parts.extensions.get::<Caller>();
        let name = match caller {
            Some(Caller::Token(token)) => format!("token:{}", token.id),
            Some(caller) => caller.owner().to_owned(),
            None => return Err(ApiError::internal("a change without a caller")),
        };
        let request_id = parts.extensions.get::<RequestId>().map(|id| id.as_str().to_owned());
        Ok(Self { name, request_id })
    }
}

impl Actor {
    /// An API key id, `management` or `token:ID`.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

/// What became of what.
pub(crate) struct Change<'a> {
    action: &'static str,
    target: &'a str,
    before: Option<Value>,
    after: Option<Value>,
}

impl<'a> Change<'a> {
    /// Something was done to the thing of this id.
    pub(crate) const fn new(action: &'static str, target: &'a str) -> Self {
        Self { action, target, before: None, after: None }
    }

    /// What it was.
    pub(crate) fn from(mut self, before: &impl Serialize) -> Self {
        self.before = serde_json::to_value(before).ok();
        self
    }

    /// What it became.
    pub(crate) fn to(mut self, after: &impl Serialize) -> Self {
        self.after = serde_json::to_value(after).ok();
        self
    }
}

/// Writes it down.
pub(crate) async fn write(app: &App, actor: Actor, change: Change<'_>) -> Result<(), StoreError> {
    let entry = AuditEntry {
        id: ids::new_id(),
        actor: actor.name,
        action: change.action.to_owned(),
        target: change.target.to_owned(),
        before: change.before,
        after: change.after,
        request_id: actor.request_id,
        created_at: now(),
    };
    app.store.append_audit(&entry).await.inspect_err(|error| {
        let error = error as &dyn std::error::Error;
        let AuditEntry { actor, action, target, .. } = &entry;
        tracing::error!(error, actor, action, target, "not in the audit table");
    })
}

/// As [`write`], for what has happened and cannot be taken back: where it cannot be written down, the log has it.
pub(crate) async fn record(app: &App, actor: Actor, change: Change<'_>) {
    drop(write(app, actor, change).await);
}

/// A line of the audit table.
const ENTRY: Shape = Shape::new("AuditEntry", || {
    object()
        .with("id", uuid())
        .with("actor", text().about("An API key id, `management`, `token:ID`, or `system`."))
        .with("action", text().about("Such as `skill.update`."))
        .with("target", text())
        .with("before", any())
        .with("after", any())
        .with("requestId", text().or_null())
        .with("createdAt", time_text())
});

pub(crate) fn list_doc() -> Operation {
    Operation::new(Tag::Operations, "listAudit", "Who changed what, newest first")
        .query("actor", text())
        .query("action", text())
        .query("target", text())
        .query("since", time_text())
        .query("until", time_text())
        .paged()
        .gives(page_of(ENTRY))
}

/// `GET /api/audit`.
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    mut query: Fields,
) -> Result<Json<Page<AuditEntry>>, ApiError> {
    let filter = AuditFilter {
        actor: query.text("actor"),
        action: query.text("action"),
        target: query.text("target"),
        since: query.parsed("since", time),
        until: query.parsed("until", time),
    };
    let wanted = page(&mut query);
    query.finish()?;
    Ok(Json(app.store.audit(&filter, wanted).await?))
}
