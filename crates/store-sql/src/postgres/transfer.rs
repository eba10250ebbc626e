//! Rows that leave for another database or come from one. What a row looks like outside is `shape`'s business; here is
//! how it lies in the tables.

use domain::{Approval, TurnRecord};
use serde_json::Value;
use store::{Rows, Table};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::cells::Columns;
use super::exclusive::Exclusive;
use super::session::Tx;
use super::text::{Text, json, owned};
use super::turns::{self, NewTurn};
use crate::cells::Cells;
use crate::common::{nanoseconds, place, signed};
use crate::error::{BadRow, SqlError};
use crate::shape::{Cell, Column, Kind, Shape, member};

type Param = Box<dyn ToSql + Send + Sync>;

/// See [`store::Transfer::export_rows`]. A row that cannot be read is logged and left out: it would be read nowhere.
pub(super) async fn export(
    exclusive: &Exclusive,
    table: Table,
    from: Option<&str>,
    limit: u32,
) -> Result<Rows, SqlError> {
    let shape = Shape::of(table);
    let key = quoted(shape.key.iter().copied());
    let columns = match table {
        Table::Turns => String::new(),
        _ => format!(", {}", quoted(shape.columns.iter().map(|column| column.name))),
    };
    let from = from.map(|from| place(from, shape.key.len())).transpose()?.unwrap_or_default();
    let from: Vec<Text<'_>> = from.into_iter().map(owned).collect();
    let after =
        if from.is_empty() { String::new() } else { format!("WHERE ({key}) > ({})", places(1, from.len())) };
    // One more than asked for, to know whether there is one.
    let sql = format!(
        "SELECT {key}{columns} FROM {} {after} ORDER BY {key} LIMIT {}",
        shape.relation,
        u64::from(limit) + 1
    );
    let params: Vec<&(dyn ToSql + Sync)> = from.iter().map(|value| value as _).collect();
    let mut session = exclusive.take().await?;
    let snapshot = session.snapshot().await?;
    let found = snapshot.rows_once(&sql, &params).await?;
    let (limit, mut out) = (limit as usize, Rows::default());
    for (n, row) in found.iter().take(limit).enumerate() {
        let keys = keys(row, &shape)?;
        if n + 1 == limit && found.len() > limit {
            out.next = Some(serde_json::to_string(&keys)?);
        }
        let read = match (table, keys.first()) {
            (Table::Turns, Some(id)) => turn(&snapshot, id).await?,
            _ => object(row, &shape),
        };
        match read {
            Ok(row) => out.rows.push(row),
            Err(problem) => {
                let error = shape.unfit(&keys.join(" "), &problem.to_string());
                tracing::error!(%error, "a row is not exported");
            }
        }
    }
    snapshot.commit().await?;
    Ok(out)
}

/// See [`store::Transfer::import_rows`].
pub(super) async fn import(exclusive: &Exclusive, table: Table, rows: Vec<Value>) -> Result<u64, SqlError> {
    let shape = Shape::of(table);
    let mut session = exclusive.take().await?;
    let tx = session.begin().await?;
    let mut written = 0;
    for row in rows {
        let cells = shape.read(row)?;
        let name = shape.key.iter().map(|key| shape.text(&cells, key)).collect::<Vec<_>>().join(" ");
        let done = match table {
            Table::Turns => import_turn(&tx, &shape, cells).await,
            _ => insert(&tx, &shape, cells).await,
        };
        written += done.map_err(|error| match error {
            SqlError::Postgres(error) if error.is_about_the_row() => {
                shape.unfit(&name, "is refused by the database")
            }
            other => other,
        })?;
    }
    tx.commit().await?;
    Ok(written)
}

async fn insert(tx: &Tx<'_>, shape: &Shape, cells: Vec<Cell>) -> Result<u64, SqlError> {
    let derived = derived(shape, &cells)?;
    let names = shape.columns.iter().map(|column| column.name).chain(derived.iter().map(|(name, _)| *name));
    let sql = format!(
        "INSERT INTO {} ({}) VALUES ({}) ON CONFLICT DO NOTHING",
        shape.relation,
        quoted(names),
        places(1, shape.columns.len() + derived.len())
    );
    let mut values = Vec::with_capacity(shape.columns.len() + derived.len());
    for (column, cell) in shape.columns.iter().zip(cells) {
        values.push(param(column.kind, cell)?);
    }
    values.extend(derived.into_iter().map(|(_, value)| value));
    let params: Vec<&(dyn ToSql + Sync)> = values.iter().map(|value| value.as_ref() as _).collect();
    tx.execute(&sql, &params).await
}

