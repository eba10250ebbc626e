//! The `skill_executions` table: the history. Terminal rows never change; every transition is guarded in its own
//! statement, so that two writers cannot both end a run.

use std::time::{Duration, Instant};

use domain::Execution;
use store::{ExecutionFilter, ExecutionOutcome, Page, PageRequest};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::cells::Columns;
use super::conditions::Conditions;
use super::error::conflict;
use super::exclusive::Exclusive;
use super::filter;
use super::lanes::Lanes;
use super::session::Tx;
use super::text::{Text, json, optional, optional_json, owned, text};
use crate::cells::Cells;
use crate::common::{bounded, count, nanoseconds, offset, signed};
use crate::error::{BadRow, SqlError};
use crate::rows;
use crate::totals::Counted;

macro_rules! columns {
    () => {
        columns!("parts")
    };
    ($parts:literal) => {
        concat!(
            "id, skill_id, skill_name, version, api_key_id, \"user\", session_id, turn_id, door, status, duration_ms, \
             attempts, engine, isolation, created_at, error_message, input, output, ",
            $parts
        )
    };
}

/// The columns of a row and, last, its approval.
macro_rules! select {
    () => {
        concat!(
            "SELECT ",
            columns!(),
            ", approval FROM skill_executions LEFT JOIN approvals ON execution_id = id"
        )
    };
}

/// Writes a row from the 22 parameters of [`NewRow`]; a condition may follow.
pub(super) const INSERT: &str = concat!(
    "INSERT INTO skill_executions (",
    columns!(),
    ", created_ns, bytes, instance)
    SELECT $1::text, $2::text, $3::text, $4::text, $5::text, $6::text, $7::text, $8::text, $9::text, $10::text,
        $11::bigint, $12::bigint, $13::text, $14::text, $15::text, $16::text, $17::text, $18::text, $19::text,
        $20::bigint, $21::bigint, $22::text"
);

const SELECT_ONE: &str = concat!(select!(), " WHERE id = $1");

