//! Rows that leave for another database or come from one, and backups. What a row looks like outside is `shape`'s
//! business; here is how it lies in the tables.

use std::fs::OpenOptions;
use std::path::Path;

use domain::{Approval, TurnRecord};
use rusqlite::types::{Value as Sql, ValueRef};
use rusqlite::{Connection, OptionalExtension as _, Row, params_from_iter};
use serde_json::Value;
use store::{Rows, StoreError, Table};

use super::turns;
use crate::common::{nanoseconds, place};
use crate::error::{SqlError, is_refused};
use crate::shape::{Cell, Column, Kind, Shape, member};

/// See [`store::Transfer::backup`]. Only reads the database; others go on writing meanwhile.
pub(super) fn backup(connection: &Connection, to: &Path) -> Result<(), SqlError> {
    let to = std::path::absolute(to)?;
    let name = to.to_str().ok_or_else(|| std::io::Error::other("the name of a backup must be UTF-8"))?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = match options.open(&to) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            return Err(StoreError::Conflict { what: "the backup file".to_owned() }.into());
        }
        file => file?,
    };
    // The copy can give space back even if this database cannot. On a database with tables the pragma changes nothing
    // here, and a connection that only reads says so.
    connection.pragma_update(None, "auto_vacuum", "INCREMENTAL").ok();
    // The copy is written without waiting for the disk, which comes after it.
    let copied = connection.execute("VACUUM INTO ?1", [name]).map_err(SqlError::from);
    if let Err(error) = copied.and_then(|_| Ok(file.sync_all()?)) {
        if let Err(error) = std::fs::remove_file(&to) {
            tracing::warn!(%error, "a half backup was not removed");
        }
        return Err(error);
    }
    Ok(())
}

