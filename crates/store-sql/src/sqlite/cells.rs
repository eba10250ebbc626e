//! Reads the columns of one row in order, and says in plain words which one is wrong and why. A row is data from
//! outside (other releases, people with a database tool), so nothing here may fail any other way.

use rusqlite::Row;
use rusqlite::types::{Type, ValueRef};
use serde::de::DeserializeOwned;

use crate::error::BadRow;

/// A cursor over the columns. The order of the calls is the order of the SELECT.
pub(super) struct Cells<'a> {
    row: &'a Row<'a>,
    next: usize,
}

impl<'a> Cells<'a> {
    pub(super) fn new(row: &'a Row<'a>) -> Self {
        Self { row, next: 0 }
    }

    fn cell(&mut self, column: &'static str) -> Result<ValueRef<'a>, BadRow> {
        let cell = self.row.get_ref(self.next);
        self.next += 1;
        cell.map_err(|_| BadRow { column, problem: "is missing".to_owned() })
    }

    /// Text that may be absent, without copying it.
    fn borrowed(&mut self, column: &'static str) -> Result<Option<&'a str>, BadRow> {
        match self.cell(column)? {
            ValueRef::Null => Ok(None),
            ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => Ok(Some(text)),
                Err(_) => Err(BadRow { column, problem: "is not UTF-8".to_owned() }),
            },
            other => Err(wrong_type(column, "text", other.data_type())),
        }
    }

    fn required(&mut self, column: &'static str) -> Result<&'a str, BadRow> {
        self.borrowed(column)?.ok_or_else(|| absent(column))
    }

    pub(super) fn text(&mut self, column: &'static str) -> Result<String, BadRow> {
        self.required(column).map(str::to_owned)
    }

    pub(super) fn optional_text(&mut self, column: &'static str) -> Result<Option<String>, BadRow> {
        Ok(self.borrowed(column)?.map(str::to_owned))
    }

    /// One word of a closed list.
    pub(super) fn word<T>(
        &mut self,
        column: &'static str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<T, BadRow> {
        let text = self.required(column)?;
        parse(text).ok_or_else(|| unknown(column, text))
    }

    pub(super) fn optional_word<T>(
        &mut self,
        column: &'static str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, BadRow> {
        let Some(text) = self.borrowed(column)? else { return Ok(None) };
        parse(text).map(Some).ok_or_else(|| unknown(column, text))
    }

    /// Text that a type reads itself, with its own words for what is wrong.
    pub(super) fn parsed<T>(&mut self, column: &'static str) -> Result<T, BadRow>
    where
        T: std::str::FromStr,
        T::Err: std::fmt::Display,
    {
        self.required(column)?.parse().map_err(|e| BadRow { column, problem: format!("is wrong: {e}") })
    }

    pub(super) fn json<T: DeserializeOwned>(&mut self, column: &'static str) -> Result<T, BadRow> {
        from_json(column, self.required(column)?)
    }

    pub(super) fn optional_json<T: DeserializeOwned>(
        &mut self,
        column: &'static str,
    ) -> Result<Option<T>, BadRow> {
        self.borrowed(column)?.map(|text| from_json(column, text)).transpose()
    }

    pub(super) fn number<T: TryFrom<i64>>(&mut self, column: &'static str) -> Result<T, BadRow> {
        self.optional_number(column)?.ok_or_else(|| absent(column))
    }

    pub(super) fn optional_number<T: TryFrom<i64>>(
        &mut self,
        column: &'static str,
    ) -> Result<Option<T>, BadRow> {
        match self.cell(column)? {
            ValueRef::Null => Ok(None),
            ValueRef::Integer(number) => match T::try_from(number) {
                Ok(number) => Ok(Some(number)),
                Err(_) => Err(BadRow { column, problem: format!("is out of range: {number}") }),
            },
            other => Err(wrong_type(column, "a number", other.data_type())),
        }
    }

    /// 0 or 1.
    pub(super) fn flag(&mut self, column: &'static str) -> Result<bool, BadRow> {
        match self.number::<i64>(column)? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(BadRow { column, problem: format!("is neither 0 nor 1: {other}") }),
        }
    }
}

/// A count that `SQLite` gave.
pub(super) fn count(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

fn from_json<T: DeserializeOwned>(column: &'static str, text: &str) -> Result<T, BadRow> {
    serde_json::from_str(text)
        .map_err(|e| BadRow { column, problem: format!("is not the JSON it should be: {e}") })
}

fn absent(column: &'static str) -> BadRow {
    BadRow { column, problem: "is empty".to_owned() }
}

fn unknown(column: &'static str, text: &str) -> BadRow {
    BadRow { column, problem: format!("has the unknown value `{}`", domain::text::excerpt(text, 40)) }
}

fn wrong_type(column: &'static str, wanted: &str, found: Type) -> BadRow {
    BadRow { column, problem: format!("is not {wanted} but {found}") }
}

/// `SQLite` integers are signed: a count beyond them is stored as the largest one.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
