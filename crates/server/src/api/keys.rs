//! `/api/keys`: API keys. A secret is shown once, when it is made; after that only its hash exists.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use domain::{ApiKey, KeySettings, Scope, ids};
use serde_json::{Value, json};
use store::{KeyUpdate, NewKey, Page};

use super::key_settings::{SettingsChange, described};
use super::now;
use super::page::page;
use crate::app::App;
use crate::caller::Caller;
use crate::error::{ApiError, Code};
use crate::http::{Fields, Id, Object};
use crate::keyring::{hash_secret, new_secret};
use crate::openapi::schema::{Schema, flag, object, text, time, uuid};
use crate::openapi::shapes::{KEY_LIMITS, SKILL_CONFIG, done, label, page_of, scopes as scope_list};
use crate::openapi::{Operation, Shape, Tag};

/// Longest name of a key or token, in characters.
pub(super) const NAME_CHARS: usize = 100;

/// A key as it is shown.
const API_KEY: Shape = Shape::new("ApiKey", || {
    let key = object()
        .with("id", uuid())
        .with("name", text())
        .with("scopes", scope_list())
        .with("customSkillExecutionEnabled", flag())
        .with("revoked", flag())
        .with("createdAt", time())
        .with("lastUsedAt", time().or_null())
        .with("limits", KEY_LIMITS.refer())
        .with("skills", SKILL_CONFIG.refer());
    described(key)
});

/// What a body may say about a key.
fn key_body(body: Schema) -> Schema {
    let body = body.maybe("scopes", scope_list()).maybe("customSkillExecutionEnabled", flag());
    described(body).closed()
}

pub(crate) fn list_doc() -> Operation {
    Operation::new(Tag::Keys, "listKeys", "API keys, newest first").paged().gives(page_of(API_KEY))
}

/// `GET /api/keys`.
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    mut query: Fields,
) -> Result<Json<Page<ApiKey>>, ApiError> {
    let wanted = page(&mut query);
    query.finish()?;
    let keys = app.store.keys().await?;
    let total = keys.len() as u64;
    let before = (wanted.page as usize - 1).saturating_mul(wanted.limit as usize);
    let data = keys.into_iter().skip(before).take(wanted.limit as usize).collect();
    Ok(Json(Page::new(data, total, wanted)))
}

pub(crate) fn get_doc() -> Operation {
    Operation::new(Tag::Keys, "getKey", "One API key")
        .gives(object().with("apiKey", API_KEY.refer()))
        .errors(&[Code::KeyNotFound])
}

/// `GET /api/keys/{id}`.
pub(crate) async fn get(State(app): State<Arc<App>>, Id(id): Id) -> Result<Json<Value>, ApiError> {
    Ok(Json(json!({"apiKey": find(&app, &id).await?})))
}

async fn find(app: &App, id: &str) -> Result<ApiKey, ApiError> {
    let key = app.store.keys().await?.into_iter().find(|key| key.id == id);
    key.ok_or_else(|| {
        let id = domain::text::excerpt(id, 60);
        ApiError::new(Code::KeyNotFound, format!("no API key `{id}`; GET /api/keys lists them"))
    })
}

pub(crate) fn create_doc() -> Operation {
    let id = &[("id", "$response.body#/id")];
    let gives = object()
        .with("id", uuid())
        .with("key", text().about("The secret, this once."))
        .with("name", text())
        .with("scopes", scope_list());
    Operation::new(Tag::Keys, "createKey", "Make an API key")
        .about("From the first key on nobody comes in without a credential.")
        .body(key_body(object().with("name", label(NAME_CHARS))))
        .example(json!({"name": "example", "scopes": ["proxy", "read:skills", "execute:skills"]}))
        .gives(described(gives))
        .link("getKey", id)
        .link("updateKey", id)
        .link("rotateKey", id)
        .link("deleteKey", id)
}

/// `POST /api/keys`.
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    Object(body): Object,
) -> Result<Json<Value>, ApiError> {
    let mut body = Fields::from(body);
    let name = body.required_text("name");
    check_name(&mut body, &name);
    let scopes = scopes(&mut body);
    let custom = body.flag("customSkillExecutionEnabled");
    let settings = SettingsChange::read(&mut body);
    body.finish()?;
    let secret = secret()?;
    let key = NewKey {
        id: ids::new_id(),
        name,
        secret_hash: hash_secret(&secret),
        scopes: scopes.unwrap_or_else(|| Scope::DEFAULT.to_vec()),
        custom_skill_execution_enabled: custom.unwrap_or(true),
        settings: settings.apply(KeySettings::default()),
        created_at: now(),
    };
    let key = app.keyring.create(key).await?;
    // The first key ends what callers without one may do.
    app.executor.end_listening(Caller::Anonymous.owner());
    let ApiKey { id, name, scopes, settings, .. } = key;
    Ok(Json(json!({
        "id": id,
        "key": secret,
        "name": name,
        "scopes": scopes,
        "budgets": settings.budgets,
        "policies": settings.policies,
        "requireUser": settings.require_user,
        "onDisconnect": settings.on_disconnect,
    })))
}

