//! `POST /api/skills/install`: a skill from a body. Its `handlerCode` is a name in the handler table, never code.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use domain::limits::EXECUTION_TIMEOUT_MAX_MS;
use domain::skill::check_name;
use domain::{Annotations, Mode, Policy, SYSTEM_OWNER, Skill, SourceProvider, Version, ids, schema};
use executor::check_schema;
use serde_json::{Map, Value, json};

use crate::api::now;
use crate::api::plain::{OWNER_CHARS, plain};
use crate::app::App;
use crate::error::{ApiError, Code};
use crate::http::{Fields, Object};
use crate::openapi::schema::{flag, free_object, list, object, text, uuid, whole, word};
use crate::openapi::shapes::{ANNOTATIONS, MODES, PLAIN, POLICIES, done, skill_name, version};
use crate::openapi::{Operation, Tag};

/// Most retries of a skill.
pub(super) const RETRIES: u64 = 3;

pub(crate) fn install_doc() -> Operation {
    let id = &[("id", "$response.body#/id")];
    let schemas = object().maybe("input", free_object()).maybe("output", free_object()).closed();
    let body = object()
        .with("name", skill_name())
        .with("description", text())
        .with("handlerCode", text().about("A name in the handler table, never code.").example("echo-handler"))
        .maybe("schema", schemas.about("JSON Schemas, or `{\"text\": \"string\"}`."))
        .maybe("version", version().default("1.0.0"))
        .maybe("apiKeyId", text().length(1, OWNER_CHARS).pattern(PLAIN).about("Owner; `system` if absent."))
        .maybe("replace", flag().default(false).about("Overwrite this name and version of the owner."))
        .maybe("mode", word(MODES).default("on"))
        .maybe("policy", word(POLICIES).default("auto"))
        .maybe("tags", list(text()))
        .maybe("timeoutMs", whole(1..=EXECUTION_TIMEOUT_MAX_MS))
        .maybe("maxRetries", whole(0..=RETRIES))
        .maybe("annotations", ANNOTATIONS.refer())
        .closed();
    let example = json!({
        "name": "shout", "version": "1.0.0", "description": "Says it again", "replace": true,
        "schema": {"input": {"text": "string"}}, "handlerCode": "echo-handler",
    });
    Operation::new(Tag::Skills, "installSkill", "Install a skill")
        .body(body)
        .example(example)
        .gives(done().with("id", uuid()))
        .errors(&[
            Code::SkillExists,
            Code::ReservedName,
            Code::BuiltinSkill,
            Code::InvalidSchema,
            Code::UnknownHandler,
        ])
        .errors(&[Code::NotReady])
        .link("getSkill", id)
        .link("updateSkill", id)
        .link("deleteSkill", id)
}

/// The handler.
pub(crate) async fn install(
    State(app): State<Arc<App>>,
    Object(body): Object,
) -> Result<Json<Value>, ApiError> {
    let (skill, replace) = read(Fields::from(body))?;
    check_schemas(&skill.schema)?;
    let skill = app.registry.install(skill, replace).await?;
    tracing::info!(skill.id = %skill.id, skill.owner = %skill.api_key_id, "skill installed");
    Ok(Json(json!({"success": true, "id": skill.id})))
}

fn read(mut body: Fields) -> Result<(Skill, bool), ApiError> {
    let created_at = now();
    let name = body.required_text("name");
    if let Err(error) = check_name(&name)
        && !name.is_empty()
    {
        body.refuse("name", error);
    }
    let owner = body.parsed("apiKeyId", |owner| plain(owner, 1, OWNER_CHARS));
    let skill = Skill {
        id: ids::new_id(),
        api_key_id: owner.unwrap_or_else(|| SYSTEM_OWNER.to_owned()),
        name,
        version: body.parsed("version", str::parse).unwrap_or(Version::new(1, 0, 0)),
        description: body.required_text("description"),
        schema: body.value("schema").unwrap_or_else(|| Value::Object(Map::new())),
        handler: body.required_text("handlerCode"),
        mode: body.word("mode", MODES, Mode::parse).unwrap_or(Mode::On),
        policy: body.word("policy", POLICIES, Policy::parse).unwrap_or_default(),
        enabled: true,
        mode_before: None,
        timeout_ms: body.whole("timeoutMs", 1..=EXECUTION_TIMEOUT_MAX_MS),
        max_retries: body.whole("maxRetries", 0..=RETRIES).and_then(|n| u32::try_from(n).ok()),
        annotations: body.object("annotations", annotations).unwrap_or_default(),
        source_provider: SourceProvider::Local,
        source_url: None,
        content_sha256: None,
        tags: body.texts("tags").unwrap_or_default(),
        install_count: 0,
        updated_at: created_at.clone(),
        created_at,
    };
    let replace = body.flag("replace").unwrap_or(false);
    body.finish()?;
    Ok((skill, replace))
}

fn annotations(fields: &mut Fields) -> Annotations {
    let mut hint = |name| fields.flag(name).unwrap_or(false);
    Annotations {
        read_only: hint("readOnly"),
        idempotent: hint("idempotent"),
        destructive: hint("destructive"),
        open_world: hint("openWorld"),
    }
}

/// A schema that has the right shape may still not work: a bad pattern, a `$ref` to nowhere.
fn check_schemas(schema: &Value) -> Result<(), ApiError> {
    let input = schema::normalise_input(schema).map_err(registry::RegistryError::Schema)?;
    let output = schema::normalise_output(schema).map_err(registry::RegistryError::Schema)?;
    for (side, schema) in [("schema.input", Some(input)), ("schema.output", output)] {
        if let Some(Err(error)) = schema.as_ref().map(check_schema) {
            return Err(ApiError::field(Code::InvalidSchema, side, &error.message));
        }
    }
    Ok(())
}
