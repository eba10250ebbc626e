//! Reading inputs that were validated already. A blank (`""` or `null`) on an optional field means absent.

use executor::HandlerError;
use serde_json::{Map, Value};

/// Drops the optional fields that are blank.
pub(crate) fn drop_blank(mut input: Map<String, Value>, optional: &[&str]) -> Map<String, Value> {
    input.retain(|name, value| {
        let blank = value.is_null() || value.as_str() == Some("");
        !(blank && optional.contains(&name.as_str()))
    });
    input
}

/// A text that has to be there.
pub(crate) fn text<'a>(input: &'a Map<String, Value>, name: &str) -> Result<&'a str, HandlerError> {
    let value = input.get(name).and_then(Value::as_str);
    value.ok_or_else(|| HandlerError::failed("invalid_input", format!("`{name}` has to be a text")))
}

/// A whole number, if it is there. JSON Schema takes `5.0` for an integer, so this does too.
pub(crate) fn number(input: &Map<String, Value>, name: &str) -> Option<u64> {
    let value = input.get(name)?;
    value.as_u64().or_else(|| value.to_string().strip_suffix(".0")?.parse().ok())
}
