//! Rows to write. Every field has a value of its own, so that two mixed-up columns show.

use domain::{
    Annotations, Artifact, AuditEntry, Door, Execution, KeyLimits, KeySettings, ManagementToken, Mode,
    OnDisconnect, Part, Policy, Scope, Skill, SkillConfig, SkillSet, SourceProvider, Status, StopReason,
    TurnBudgets, TurnCandidate, TurnRecord, TurnRound, Version, ids,
};
use serde_json::json;
use store::{ExecutionOutcome, NewKey, SkillUpdate};

/// When every sample was made.
pub const CREATED: &str = "2026-01-02T03:04:05Z";
/// When changes are made.
pub const CHANGED: &str = "2026-01-02T03:04:06.5Z";

/// A skill with every field set.
pub fn skill(owner: &str, name: &str, version: Version) -> Skill {
    Skill {
        id: ids::new_id(),
        api_key_id: owner.to_owned(),
        name: name.to_owned(),
        version,
        description: format!("Does {name} \u{2014} \"quoted\", 'single', \u{1f600}"),
        schema: json!({"input": {"z": "string", "a": {"type": "number"}}, "output": {}}),
        handler: "echo-handler".to_owned(),
        mode: Mode::Auto,
        policy: Policy::Hybrid,
        enabled: true,
        mode_before: None,
        timeout_ms: Some(1_234),
        max_retries: Some(2),
        annotations: Annotations { read_only: true, idempotent: false, destructive: true, open_world: false },
        source_provider: SourceProvider::SkillsMp,
        source_url: Some("https://example.com/skill".to_owned()),
        content_sha256: Some("ab".repeat(32)),
        tags: vec!["text".to_owned(), "tool".to_owned()],
        install_count: 7,
        created_at: CREATED.to_owned(),
        updated_at: CREATED.to_owned(),
    }
}

/// A skill as the binary ships it.
pub fn builtin(name: &str) -> Skill {
    Skill {
        source_provider: SourceProvider::Builtin,
        source_url: None,
        content_sha256: None,
        timeout_ms: None,
        max_retries: None,
        install_count: 0,
        ..skill(domain::SYSTEM_OWNER, name, Version::new(1, 0, 0))
    }
}

/// An update that changes nothing but the time.
pub fn no_change() -> SkillUpdate {
    SkillUpdate { updated_at: CHANGED.to_owned(), ..SkillUpdate::default() }
}

/// A pending execution of a skill called `reverse-text`.
pub fn execution() -> Execution {
    Execution {
        id: ids::new_id(),
        skill_id: "skill-1".to_owned(),
        skill_name: "reverse-text".to_owned(),
        version: Version::new(1, 2, 3),
        api_key_id: "key-1".to_owned(),
        user: Some("user-1".to_owned()),
        session_id: Some("session-1".to_owned()),
        turn_id: Some("turn-1".to_owned()),
        door: Door::Loop,
        status: Status::Pending,
        input: json!({"text": "abc", "n": 1.5}),
        output: None,
        parts: Vec::new(),
        error_message: None,
        duration_ms: None,
        attempts: 0,
        engine: None,
        isolation: None,
        approval: None,
        created_at: CREATED.to_owned(),
    }
}

/// A successful end with every field set.
pub fn outcome() -> ExecutionOutcome {
    ExecutionOutcome {
        status: Status::Success,
        output: Some(json!({"text": "cba"})),
        parts: vec![
            Part::Text { text: "hello".to_owned() },
            Part::File { name: "a.txt".to_owned(), mime: "text/plain".to_owned(), data: "YQ==".to_owned() },
        ],
        error_message: None,
        duration_ms: 12,
        attempts: 1,
        engine: Some("native".to_owned()),
        isolation: Some("namespaces".to_owned()),
    }
}

/// A failed end.
pub fn failure(message: &str) -> ExecutionOutcome {
    ExecutionOutcome {
        status: Status::Error,
        output: None,
        parts: Vec::new(),
        error_message: Some(message.to_owned()),
        ..outcome()
    }
}

