//! The `skills` table: rows to skills and back, and the built-ins brought up to date.
//!
//! Knows which columns the binary owns and which the row owns; what a mode means is `domain`'s business.

use std::collections::HashSet;

use domain::{Mode, SYSTEM_OWNER, Skill, SourceProvider};
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use serde_json::to_string;
use store::{LoadedSkills, SkillUpdate, StoreError};

use super::cells::Columns;
use super::sets;
use crate::cells::Cells;
use crate::common::{apply, signed};
use crate::error::{BadRow, SqlError, conflict};
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
            ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)"
        )
    };
}

const INSERT: &str = insert!();

/// Keeps id, install count and creation time.
const INSERT_OR_REPLACE: &str = concat!(
    insert!(),
    " ON CONFLICT (api_key_id, name, version) DO UPDATE SET
        description = excluded.description, schema = excluded.schema, handler = excluded.handler,
        enabled = excluded.enabled, mode = excluded.mode, mode_before = excluded.mode_before,
        policy = excluded.policy, timeout_ms = excluded.timeout_ms, max_retries = excluded.max_retries,
        annotations = excluded.annotations, source_provider = excluded.source_provider,
        source_url = excluded.source_url, content_sha256 = excluded.content_sha256, tags = excluded.tags,
        updated_at = excluded.updated_at"
);

const INSERT_IF_ABSENT: &str = concat!(insert!(), " ON CONFLICT (api_key_id, name, version) DO NOTHING");

/// A built-in name is reserved: a row of another source loses everything but its place and its switches.
const TAKE_OVER: &str = "UPDATE skills SET source_provider = 'builtin', source_url = NULL, policy = ?4,
        timeout_ms = ?5, max_retries = ?6
    WHERE api_key_id = ?1 AND name = ?2 AND version = ?3 AND source_provider <> 'builtin'";

/// Touches nothing when nothing changed, so that `updated_at` means something.
const REFRESH: &str =
    "UPDATE skills SET description = ?4, schema = ?5, handler = ?6, annotations = ?7, tags = ?8,
        content_sha256 = ?9, updated_at = ?10
    WHERE api_key_id = ?1 AND name = ?2 AND version = ?3
      AND (description, schema, handler, annotations, tags, content_sha256) IS NOT (?4, ?5, ?6, ?7, ?8, ?9)";

/// Every row that can be read, in the order of owner and name, and a reason for each that cannot; and all sets and
/// defaults.
pub(super) fn load(connection: &Connection) -> Result<LoadedSkills, SqlError> {
    let sql = concat!("SELECT ", columns!(), " FROM skills ORDER BY api_key_id, name, id");
    // One transaction, so that all of it is of the same moment.
    let snapshot = connection.unchecked_transaction()?;
    let mut statement = snapshot.prepare_cached(sql)?;
    let mut rows = statement.query([])?;
    let mut loaded = LoadedSkills::default();
    while let Some(row) = rows.next()? {
        match read(row) {
            Ok(skill) => loaded.skills.push(skill),
            Err(bad) => loaded.broken.push((Columns::new(row).text("id")?, bad.to_string())),
        }
    }
    drop(rows);
    loaded.sets = sets::all(&snapshot)?;
    loaded.defaults = sets::defaults(&snapshot)?;
    Ok(loaded)
}

/// See [`store::Store::insert_skill`].
pub(super) fn insert(connection: &Connection, skill: &Skill, replace: bool) -> Result<Skill, SqlError> {
    let sql = if replace { INSERT_OR_REPLACE } else { INSERT };
    write(connection, sql, skill)?;
    let sql =
        concat!("SELECT ", columns!(), " FROM skills WHERE api_key_id = ?1 AND name = ?2 AND version = ?3");
    let key = params![skill.api_key_id, skill.name, skill.version.to_string()];
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(key)?;
    let row = rows.next()?.ok_or(rusqlite::Error::QueryReturnedNoRows)?;
    Ok(read(row)?)
}

/// See [`store::Store::update_skill`].
pub(super) fn update(connection: &Connection, id: &str, update: SkillUpdate) -> Result<Skill, SqlError> {
    let mut skill = by_id(connection, id)?.ok_or_else(|| not_found(id))?;
    apply(&mut skill, update);
    let sql = "UPDATE skills SET enabled = ?2, mode = ?3, mode_before = ?4, policy = ?5, description = ?6, tags = ?7,
            timeout_ms = ?8, max_retries = ?9, updated_at = ?10 WHERE id = ?1";
    connection.prepare_cached(sql)?.execute(params![
        id,
        skill.enabled,
        skill.mode.as_str(),
        skill.mode_before.map(Mode::as_str),
        skill.policy.as_str(),
        skill.description,
        to_string(&skill.tags)?,
        skill.timeout_ms.map(signed),
        skill.max_retries,
        skill.updated_at,
    ])?;
    // Read back: what the caller sees is what the next load sees.
    by_id(connection, id)?.ok_or_else(|| not_found(id))
}

