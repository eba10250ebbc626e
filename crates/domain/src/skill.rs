//! A skill: a versioned, schema-defined capability in the registry. Its handler is a name, never code.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::SYSTEM_OWNER;
use crate::constraint::Constraint;
use crate::limits::NAME_CHARS;
use crate::mode::{Mode, Policy};
use crate::version::Version;

/// Where a skill came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SourceProvider {
    /// Shipped in the binary.
    Builtin,
    /// The `SkillsMP` catalog.
    SkillsMp,
    /// The skills.sh catalog.
    SkillsSh,
    /// Installed by hand.
    #[default]
    Local,
}

impl SourceProvider {
    /// The word in API and storage.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Builtin => "builtin",
            Self::SkillsMp => "skillsmp",
            Self::SkillsSh => "skillssh",
            Self::Local => "local",
        }
    }

    /// Reads the word back.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Builtin, Self::SkillsMp, Self::SkillsSh, Self::Local].into_iter().find(|s| s.as_str() == word)
    }
}

/// MCP's hints about what a run does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "four independent hints, as MCP has them")]
pub struct Annotations {
    /// Changes nothing.
    pub read_only: bool,
    /// Running twice is the same as once.
    pub idempotent: bool,
    /// May destroy what was there.
    pub destructive: bool,
    /// Reaches outside the gateway.
    pub open_world: bool,
}

/// One row of the registry. JSON names are those of the REST API.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Skill {
    /// UUID v7.
    pub id: String,
    /// Owner: an API key id, or `system`.
    pub api_key_id: String,
    /// See [`check_name`].
    pub name: String,
    /// Identity is `name@version` within an owner.
    pub version: Version,
    /// Whole text; cut on the wire.
    pub description: String,
    /// `{input, output}`, as installed; see [`crate::schema`] for the normalised form.
    pub schema: Value,
    /// A name in the handler table.
    pub handler: String,
    /// When it is offered.
    pub mode: Mode,
    /// Who may start it.
    pub policy: Policy,
    /// Stored beside the mode; see [`Skill::set_enabled`].
    pub enabled: bool,
    /// The mode that `enabled: true` brings back.
    #[serde(default, skip_serializing)]
    pub mode_before: Option<Mode>,
    /// Milliseconds; absent = the executor's default.
    pub timeout_ms: Option<u64>,
    /// Absent = the executor's default.
    pub max_retries: Option<u32>,
    /// Hints.
    #[serde(default)]
    pub annotations: Annotations,
    /// Where it came from.
    pub source_provider: SourceProvider,
    /// Address it came from.
    pub source_url: Option<String>,
    /// Hash of what was installed.
    pub content_sha256: Option<String>,
    /// Non-empty, lower-cased, unique.
    pub tags: Vec<String>,
    /// Breaks ties of the score.
    pub install_count: u64,
    /// RFC 3339 UTC.
    pub created_at: String,
    /// RFC 3339 UTC.
    pub updated_at: String,
}

impl Skill {
    /// `name@version`.
    pub fn identity(&self) -> String {
        format!("{}@{}", self.name, self.version)
    }

    /// Whether every key sees it.
    pub fn is_system(&self) -> bool {
        self.api_key_id == SYSTEM_OWNER
    }

    /// Whether the binary ships it.
    pub fn is_builtin(&self) -> bool {
        self.source_provider == SourceProvider::Builtin
    }

    /// Whether it may run at all. Asked at execution time, not only at selection.
    pub fn is_active(&self) -> bool {
        self.enabled && self.mode != Mode::Off
    }

    /// The `enabled` switch: `false` saves the mode and sets `off`; `true` restores it only if it was false.
    pub fn set_enabled(&mut self, enabled: bool) {
        match (self.enabled, enabled) {
            (true, false) => {
                self.mode_before = Some(self.mode);
                self.mode = Mode::Off;
            }
            (false, true) => self.mode = self.mode_before.take().unwrap_or(self.mode),
            _ => {}
        }
        self.enabled = enabled;
    }

    /// The `mode` switch: `on` and `auto` also enable; `off` leaves `enabled` as it is (registered but inactive).
    pub fn set_mode(&mut self, mode: Mode) {
        self.mode = mode;
        self.mode_before = None;
        if mode != Mode::Off {
            self.enabled = true;
        }
    }
}

/// A way to name a skill: `name`, `name@version` or `name@constraint`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillRef {
    /// The skill's name.
    pub name: String,
    /// Absent = the highest version.
    pub constraint: Option<Constraint>,
}

impl SkillRef {
    /// Reads `name` or `name@constraint`.
    pub fn parse(text: &str) -> Result<Self, RefError> {
        let (name, constraint) = match text.split_once('@') {
            None => (text, None),
            Some((name, rest)) => (name, Some(rest.parse::<Constraint>()?)),
        };
        check_name(name)?;
        Ok(Self { name: name.to_owned(), constraint })
    }
}

/// A skill reference that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RefError {
    /// The name part.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The part after `@`.
    #[error(transparent)]
    Constraint(#[from] crate::constraint::ConstraintError),
}