/// An execution as the parameters of [`INSERT`].
pub(super) struct NewRow<'a> {
    texts: [Text<'a>; 7],
    optional: [Option<Text<'a>>; 8],
    numbers: [i64; 3],
    duration_ms: Option<i64>,
    input: Text<'static>,
    parts: Text<'static>,
    instance: Option<Text<'a>>,
}

impl<'a> NewRow<'a> {
    pub(super) fn of(execution: &'a Execution, instance: Option<&'a str>) -> Result<Self, SqlError> {
        let (input, parts) = (json(&execution.input)?, json(&execution.parts)?);
        let (output, message) =
            (optional_json(execution.output.as_ref())?, optional(execution.error_message.as_ref()));
        let size = |text: &Option<Text<'_>>| text.as_ref().map_or(0, Text::size);
        let bytes = input.size() + parts.size() + size(&output) + size(&message);
        Ok(Self {
            texts: [
                text(&execution.id),
                text(&execution.skill_id),
                text(&execution.skill_name),
                owned(execution.version.to_string()),
                text(&execution.api_key_id),
                text(execution.door.as_str()),
                text(execution.status.as_str()),
            ],
            optional: [
                optional(execution.user.as_ref()),
                optional(execution.session_id.as_ref()),
                optional(execution.turn_id.as_ref()),
                optional(execution.engine.as_ref()),
                optional(execution.isolation.as_ref()),
                Some(text(&execution.created_at)),
                message,
                output,
            ],
            numbers: [
                i64::from(execution.attempts),
                nanoseconds(&execution.created_at)?,
                signed(bytes as u64),
            ],
            duration_ms: execution.duration_ms.map(signed),
            input,
            parts,
            instance: instance.map(text),
        })
    }

    /// In the order of the statement.
    pub(super) fn params(&self) -> Vec<&(dyn ToSql + Sync)> {
        let [id, skill_id, skill_name, version, api_key_id, door, status] = &self.texts;
        let [user, session_id, turn_id, engine, isolation, created_at, message, output] = &self.optional;
        let [attempts, created_ns, bytes] = &self.numbers;
        vec![
            id,
            skill_id,
            skill_name,
            version,
            api_key_id,
            user,
            session_id,
            turn_id,
            door,
            status,
            &self.duration_ms,
            attempts,
            engine,
            isolation,
            created_at,
            message,
            &self.input,
            output,
            &self.parts,
            created_ns,
            bytes,
            &self.instance,
        ]
    }
}

/// See [`store::Store::create_execution`]. A row that needs a person is not written this way: it could be started.
pub(super) async fn create(
    lanes: &Lanes,
    execution: &Execution,
    instance: Option<&str>,
) -> Result<(), SqlError> {
    if execution.approval.is_some() {
        return Err(SqlError::NotOrdinary);
    }
    let row = NewRow::of(execution, instance)?;
    let written = lanes.execute(INSERT, &row.params()).await;
    written.map(drop).map_err(|e| conflict(e, || format!("execution {}", execution.id)))
}

/// See [`store::Store::start_execution`]. The row is from now on of the process that starts it.
pub(super) async fn start(lanes: &Lanes, id: &str, instance: Option<&str>) -> Result<bool, SqlError> {
    let sql = "UPDATE skill_executions SET status = 'running', instance = coalesce($2, instance)
        WHERE id = $1 AND status = 'pending'
        AND NOT EXISTS (SELECT 1 FROM approvals WHERE execution_id = $1 AND state <> 'approved')";
    Ok(lanes.execute(sql, &[&text(id), &instance.map(text)]).await? == 1)
}

/// See [`store::Store::finish_execution`].
pub(super) async fn finish(lanes: &Lanes, id: &str, outcome: &ExecutionOutcome) -> Result<bool, SqlError> {
    if !outcome.status.is_terminal() {
        return Err(SqlError::NotTerminal(outcome.status.as_str()));
    }
    let sql = "UPDATE skill_executions SET status = $2, output = $3, parts = $4, error_message = $5, duration_ms = $6,
            attempts = $7, engine = $8, isolation = $9, bytes = octet_length(input) + $10::bigint
        WHERE id = $1 AND status IN ('pending', 'running')
            AND NOT EXISTS (SELECT 1 FROM approvals WHERE execution_id = $1 AND state = 'waiting')";
    let (output, parts) = (optional_json(outcome.output.as_ref())?, json(&outcome.parts)?);
    let message = optional(outcome.error_message.as_ref());
    let size = |text: &Option<Text<'_>>| text.as_ref().map_or(0, Text::size);
    let bytes = signed((parts.size() + size(&output) + size(&message)) as u64);
    let values: [&(dyn ToSql + Sync); 10] = [
        &text(id),
        &outcome.status.as_str(),
        &output,
        &parts,
        &message,
        &signed(outcome.duration_ms),
        &i64::from(outcome.attempts),
        &optional(outcome.engine.as_ref()),
        &optional(outcome.isolation.as_ref()),
        &bytes,
    ];
    Ok(lanes.execute(sql, &values).await? == 1)
}

/// See [`store::Store::interrupt_executions`]. When the run ended is unknown, so `duration_ms` stays empty.
pub(super) async fn interrupt(lanes: &Lanes, message: &str) -> Result<u64, SqlError> {
    // The second condition, a consequence of the first, opens the index of what is no success.
    let sql = "UPDATE skill_executions SET status = 'error', error_message = $1
        WHERE status IN ('pending', 'running') AND status <> 'success'
            AND NOT EXISTS (SELECT 1 FROM approvals WHERE execution_id = id AND state = 'waiting')";
    lanes.execute(sql, &[&text(message)]).await
}

/// One execution; a row that cannot be read is an error.
pub(super) async fn one(lanes: &Lanes, id: &str) -> Result<Option<Execution>, SqlError> {
    let row = lanes.row(SELECT_ONE, &[&text(id)]).await?;
    Ok(row.map(|row| read(&row)).transpose()?)
}

/// The same, within a transaction.
pub(super) async fn one_within(tx: &Tx<'_>, id: &str) -> Result<Option<Execution>, SqlError> {
    let row = tx.row(SELECT_ONE, &[&text(id)]).await?;
    Ok(row.map(|row| read(&row)).transpose()?)
}

/// One page, newest first, without the parts, which may be large. A row that cannot be read is left out of it with a
/// logged error: the rest of the history stays usable. `known` is the total, if it is known; the second value is the
/// total that was counted.
pub(super) async fn page(
    exclusive: &Exclusive,
    wanted: &ExecutionFilter,
    page: PageRequest,
    known: Option<u64>,
) -> Result<(Page<Execution>, Counted), SqlError> {
    let page = bounded(page);
    let limit = page.limit as usize;
    let mut conditions = filter::conditions(wanted)?;
    let mut session = exclusive.take().await?;
    // One transaction, so that the total and the rows are of the same moment.
    let snapshot = session.snapshot().await?;
    let counted = match known {
        Some(total) => Counted { total, costly: None },
        None => total(&snapshot, &conditions).await?,
    };
    if let Some(before) = &wanted.before {
        let Some(created_ns) = place(&snapshot, before).await? else {
            return Ok((Page::new(Vec::new(), counted.total, page), counted));
        };
        let (created_ns, id) = (conditions.value(created_ns), conditions.value(owned(before.clone())));
        conditions.written(&format!("(created_ns, id) < ({created_ns}, {id})"));
    }
    // One more than the page shows, to know whether there is one.
    let rows = conditions.value(i64::from(page.limit) + 1);
    let skipped = conditions.value(offset(page));
    // The places of the page come from an index where there is one; only the page's own rows are read whole.
    let sql = format!(
        concat!(
            "SELECT ",
            columns!("'[]'"),
            ", approval FROM (SELECT id AS place FROM skill_executions{} ORDER BY created_ns DESC, id DESC
                LIMIT {} OFFSET {}) AS places
            JOIN skill_executions ON id = place LEFT JOIN approvals ON execution_id = id
            ORDER BY created_ns DESC, id DESC"
        ),
        conditions.sql, rows, skipped
    );
    let rows = snapshot.rows_once(&sql, &conditions.params()).await?;
    snapshot.commit().await?;
    let more = rows.len() > limit;
    let seen = rows.len().min(limit);
    let last = rows.get(limit - 1).filter(|_| more).map(|row| Columns::new(row).text("id")).transpose()?;
    let mut data = Vec::with_capacity(seen);
    for row in rows.iter().take(limit) {
        match read(row) {
            Ok(execution) => data.push(execution),
            Err(error) => tracing::error!(%error, "an execution in the history cannot be read"),
        }
    }
    // A remembered total may be smaller than what is on this page.
    let shown = counted.total.max(if seen > 0 { count(offset(page)) + seen as u64 } else { 0 });
    Ok((Page { next_cursor: last, ..Page::new(data, shown, page) }, counted))
}

