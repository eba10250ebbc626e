//! The `skill_sets` and `skill_defaults` tables. What a set means is not known here.

use domain::{SkillDefault, SkillSet};
use store::StoreError;
use tokio_postgres::Row;

use super::cells::Columns;
use super::lanes::Lanes;
use super::session::Tx;
use super::text::{json, text};
use crate::cells::Cells;
use crate::error::{BadRow, SqlError};
use crate::rows;

/// Every readable set, ordered by name; one that cannot be read is logged and left out.
pub(super) async fn all(tx: &Tx<'_>) -> Result<Vec<SkillSet>, SqlError> {
    let rows =
        tx.rows("SELECT name, skills, created_at, updated_at FROM skill_sets ORDER BY name", &[]).await?;
    let mut sets = Vec::new();
    for row in rows {
        match read(&row) {
            Ok(set) => sets.push(set),
            Err(error) => tracing::error!(%error, "a set cannot be read"),
        }
    }
    Ok(sets)
}

/// What names mean, ordered by owner and name.
pub(super) async fn defaults(tx: &Tx<'_>) -> Result<Vec<SkillDefault>, SqlError> {
    let sql = "SELECT api_key_id, name, version_constraint FROM skill_defaults ORDER BY api_key_id, name";
    let rows = tx.rows(sql, &[]).await?;
    rows.iter().map(|row| Ok(default(row)?)).collect()
}

/// See [`store::Sets::put_set`].
pub(super) async fn put(lanes: &Lanes, set: &SkillSet) -> Result<SkillSet, SqlError> {
    let sql = "INSERT INTO skill_sets (name, skills, created_at, updated_at) VALUES ($1, $2, $3, $4)
        ON CONFLICT (name) DO UPDATE SET skills = excluded.skills, updated_at = excluded.updated_at
        RETURNING name, skills, created_at, updated_at";
    let skills = json(&set.skills)?;
    let row =
        lanes.row(sql, &[&text(&set.name), &skills, &text(&set.created_at), &text(&set.updated_at)]).await?;
    Ok(read(&row.ok_or_else(|| not_found("set", &set.name))?)?)
}

/// See [`store::Sets::delete_set`].
pub(super) async fn delete(lanes: &Lanes, name: &str) -> Result<(), SqlError> {
    match lanes.execute("DELETE FROM skill_sets WHERE name = $1", &[&text(name)]).await? {
        0 => Err(not_found("set", name)),
        _ => Ok(()),
    }
}

/// See [`store::Sets::put_default`].
pub(super) async fn put_default(lanes: &Lanes, default: &SkillDefault) -> Result<(), SqlError> {
    let sql = "INSERT INTO skill_defaults (api_key_id, name, version_constraint) VALUES ($1, $2, $3)
        ON CONFLICT (api_key_id, name) DO UPDATE SET version_constraint = excluded.version_constraint";
    let (owner, name) = (text(&default.api_key_id), text(&default.name));
    lanes.execute(sql, &[&owner, &name, &text(&default.constraint)]).await?;
    Ok(())
}

/// See [`store::Sets::delete_default`].
pub(super) async fn delete_default(lanes: &Lanes, owner: &str, name: &str) -> Result<(), SqlError> {
    let sql = "DELETE FROM skill_defaults WHERE api_key_id = $1 AND name = $2";
    match lanes.execute(sql, &[&text(owner), &text(name)]).await? {
        0 => Err(not_found("default", name)),
        _ => Ok(()),
    }
}

fn read(row: &Row) -> Result<SkillSet, BadRow> {
    rows::set(&mut Columns::new(row))
}

fn default(row: &Row) -> Result<SkillDefault, BadRow> {
    let mut cells = Columns::new(row);
    Ok(SkillDefault {
        api_key_id: cells.text("api_key_id")?,
        name: cells.text("name")?,
        constraint: cells.text("version_constraint")?,
    })
}

fn not_found(what: &'static str, id: &str) -> SqlError {
    StoreError::NotFound { what, id: id.to_owned() }.into()
}