/// A name that no skill may have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "a skill name has 1 to {NAME_CHARS} characters, no control characters, no `@` and no space at either end; got `{0}`"
)]
pub struct NameError(pub String);

/// Checks a name: 1 to [`NAME_CHARS`] characters, no control characters, no `@`, no leading or trailing space.
pub fn check_name(name: &str) -> Result<(), NameError> {
    let legal = !name.is_empty()
        && name.chars().count() <= NAME_CHARS
        && !name.chars().any(|c| c.is_control() || c == '@')
        && name.trim() == name;
    if legal { Ok(()) } else { Err(NameError(crate::text::excerpt(name, 60))) }
}

/// Tags as stored: trimmed, lower-cased, without empty ones and repetitions, order kept.
pub fn normalise_tags<I: IntoIterator<Item = String>>(tags: I) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for tag in tags {
        let tag = tag.trim().to_lowercase();
        if !tag.is_empty() && !out.contains(&tag) {
            out.push(tag);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn skill(enabled: bool, mode: Mode) -> Skill {
        let json = serde_json::json!({
            "id": "1", "apiKeyId": "system", "name": "rev", "version": "1.0.0", "description": "", "schema": {},
            "handler": "echo-handler", "mode": mode, "policy": "auto", "enabled": enabled,
            "sourceProvider": "local", "tags": [], "installCount": 0, "createdAt": "", "updatedAt": "",
        });
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn enabled_and_mode_from_every_state() {
        use Mode::{Auto, Off, On};
        for mode in [On, Off, Auto] {
            // Switching off and on again brings the mode back, however often it is said.
            let mut row = skill(true, mode);
            row.set_enabled(true);
            assert_eq!((row.enabled, row.mode), (true, mode));
            row.set_enabled(false);
            row.set_enabled(false);
            assert_eq!((row.enabled, row.mode, row.is_active()), (false, Off, false));
            row.set_enabled(true);
            assert_eq!((row.enabled, row.mode, row.is_active()), (true, mode, mode != Off));
        }
        for (enabled, mode, set, expected) in [
            (true, On, Off, (true, Off, false)),
            (true, Off, Auto, (true, Auto, true)),
            (false, Off, On, (true, On, true)),
            (false, Off, Off, (false, Off, false)),
        ] {
            let mut row = skill(enabled, mode);
            row.set_mode(set);
            assert_eq!((row.enabled, row.mode, row.is_active()), expected);
        }
    }

    #[test]
    fn a_mode_chosen_while_disabled_is_what_counts() {
        let mut row = skill(true, Mode::On);
        row.set_enabled(false);
        row.set_mode(Mode::Off);
        row.set_enabled(true);
        assert_eq!((row.enabled, row.mode), (true, Mode::Off));
    }

    #[test]
    fn names_are_checked_at_every_edge() {
        let (longest, longer) = ("é".repeat(NAME_CHARS), "é".repeat(NAME_CHARS + 1));
        for good in ["a", "reverse text", "日本語", "a.b/c:d", longest.as_str()] {
            assert!(check_name(good).is_ok(), "{good}");
        }
        for bad in ["", " ", " a", "a ", "a\u{a0}", "a@b", "a\nb", "a\0", "\u{7f}", longer.as_str()] {
            assert!(check_name(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn references_with_and_without_a_constraint() {
        let parsed = SkillRef::parse("web search@ ^1.2 ").unwrap();
        assert_eq!(
            (parsed.name.as_str(), parsed.constraint.unwrap().to_string()),
            ("web search", "^1.2".into())
        );
        assert_eq!(SkillRef::parse("rev").unwrap().constraint, None);
        assert!(matches!(SkillRef::parse("rev@"), Err(RefError::Constraint(_))));
        assert!(matches!(SkillRef::parse("rev@1@2"), Err(RefError::Constraint(_))));
        assert!(matches!(SkillRef::parse("@1.0.0"), Err(RefError::Name(_))));
    }

    #[test]
    fn what_restores_the_mode_is_not_shown() {
        let mut row = skill(true, Mode::On);
        row.set_enabled(false);
        let json = serde_json::to_value(&row).unwrap();
        assert!(json.get("modeBefore").is_none() && json.get("mode_before").is_none());
        assert_eq!(json["mode"], "off");
    }

    proptest! {
        #[test]
        fn tags_are_clean_once_and_for_all(tags in prop::collection::vec("[ aBÉ]{0,3}", 0..6)) {
            let once = normalise_tags(tags);
            prop_assert!(once.iter().all(|tag| !tag.is_empty() && tag.trim() == tag && tag.to_lowercase() == *tag));
            prop_assert_eq!(normalise_tags(once.clone()), once);
        }

        #[test]
        fn a_reference_that_is_read_is_legal(text in ".{0,30}") {
            if let Ok(read) = SkillRef::parse(&text) {
                prop_assert!(check_name(&read.name).is_ok());
            }
        }
    }
}
