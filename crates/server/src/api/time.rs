//! Times in queries.

use jiff::Timestamp;

use super::rfc3339;

/// A time in any offset, as it is stored and compared.
pub(super) fn time(text: &str) -> Result<String, &'static str> {
    let wrong = "is not an RFC 3339 time, such as 2026-01-31T12:00:00Z";
    text.parse::<Timestamp>().map(rfc3339).map_err(|_| wrong)
}
