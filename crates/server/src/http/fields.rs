//! Reads the fields of a request, of its body or its query: every wrong one is named, and unknown ones are never ignored.

use std::fmt::Display;
use std::ops::RangeInclusive;

use axum::extract::{FromRequestParts, Query};
use axum::http::request::Parts;
use domain::text::excerpt;
use serde_json::{Map, Value};

use crate::error::{ApiError, Code, Detail};

/// Fields that are taken out one by one; [`Fields::finish`] tells what was wrong.
///
/// As an extractor it reads the query.
#[derive(Debug, Default)]
pub(crate) struct Fields {
    values: Map<String, Value>,
    known: Vec<&'static str>,
    /// Path of this object in the body, with its dot.
    prefix: String,
    /// In a query everything is text.
    query: bool,
    wrong_types: Vec<Detail>,
    wrong: Vec<Detail>,
}

impl From<Map<String, Value>> for Fields {
    fn from(values: Map<String, Value>) -> Self {
        Self { values, ..Self::default() }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Fields {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let pairs = Query::<Vec<(String, String)>>::from_request_parts(parts, state).await;
        let Query(pairs) = pairs.map_err(|e| ApiError::new(Code::InvalidField, e.body_text()))?;
        let mut fields = Self { query: true, ..Self::default() };
        for (name, value) in pairs {
            if fields.values.contains_key(&name) {
                fields.wrong.push(Detail::new(excerpt(&name, 60), "is given twice"));
            }
            fields.values.insert(name, Value::String(value));
        }
        Ok(fields)
    }
}

/// `2.0` is a whole number in JSON Schema, and some clients write every number so. Larger ones are not exact.
fn whole_float(number: f64) -> Option<u64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is whole and within bounds"
    )]
    let whole = (number.fract() == 0.0 && (0.0..=EXACT).contains(&number)).then_some(number as u64);
    whole
}

impl Fields {
    /// The raw value; `null` counts as absent.
    pub(crate) fn value(&mut self, name: &'static str) -> Option<Value> {
        self.known.push(name);
        self.values.shift_remove(name).filter(|v| !v.is_null())
    }

    /// Whether the field is there as `null`. Asked before it is taken.
    pub(crate) fn is_null(&self, name: &str) -> bool {
        self.values.get(name).is_some_and(Value::is_null)
    }

    /// Says that a field is wrong.
    pub(crate) fn refuse(&mut self, name: &str, message: impl Display) {
        self.wrong.push(Detail::new(format!("{}{name}", self.prefix), message.to_string()));
    }

    /// Says that a field has a wrong JSON type.
    pub(crate) fn wrong_type(&mut self, name: &str, wanted: &str) {
        self.wrong_types.push(Detail::new(format!("{}{name}", self.prefix), format!("has to be {wanted}")));
    }

    /// A text.
    pub(crate) fn text(&mut self, name: &'static str) -> Option<String> {
        let Value::String(text) = self.value(name)? else {
            self.wrong_type(name, "a string");
            return None;
        };
        Some(text)
    }

    /// A text that has to be there.
    pub(crate) fn required_text(&mut self, name: &'static str) -> String {
        if self.values.get(name).is_none_or(Value::is_null) {
            self.known.push(name);
            self.values.shift_remove(name);
            self.refuse(name, "is required");
            return String::new();
        }
        self.text(name).unwrap_or_default()
    }

    /// A text that means something else.
    pub(crate) fn parsed<T, E: Display>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        let text = self.text(name)?;
        match read(&text) {
            Ok(value) => Some(value),
            Err(message) => {
                self.refuse(name, message);
                None
            }
        }
    }

    /// One word of a few.
    pub(crate) fn word<T>(
        &mut self,
        name: &'static str,
        words: &[&str],
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        self.parsed(name, |text| {
            read(text).ok_or_else(|| format!("`{}` is not one of {}", excerpt(text, 40), words.join(", ")))
        })
    }

    /// A whole number.
    pub(crate) fn whole(&mut self, name: &'static str, range: RangeInclusive<u64>) -> Option<u64> {
        let value = self.value(name)?;
        let number = match &value {
            Value::Number(number) => number.as_u64().or_else(|| whole_float(number.as_f64()?)),
            Value::String(text) if self.query => text.parse().ok(),
            _ => {
                self.wrong_type(name, "a number");
                return None;
            }
        };
        let fits = number.filter(|n| range.contains(n));
        if fits.is_none() {
            self.refuse(name, format!("has to be a whole number from {} to {}", range.start(), range.end()));
        }
        fits
    }

    /// `true` or `false`.
    pub(crate) fn flag(&mut self, name: &'static str) -> Option<bool> {
        match self.value(name)? {
            Value::Bool(flag) => Some(flag),
            Value::String(text) if self.query && text == "true" => Some(true),
            Value::String(text) if self.query && text == "false" => Some(false),
            _ if self.query => {
                self.refuse(name, "has to be true or false");
                None
            }
            _ => {
                self.wrong_type(name, "true or false");
                None
            }
        }
    }

    /// An array of texts.
    pub(crate) fn texts(&mut self, name: &'static str) -> Option<Vec<String>> {
        let Value::Array(items) = self.value(name)? else {
            self.wrong_type(name, "an array of strings");
            return None;
        };
        let mut out = Vec::with_capacity(items.len());
        for (place, item) in items.into_iter().enumerate() {
            match item {
                Value::String(text) => out.push(text),
                _ => self.wrong_type(&format!("{name}[{place}]"), "a string"),
            }
        }
        Some(out)
    }

    /// An object with fields of its own.
    pub(crate) fn object<T>(&mut self, name: &'static str, read: impl FnOnce(&mut Self) -> T) -> Option<T> {
        let Value::Object(values) = self.value(name)? else {
            self.wrong_type(name, "an object");
            return None;
        };
        let mut inner = Self { values, prefix: format!("{}{name}.", self.prefix), ..Self::default() };
        let out = read(&mut inner);
        inner.refuse_unknown();
        self.wrong.append(&mut inner.wrong);
        self.wrong_types.append(&mut inner.wrong_types);
        Some(out)
    }

    /// An object whose members are somebody else's.
    pub(crate) fn free_object(&mut self, name: &'static str) -> Option<Value> {
        let value = self.value(name)?;
        if !value.is_object() {
            self.wrong_type(name, "an object");
        }
        Some(value)
    }

    fn refuse_unknown(&mut self) {
        let known = self.known.join(", ");
        for name in std::mem::take(&mut self.values).into_iter().map(|(name, _)| name) {
            self.refuse(&excerpt(&name, 60), format!("is not known here; known are {known}"));
        }
    }

    /// Everything that was wrong: 400, or 422 if types alone are.
    pub(crate) fn finish(mut self) -> Result<(), ApiError> {
        self.refuse_unknown();
        let code = if self.wrong.is_empty() { Code::InvalidType } else { Code::InvalidField };
        self.wrong.append(&mut self.wrong_types);
        let Some(first) = self.wrong.first() else { return Ok(()) };
        let more = match self.wrong.len() {
            1 => String::new(),
            n => format!(" (and {} more, see details)", n - 1),
        };
        let message = format!("{}: {}{more}", first.field, first.message);
        Err(ApiError::new(code, message).with_details(self.wrong))
    }
}
