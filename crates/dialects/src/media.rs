//! Images and files of results, as the dialects write them beside the text. Each dialect says what it takes; the
//! text of a result names every part anyway, so that a result without them is whole.
//!
//! Never looks into an image, and never writes text parts: those are in the result's text.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::Part;
use serde_json::value::RawValue;

use crate::kept::Kept;

/// The media type of plain text, which some providers want decoded.
pub(crate) const TEXT: &str = "text/plain";

/// An image or a file.
pub(crate) struct Media<'a> {
    /// File name; an image may have none.
    pub(crate) name: Option<&'a str>,
    pub(crate) mime: &'a str,
    /// Base64.
    pub(crate) data: &'a str,
}

impl<'a> Media<'a> {
    /// What of these parts is no text.
    pub(crate) fn of(parts: &'a [Part]) -> impl Iterator<Item = Self> {
        parts.iter().filter_map(|part| match part {
            Part::Text { .. } => None,
            Part::Image { mime, data } => Some(Self { name: None, mime, data }),
            Part::File { name, mime, data } => {
                Some(Self { name: Some(name.as_str()).filter(|name| !name.is_empty()), mime, data })
            }
        })
    }

    pub(crate) fn is_image(&self) -> bool {
        self.mime.starts_with("image/")
    }

    pub(crate) fn data_url(&self) -> String {
        format!("data:{};base64,{}", self.mime, self.data)
    }

    /// The bytes as text, if they are that.
    pub(crate) fn text(&self) -> Option<String> {
        String::from_utf8(STANDARD.decode(self.data).ok()?).ok().filter(|text| !text.is_empty())
    }
}

/// Kept rounds with every message, item or result changed for which `edit` gives another text.
pub(crate) fn edited(mut kept: Kept, edit: fn(&str) -> Option<String>) -> Kept {
    let lists = [&mut kept.before, &mut kept.results, &mut kept.shown];
    for one in lists.into_iter().flatten() {
        if let Some(text) = edit(one.get()).and_then(|text| RawValue::from_string(text).ok()) {
            *one = text;
        }
    }
    kept
}

/// The number right behind `prefix` in a model's name; models with another name are none of that family.
pub(crate) fn version(model: &str, prefix: &str) -> Option<u32> {
    let (_, rest) = model.split_once(prefix)?;
    let end = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
    rest.get(..end)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_the_number_behind_the_prefix() {
        assert_eq!(version("models/gemini-3.7-flash", "gemini-"), Some(3));
        assert_eq!(version("gpt-10", "gpt-"), Some(10));
        for other in ["gemini-flash-latest", "gemini-", "", "gpt-99999999999999999999"] {
            assert_eq!(version(other, "gemini-").or(version(other, "gpt-")), None, "{other}");
        }
    }
}
