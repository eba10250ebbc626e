//! Reads the columns of one row in order, and says in plain words which one is wrong and why. A row is data from
//! outside (other releases, people with a database tool), so nothing here may fail any other way.

use std::borrow::Cow;

use serde::de::DeserializeOwned;

use crate::error::BadRow;

/// A cursor over the columns of a row of some database. The order of the calls is the order of the SELECT.
pub(crate) trait Cells {
    /// Text that may be absent, without copying it.
    fn borrowed(&mut self, column: &'static str) -> Result<Option<Cow<'_, str>>, BadRow>;

    /// A number that may be absent.
    fn integer(&mut self, column: &'static str) -> Result<Option<i64>, BadRow>;

    /// True or false.
    fn flag(&mut self, column: &'static str) -> Result<bool, BadRow>;

    /// Bytes that may be absent.
    fn optional_bytes(&mut self, column: &'static str) -> Result<Option<Vec<u8>>, BadRow>;

    fn required(&mut self, column: &'static str) -> Result<Cow<'_, str>, BadRow> {
        self.borrowed(column)?.ok_or_else(|| absent(column))
    }

    fn text(&mut self, column: &'static str) -> Result<String, BadRow> {
        self.required(column).map(Cow::into_owned)
    }

    fn optional_text(&mut self, column: &'static str) -> Result<Option<String>, BadRow> {
        Ok(self.borrowed(column)?.map(Cow::into_owned))
    }

    /// One word of a closed list.
    fn word<T>(&mut self, column: &'static str, parse: impl Fn(&str) -> Option<T>) -> Result<T, BadRow> {
        let text = self.required(column)?;
        parse(&text).ok_or_else(|| unknown(column, &text))
    }

    fn optional_word<T>(
        &mut self,
        column: &'static str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, BadRow> {
        let Some(text) = self.borrowed(column)? else { return Ok(None) };
        parse(&text).map(Some).ok_or_else(|| unknown(column, &text))
    }

    /// Text that a type reads itself, with its own words for what is wrong.
    fn parsed<T>(&mut self, column: &'static str) -> Result<T, BadRow>
    where
        T: std::str::FromStr,
        T::Err: std::fmt::Display,
    {
        self.required(column)?.parse().map_err(|e| BadRow { column, problem: format!("is wrong: {e}") })
    }

    fn json<T: DeserializeOwned>(&mut self, column: &'static str) -> Result<T, BadRow> {
        from_json(column, &self.required(column)?)
    }

    fn optional_json<T: DeserializeOwned>(&mut self, column: &'static str) -> Result<Option<T>, BadRow> {
        self.borrowed(column)?.map(|text| from_json(column, &text)).transpose()
    }

    fn number<T: TryFrom<i64>>(&mut self, column: &'static str) -> Result<T, BadRow> {
        self.optional_number(column)?.ok_or_else(|| absent(column))
    }

    fn optional_number<T: TryFrom<i64>>(&mut self, column: &'static str) -> Result<Option<T>, BadRow> {
        let Some(number) = self.integer(column)? else { return Ok(None) };
        match T::try_from(number) {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(BadRow { column, problem: format!("is out of range: {number}") }),
        }
    }

    fn bytes(&mut self, column: &'static str) -> Result<Vec<u8>, BadRow> {
        self.optional_bytes(column)?.ok_or_else(|| absent(column))
    }
}

fn from_json<T: DeserializeOwned>(column: &'static str, text: &str) -> Result<T, BadRow> {
    serde_json::from_str(text)
        .map_err(|e| BadRow { column, problem: format!("is not the JSON it should be: {e}") })
}

/// Says that a column has no value.
pub(crate) fn absent(column: &'static str) -> BadRow {
    BadRow { column, problem: "is empty".to_owned() }
}

fn unknown(column: &'static str, text: &str) -> BadRow {
    BadRow { column, problem: format!("has the unknown value `{}`", domain::text::excerpt(text, 40)) }
}
