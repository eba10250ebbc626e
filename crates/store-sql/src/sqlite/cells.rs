//! The columns of a row of `SQLite`.

use std::borrow::Cow;

use rusqlite::Row;
use rusqlite::types::{Type, ValueRef};

use crate::cells::{Cells, absent};
use crate::error::BadRow;

/// A cursor over them.
pub(super) struct Columns<'a> {
    row: &'a Row<'a>,
    next: usize,
}

impl<'a> Columns<'a> {
    pub(super) fn new(row: &'a Row<'a>) -> Self {
        Self { row, next: 0 }
    }

    fn cell(&mut self, column: &'static str) -> Result<ValueRef<'a>, BadRow> {
        let cell = self.row.get_ref(self.next);
        self.next += 1;
        cell.map_err(|_| BadRow { column, problem: "is missing".to_owned() })
    }
}

impl Cells for Columns<'_> {
    fn borrowed(&mut self, column: &'static str) -> Result<Option<Cow<'_, str>>, BadRow> {
        match self.cell(column)? {
            ValueRef::Null => Ok(None),
            ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => Ok(Some(Cow::Borrowed(text))),
                Err(_) => Err(BadRow { column, problem: "is not UTF-8".to_owned() }),
            },
            other => Err(wrong_type(column, "text", other.data_type())),
        }
    }

    fn integer(&mut self, column: &'static str) -> Result<Option<i64>, BadRow> {
        match self.cell(column)? {
            ValueRef::Null => Ok(None),
            ValueRef::Integer(number) => Ok(Some(number)),
            other => Err(wrong_type(column, "a number", other.data_type())),
        }
    }

    /// 0 or 1.
    fn flag(&mut self, column: &'static str) -> Result<bool, BadRow> {
        match self.integer(column)? {
            None => Err(absent(column)),
            Some(0) => Ok(false),
            Some(1) => Ok(true),
            Some(other) => Err(BadRow { column, problem: format!("is neither 0 nor 1: {other}") }),
        }
    }

    fn optional_bytes(&mut self, column: &'static str) -> Result<Option<Vec<u8>>, BadRow> {
        match self.cell(column)? {
            ValueRef::Null => Ok(None),
            ValueRef::Blob(bytes) => Ok(Some(bytes.to_owned())),
            other => Err(wrong_type(column, "bytes", other.data_type())),
        }
    }
}

fn wrong_type(column: &'static str, wanted: &str, found: Type) -> BadRow {
    BadRow { column, problem: format!("is not {wanted} but {found}") }
}
