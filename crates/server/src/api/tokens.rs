//! `/api/tokens`: named management tokens. A secret is shown once, when it is made; after that only its hash exists.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use domain::{ManagementToken, Scope, ids};
use serde_json::{Value, json};

use super::audit::{Actor, Change, record};
use super::keys::{NAME_CHARS, check_name, scopes};
use super::now;
use crate::app::App;
use crate::error::{ApiError, Code};
use crate::http::{Fields, Id, Object};
use crate::keyring::new_secret;
use crate::openapi::schema::{list as list_of, object, text, time, uuid};
use crate::openapi::shapes::{done, label, scopes as scope_list};
use crate::openapi::{Operation, Shape, Tag};

/// A token as it is shown.
const TOKEN: Shape = Shape::new("ManagementToken", || {
    object()
        .with("id", uuid())
        .with("name", text())
        .with("scopes", scope_list())
        .with("createdAt", time())
        .with("lastUsedAt", time().or_null())
});

pub(crate) fn list_doc() -> Operation {
    Operation::new(Tag::Tokens, "listTokens", "Named management tokens, newest first")
        .about("The token of the configuration has no name and is not among them.")
        .gives(object().with("data", list_of(TOKEN.refer())))
}

/// `GET /api/tokens`.
pub(crate) async fn list(State(app): State<Arc<App>>) -> Result<Json<Value>, ApiError> {
    Ok(Json(json!({"data": app.store.tokens().await?})))
}

pub(crate) fn create_doc() -> Operation {
    let body = object().with("name", label(NAME_CHARS)).maybe("scopes", scope_list()).closed();
    Operation::new(Tag::Tokens, "createToken", "Make a management token")
        .about("With the scope `manage` alone if none is given.")
        .body(body)
        .example(json!({"name": "ci", "scopes": ["read:skills"]}))
        .gives(object().with("id", uuid()).with("token", text().about("The secret, this once.")))
        .errors(&[Code::NameTaken])
        .link("deleteToken", &[("id", "$response.body#/id")])
}

/// `POST /api/tokens`.
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    actor: Actor,
    Object(body): Object,
) -> Result<Json<Value>, ApiError> {
    let mut body = Fields::from(body);
    let name = body.required_text("name");
    check_name(&mut body, &name);
    let scopes = scopes(&mut body).unwrap_or_else(|| vec![Scope::Manage]);
    body.finish()?;
    let secret = new_secret("omt_").map_err(|e| ApiError::internal(format!("no random bytes: {e}")))?;
    let token = ManagementToken { id: ids::new_id(), name, scopes, created_at: now(), last_used_at: None };
    app.keyring.create_token(&token, &secret).await.map_err(|error| match error {
        store::StoreError::Conflict { .. } => {
            ApiError::new(Code::NameTaken, "another token has this name; choose another one")
        }
        error => error.into(),
    })?;
    record(&app, actor, Change::new("token.create", &token.id).to(&token)).await;
    Ok(Json(json!({"id": token.id, "token": secret})))
}

pub(crate) fn delete_doc() -> Operation {
    Operation::new(Tag::Tokens, "deleteToken", "Remove a management token; it stops at once")
        .gives(done())
        .errors(&[Code::TokenNotFound])
}

/// `DELETE /api/tokens/{id}`.
pub(crate) async fn delete(
    State(app): State<Arc<App>>,
    actor: Actor,
    Id(id): Id,
) -> Result<Json<Value>, ApiError> {
    let before = app.store.tokens().await?.into_iter().find(|token| token.id == id);
    app.keyring.delete_token(&id).await?;
    record(&app, actor, Change::new("token.delete", &id).from(&before)).await;
    Ok(Json(json!({"success": true})))
}
