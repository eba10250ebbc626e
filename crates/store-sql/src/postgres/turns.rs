//! The `turns` table: records of turns, and the pages of them. What was used over time is added up in `usage`.

use domain::{StopReason, TurnRecord};
use store::{Page, PageRequest, TurnFilter};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::cells::Columns;
use super::conditions::Conditions;
use super::error::conflict;
use super::exclusive::Exclusive;
use super::lanes::Lanes;
use super::session::Tx;
use super::text::{Text, json, owned, text};
use crate::cells::Cells;
use crate::common::{bounded, failed, nanoseconds, offset, signed, split};
use crate::error::{BadRow, SqlError};
use crate::rows;

/// Writes a row from the parameters of [`NewTurn`]; a conflict clause may follow.
pub(super) const INSERT: &str =
    "INSERT INTO turns (id, api_key_id, session_id, model, stop_reason, failed, input_tokens, output_tokens, executions,
        duration_ms, created_ns, summary, details)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)";

/// A turn as the parameters of [`INSERT`].
pub(super) struct NewTurn {
    id: String,
    texts: [Text<'static>; 6],
    session_id: Option<Text<'static>>,
    failed: bool,
    numbers: [i64; 5],
}

impl NewTurn {
    pub(super) fn of(turn: TurnRecord) -> Result<Self, SqlError> {
        let failed = failed(&turn);
        let (turn, details) = split(turn);
        Ok(Self {
            failed,
            numbers: [
                signed(turn.input_tokens),
                signed(turn.output_tokens),
                i64::from(turn.executions),
                signed(turn.duration_ms),
                nanoseconds(&turn.created_at)?,
            ],
            texts: [
                owned(turn.id.clone()),
                owned(turn.api_key_id.clone()),
                owned(turn.model.clone()),
                owned(turn.stop_reason.as_str().to_owned()),
                json(&turn)?,
                json(&details)?,
            ],
            session_id: turn.session_id.map(owned),
            id: turn.id,
        })
    }

    /// In the order of the statement.
    pub(super) fn params(&self) -> [&(dyn ToSql + Sync); 13] {
        let [id, owner, model, reason, summary, details] = &self.texts;
        let [input, output, executions, duration, created] = &self.numbers;
        let (session, failed) = (&self.session_id, &self.failed);
        [
            id, owner, session, model, reason, failed, input, output, executions, duration, created, summary,
            details,
        ]
    }
}

/// See [`store::Turns::record_turn`].
pub(super) async fn record(lanes: &Lanes, turn: TurnRecord) -> Result<(), SqlError> {
    let row = NewTurn::of(turn)?;
    let written = lanes.execute(INSERT, &row.params()).await;
    written.map(drop).map_err(|e| conflict(e, || format!("turn {}", row.id)))
}

const SELECT_ONE: &str = "SELECT summary, details FROM turns WHERE id = $1";

/// See [`store::Turns::turn`].
pub(super) async fn one(lanes: &Lanes, id: &str) -> Result<Option<TurnRecord>, SqlError> {
    let row = lanes.row(SELECT_ONE, &[&text(id)]).await?;
    Ok(row.map(|row| read(&row)).transpose()?)
}

/// The same, within a transaction; what cannot be read is told apart from what went wrong.
pub(super) async fn one_within(
    tx: &Tx<'_>,
    id: &str,
) -> Result<Option<Result<TurnRecord, BadRow>>, SqlError> {
    Ok(tx.row(SELECT_ONE, &[&text(id)]).await?.map(|row| read(&row)))
}

fn read(row: &Row) -> Result<TurnRecord, BadRow> {
    rows::turn(&mut Columns::new(row))
}

/// See [`store::Turns::turns`]. A record that cannot be read is logged and left out.
pub(super) async fn page(
    exclusive: &Exclusive,
    filter: &TurnFilter,
    page: PageRequest,
) -> Result<Page<TurnRecord>, SqlError> {
    let page = bounded(page);
    let mut conditions = Conditions::default();
    let session = "left(session_id, 64) = left(?, 64) AND session_id = ?";
    conditions.add(session, filter.session_id.clone().map(owned));
    conditions.add("api_key_id = ?", filter.api_key_id.clone().map(owned));
    conditions.add("left(model, 64) = left(?, 64) AND model = ?", filter.model.clone().map(owned));
    // The first condition, a consequence of the second, opens the index of what is rare.
    let reason = match filter.stop_reason {
        Some(StopReason::Completed) | None => "stop_reason = ?",
        Some(_) => "stop_reason <> 'completed' AND stop_reason = ?",
    };
    conditions.add(reason, filter.stop_reason.map(StopReason::as_str));
    conditions.between(filter.since.as_deref(), filter.until.as_deref())?;
    let mut session = exclusive.take().await?;
    let snapshot = session.snapshot().await?;
    let total = format!("SELECT count(*) FROM turns{}", conditions.sql);
    let total = snapshot.row_once(&total, &conditions.params()).await?;
    let total = total.map_or(Ok(0), |row| Columns::new(&row).count("count"))?;
    let (limit, skipped) = (conditions.value(i64::from(page.limit)), conditions.value(offset(page)));
    let sql = format!(
        "SELECT summary FROM turns{} ORDER BY created_ns DESC, id DESC LIMIT {limit} OFFSET {skipped}",
        conditions.sql
    );
    let mut data = Vec::new();
    for row in snapshot.rows_once(&sql, &conditions.params()).await? {
        match Columns::new(&row).json("summary") {
            Ok(turn) => data.push(turn),
            Err(error) => tracing::error!(%error, "a turn cannot be read"),
        }
    }
    snapshot.commit().await?;
    Ok(Page::new(data, total, page))
}
