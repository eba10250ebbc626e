//! The shape of rows that move between databases: which columns each table has in an export, and what may be in them.
//!
//! The same for every database; columns that one of them derives for itself (times as numbers, look-up columns) are not
//! here. Knows no SQL dialect and reads no database.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};
use store::Table;

use crate::error::SqlError;

/// What is in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A string.
    Text,
    /// A whole number within 64 bits, signed.
    Integer,
    /// True or false.
    Flag,
    /// Any JSON, as itself.
    Json,
    /// Bytes, in base64.
    Bytes,
}

/// One member of a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    /// Its name in the database and in the export.
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// Whether it may be absent, which is SQL's NULL.
    pub(crate) optional: bool,
}

/// One value of a row that fits.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    /// Absent.
    Null,
    Text(String),
    Integer(i64),
    Flag(bool),
    Json(Value),
    Bytes(Vec<u8>),
}

/// A table as it is exported.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) table: Table,
    /// Its name in the database.
    pub(crate) relation: &'static str,
    /// Its primary key, by which rows are ordered.
    pub(crate) key: &'static [&'static str],
    pub(crate) columns: &'static [Column],
}

const fn must(name: &'static str, kind: Kind) -> Column {
    Column { name, kind, optional: false }
}

const fn may(name: &'static str, kind: Kind) -> Column {
    Column { name, kind, optional: true }
}

use Kind::{Bytes, Flag, Integer, Json, Text};

const ID: &[&str] = &["id"];
const NAME: &[&str] = &["name"];

impl Shape {
    /// The shape of a table. A turn is its id and its `record`, the JSON of [`domain::TurnRecord`].
    pub(crate) const fn of(table: Table) -> Self {
        let (relation, key, columns): (_, _, &[Column]) = match table {
            Table::Skills => ("skills", ID, SKILLS),
            Table::Sets => ("skill_sets", NAME, SETS),
            Table::Defaults => ("skill_defaults", &["api_key_id", "name"], DEFAULTS),
            Table::Keys => ("api_keys", ID, KEYS),
            Table::Tokens => ("management_tokens", ID, TOKENS),
            Table::Values => ("kv", NAME, VALUES),
            Table::Executions => ("skill_executions", ID, EXECUTIONS),
            Table::Approvals => ("approvals", &["execution_id"], APPROVALS),
            Table::Turns => ("turns", ID, TURNS),
            Table::Artifacts => ("artifacts", ID, ARTIFACTS),
            Table::Audit => ("audit", ID, AUDIT),
        };
        Self { table, relation, key, columns }
    }

    /// The row's values in the order of the columns. Errors name the row and what does not fit, and never quote values
    /// other than its key.
    pub(crate) fn read(&self, row: Value) -> Result<Vec<Cell>, SqlError> {
        let Value::Object(mut members) = row else { return Err(self.unfit("?", "is not an object")) };
        let name = self.name_of(&members);
        let mut cells = Vec::with_capacity(self.columns.len());
        for column in self.columns {
            let cell = match members.remove(column.name) {
                None if column.optional => Cell::Null,
                None => return Err(self.unfit(&name, &format!("has no `{}`", column.name))),
                Some(value) => cell(column.kind, value).ok_or_else(|| {
                    self.unfit(&name, &format!("has a `{}` that is {}", column.name, column.kind.refusal()))
                })?,
            };
            cells.push(cell);
        }
        match members.keys().next() {
            Some(unknown) => Err(self
                .unfit(&name, &format!("has the unknown member `{}`", domain::text::excerpt(unknown, 40)))),
            None => Ok(cells),
        }
    }

    /// A member of a row that [`Shape::read`] returned, as text; empty for what is none.
    pub(crate) fn text<'a>(&self, cells: &'a [Cell], column: &str) -> &'a str {
        let at = self.columns.iter().position(|c| c.name == column);
        match at.and_then(|at| cells.get(at)) {
            Some(Cell::Text(text)) => text,
            _ => "",
        }
    }

    /// Says that a row does not fit.
    pub(crate) fn unfit(&self, row: &str, problem: &str) -> SqlError {
        SqlError::Unfit {
            table: self.table.as_str(),
            row: domain::text::excerpt(row, 100),
            problem: problem.to_owned(),
        }
    }

    /// The key, for people.
    fn name_of(&self, members: &Map<String, Value>) -> String {
        let key: Vec<&str> =
            self.key.iter().map(|name| members.get(*name).and_then(Value::as_str).unwrap_or("?")).collect();
        key.join(" ")
    }
}