/// See [`store::Transfer::export_rows`]. A row that cannot be read is logged and left out: it would be read nowhere.
pub(super) fn export(
    connection: &Connection,
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
    let from = from.map(|from| place(from, shape.key.len())).transpose()?;
    let after = match &from {
        Some(values) => format!("WHERE ({key}) > ({})", vec!["?"; values.len()].join(", ")),
        None => String::new(),
    };
    // One more than asked for, to know whether there is one.
    let sql = format!(
        "SELECT {key}{columns} FROM {} {after} ORDER BY {key} LIMIT {}",
        shape.relation,
        u64::from(limit) + 1
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut found = statement.query(params_from_iter(from.iter().flatten()))?;
    let (mut out, mut seen, mut last) = (Rows::default(), 0, None);
    while let Some(row) = found.next()? {
        if seen == limit {
            out.next = last;
            break;
        }
        seen += 1;
        let keys =
            (0..shape.key.len()).map(|n| row.get::<_, String>(n)).collect::<rusqlite::Result<Vec<_>>>()?;
        last = Some(serde_json::to_string(&keys)?);
        let read = match table {
            Table::Turns => {
                keys.first().map_or_else(|| Err("has no id".to_owned()), |id| turn(connection, id))
            }
            _ => object(row, &shape),
        };
        match read {
            Ok(row) => out.rows.push(row),
            Err(problem) => {
                let error = shape.unfit(&keys.join(" "), &problem);
                tracing::error!(%error, "a row is not exported");
            }
        }
    }
    Ok(out)
}

/// See [`store::Transfer::import_rows`].
pub(super) fn import(connection: &Connection, table: Table, rows: Vec<Value>) -> Result<u64, SqlError> {
    let shape = Shape::of(table);
    let mut written = 0;
    for row in rows {
        let cells = shape.read(row)?;
        let name = shape.key.iter().map(|key| shape.text(&cells, key)).collect::<Vec<_>>().join(" ");
        let done = match table {
            Table::Turns => import_turn(connection, &shape, cells),
            _ => insert(connection, &shape, cells),
        };
        written += done.map_err(|error| match error {
            SqlError::Sqlite(error) if is_refused(&error) => shape.unfit(&name, "is refused by the database"),
            other => other,
        })? as u64;
    }
    Ok(written)
}

fn insert(connection: &Connection, shape: &Shape, cells: Vec<Cell>) -> Result<usize, SqlError> {
    let derived = derived(connection, shape, &cells)?;
    let names = shape.columns.iter().map(|column| column.name).chain(derived.iter().map(|(name, _)| *name));
    let sql = format!(
        "INSERT INTO {} ({}) VALUES ({}) ON CONFLICT DO NOTHING",
        shape.relation,
        quoted(names),
        vec!["?"; shape.columns.len() + derived.len()].join(", ")
    );
    let values = cells.into_iter().map(sql_value).chain(derived.into_iter().map(|(_, value)| Ok(value)));
    let values = values.collect::<Result<Vec<_>, _>>()?;
    Ok(connection.prepare_cached(&sql)?.execute(params_from_iter(values))?)
}

fn import_turn(connection: &Connection, shape: &Shape, cells: Vec<Cell>) -> Result<usize, SqlError> {
    let id = shape.text(&cells, "id").to_owned();
    let Some(Cell::Json(record)) = cells.into_iter().nth(1) else {
        return Err(shape.unfit(&id, "has no `record`"));
    };
    let turn: TurnRecord = serde_json::from_value(record)
        .map_err(|error| shape.unfit(&id, &format!("has a `record` that is wrong: {error}")))?;
    if turn.id != id {
        return Err(shape.unfit(&id, "has a `record` of another id"));
    }
    Ok(turns::write(connection, turn, "INSERT OR IGNORE")??)
}

/// Columns that only this database has.
fn derived(
    connection: &Connection,
    shape: &Shape,
    cells: &[Cell],
) -> Result<Vec<(&'static str, Sql)>, SqlError> {
    let created = || -> Result<(&'static str, Sql), SqlError> {
        Ok(("created_ns", Sql::Integer(nanoseconds(shape.text(cells, "created_at"))?)))
    };
    Ok(match shape.table {
        Table::Executions | Table::Artifacts | Table::Audit => vec![created()?],
        Table::Approvals => {
            let approval = cells.iter().find_map(|cell| match cell {
                Cell::Json(value) => Some(value.clone()),
                _ => None,
            });
            let approval: Approval =
                serde_json::from_value(approval.unwrap_or_default()).map_err(|error| {
                    shape.unfit(
                        shape.text(cells, "execution_id"),
                        &format!("has an `approval` that is wrong: {error}"),
                    )
                })?;
            let sql = "SELECT created_ns FROM skill_executions WHERE id = ?1";
            let id = shape.text(cells, "execution_id");
            let asked: Option<i64> =
                connection.prepare_cached(sql)?.query_row([id], |row| row.get(0)).optional()?;
            vec![
                ("asked_ns", Sql::Integer(asked.unwrap_or_default())),
                ("state", Sql::Text(approval.state.as_str().to_owned())),
                ("expires_ns", Sql::Integer(nanoseconds(&approval.expires_at)?)),
            ]
        }
        _ => Vec::new(),
    })
}

/// The row as an object, its columns behind those of the key; an error says what cannot be read.
fn object(row: &Row<'_>, shape: &Shape) -> Result<Value, String> {
    let mut members = serde_json::Map::new();
    for (n, column) in shape.columns.iter().enumerate() {
        let value = row.get_ref(shape.key.len() + n).map_err(|error| error.to_string())?;
        let cell =
            cell(column, value).ok_or_else(|| format!("has a `{}` that cannot be read", column.name))?;
        members.extend(member(cell).map(|value| (column.name.to_owned(), value)));
    }
    Ok(Value::Object(members))
}

fn cell(column: &Column, value: ValueRef<'_>) -> Option<Cell> {
    Some(match (column.kind, value) {
        (_, ValueRef::Null) if column.optional => Cell::Null,
        (Kind::Text, ValueRef::Text(text)) => Cell::Text(std::str::from_utf8(text).ok()?.to_owned()),
        (Kind::Integer, ValueRef::Integer(number)) => Cell::Integer(number),
        (Kind::Flag, ValueRef::Integer(flag @ 0..=1)) => Cell::Flag(flag == 1),
        (Kind::Json, ValueRef::Text(text)) => Cell::Json(serde_json::from_slice(text).ok()?),
        (Kind::Bytes, ValueRef::Blob(bytes)) => Cell::Bytes(bytes.to_owned()),
        _ => return None,
    })
}

fn turn(connection: &Connection, id: &str) -> Result<Value, String> {
    let turn = turns::one(connection, id).map_err(|error| error.to_string())?;
    let record = serde_json::to_value(turn).map_err(|error| error.to_string())?;
    Ok(serde_json::json!({ "id": id, "record": record }))
}

fn sql_value(cell: Cell) -> Result<Sql, SqlError> {
    Ok(match cell {
        Cell::Null => Sql::Null,
        Cell::Text(text) => Sql::Text(text),
        Cell::Integer(number) => Sql::Integer(number),
        Cell::Flag(flag) => Sql::Integer(flag.into()),
        Cell::Json(value) => Sql::Text(serde_json::to_string(&value)?),
        Cell::Bytes(bytes) => Sql::Blob(bytes),
    })
}

fn quoted(names: impl Iterator<Item = &'static str>) -> String {
    names.map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
}