/// See [`store::Store::delete_skill`].
pub(super) fn delete(connection: &Connection, id: &str) -> Result<(), SqlError> {
    match connection.prepare_cached("DELETE FROM skills WHERE id = ?1")?.execute([id])? {
        0 => Err(not_found(id)),
        _ => Ok(()),
    }
}

/// See [`store::Store::sync_builtins`]. Everything here belongs to the owner `system`.
pub(super) fn sync_builtins(connection: &Connection, builtins: &[Skill]) -> Result<(), SqlError> {
    for skill in builtins {
        let skill = Skill {
            api_key_id: SYSTEM_OWNER.to_owned(),
            source_provider: SourceProvider::Builtin,
            source_url: None,
            ..skill.clone()
        };
        if write(connection, INSERT_IF_ABSENT, &skill)? == 0 {
            refresh_builtin(connection, &skill)?;
        }
    }
    remove_old_builtins(connection, builtins)
}

fn refresh_builtin(connection: &Connection, skill: &Skill) -> Result<(), SqlError> {
    let version = skill.version.to_string();
    connection.prepare_cached(TAKE_OVER)?.execute(params![
        skill.api_key_id,
        skill.name,
        version,
        skill.policy.as_str(),
        skill.timeout_ms.map(signed),
        skill.max_retries,
    ])?;
    connection.prepare_cached(REFRESH)?.execute(params![
        skill.api_key_id,
        skill.name,
        version,
        skill.description,
        to_string(&skill.schema)?,
        skill.handler,
        to_string(&skill.annotations)?,
        to_string(&skill.tags)?,
        skill.content_sha256,
        skill.updated_at,
    ])?;
    Ok(())
}

fn remove_old_builtins(connection: &Connection, builtins: &[Skill]) -> Result<(), SqlError> {
    let shipped: HashSet<(&str, String)> =
        builtins.iter().map(|skill| (skill.name.as_str(), skill.version.to_string())).collect();
    let sql = "SELECT id, name, version FROM skills WHERE api_key_id = ?1 AND source_provider = 'builtin'";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([SYSTEM_OWNER], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let present: Vec<(String, String, String)> = rows.collect::<rusqlite::Result<_>>()?;
    for (id, name, version) in present {
        if !shipped.contains(&(name.as_str(), version)) {
            delete(connection, &id)?;
        }
    }
    Ok(())
}

fn by_id(connection: &Connection, id: &str) -> Result<Option<Skill>, SqlError> {
    let sql = concat!("SELECT ", columns!(), " FROM skills WHERE id = ?1");
    let mut statement = connection.prepare_cached(sql)?;
    let read = statement.query_row([id], |row| Ok(read(row))).optional()?;
    Ok(read.transpose()?)
}

/// Rows written: 0 when an existing row was left as it is.
fn write(connection: &Connection, sql: &str, skill: &Skill) -> Result<usize, SqlError> {
    let values = params![
        skill.id,
        skill.api_key_id,
        skill.name,
        skill.version.to_string(),
        skill.description,
        to_string(&skill.schema)?,
        skill.handler,
        skill.enabled,
        skill.mode.as_str(),
        skill.mode_before.map(Mode::as_str),
        skill.policy.as_str(),
        skill.timeout_ms.map(signed),
        skill.max_retries,
        to_string(&skill.annotations)?,
        skill.source_provider.as_str(),
        skill.source_url,
        skill.content_sha256,
        to_string(&skill.tags)?,
        signed(skill.install_count),
        skill.created_at,
        skill.updated_at,
    ];
    let mut statement = connection.prepare_cached(sql)?;
    statement.execute(values).map_err(|e| conflict(e, || format!("skill {}", skill.identity())))
}

fn read(row: &Row<'_>) -> Result<Skill, BadRow> {
    rows::skill(&mut Columns::new(row))
}

fn not_found(id: &str) -> SqlError {
    StoreError::NotFound { what: "skill", id: id.to_owned() }.into()
}