impl Kind {
    const fn refusal(self) -> &'static str {
        match self {
            Self::Text => "no text",
            Self::Integer => "no whole number within 64 bits",
            Self::Flag => "neither true nor false",
            Self::Json => "no JSON",
            Self::Bytes => "no base64",
        }
    }
}

fn cell(kind: Kind, value: Value) -> Option<Cell> {
    match (kind, value) {
        (Kind::Text, Value::String(text)) => Some(Cell::Text(text)),
        (Kind::Integer, Value::Number(number)) => number.as_i64().map(Cell::Integer),
        (Kind::Flag, Value::Bool(flag)) => Some(Cell::Flag(flag)),
        (Kind::Json, value) => Some(Cell::Json(value)),
        (Kind::Bytes, Value::String(text)) => STANDARD.decode(text).ok().map(Cell::Bytes),
        _ => None,
    }
}

/// The way back: what an export shows; none for NULL, which is an absent member.
pub(crate) fn member(cell: Cell) -> Option<Value> {
    match cell {
        Cell::Null => None,
        Cell::Text(text) => Some(Value::String(text)),
        Cell::Integer(number) => Some(number.into()),
        Cell::Flag(flag) => Some(flag.into()),
        Cell::Json(value) => Some(value),
        Cell::Bytes(bytes) => Some(Value::String(STANDARD.encode(bytes))),
    }
}

const SKILLS: &[Column] = &[
    must("id", Text),
    must("api_key_id", Text),
    must("name", Text),
    must("version", Text),
    must("description", Text),
    must("schema", Json),
    must("handler", Text),
    must("enabled", Flag),
    must("mode", Text),
    may("mode_before", Text),
    must("policy", Text),
    may("timeout_ms", Integer),
    may("max_retries", Integer),
    must("annotations", Json),
    must("source_provider", Text),
    may("source_url", Text),
    may("content_sha256", Text),
    must("tags", Json),
    must("install_count", Integer),
    must("created_at", Text),
    must("updated_at", Text),
];

const SETS: &[Column] =
    &[must("name", Text), must("skills", Json), must("created_at", Text), must("updated_at", Text)];

const DEFAULTS: &[Column] = &[must("api_key_id", Text), must("name", Text), must("version_constraint", Text)];

const KEYS: &[Column] = &[
    must("id", Text),
    must("name", Text),
    must("secret_hash", Text),
    must("scopes", Json),
    must("custom_skill_execution_enabled", Flag),
    must("revoked", Flag),
    must("settings", Json),
    must("created_at", Text),
    may("last_used_at", Text),
];

const TOKENS: &[Column] = &[
    must("id", Text),
    must("name", Text),
    must("secret_hash", Text),
    must("scopes", Json),
    must("created_at", Text),
    may("last_used_at", Text),
];

const VALUES: &[Column] = &[must("name", Text), must("value", Text)];

const EXECUTIONS: &[Column] = &[
    must("id", Text),
    must("skill_id", Text),
    must("skill_name", Text),
    must("version", Text),
    must("api_key_id", Text),
    may("user", Text),
    may("session_id", Text),
    may("turn_id", Text),
    must("door", Text),
    must("status", Text),
    may("duration_ms", Integer),
    must("attempts", Integer),
    may("engine", Text),
    may("isolation", Text),
    must("created_at", Text),
    may("error_message", Text),
    must("input", Json),
    may("output", Json),
    must("parts", Json),
];

const APPROVALS: &[Column] =
    &[must("execution_id", Text), must("call", Text), must("taken", Flag), must("approval", Json)];

const TURNS: &[Column] = &[must("id", Text), must("record", Json)];

const ARTIFACTS: &[Column] = &[
    must("id", Text),
    must("execution_id", Text),
    must("api_key_id", Text),
    must("name", Text),
    must("mime", Text),
    must("bytes", Integer),
    must("sha256", Text),
    must("created_at", Text),
    must("content", Bytes),
];

const AUDIT: &[Column] = &[
    must("id", Text),
    must("actor", Text),
    must("action", Text),
    must("target", Text),
    may("request_id", Text),
    must("created_at", Text),
    may("before", Json),
    may("after", Json),
];
