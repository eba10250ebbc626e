//! The `skills` table: rows to skills and back, and the built-ins brought up to date.
//!
//! Knows which columns the binary owns and which the row owns; what a mode means is `domain`'s business.

use domain::{Mode, SYSTEM_OWNER, Skill, SourceProvider};
use store::{LoadedSkills, SkillUpdate, StoreError};
use tokio_postgres::Row;

use super::cells::Columns;
use super::error::conflict;
use super::exclusive::Exclusive;
use super::lanes::Lanes;
use super::session::Tx;
use super::sets;
use super::text::{json, optional, owned, text};
use crate::cells::Cells;
use crate::common::{apply, signed};
use crate::error::{BadRow, SqlError};
use crate::rows;

/// A macro, so that statements are put together at compile time.
macro_rules! columns {
    () => {
        "id, api_key_id, name, version, description, schema, handler, enabled, mode, mode_before, policy, timeout_ms, \
         max_retries, annotations, source_provider, source_url, content_sha256, tags, install_count, created_at, \
         updated_at"
    };
}

macro_rules! insert {
    () => {
        concat!(
            "INSERT INTO skills (",
            columns!(),
            ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)"
        )
    };
}

const INSERT: &str = concat!(insert!(), " RETURNING ", columns!());

/// Keeps id, install count and creation time.
const INSERT_OR_REPLACE: &str = concat!(
    insert!(),
    " ON CONFLICT (api_key_id, name, version) DO UPDATE SET
        description = excluded.description, schema = excluded.schema, handler = excluded.handler,
        enabled = excluded.enabled, mode = excluded.mode, mode_before = excluded.mode_before,
        policy = excluded.policy, timeout_ms = excluded.timeout_ms, max_retries = excluded.max_retries,
        annotations = excluded.annotations, source_provider = excluded.source_provider,
        source_url = excluded.source_url, content_sha256 = excluded.content_sha256, tags = excluded.tags,
        updated_at = excluded.updated_at
      RETURNING ",
    columns!()
);

const INSERT_IF_ABSENT: &str =
    concat!(insert!(), " ON CONFLICT (api_key_id, name, version) DO NOTHING RETURNING ", columns!());

/// A built-in name is reserved: a row of another source loses everything but its place and its switches.
const TAKE_OVER: &str = "UPDATE skills SET source_provider = 'builtin', source_url = NULL, policy = $4,
        timeout_ms = $5, max_retries = $6
    WHERE api_key_id = $1 AND name = $2 AND version = $3 AND source_provider <> 'builtin'";

/// Touches nothing when nothing changed, so that `updated_at` means something.
const REFRESH: &str =
    "UPDATE skills SET description = $4, schema = $5, handler = $6, annotations = $7, tags = $8,
        content_sha256 = $9, updated_at = $10
    WHERE api_key_id = $1 AND name = $2 AND version = $3
      AND (description, schema, handler, annotations, tags, content_sha256)
          IS DISTINCT FROM ($4::text, $5::text, $6::text, $7::text, $8::text, $9::text)";

/// Processes that start at the same moment bring the built-ins up to date one after the other.
const ONE_AT_A_TIME: &str =
    "SELECT pg_advisory_xact_lock(hashtextextended('omni-skills builtins ' || current_schema(), 0))";

/// Every row that can be read, in the order of owner and name, and a reason for each that cannot; and all sets and
/// defaults.
pub(super) async fn load(exclusive: &Exclusive) -> Result<LoadedSkills, SqlError> {
    let mut session = exclusive.take().await?;
    // One transaction, so that all of it is of the same moment.
    let snapshot = session.snapshot().await?;
    let sql = concat!("SELECT ", columns!(), " FROM skills ORDER BY api_key_id, name, id");
    let mut loaded = LoadedSkills::default();
    for row in snapshot.rows(sql, &[]).await? {
        match read(&row) {
            Ok(skill) => loaded.skills.push(skill),
            Err(bad) => loaded.broken.push((Columns::new(&row).text("id")?, bad.to_string())),
        }
    }
    loaded.sets = sets::all(&snapshot).await?;
    loaded.defaults = sets::defaults(&snapshot).await?;
    snapshot.commit().await?;
    Ok(loaded)
}

/// See [`store::Store::insert_skill`].
pub(super) async fn insert(exclusive: &Exclusive, skill: &Skill, replace: bool) -> Result<Skill, SqlError> {
    let mut session = exclusive.take().await?;
    let tx = session.begin().await?;
    let sql = if replace { INSERT_OR_REPLACE } else { INSERT };
    let row = write(&tx, sql, skill).await?.ok_or_else(|| not_found(&skill.id))?;
    let written = read(&row)?;
    tx.commit().await?;
    Ok(written)
}

