//! WHERE clauses put together from what a filter names. Values are bound, never written into the text.

use rusqlite::ToSql;

use crate::common::nanoseconds;
use crate::error::SqlError;

/// A WHERE clause, or nothing, with its positional values.
#[derive(Default)]
pub(super) struct Conditions {
    pub(super) sql: String,
    pub(super) values: Vec<Box<dyn ToSql>>,
}

impl Conditions {
    /// Adds a condition with one `?` where there is a value for it.
    pub(super) fn add<T: ToSql + 'static>(&mut self, condition: &'static str, value: Option<T>) {
        if let Some(value) = value {
            self.both(condition, [Box::new(value) as Box<dyn ToSql>]);
        }
    }

    /// As [`Conditions::add`], in the first wording if it is the first condition of all.
    pub(super) fn first<T: ToSql + 'static>(&mut self, [first, later]: [&'static str; 2], value: Option<T>) {
        self.add(if self.sql.is_empty() { first } else { later }, value);
    }

    /// Bounds of `created_ns`, from RFC 3339.
    pub(super) fn between(&mut self, since: Option<&str>, until: Option<&str>) -> Result<(), SqlError> {
        self.bounds(["created_ns >= ?", "created_ns < ?"], since, until)
    }

    /// Bounds of a time, from RFC 3339: at or after, and before.
    pub(super) fn bounds(
        &mut self,
        [from, to]: [&'static str; 2],
        since: Option<&str>,
        until: Option<&str>,
    ) -> Result<(), SqlError> {
        self.add(from, since.map(nanoseconds).transpose()?);
        self.add(to, until.map(nanoseconds).transpose()?);
        Ok(())
    }

    /// Adds a condition with as many `?` as values.
    pub(super) fn both(&mut self, condition: &'static str, values: impl IntoIterator<Item = Box<dyn ToSql>>) {
        self.sql.push_str(if self.sql.is_empty() { " WHERE " } else { " AND " });
        self.sql.push_str(condition);
        self.values.extend(values);
    }
}