async fn import_turn(tx: &Tx<'_>, shape: &Shape, cells: Vec<Cell>) -> Result<u64, SqlError> {
    let id = shape.text(&cells, "id").to_owned();
    let Some(Cell::Json(record)) = cells.into_iter().nth(1) else {
        return Err(shape.unfit(&id, "has no `record`"));
    };
    let turn: TurnRecord = serde_json::from_value(record)
        .map_err(|error| shape.unfit(&id, &format!("has a `record` that is wrong: {error}")))?;
    if turn.id != id {
        return Err(shape.unfit(&id, "has a `record` of another id"));
    }
    let sql = format!("{} ON CONFLICT DO NOTHING", turns::INSERT);
    tx.execute(&sql, &NewTurn::of(turn)?.params()).await
}

/// Columns that only this database has.
fn derived(shape: &Shape, cells: &[Cell]) -> Result<Vec<(&'static str, Param)>, SqlError> {
    let created = || -> Result<(&'static str, Param), SqlError> {
        Ok(("created_ns", Box::new(nanoseconds(shape.text(cells, "created_at"))?)))
    };
    Ok(match shape.table {
        Table::Executions => vec![created()?, ("bytes", Box::new(bytes(shape, cells)?))],
        Table::Artifacts | Table::Audit => vec![created()?],
        Table::Approvals => {
            let approval = cells.iter().find_map(|cell| match cell {
                Cell::Json(value) => Some(value.clone()),
                _ => None,
            });
            let id = shape.text(cells, "execution_id");
            let approval: Approval = serde_json::from_value(approval.unwrap_or_default())
                .map_err(|error| shape.unfit(id, &format!("has an `approval` that is wrong: {error}")))?;
            vec![
                ("state", Box::new(approval.state.as_str())),
                ("expires_ns", Box::new(nanoseconds(&approval.expires_at)?)),
            ]
        }
        _ => Vec::new(),
    })
}

/// What the payloads of an execution take.
fn bytes(shape: &Shape, cells: &[Cell]) -> Result<i64, SqlError> {
    let mut bytes = shape.text(cells, "error_message").len();
    for cell in cells {
        if let Cell::Json(value) = cell {
            bytes += json(value)?.size();
        }
    }
    Ok(signed(bytes as u64))
}

fn param(kind: Kind, cell: Cell) -> Result<Param, SqlError> {
    Ok(match cell {
        Cell::Text(text) => Box::new(owned(text)),
        Cell::Integer(number) => Box::new(number),
        Cell::Flag(flag) => Box::new(flag),
        Cell::Json(value) => Box::new(json(&value)?),
        Cell::Bytes(bytes) => Box::new(bytes),
        Cell::Null => match kind {
            Kind::Text | Kind::Json => Box::new(None::<Text<'static>>),
            Kind::Integer => Box::new(None::<i64>),
            Kind::Flag => Box::new(None::<bool>),
            Kind::Bytes => Box::new(None::<Vec<u8>>),
        },
    })
}

fn keys(row: &Row, shape: &Shape) -> Result<Vec<String>, BadRow> {
    let mut cells = Columns::new(row);
    shape.key.iter().map(|key| cells.text(key)).collect()
}

/// The row as an object, its columns behind those of the key.
fn object(row: &Row, shape: &Shape) -> Result<Value, BadRow> {
    let mut cells = Columns::new(row);
    for key in shape.key {
        cells.text(key)?;
    }
    let mut members = serde_json::Map::new();
    for column in shape.columns {
        let value = member(cell(&mut cells, column)?);
        if value.is_none() && !column.optional {
            return Err(BadRow { column: column.name, problem: "is empty".to_owned() });
        }
        members.extend(value.map(|value| (column.name.to_owned(), value)));
    }
    Ok(Value::Object(members))
}

fn cell(cells: &mut Columns<'_>, column: &Column) -> Result<Cell, BadRow> {
    let name = column.name;
    let cell = match column.kind {
        Kind::Text => cells.optional_text(name)?.map(Cell::Text),
        Kind::Integer => cells.optional_number(name)?.map(Cell::Integer),
        Kind::Flag => Some(Cell::Flag(cells.flag(name)?)),
        Kind::Json => cells.optional_json(name)?.map(Cell::Json),
        Kind::Bytes => cells.optional_bytes(name)?.map(Cell::Bytes),
    };
    Ok(cell.unwrap_or(Cell::Null))
}

async fn turn(snapshot: &Tx<'_>, id: &str) -> Result<Result<Value, BadRow>, SqlError> {
    let Some(record) = turns::one_within(snapshot, id).await? else {
        return Ok(Err(BadRow { column: "id", problem: "is gone".to_owned() }));
    };
    Ok(match record {
        Ok(record) => Ok(serde_json::json!({ "id": id, "record": record })),
        Err(bad) => Err(bad),
    })
}

fn quoted(names: impl Iterator<Item = &'static str>) -> String {
    names.map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
}

/// So many parameters in a row.
fn places(first: usize, number: usize) -> String {
    (first..first + number).map(|n| format!("${n}")).collect::<Vec<_>>().join(", ")
}
