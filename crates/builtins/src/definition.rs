//! What a built-in tells about itself, and the row that is made of it.

use domain::{Annotations, Mode, Policy, SYSTEM_OWNER, Skill, SourceProvider, Version, ids};
use executor::Handler;
use serde_json::{Value, json};

/// A built-in's own description of itself.
#[derive(Clone, Debug)]
pub struct Definition {
    /// Name of the skill and of its handler.
    pub name: &'static str,
    /// For the model: when to use it, what it cannot do, the limits in force.
    pub description: String,
    /// What it is scored on, at most 120 characters.
    pub summary: &'static str,
    /// JSON Schema of the input.
    pub input: Value,
    /// JSON Schema of the output.
    pub output: Value,
    /// Mode of a new row.
    pub mode: Mode,
    /// Policy of a new row.
    pub policy: Policy,
    /// Hints.
    pub annotations: Annotations,
    /// Tags.
    pub tags: &'static [&'static str],
    /// Milliseconds of a run; absent = the executor's default.
    pub timeout_ms: Option<u64>,
}

/// A skill that we ship: its handler, and what it is called and described as.
pub(crate) trait Builtin: Handler {
    /// What it is, with the limits of this configuration.
    fn definition(&self) -> Definition;

    /// Why it cannot run here, if it cannot.
    fn unavailable(&self) -> Option<String> {
        None
    }
}

impl Definition {
    /// The row, as it is when there is none yet. `now` is RFC 3339 UTC.
    pub(crate) fn into_skill(self, now: &str) -> Skill {
        Skill {
            id: ids::new_id(),
            api_key_id: SYSTEM_OWNER.to_owned(),
            name: self.name.to_owned(),
            version: Version::new(1, 0, 0),
            description: self.description,
            schema: json!({ "input": self.input, "output": self.output }),
            handler: self.name.to_owned(),
            mode: self.mode,
            policy: self.policy,
            enabled: true,
            mode_before: None,
            timeout_ms: self.timeout_ms,
            max_retries: None,
            annotations: self.annotations,
            source_provider: SourceProvider::Builtin,
            source_url: None,
            content_sha256: None,
            tags: self.tags.iter().map(|tag| (*tag).to_owned()).collect(),
            install_count: 0,
            created_at: now.to_owned(),
            updated_at: now.to_owned(),
        }
    }
}
