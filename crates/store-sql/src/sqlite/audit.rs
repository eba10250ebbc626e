//! The `audit` table. Triggers of the schema refuse to change or remove what is in it.

use domain::AuditEntry;
use rusqlite::{Connection, Row, params, params_from_iter};
use store::{AuditFilter, Page, PageRequest, StoreError};

use super::cells::Columns;
use super::conditions::Conditions;
use super::prepared::optional_json;
use crate::common::{bounded, count, nanoseconds};
use crate::error::{BadRow, SqlError, conflict};
use crate::rows;

/// See [`store::Audit::append_audit`].
pub(super) fn append(connection: &Connection, entry: &AuditEntry) -> Result<(), SqlError> {
    let sql =
        "INSERT INTO audit (id, actor, action, target, request_id, created_at, created_ns, before, after)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    let values = params![
        entry.id,
        entry.actor,
        entry.action,
        entry.target,
        entry.request_id,
        entry.created_at,
        nanoseconds(&entry.created_at)?,
        optional_json(entry.before.as_ref())?,
        optional_json(entry.after.as_ref())?,
    ];
    let what = || format!("audit entry {}", entry.id);
    match connection.prepare_cached(sql)?.execute(values).map_err(|e| conflict(e, what))? {
        // The schema leaves an entry that is there as it is.
        0 => Err(StoreError::Conflict { what: what() }.into()),
        _ => Ok(()),
    }
}

/// See [`store::Audit::audit`]. An entry that cannot be read is logged and left out.
pub(super) fn page(
    connection: &Connection,
    filter: &AuditFilter,
    page: PageRequest,
) -> Result<Page<AuditEntry>, SqlError> {
    let page = bounded(page);
    let mut conditions = Conditions::default();
    conditions.add("target = ?", filter.target.clone());
    conditions.add("actor = ?", filter.actor.clone());
    conditions.add("action = ?", filter.action.clone());
    conditions.between(filter.since.as_deref(), filter.until.as_deref())?;
    let Conditions { sql, mut values } = conditions;
    let snapshot = connection.unchecked_transaction()?;
    let total = format!("SELECT count(*) FROM audit{sql}");
    let total: i64 =
        snapshot.prepare_cached(&total)?.query_row(params_from_iter(values.iter()), |row| row.get(0))?;
    values.push(Box::new(page.limit));
    values.push(Box::new(i64::from(page.page - 1) * i64::from(page.limit)));
    let select = format!(
        "SELECT id, actor, action, target, before, after, request_id, created_at FROM audit WHERE rowid IN
            (SELECT rowid FROM audit{sql} ORDER BY created_ns DESC, rowid DESC LIMIT ? OFFSET ?)
            ORDER BY created_ns DESC, rowid DESC"
    );
    let mut statement = snapshot.prepare_cached(&select)?;
    let mut rows = statement.query(params_from_iter(values.iter()))?;
    let mut data = Vec::new();
    while let Some(row) = rows.next()? {
        match read(row) {
            Ok(entry) => data.push(entry),
            Err(error) => tracing::error!(%error, "an audit entry cannot be read"),
        }
    }
    Ok(Page::new(data, count(total), page))
}

fn read(row: &Row<'_>) -> Result<AuditEntry, BadRow> {
    rows::audit_entry(&mut Columns::new(row))
}
