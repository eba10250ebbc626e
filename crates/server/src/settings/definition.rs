//! What can be set over REST: one row each, from which the API, its description and the store are served.

use std::ops::RangeInclusive;

use domain::limits;
use serde_json::Value;

/// One setting.
#[derive(Debug)]
pub struct Definition {
    /// Its path in the JSON of the API.
    pub name: &'static str,
    /// `section.key` in the configuration.
    pub path: &'static str,
    /// Its name in the database.
    pub(super) stored: &'static str,
    /// What it may be.
    pub kind: Kind,
    /// What it means.
    pub doc: &'static str,
}

/// What a setting may be.
#[derive(Clone, Debug)]
pub enum Kind {
    /// `true` or `false`, and the default.
    Flag(bool),
    /// A whole number within bounds, and the default.
    Whole(RangeInclusive<u64>, u64),
    /// One of these words; the first is the default.
    Word(&'static [&'static str]),
    /// A text that is never shown.
    Secret,
}

impl Kind {
    /// What holds where nobody said anything; `null` for a secret.
    pub fn default(&self) -> Value {
        match self {
            Self::Flag(flag) => (*flag).into(),
            Self::Whole(_, number) => (*number).into(),
            Self::Word(words) => words.first().copied().into(),
            Self::Secret => Value::Null,
        }
    }

    /// Reads what the database holds.
    pub(super) fn parse(&self, text: &str) -> Option<Value> {
        match self {
            Self::Flag(_) => text.parse::<bool>().ok().map(Value::from),
            Self::Whole(range, _) => text.parse().ok().filter(|n| range.contains(n)).map(Value::from),
            Self::Word(words) => words.contains(&text).then(|| text.into()),
            Self::Secret => Some(text.into()),
        }
    }

    /// For the database.
    pub(super) fn print(value: &Value) -> String {
        value.as_str().map_or_else(|| value.to_string(), str::to_owned)
    }
}

const fn row(
    name: &'static str,
    path: &'static str,
    stored: &'static str,
    kind: Kind,
    doc: &'static str,
) -> Definition {
    Definition { name, path, stored, kind, doc }
}

impl Definition {
    /// Every setting.
    pub const ALL: &[Self] = &[
        row(
            super::SKILLS_ENABLED,
            "skills.enabled",
            "skills_enabled",
            Kind::Flag(true),
            "The master switch: `false` and nothing runs, through any door.",
        ),
        row(
            super::SKILLS_PROVIDER,
            "skills.provider",
            "skills_provider",
            Kind::Word(&["skillsmp", "skillssh"]),
            "The catalog that is searched and installed from.",
        ),
        row(
            "skillsmpApiKey",
            "skills.skillsmp_api_key",
            "skillsmp_api_key",
            Kind::Secret,
            "Credential of the SkillsMP catalog; never shown.",
        ),
        row(
            "executor.timeoutMs",
            "executor.timeout_ms",
            "executor_timeout_ms",
            Kind::Whole(1..=limits::EXECUTION_TIMEOUT_MAX_MS, limits::EXECUTION_TIMEOUT_MS),
            "Milliseconds a run gets when neither its skill nor its caller says otherwise.",
        ),
        row(
            "executor.maxRetries",
            "executor.max_retries",
            "executor_max_retries",
            Kind::Whole(0..=3, 0),
            "Times that a run is tried again after a passing failure.",
        ),
        row(
            "selection.autoMaxSkills",
            "selection.auto_max_skills",
            "selection_auto_max_skills",
            Kind::Whole(0..=limits::TOOLS_PER_REQUEST as u64, limits::AUTO_MAX_SKILLS as u64),
            "Best `auto` skills injected into one request.",
        ),
        row(
            "selection.autoMinScore",
            "selection.auto_min_score",
            "selection_auto_min_score",
            Kind::Whole(0..=1000, limits::AUTO_MIN_SCORE as u64),
            "Least score of an `auto` skill that is injected.",
        ),
        row(
            "retention.days",
            "history.days",
            "history_days",
            Kind::Whole(0..=36_500, limits::HISTORY_DAYS),
            "Days that executions and turns are kept; 0: for ever.",
        ),
        row(
            "retention.executions",
            "history.executions",
            "history_executions",
            Kind::Whole(0..=1_000_000_000, limits::HISTORY_EXECUTIONS),
            "Newest executions that are kept, and as many turns; 0: any number.",
        ),
        row(
            "retention.bytes",
            "history.bytes",
            "history_bytes",
            Kind::Whole(0..=1_000_000_000_000_000, limits::HISTORY_TOTAL_BYTES),
            "Bytes of all executions that are kept; 0: any number.",
        ),
        row(
            "retention.artifactDays",
            "history.artifact_days",
            "history_artifact_days",
            Kind::Whole(0..=36_500, limits::ARTIFACT_DAYS),
            "Days that artifacts are kept; 0: as long as their execution.",
        ),
    ];

    /// The object of the JSON that it stands in, empty for the outermost, and its name there.
    pub(crate) fn place(&self) -> (&'static str, &'static str) {
        self.name.split_once('.').unwrap_or(("", self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_is_read_back() {
        for (kind, value) in [
            (Kind::Flag(true), Value::Bool(false)),
            (Kind::Whole(0..=5, 1), Value::from(5)),
            (Kind::Word(&["a", "b"]), "b".into()),
            (Kind::Secret, "s 1".into()),
        ] {
            assert_eq!(kind.parse(&Kind::print(&value)), Some(value));
        }
        assert_eq!(Kind::Whole(0..=5, 1).parse("6"), None);
        assert_eq!(Kind::Word(&["a"]).parse("c"), None);
    }
}
