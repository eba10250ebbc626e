//! The `audit` table. Triggers of the schema refuse to change or remove what is in it.

use domain::AuditEntry;
use store::{AuditFilter, Page, PageRequest};
use tokio_postgres::Row;

use super::cells::Columns;
use super::conditions::Conditions;
use super::error::conflict;
use super::exclusive::Exclusive;
use super::lanes::Lanes;
use super::text::{optional, optional_json, owned, text};
use crate::common::{bounded, nanoseconds, offset};
use crate::error::{BadRow, SqlError};
use crate::rows;

/// See [`store::Audit::append_audit`].
pub(super) async fn append(lanes: &Lanes, entry: &AuditEntry) -> Result<(), SqlError> {
    let sql =
        "INSERT INTO audit (id, actor, action, target, request_id, created_at, created_ns, before, after)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    let written = lanes
        .execute(
            sql,
            &[
                &text(&entry.id),
                &text(&entry.actor),
                &text(&entry.action),
                &text(&entry.target),
                &optional(entry.request_id.as_ref()),
                &text(&entry.created_at),
                &nanoseconds(&entry.created_at)?,
                &optional_json(entry.before.as_ref())?,
                &optional_json(entry.after.as_ref())?,
            ],
        )
        .await;
    written.map(drop).map_err(|e| conflict(e, || format!("audit entry {}", entry.id)))
}

/// See [`store::Audit::audit`]. An entry that cannot be read is logged and left out.
pub(super) async fn page(
    exclusive: &Exclusive,
    filter: &AuditFilter,
    page: PageRequest,
) -> Result<Page<AuditEntry>, SqlError> {
    let page = bounded(page);
    let mut conditions = Conditions::default();
    conditions.add("left(target, 64) = left(?, 64) AND target = ?", filter.target.clone().map(owned));
    conditions.add("left(actor, 64) = left(?, 64) AND actor = ?", filter.actor.clone().map(owned));
    conditions.add("left(action, 64) = left(?, 64) AND action = ?", filter.action.clone().map(owned));
    conditions.between(filter.since.as_deref(), filter.until.as_deref())?;
    let mut session = exclusive.take().await?;
    let snapshot = session.snapshot().await?;
    let total = format!("SELECT count(*) FROM audit{}", conditions.sql);
    let total = snapshot.row_once(&total, &conditions.params()).await?;
    let total = total.map_or(Ok(0), |row| Columns::new(&row).count("count"))?;
    let (limit, skipped) = (conditions.value(i64::from(page.limit)), conditions.value(offset(page)));
    let sql = format!(
        "SELECT id, actor, action, target, before, after, request_id, created_at FROM audit{}
            ORDER BY created_ns DESC, seq DESC LIMIT {limit} OFFSET {skipped}",
        conditions.sql
    );
    let mut data = Vec::new();
    for row in snapshot.rows_once(&sql, &conditions.params()).await? {
        match read(&row) {
            Ok(entry) => data.push(entry),
            Err(error) => tracing::error!(%error, "an audit entry cannot be read"),
        }
    }
    snapshot.commit().await?;
    Ok(Page::new(data, total, page))
}

fn read(row: &Row) -> Result<AuditEntry, BadRow> {
    rows::audit_entry(&mut Columns::new(row))
}
