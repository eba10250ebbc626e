//! The `x-omni-*` request headers: what a client may say about one turn. A value we do not know is an error,
//! never ignored.

use axum::http::HeaderMap;
use dialects::ClientRequest;
use domain::{SkillRef, TurnBudgets};

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
    /// `x-omni-budget`.
    pub(super) budgets: TurnBudgets,
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
            budgets: budgets(headers)?,
        })
    }

    /// Whether this request can be answered as the headers ask.
    pub(super) fn fit(&self, request: &ClientRequest) -> Result<(), BadHeader> {
        if self.splice_only && request.stream {
            let problem = "`splice-only` has no streamed form; ask without `stream`".to_owned();
            return Err(BadHeader { name: "x-omni-skills", problem });
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

/// `rounds=3, wall_ms=5000`: each word at most once, with a whole number.
fn budgets(headers: &HeaderMap) -> Result<TurnBudgets, BadHeader> {
    let name = "x-omni-budget";
    let mut out = TurnBudgets::default();
    for item in items(headers, name)? {
        let bad = |problem: &str| BadHeader {
            name,
            problem: format!("`{}` {problem}", domain::text::excerpt(item, 40)),
        };
        let (word, number) = item.split_once('=').ok_or_else(|| bad("is not WORD=NUMBER"))?;
        let number = number.trim();
        let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        let number = number.parse::<u64>().ok().filter(|_| digits);
        let number = number.ok_or_else(|| bad("has no whole number that can be used"))?;
        set(&mut out, word.trim(), number).map_err(bad)?;
    }
    Ok(out)
}

/// More than can be counted is no bound; a turn has one round at least, and a round takes tokens.
fn set(budgets: &mut TurnBudgets, word: &str, number: u64) -> Result<(), &'static str> {
    let count = u32::try_from(number).unwrap_or(u32::MAX);
    let taken = match word {
        "rounds" | "tokens" if number == 0 => return Err("has to be 1 at least"),
        "rounds" => budgets.rounds.replace(count).is_some(),
        "wall_ms" => budgets.wall_ms.replace(number).is_some(),
        "executions" => budgets.executions.replace(count).is_some(),
        "result_bytes" => budgets.result_bytes.replace(number).is_some(),
        "results_bytes" => budgets.results_bytes.replace(number).is_some(),
        "tokens" => budgets.tokens.replace(number).is_some(),
        _ => return Err("is not one of rounds, wall_ms, executions, result_bytes, results_bytes, tokens"),
    };
    if taken { Err("names something twice") } else { Ok(()) }
}

/// The items of a list, in all lines of the header.
fn items<'h>(headers: &'h HeaderMap, name: &'static str) -> Result<Vec<&'h str>, BadHeader> {
    let mut out = Vec::new();
    for line in headers.get_all(name) {
        let text = std::str::from_utf8(line.as_bytes());
        let text = text.map_err(|_| BadHeader { name, problem: "the value is not UTF-8".to_owned() })?;
        out.extend(text.split(',').map(str::trim).filter(|item| !item.is_empty()));
    }
    Ok(out)
}

fn named(headers: &HeaderMap) -> Result<Vec<SkillRef>, BadHeader> {
    let name = "x-omni-use";
    let read = |item| SkillRef::parse(item).map_err(|e| BadHeader { name, problem: e.to_string() });
    items(headers, name)?.into_iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::{HeaderName, HeaderValue};
    use proptest::prelude::*;

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
    fn budgets_are_a_list_of_words_with_numbers() {
        let options = read(&[
            ("x-omni-budget", "rounds=3,wall_ms = 0 , tokens=9"),
            ("x-omni-budget", "executions=9999999999"),
        ]);
        let wanted = TurnBudgets {
            rounds: Some(3),
            wall_ms: Some(0),
            tokens: Some(9),
            executions: Some(u32::MAX),
            ..TurnBudgets::default()
        };
        assert_eq!(options.unwrap().budgets, wanted);
        assert_eq!(read(&[("x-omni-budget", " , ")]).unwrap().budgets, TurnBudgets::default());
    }

    proptest! {
        #[test]
        fn no_header_text_is_a_reason_to_panic(text in "[a-z_=,0-9 ]{0,60}|.{0,20}") {
            let mut map = HeaderMap::new();
            if let Ok(value) = HeaderValue::from_str(&text) {
                map.insert("x-omni-budget", value.clone());
                map.insert("x-omni-use", value);
                if let Err(error) = Options::read(&map) {
                    prop_assert!(error.to_string().starts_with("header `x-omni-"), "{error}");
                }
            }
        }
    }

    #[test]
    fn refuses_what_it_does_not_know() {
        for (name, value) in [
            ("x-omni-skills", "maybe"),
            ("x-omni-transcript", "shown"),
            ("x-omni-custom-skills", "1"),
            ("x-omni-use", "a@banana"),
            ("x-omni-budget", "round=1"),
            ("x-omni-budget", "rounds"),
            ("x-omni-budget", "rounds=0"),
            ("x-omni-budget", "tokens=0"),
            ("x-omni-budget", "rounds=-1"),
            ("x-omni-budget", "rounds=+1"),
            ("x-omni-budget", "rounds=1.5"),
            ("x-omni-budget", "rounds="),
            ("x-omni-budget", "wall_ms=99999999999999999999"),
            ("x-omni-budget", "rounds=1, rounds=2"),
        ] {
            let error = read(&[(name, value)]).unwrap_err().to_string();
            assert!(error.contains(name), "{error}");
        }
    }
}
