//! The `x-omni-*` request headers: what a client may say about one turn. A value we do not know is an error,
//! never ignored.

use axum::http::HeaderMap;
use dialects::{ClientRequest, Dialect};
use domain::SkillRef;

/// What the headers said.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a word of a header of its own")]
pub(super) struct Options {
    /// `x-omni-skills: off`.
    pub(super) off: bool,
    /// `x-omni-skills: splice-only`: one round, and the results go to the client.
    pub(super) splice_only: bool,
    /// `x-omni-transcript: spliced`, or `splice-only`: a plain answer shows calls and results.
    pub(super) spliced: bool,
    /// `x-omni-use`.
    pub(super) named: Vec<SkillRef>,
    /// `x-omni-user`.
    pub(super) user: Option<String>,
    /// `x-omni-session`.
    pub(super) session: Option<String>,
    /// `x-omni-custom-skills: off`.
    pub(super) custom_off: bool,
    /// `x-omni-background-reason`.
    pub(super) background_reason: Option<String>,
}

/// A header that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("header `{name}`: {problem}")]
pub(super) struct BadHeader {
    name: &'static str,
    problem: String,
}

/// Longest value of a free-text header, in characters.
const TEXT_CHARS: usize = 256;

impl Options {
    pub(super) fn read(headers: &HeaderMap) -> Result<Self, BadHeader> {
        let skills = one_of(headers, "x-omni-skills", &["off", "splice-only", "loop"])?;
        let splice_only = skills.as_deref() == Some("splice-only");
        let transcript = one_of(headers, "x-omni-transcript", &["hidden", "spliced"])?;
        Ok(Self {
            off: skills.as_deref() == Some("off"),
            splice_only,
            spliced: splice_only || transcript.as_deref() == Some("spliced"),
            named: named(headers)?,
            user: text(headers, "x-omni-user")?,
            session: text(headers, "x-omni-session")?,
            custom_off: one_of(headers, "x-omni-custom-skills", &["off", "on"])?.is_some_and(|w| w == "off"),
            background_reason: text(headers, "x-omni-background-reason")?,
        })
    }

    /// Whether this request can be answered as the headers ask.
    pub(super) fn fit(&self, dialect: &dyn Dialect, request: &ClientRequest) -> Result<(), BadHeader> {
        let name = if self.splice_only { "x-omni-skills" } else { "x-omni-transcript" };
        let bad = |problem: String| Err(BadHeader { name, problem });
        if self.splice_only && request.stream {
            return bad("`splice-only` has no streamed form; ask without `stream`".to_owned());
        }
        if self.spliced && !request.stream && !dialect.can_splice() {
            return bad(format!("answers of {} cannot show calls and results yet", dialect.name()));
        }
        Ok(())
    }
}

/// The header's text, trimmed; an empty one counts as absent.
fn value<'h>(headers: &'h HeaderMap, name: &'static str) -> Result<Option<&'h str>, BadHeader> {
    let Some(value) = headers.get(name) else { return Ok(None) };
    let text = std::str::from_utf8(value.as_bytes());
    let text = text.map_err(|_| BadHeader { name, problem: "the value is not UTF-8".to_owned() })?;
    Ok(Some(text.trim()).filter(|t| !t.is_empty()))
}

fn text(headers: &HeaderMap, name: &'static str) -> Result<Option<String>, BadHeader> {
    let Some(text) = value(headers, name)? else { return Ok(None) };
    if text.chars().count() > TEXT_CHARS {
        let problem = format!("the value has more than {TEXT_CHARS} characters");
        return Err(BadHeader { name, problem });
    }
    Ok(Some(text.to_owned()))
}

fn one_of(headers: &HeaderMap, name: &'static str, words: &[&str]) -> Result<Option<String>, BadHeader> {
    let Some(word) = value(headers, name)?.map(str::to_ascii_lowercase) else { return Ok(None) };
    if words.contains(&word.as_str()) {
        return Ok(Some(word));
    }
    let problem = format!("`{}` is not one of {}", domain::text::excerpt(&word, 40), words.join(", "));
    Err(BadHeader { name, problem })
}

fn named(headers: &HeaderMap) -> Result<Vec<SkillRef>, BadHeader> {
    let name = "x-omni-use";
    let mut out = Vec::new();
    for text in headers.get_all(name) {
        let text = std::str::from_utf8(text.as_bytes());
        let text = text.map_err(|_| BadHeader { name, problem: "the value is not UTF-8".to_owned() })?;
        for item in text.split(',').map(str::trim).filter(|i| !i.is_empty()) {
            let skill = SkillRef::parse(item).map_err(|e| BadHeader { name, problem: e.to_string() })?;
            out.push(skill);
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::{HeaderName, HeaderValue};

    fn read(pairs: &[(&'static str, &'static str)]) -> Result<Options, BadHeader> {
        let map =
            pairs.iter().map(|(n, v)| (HeaderName::from_static(n), HeaderValue::from_static(v))).collect();
        Options::read(&map)
    }

    #[test]
    fn reads_what_it_knows() {
        let options = read(&[
            ("x-omni-skills", "OFF"),
            ("x-omni-use", "eval_code, web_search@^1"),
            ("x-omni-user", " u1 "),
            ("x-omni-custom-skills", "off"),
        ])
        .unwrap();
        assert!(options.off && options.custom_off);
        assert_eq!(options.named.len(), 2);
        assert_eq!(options.user.as_deref(), Some("u1"));
    }

    #[test]
    fn refuses_what_it_does_not_know() {
        for (name, value) in [
            ("x-omni-skills", "maybe"),
            ("x-omni-transcript", "shown"),
            ("x-omni-custom-skills", "1"),
            ("x-omni-use", "a@banana"),
        ] {
            let error = read(&[(name, value)]).unwrap_err().to_string();
            assert!(error.contains(name), "{error}");
        }
    }
}
