//! The columns of a row of `PostgreSQL`.

use std::borrow::Cow;

use tokio_postgres::Row;
use tokio_postgres::types::FromSql;

use super::text::unescape;
use crate::cells::{Cells, absent};
use crate::common;
use crate::error::BadRow;

/// A cursor over them.
pub(super) struct Columns<'a> {
    row: &'a Row,
    next: usize,
}

impl<'a> Columns<'a> {
    pub(super) fn new(row: &'a Row) -> Self {
        Self { row, next: 0 }
    }

    fn cell<T: FromSql<'a>>(&mut self, column: &'static str, wanted: &str) -> Result<Option<T>, BadRow> {
        let cell = self.row.try_get(self.next);
        self.next += 1;
        cell.map_err(|_| BadRow { column, problem: format!("is missing or no {wanted}") })
    }

    /// A count, which is never negative.
    pub(super) fn count(&mut self, column: &'static str) -> Result<u64, BadRow> {
        Ok(common::count(self.number(column)?))
    }
}

impl Cells for Columns<'_> {
    fn borrowed(&mut self, column: &'static str) -> Result<Option<Cow<'_, str>>, BadRow> {
        Ok(self.cell::<&str>(column, "text")?.map(unescape))
    }

    fn integer(&mut self, column: &'static str) -> Result<Option<i64>, BadRow> {
        self.cell(column, "number")
    }

    fn flag(&mut self, column: &'static str) -> Result<bool, BadRow> {
        self.cell(column, "flag")?.ok_or_else(|| absent(column))
    }

    fn optional_bytes(&mut self, column: &'static str) -> Result<Option<Vec<u8>>, BadRow> {
        Ok(self.cell::<&[u8]>(column, "bytes")?.map(<[u8]>::to_vec))
    }
}
