//! Skills and snapshots to test with.

use std::collections::{BTreeMap, BTreeSet};

use domain::{Annotations, Mode, Policy, SYSTEM_OWNER, Skill, SourceProvider};
use registry::{Known, Snapshot};
use serde_json::json;
use store::LoadedSkills;

/// An `auto` skill of `system` with `echo-handler`.
pub(crate) fn skill(name: &str, version: &str) -> Skill {
    Skill {
        id: domain::ids::new_id(),
        api_key_id: SYSTEM_OWNER.to_owned(),
        name: name.to_owned(),
        version: version.parse().unwrap(),
        description: String::new(),
        schema: json!({"input": {"text": "string"}, "output": {}}),
        handler: "echo-handler".to_owned(),
        mode: Mode::Auto,
        policy: Policy::Auto,
        enabled: true,
        mode_before: None,
        timeout_ms: None,
        max_retries: None,
        annotations: Annotations::default(),
        source_provider: SourceProvider::Local,
        source_url: None,
        content_sha256: None,
        tags: Vec::new(),
        install_count: 0,
        created_at: "2026-01-01T00:00:00Z".to_owned(),
        updated_at: "2026-01-01T00:00:00Z".to_owned(),
    }
}

pub(crate) fn on(name: &str, version: &str) -> Skill {
    Skill { mode: Mode::On, ..skill(name, version) }
}

pub(crate) fn owned(owner: &str, skill: Skill) -> Skill {
    Skill { api_key_id: owner.to_owned(), ..skill }
}

pub(crate) fn builtin(name: &str, mode: Mode) -> Skill {
    Skill { mode, source_provider: SourceProvider::Builtin, ..skill(name, "1.0.0") }
}

/// `echo-handler` and two built-ins.
pub(crate) fn known() -> Known {
    Known {
        handlers: BTreeSet::from(["echo-handler".to_owned()]),
        builtins: BTreeMap::from([
            ("file_read".to_owned(), "Read a file of the workspace".to_owned()),
            ("eval_code".to_owned(), "Run a short program".to_owned()),
        ]),
    }
}

pub(crate) fn snapshot(skills: Vec<Skill>) -> Snapshot {
    Snapshot::build(LoadedSkills { skills, ..LoadedSkills::default() }, &known(), None).unwrap()
}
