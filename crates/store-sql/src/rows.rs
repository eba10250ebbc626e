//! Rows to what they mean, the same for every database. The columns come in the order in which they are read here.

use domain::{
    ApiKey, Artifact, AuditEntry, Door, Execution, KeySettings, ManagementToken, Mode, Policy, Scope, Skill,
    SkillSet, SourceProvider, Status, TurnRecord,
};
use serde::Deserialize as _;
use serde_json::{Map, Value};

use crate::cells::Cells;
use crate::common::{Details, join};
use crate::error::BadRow;

/// A row of `skills`.
pub(crate) fn skill(cells: &mut impl Cells) -> Result<Skill, BadRow> {
    let skill = Skill {
        id: cells.text("id")?,
        api_key_id: cells.text("api_key_id")?,
        name: cells.text("name")?,
        version: cells.parsed("version")?,
        description: cells.text("description")?,
        schema: cells.json("schema")?,
        handler: cells.text("handler")?,
        enabled: cells.flag("enabled")?,
        mode: cells.word("mode", Mode::parse)?,
        mode_before: cells.optional_word("mode_before", Mode::parse)?,
        policy: cells.word("policy", Policy::parse)?,
        timeout_ms: cells.optional_number("timeout_ms")?,
        max_retries: cells.optional_number("max_retries")?,
        annotations: cells.json("annotations")?,
        source_provider: cells.word("source_provider", SourceProvider::parse)?,
        source_url: cells.optional_text("source_url")?,
        content_sha256: cells.optional_text("content_sha256")?,
        tags: cells.json("tags")?,
        install_count: cells.number("install_count")?,
        created_at: cells.text("created_at")?,
        updated_at: cells.text("updated_at")?,
    };
    match domain::skill::check_name(&skill.name) {
        Ok(()) => Ok(skill),
        Err(error) => Err(BadRow { column: "name", problem: format!("is wrong: {error}") }),
    }
}

/// A row of `skill_sets`.
pub(crate) fn set(cells: &mut impl Cells) -> Result<SkillSet, BadRow> {
    Ok(SkillSet {
        name: cells.text("name")?,
        skills: cells.json("skills")?,
        created_at: cells.text("created_at")?,
        updated_at: cells.text("updated_at")?,
    })
}

/// A row of `skill_executions` with its approval behind it.
pub(crate) fn execution(cells: &mut impl Cells) -> Result<Execution, BadRow> {
    Ok(Execution {
        id: cells.text("id")?,
        skill_id: cells.text("skill_id")?,
        skill_name: cells.text("skill_name")?,
        version: cells.parsed("version")?,
        api_key_id: cells.text("api_key_id")?,
        user: cells.optional_text("user")?,
        session_id: cells.optional_text("session_id")?,
        turn_id: cells.optional_text("turn_id")?,
        door: cells.word("door", Door::parse)?,
        status: cells.word("status", Status::parse)?,
        duration_ms: cells.optional_number("duration_ms")?,
        attempts: cells.number("attempts")?,
        engine: cells.optional_text("engine")?,
        isolation: cells.optional_text("isolation")?,
        created_at: cells.text("created_at")?,
        error_message: cells.optional_text("error_message")?,
        input: cells.json("input")?,
        output: cells.optional_json("output")?,
        parts: cells.json("parts")?,
        approval: cells.optional_json("approval")?,
    })
}

/// A row of `api_keys`, without its hash.
pub(crate) fn key(cells: &mut impl Cells) -> Result<ApiKey, BadRow> {
    Ok(ApiKey {
        id: cells.text("id")?,
        name: cells.text("name")?,
        scopes: cells.json::<Vec<Scope>>("scopes")?,
        custom_skill_execution_enabled: cells.flag("custom_skill_execution_enabled")?,
        revoked: cells.flag("revoked")?,
        settings: settings(cells)?,
        created_at: cells.text("created_at")?,
        last_used_at: cells.optional_text("last_used_at")?,
    })
}

/// Only an object, so that damage is never taken for settings that restrict nothing: a list would be read as fields too.
fn settings(cells: &mut impl Cells) -> Result<KeySettings, BadRow> {
    let object: Map<String, Value> = cells.json("settings")?;
    KeySettings::deserialize(Value::Object(object))
        .map_err(|e| BadRow { column: "settings", problem: format!("is not what it should be: {e}") })
}

/// A row of `management_tokens`, without its hash.
pub(crate) fn token(cells: &mut impl Cells) -> Result<ManagementToken, BadRow> {
    Ok(ManagementToken {
        id: cells.text("id")?,
        name: cells.text("name")?,
        scopes: cells.json::<Vec<Scope>>("scopes")?,
        created_at: cells.text("created_at")?,
        last_used_at: cells.optional_text("last_used_at")?,
    })
}

/// The halves of a row of `turns`.
pub(crate) fn turn(cells: &mut impl Cells) -> Result<TurnRecord, BadRow> {
    let (summary, details): (TurnRecord, Details) = (cells.json("summary")?, cells.json("details")?);
    Ok(join(summary, details))
}

/// A row of `artifacts`, without its content.
pub(crate) fn artifact(cells: &mut impl Cells) -> Result<Artifact, BadRow> {
    Ok(Artifact {
        id: cells.text("id")?,
        execution_id: cells.text("execution_id")?,
        api_key_id: cells.text("api_key_id")?,
        name: cells.text("name")?,
        mime: cells.text("mime")?,
        bytes: cells.number("bytes")?,
        sha256: cells.text("sha256")?,
        created_at: cells.text("created_at")?,
    })
}

/// A row of `audit`.
pub(crate) fn audit_entry(cells: &mut impl Cells) -> Result<AuditEntry, BadRow> {
    Ok(AuditEntry {
        id: cells.text("id")?,
        actor: cells.text("actor")?,
        action: cells.text("action")?,
        target: cells.text("target")?,
        before: cells.optional_json("before")?,
        after: cells.optional_json("after")?,
        request_id: cells.optional_text("request_id")?,
        created_at: cells.text("created_at")?,
    })
}