pub(crate) fn update_doc() -> Operation {
    let body = object().maybe("name", label(NAME_CHARS)).members_at_least(1);
    Operation::new(Tag::Keys, "updateKey", "Change an API key")
        .about("What is left out stays; each setting that is sent replaces the old one as a whole.")
        .body(key_body(body))
        .example(json!({"requireUser": true}))
        .gives(done().with("apiKey", API_KEY.refer()))
        .errors(&[Code::KeyNotFound])
}

/// `PUT /api/keys/{id}`.
pub(crate) async fn update(
    State(app): State<Arc<App>>,
    Id(id): Id,
    Object(body): Object,
) -> Result<Json<Value>, ApiError> {
    let empty = body.is_empty();
    let mut body = Fields::from(body);
    let name = body.text("name");
    if let Some(name) = &name {
        check_name(&mut body, name);
    }
    let update = KeyUpdate {
        name,
        scopes: scopes(&mut body),
        custom_skill_execution_enabled: body.flag("customSkillExecutionEnabled"),
        ..KeyUpdate::default()
    };
    let settings = SettingsChange::read(&mut body);
    body.finish()?;
    if empty {
        return Err(ApiError::new(Code::InvalidField, "nothing to change; send at least one field"));
    }
    let key = if settings.is_empty() {
        app.keyring.update(&id, update).await?
    } else {
        app.keyring.update_settings(&id, update, |old| settings.apply(old)).await?
    };
    app.executor.end_listening(&id);
    Ok(Json(json!({"success": true, "apiKey": key})))
}

pub(crate) fn delete_doc() -> Operation {
    Operation::new(Tag::Keys, "deleteKey", "Remove an API key for good")
        .about("It stops at once. What it owned stays.")
        .gives(done())
        .errors(&[Code::KeyNotFound])
}

/// `DELETE /api/keys/{id}`.
pub(crate) async fn delete(State(app): State<Arc<App>>, Id(id): Id) -> Result<Json<Value>, ApiError> {
    app.keyring.delete(&id).await?;
    app.executor.end_listening(&id);
    Ok(Json(json!({"success": true})))
}

pub(crate) fn rotate_doc() -> Operation {
    Operation::new(Tag::Keys, "rotateKey", "A new secret for the same key")
        .about("The old one stops at once.")
        .gives(object().with("id", uuid()).with("key", text().about("The secret, this once.")))
        .errors(&[Code::KeyNotFound])
}

/// `POST /api/keys/{id}/rotate`: a new secret; the old one stops at once.
pub(crate) async fn rotate(State(app): State<Arc<App>>, Id(id): Id) -> Result<Json<Value>, ApiError> {
    let secret = secret()?;
    let update = KeyUpdate { secret_hash: Some(hash_secret(&secret)), ..KeyUpdate::default() };
    let key = app.keyring.update(&id, update).await?;
    app.executor.end_listening(&id);
    Ok(Json(json!({"id": key.id, "key": secret})))
}

pub(super) fn check_name(body: &mut Fields, name: &str) {
    let legal =
        !name.trim().is_empty() && name.chars().count() <= NAME_CHARS && !name.chars().any(char::is_control);
    if !legal {
        body.refuse("name", format!("has 1 to {NAME_CHARS} characters, none of them control characters"));
    }
}

pub(super) fn scopes(body: &mut Fields) -> Option<Vec<Scope>> {
    let words = body.texts("scopes")?;
    let mut out = Vec::new();
    for (place, word) in words.iter().enumerate() {
        match Scope::parse(word) {
            Some(scope) if out.contains(&scope) => {}
            Some(scope) => out.push(scope),
            None => {
                let known = Scope::ALL.map(Scope::as_str).join(", ");
                body.refuse(&format!("scopes[{place}]"), format!("is not one of {known}"));
            }
        }
    }
    Some(out)
}

fn secret() -> Result<String, ApiError> {
    new_secret("osk_").map_err(|e| ApiError::internal(format!("no random bytes: {e}")))
}