/// Longer than a look into an index takes.
const COSTLY: Duration = Duration::from_millis(25);

/// Rows of a filter without its cursor.
pub(super) async fn total_of(exclusive: &Exclusive, wanted: &ExecutionFilter) -> Result<Counted, SqlError> {
    let mut session = exclusive.take().await?;
    let snapshot = session.snapshot().await?;
    total(&snapshot, &filter::conditions(wanted)?).await
}

async fn total(snapshot: &Tx<'_>, conditions: &Conditions) -> Result<Counted, SqlError> {
    let start = Instant::now();
    let sql = format!("SELECT count(*) FROM skill_executions{}", conditions.sql);
    let row = snapshot.row_once(&sql, &conditions.params()).await?;
    let total = row.map_or(Ok(0), |row| Columns::new(&row).count("count"))?;
    let took = start.elapsed();
    Ok(Counted { total, costly: (took > COSTLY).then_some(took) })
}

/// The time of a row, which with its id is its place in the list.
async fn place(snapshot: &Tx<'_>, id: &str) -> Result<Option<i64>, SqlError> {
    let row = snapshot.row("SELECT created_ns FROM skill_executions WHERE id = $1", &[&text(id)]).await?;
    Ok(row.map(|row| Columns::new(&row).number("created_ns")).transpose()?)
}

fn read(row: &Row) -> Result<Execution, BadRow> {
    rows::execution(&mut Columns::new(row))
}