/// What the row looks like after `outcome`.
pub fn finished(execution: &Execution, outcome: &ExecutionOutcome) -> Execution {
    Execution {
        status: outcome.status,
        output: outcome.output.clone(),
        parts: outcome.parts.clone(),
        error_message: outcome.error_message.clone(),
        duration_ms: Some(outcome.duration_ms),
        attempts: outcome.attempts,
        engine: outcome.engine.clone(),
        isolation: outcome.isolation.clone(),
        ..execution.clone()
    }
}

/// A key with this secret hash.
pub fn key(secret_hash: &str) -> NewKey {
    NewKey {
        id: ids::new_id(),
        name: format!("key {secret_hash}"),
        secret_hash: secret_hash.to_owned(),
        scopes: vec![Scope::Proxy, Scope::ReadSkills],
        custom_skill_execution_enabled: true,
        settings: settings(),
        created_at: CREATED.to_owned(),
    }
}

/// Settings of a key, with something in every field.
pub fn settings() -> KeySettings {
    KeySettings {
        budgets: TurnBudgets { rounds: Some(3), tokens: Some(u64::MAX), ..TurnBudgets::default() },
        policies: [("reverse-text".to_owned(), Policy::Hybrid)].into(),
        require_user: true,
        on_disconnect: OnDisconnect::Finish,
        limits: KeyLimits { concurrency: Some(2), tokens_per_day: Some(u64::MAX), ..KeyLimits::default() },
        skills: SkillConfig {
            allowed_skills: Some(vec!["reverse-text@^1".to_owned(), "set:mine".to_owned()]),
            ..SkillConfig::default()
        },
    }
}

/// A turn with every field set.
pub fn turn() -> TurnRecord {
    TurnRecord {
        id: ids::new_id(),
        api_key_id: "key-1".to_owned(),
        user: Some("user-1".to_owned()),
        session_id: Some("session-1".to_owned()),
        dialect: "openai_chat".to_owned(),
        model: "gpt-\u{1f600}".to_owned(),
        upstream: "main".to_owned(),
        streamed: true,
        upstream_status: Some(200),
        stop_reason: StopReason::Completed,
        error_code: None,
        candidates: vec![
            TurnCandidate { skill: "reverse-text@1.2.3".to_owned(), score: Some(-7), skipped: None },
            TurnCandidate { skill: "other".to_owned(), score: None, skipped: Some("off".to_owned()) },
        ],
        rounds: vec![
            TurnRound { status: 200, tokens: 30, calls: 2, duration_ms: 40 },
            TurnRound { status: 200, tokens: 12, calls: 0, duration_ms: 50 },
        ],
        round_count: 2,
        input_tokens: 31,
        output_tokens: 11,
        executions: 2,
        first_byte_ms: Some(5),
        duration_ms: 99,
        created_at: CREATED.to_owned(),
    }
}

/// An artifact of an execution, and its content.
pub fn artifact(execution_id: &str, content: &[u8]) -> Artifact {
    Artifact {
        id: ids::new_id(),
        execution_id: execution_id.to_owned(),
        api_key_id: "key-1".to_owned(),
        name: "a \u{1f600}.png".to_owned(),
        mime: "image/png".to_owned(),
        bytes: content.len() as u64,
        sha256: ids::sha256_hex(content),
        created_at: CREATED.to_owned(),
    }
}

/// An audit entry with every field set.
pub fn audit(action: &str) -> AuditEntry {
    AuditEntry {
        id: ids::new_id(),
        actor: "management".to_owned(),
        action: action.to_owned(),
        target: "skill-1".to_owned(),
        before: Some(json!({"mode": "auto", "n": 1.5})),
        after: Some(json!(null)),
        request_id: Some("request-1".to_owned()),
        created_at: CREATED.to_owned(),
    }
}

/// A set of two skills.
pub fn set(name: &str) -> SkillSet {
    SkillSet {
        name: name.to_owned(),
        skills: vec!["reverse-text@^1".to_owned(), "other".to_owned()],
        created_at: CREATED.to_owned(),
        updated_at: CREATED.to_owned(),
    }
}

/// A management token.
pub fn token(name: &str) -> ManagementToken {
    ManagementToken {
        id: ids::new_id(),
        name: name.to_owned(),
        scopes: vec![Scope::Manage, Scope::ReadSkills],
        created_at: CREATED.to_owned(),
        last_used_at: None,
    }
}