/// See [`store::Store::update_skill`].
pub(super) async fn update(exclusive: &Exclusive, id: &str, update: SkillUpdate) -> Result<Skill, SqlError> {
    let mut session = exclusive.take().await?;
    let tx = session.begin().await?;
    let sql = concat!("SELECT ", columns!(), " FROM skills WHERE id = $1 FOR UPDATE");
    let row = tx.row(sql, &[&text(id)]).await?.ok_or_else(|| not_found(id))?;
    let mut skill = read(&row)?;
    apply(&mut skill, update);
    let sql = concat!(
        "UPDATE skills SET enabled = $2, mode = $3, mode_before = $4, policy = $5, description = $6, tags = $7,
            timeout_ms = $8, max_retries = $9, updated_at = $10 WHERE id = $1 RETURNING ",
        columns!()
    );
    let changed = tx
        .row(
            sql,
            &[
                &text(id),
                &skill.enabled,
                &skill.mode.as_str(),
                &skill.mode_before.map(Mode::as_str),
                &skill.policy.as_str(),
                &text(&skill.description),
                &json(&skill.tags)?,
                &skill.timeout_ms.map(signed),
                &skill.max_retries.map(i64::from),
                &text(&skill.updated_at),
            ],
        )
        .await?;
    // Read back: what the caller sees is what the next load sees.
    let skill = read(&changed.ok_or_else(|| not_found(id))?)?;
    tx.commit().await?;
    Ok(skill)
}

/// See [`store::Store::delete_skill`].
pub(super) async fn delete(lanes: &Lanes, id: &str) -> Result<(), SqlError> {
    match lanes.execute("DELETE FROM skills WHERE id = $1", &[&text(id)]).await? {
        0 => Err(not_found(id)),
        _ => Ok(()),
    }
}

/// See [`store::Store::sync_builtins`]. Everything here belongs to the owner `system`.
pub(super) async fn sync_builtins(exclusive: &Exclusive, builtins: &[Skill]) -> Result<(), SqlError> {
    let mut session = exclusive.take().await?;
    let tx = session.begin().await?;
    tx.rows(ONE_AT_A_TIME, &[]).await?;
    for skill in builtins {
        let skill = Skill {
            api_key_id: SYSTEM_OWNER.to_owned(),
            source_provider: SourceProvider::Builtin,
            source_url: None,
            ..skill.clone()
        };
        if write(&tx, INSERT_IF_ABSENT, &skill).await?.is_none() {
            refresh_builtin(&tx, &skill).await?;
        }
    }
    let shipped: Vec<_> =
        builtins.iter().map(|skill| owned(format!("{} {}", skill.name, skill.version))).collect();
    let sql = "DELETE FROM skills WHERE api_key_id = $1 AND source_provider = 'builtin'
        AND name || ' ' || version <> ALL ($2)";
    tx.execute(sql, &[&text(SYSTEM_OWNER), &shipped]).await?;
    tx.commit().await
}

async fn refresh_builtin(tx: &Tx<'_>, skill: &Skill) -> Result<(), SqlError> {
    let version = owned(skill.version.to_string());
    let (owner, name) = (text(&skill.api_key_id), text(&skill.name));
    let limits = (skill.timeout_ms.map(signed), skill.max_retries.map(i64::from));
    let policy = skill.policy.as_str();
    tx.execute(TAKE_OVER, &[&owner, &name, &version, &policy, &limits.0, &limits.1]).await?;
    let values = (json(&skill.schema)?, json(&skill.annotations)?, json(&skill.tags)?);
    tx.execute(
        REFRESH,
        &[
            &owner,
            &name,
            &version,
            &text(&skill.description),
            &values.0,
            &text(&skill.handler),
            &values.1,
            &values.2,
            &optional(skill.content_sha256.as_ref()),
            &text(&skill.updated_at),
        ],
    )
    .await?;
    Ok(())
}

/// The row as it is then; none when an existing row was left as it is.
async fn write(tx: &Tx<'_>, sql: &str, skill: &Skill) -> Result<Option<Row>, SqlError> {
    let written = tx
        .row(
            sql,
            &[
                &text(&skill.id),
                &text(&skill.api_key_id),
                &text(&skill.name),
                &owned(skill.version.to_string()),
                &text(&skill.description),
                &json(&skill.schema)?,
                &text(&skill.handler),
                &skill.enabled,
                &skill.mode.as_str(),
                &skill.mode_before.map(Mode::as_str),
                &skill.policy.as_str(),
                &skill.timeout_ms.map(signed),
                &skill.max_retries.map(i64::from),
                &json(&skill.annotations)?,
                &skill.source_provider.as_str(),
                &optional(skill.source_url.as_ref()),
                &optional(skill.content_sha256.as_ref()),
                &json(&skill.tags)?,
                &signed(skill.install_count),
                &text(&skill.created_at),
                &text(&skill.updated_at),
            ],
        )
        .await;
    written.map_err(|e| conflict(e, || format!("skill {}", skill.identity())))
}

fn read(row: &Row) -> Result<Skill, BadRow> {
    rows::skill(&mut Columns::new(row))
}

fn not_found(id: &str) -> SqlError {
    StoreError::NotFound { what: "skill", id: id.to_owned() }.into()
}
