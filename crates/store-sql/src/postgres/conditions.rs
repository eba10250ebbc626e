//! WHERE clauses put together from what a filter names. Values are bound, never written into the text.

use tokio_postgres::types::ToSql;

use crate::common::nanoseconds;
use crate::error::SqlError;

type Value = Box<dyn ToSql + Send + Sync>;

/// A WHERE clause, or nothing, with its values in their order.
#[derive(Default)]
pub(super) struct Conditions {
    pub(super) sql: String,
    values: Vec<Value>,
}

impl Conditions {
    /// Adds a condition where there is a value for it; each `?` is that value.
    pub(super) fn add<T: ToSql + Send + Sync + 'static>(&mut self, condition: &str, value: Option<T>) {
        if let Some(value) = value {
            let place = self.value(value);
            self.written(&condition.replace('?', &place));
        }
    }

    /// Bounds of `created_ns`, from RFC 3339.
    pub(super) fn between(&mut self, since: Option<&str>, until: Option<&str>) -> Result<(), SqlError> {
        self.add("created_ns >= ?", since.map(nanoseconds).transpose()?);
        self.add("created_ns < ?", until.map(nanoseconds).transpose()?);
        Ok(())
    }

    /// Adds a condition that has its values already, from [`Conditions::value`].
    pub(super) fn written(&mut self, condition: &str) {
        self.sql.push_str(if self.sql.is_empty() { " WHERE " } else { " AND " });
        self.sql.push_str(condition);
    }

    /// Binds a value. Returns its name in the statement.
    pub(super) fn value(&mut self, value: impl ToSql + Send + Sync + 'static) -> String {
        self.values.push(Box::new(value));
        format!("${}", self.values.len())
    }

    /// The values, as the driver takes them.
    pub(super) fn params(&self) -> Vec<&(dyn ToSql + Sync)> {
        self.values.iter().map(|value| value.as_ref() as &(dyn ToSql + Sync)).collect()
    }
}
