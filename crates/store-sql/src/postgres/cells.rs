//! Reads the columns of one row in order, and says in plain words which one is wrong and why. A row is data from
//! outside (other releases, people with a database tool), so nothing here may fail any other way.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use tokio_postgres::Row;
use tokio_postgres::types::FromSql;

use super::text::unescape;
use crate::error::BadRow;

/// A cursor over the columns. The order of the calls is the order of the SELECT.
pub(super) struct Cells<'a> {
    row: &'a Row,
    next: usize,
}

impl<'a> Cells<'a> {
    pub(super) fn new(row: &'a Row) -> Self {
        Self { row, next: 0 }
    }

    fn cell<T: FromSql<'a>>(&mut self, column: &'static str, wanted: &str) -> Result<Option<T>, BadRow> {
        let cell = self.row.try_get(self.next);
        self.next += 1;
        cell.map_err(|_| BadRow { column, problem: format!("is missing or no {wanted}") })
    }

    /// Text that may be absent, without copying it.
    fn borrowed(&mut self, column: &'static str) -> Result<Option<Cow<'a, str>>, BadRow> {
        Ok(self.cell::<&str>(column, "text")?.map(unescape))
    }

    fn required(&mut self, column: &'static str) -> Result<Cow<'a, str>, BadRow> {
        self.borrowed(column)?.ok_or_else(|| absent(column))
    }

    pub(super) fn text(&mut self, column: &'static str) -> Result<String, BadRow> {
        self.required(column).map(Cow::into_owned)
    }

    pub(super) fn optional_text(&mut self, column: &'static str) -> Result<Option<String>, BadRow> {
        Ok(self.borrowed(column)?.map(Cow::into_owned))
    }

    /// One word of a closed list.
    pub(super) fn word<T>(
        &mut self,
        column: &'static str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<T, BadRow> {
        let text = self.required(column)?;
        parse(&text).ok_or_else(|| unknown(column, &text))
    }

    pub(super) fn optional_word<T>(
        &mut self,
        column: &'static str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, BadRow> {
        let Some(text) = self.borrowed(column)? else { return Ok(None) };
        parse(&text).map(Some).ok_or_else(|| unknown(column, &text))
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
        from_json(column, &self.required(column)?)
    }

    pub(super) fn optional_json<T: DeserializeOwned>(
        &mut self,
        column: &'static str,
    ) -> Result<Option<T>, BadRow> {
        self.borrowed(column)?.map(|text| from_json(column, &text)).transpose()
    }

    pub(super) fn number<T: TryFrom<i64>>(&mut self, column: &'static str) -> Result<T, BadRow> {
        self.optional_number(column)?.ok_or_else(|| absent(column))
    }

    pub(super) fn optional_number<T: TryFrom<i64>>(
        &mut self,
        column: &'static str,
    ) -> Result<Option<T>, BadRow> {
        let Some(number) = self.cell::<i64>(column, "number")? else { return Ok(None) };
        T::try_from(number)
            .map(Some)
            .map_err(|_| BadRow { column, problem: format!("is out of range: {number}") })
    }

    /// A count, which is never negative.
    pub(super) fn count(&mut self, column: &'static str) -> Result<u64, BadRow> {
        Ok(u64::try_from(self.number::<i64>(column)?).unwrap_or(0))
    }

    pub(super) fn flag(&mut self, column: &'static str) -> Result<bool, BadRow> {
        self.cell(column, "flag")?.ok_or_else(|| absent(column))
    }

    pub(super) fn bytes(&mut self, column: &'static str) -> Result<Vec<u8>, BadRow> {
        self.optional_bytes(column)?.ok_or_else(|| absent(column))
    }

    pub(super) fn optional_bytes(&mut self, column: &'static str) -> Result<Option<Vec<u8>>, BadRow> {
        Ok(self.cell::<&[u8]>(column, "bytes")?.map(<[u8]>::to_vec))
    }
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
