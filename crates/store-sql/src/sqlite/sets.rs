//! The `skill_sets` and `skill_defaults` tables. What a set means is not known here.

use domain::{SkillDefault, SkillSet};
use rusqlite::{Connection, Row, params};
use serde_json::to_string;
use store::StoreError;

use super::cells::Columns;
use crate::error::{BadRow, SqlError};
use crate::rows;

/// Every readable set, ordered by name; one that cannot be read is logged and left out.
pub(super) fn all(connection: &Connection) -> Result<Vec<SkillSet>, SqlError> {
    let sql = "SELECT name, skills, created_at, updated_at FROM skill_sets ORDER BY name";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([])?;
    let mut sets = Vec::new();
    while let Some(row) = rows.next()? {
        match read(row) {
            Ok(set) => sets.push(set),
            Err(error) => tracing::error!(%error, "a set cannot be read"),
        }
    }
    Ok(sets)
}

/// What names mean, ordered by owner and name.
pub(super) fn defaults(connection: &Connection) -> Result<Vec<SkillDefault>, SqlError> {
    let sql = "SELECT api_key_id, name, version_constraint FROM skill_defaults ORDER BY api_key_id, name";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([], |row| {
        Ok(SkillDefault { api_key_id: row.get(0)?, name: row.get(1)?, constraint: row.get(2)? })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// See [`store::Sets::put_set`].
pub(super) fn put(connection: &Connection, set: &SkillSet) -> Result<SkillSet, SqlError> {
    let sql = "INSERT INTO skill_sets (name, skills, created_at, updated_at) VALUES (?1, ?2, ?3, ?4)
        ON CONFLICT (name) DO UPDATE SET skills = excluded.skills, updated_at = excluded.updated_at
        RETURNING name, skills, created_at, updated_at";
    let mut statement = connection.prepare_cached(sql)?;
    let values = params![set.name, to_string(&set.skills)?, set.created_at, set.updated_at];
    Ok(statement.query_row(values, |row| Ok(read(row)))??)
}

/// See [`store::Sets::delete_set`].
pub(super) fn delete(connection: &Connection, name: &str) -> Result<(), SqlError> {
    match connection.prepare_cached("DELETE FROM skill_sets WHERE name = ?1")?.execute([name])? {
        0 => Err(StoreError::NotFound { what: "set", id: name.to_owned() }.into()),
        _ => Ok(()),
    }
}

/// See [`store::Sets::put_default`].
pub(super) fn put_default(connection: &Connection, default: &SkillDefault) -> Result<(), SqlError> {
    let sql = "INSERT INTO skill_defaults (api_key_id, name, version_constraint) VALUES (?1, ?2, ?3)
        ON CONFLICT (api_key_id, name) DO UPDATE SET version_constraint = excluded.version_constraint";
    let values = params![default.api_key_id, default.name, default.constraint];
    connection.prepare_cached(sql)?.execute(values)?;
    Ok(())
}

/// See [`store::Sets::delete_default`].
pub(super) fn delete_default(connection: &Connection, owner: &str, name: &str) -> Result<(), SqlError> {
    let sql = "DELETE FROM skill_defaults WHERE api_key_id = ?1 AND name = ?2";
    match connection.prepare_cached(sql)?.execute([owner, name])? {
        0 => Err(StoreError::NotFound { what: "default", id: name.to_owned() }.into()),
        _ => Ok(()),
    }
}

fn read(row: &Row<'_>) -> Result<SkillSet, BadRow> {
    rows::set(&mut Columns::new(row))
}
