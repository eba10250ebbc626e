//! Texts on their way in and out. `PostgreSQL` holds every text but those with a NUL, which clients can send; it is
//! written as a sign and `0`, and the sign itself twice, so that different texts stay different.

use std::borrow::Cow;

use bytes::BytesMut;
use serde::Serialize;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

use crate::error::SqlError;

const SIGN: char = '\u{2400}';

/// A text as a parameter of a statement.
#[derive(Debug)]
pub(super) struct Text<'a>(Cow<'a, str>);

pub(super) fn text(text: &str) -> Text<'_> {
    Text(escape(text))
}

pub(super) fn optional(text: Option<&String>) -> Option<Text<'_>> {
    text.map(|text| Text(escape(text)))
}

/// A value as JSON.
pub(super) fn json(value: &impl Serialize) -> Result<Text<'static>, SqlError> {
    let json = serde_json::to_string(value)?;
    Ok(Text(Cow::Owned(escape(&json).into_owned())))
}

pub(super) fn optional_json(value: Option<&impl Serialize>) -> Result<Option<Text<'static>>, SqlError> {
    value.map(json).transpose()
}

pub(super) fn owned(text: String) -> Text<'static> {
    Text(Cow::Owned(if is_plain(&text) { text } else { escape(&text).into_owned() }))
}

impl Text<'_> {
    /// Bytes that it takes in the database.
    pub(super) fn size(&self) -> usize {
        self.0.len()
    }
}

fn is_plain(text: &str) -> bool {
    !text.contains(['\0', SIGN])
}

fn escape(text: &str) -> Cow<'_, str> {
    if is_plain(text) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\0' => out.extend([SIGN, '0']),
            SIGN => out.extend([SIGN, SIGN]),
            other => out.push(other),
        }
    }
    Cow::Owned(out)
}

/// The way back. A sign that stands alone, which only others can have written, stays.
pub(super) fn unescape(text: &str) -> Cow<'_, str> {
    if !text.contains(SIGN) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c == SIGN && chars.next_if_eq(&'0').is_some() {
            out.push('\0');
        } else {
            if c == SIGN {
                chars.next_if_eq(&SIGN);
            }
            out.push(c);
        }
    }
    Cow::Owned(out)
}

impl ToSql for Text<'_> {
    fn to_sql(
        &self,
        ty: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        self.0.as_ref().to_sql(ty, out)
    }

    fn accepts(ty: &Type) -> bool {
        <&str as ToSql>::accepts(ty)
    }

    to_sql_checked!();
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_text_comes_back_and_none_has_a_nul(text in "[\0\u{2400}0a🙂]{0,12}", other in "[\0\u{2400}0a]{0,6}") {
            let escaped = escape(&text);
            prop_assert!(!escaped.contains('\0'));
            prop_assert_eq!(unescape(&escaped), text.as_str());
            prop_assert_eq!(text == other, escaped == escape(&other));
        }
    }

    #[test]
    fn what_others_wrote_stays_readable() {
        assert_eq!(unescape("a\u{2400}b\u{2400}"), "a\u{2400}b\u{2400}");
    }
}
