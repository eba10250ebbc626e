//! Schemas that several operations share: the rows of the domain, errors, pages.
//!
//! Members are those that are sent; the tests find one that is sent and not here.

use domain::limits::NAME_CHARS;
use domain::{ApprovalState, Scope, Status};
use serde_json::json;

use super::schema::{
    Schema, Shape, any, count, either, flag, free_object, list, map, object, text, time, uuid, whole, word,
};

/// The words of a mode.
pub(crate) const MODES: &[&str] = &["on", "off", "auto"];
/// The words of a policy.
pub(crate) const POLICIES: &[&str] = &["auto", "manual", "hybrid"];
/// The words of a source.
pub(crate) const SOURCES: &[&str] = &["builtin", "skillsmp", "skillssh", "local"];

/// What every error says.
pub(crate) const ERROR: Shape = Shape::new("Error", || {
    let detail = object()
        .with("field", text().about("Path of a field, or a JSON pointer into an input."))
        .with("message", text());
    object()
        .with("error", text().about("One sentence."))
        .with("code", text().about("A stable word."))
        .maybe("details", list(detail))
        .with("requestId", text().about("As in the header `x-request-id` and in the log."))
});

/// What an approval says.
pub(crate) const APPROVAL: Shape = Shape::new("Approval", || {
    object()
        .with("state", word(&ApprovalState::ALL.map(ApprovalState::as_str)))
        .with("expiresAt", time())
        .maybe("decidedBy", text())
        .maybe("decidedAt", time())
        .maybe("reason", text())
        .maybe("originalInput", any().about("The model's own input, where the approver changed it."))
});

/// A piece of a result that is not JSON.
pub(crate) const PART: Shape = Shape::new("Part", || {
    let data = || text().about("Base64.");
    either(vec![
        object().with("type", word(&["text"])).with("text", text()),
        object().with("type", word(&["image"])).with("mime", text()).with("data", data()),
        object().with("type", word(&["file"])).with("name", text()).with("mime", text()).with("data", data()),
    ])
});

/// A file that an execution left.
pub(crate) const ARTIFACT: Shape = Shape::new("Artifact", || {
    object()
        .with("id", uuid())
        .with("name", text())
        .with("mime", text())
        .with("bytes", count())
        .with("sha256", text())
        .with("url", text().about("Path of its bytes on this gateway."))
        .with("createdAt", time())
});

/// A row of the history.
pub(crate) const EXECUTION: Shape = Shape::new("Execution", || {
    object()
        .with("id", uuid())
        .with("skillId", text())
        .with("skillName", text())
        .with("version", version())
        .with("apiKeyId", text().about("Owner: an API key id, `anonymous` or `management`."))
        .with("user", text().or_null())
        .with("sessionId", text().or_null())
        .with("turnId", text().or_null())
        .with("door", text().about("The way it came in: `loop`, `rest`..."))
        .with("status", word(&Status::ALL.map(Status::as_str)))
        .with("input", any())
        .with("output", any())
        .maybe("parts", list(PART.refer()))
        .with("errorMessage", text().or_null())
        .with("durationMs", count().or_null())
        .with("attempts", count())
        .with("engine", text().or_null())
        .with("isolation", text().or_null())
        .maybe("approval", APPROVAL.refer())
        .with("createdAt", time())
});

/// What skills say about themselves.
pub(crate) const ANNOTATIONS: Shape = Shape::new("Annotations", || {
    object()
        .maybe("readOnly", flag())
        .maybe("idempotent", flag())
        .maybe("destructive", flag())
        .maybe("openWorld", flag())
        .closed()
});

/// A row of the registry.
pub(crate) const SKILL: Shape = Shape::new("Skill", || {
    object()
        .with("id", uuid())
        .with("apiKeyId", text().about("Owner: an API key id, or `system`."))
        .with("name", text())
        .with("version", version())
        .with("description", text())
        .with("schema", free_object().about("`{input, output}`, as installed."))
        .with("handler", text())
        .with("mode", word(MODES))
        .with("policy", word(POLICIES))
        .with("enabled", flag())
        .with("timeoutMs", count().or_null())
        .with("maxRetries", count().or_null())
        .with("annotations", ANNOTATIONS.refer())
        .with("sourceProvider", word(SOURCES))
        .with("sourceUrl", text().or_null())
        .with("contentSha256", text().or_null())
        .with("tags", list(text()))
        .with("installCount", count())
        .with("createdAt", time())
        .with("updatedAt", time())
});

/// Bounds of a turn.
pub(crate) const BUDGETS: Shape = Shape::new("TurnBudgets", || {
    let small = |least| whole(least..=u64::from(u32::MAX));
    object()
        .maybe("rounds", small(1))
        .maybe("executions", small(0))
        .maybe("wallMs", count())
        .maybe("resultBytes", count())
        .maybe("resultsBytes", count())
        .maybe("tokens", whole(1..=u64::MAX))
        .closed()
});

/// How much a key may do.
pub(crate) const KEY_LIMITS: Shape = Shape::new("KeyLimits", || {
    let small = || whole(0..=u64::from(u32::MAX));
    object()
        .maybe("requestsPerMinute", small())
        .maybe("concurrency", small())
        .maybe("executionsPerDay", count())
        .maybe("tokensPerDay", count())
        .closed()
});

/// Which skills a key has, and how they run for it.
pub(crate) const SKILL_CONFIG: Shape = Shape::new("SkillConfig", || {
    object()
        .maybe("enabled", flag())
        .maybe("mode", word(MODES))
        .maybe("allowedSkills", list(text()).about("`name`, `name@constraint` or `set:NAME`."))
        .maybe("timeoutMs", count())
        .maybe("maxRetries", count())
        .closed()
});

/// The name of a skill, as a pattern: no control characters, no `@`, no space at either end.
const NAME: &str = r"[^@\s\u0000-\u001f\u007f-\u009f]([^@\u0000-\u001f\u007f-\u009f]{0,98}[^@\s\u0000-\u001f\u007f-\u009f])?";
/// A constraint, as a pattern.
const CONSTRAINT: &str = r"(\^|~|>=|<=|==|=|>|<)?(0|[1-9]\d{0,18})(\.(0|[1-9]\d{0,18})){0,2}";

/// Text without control characters, as a pattern.
pub(crate) const PLAIN: &str = r"^[^\u0000-\u001f\u007f-\u009f]*$";

/// The name of a skill.
pub(crate) fn skill_name() -> Schema {
    text().length(1, NAME_CHARS).pattern(&format!("^{NAME}$"))
}

/// A skill by its name, and perhaps a version or a constraint.
pub(crate) fn skill_reference() -> Schema {
    text().pattern(&format!("^{NAME}(@{CONSTRAINT})?$")).example("echo@^1.0")
}

/// A requirement of a version.
pub(crate) fn constraint() -> Schema {
    text().pattern(&format!("^ *{CONSTRAINT} *$")).example("^1.0")
}

/// The name of something else: no control characters, and something that can be seen.
pub(crate) fn label(most: usize) -> Schema {
    text().length(1, most).pattern(
        r"^[^\u0000-\u001f\u007f-\u009f]*[^\s\u0000-\u001f\u007f-\u009f][^\u0000-\u001f\u007f-\u009f]*$",
    )
}

/// Policy by skill name.
pub(crate) fn policies() -> Schema {
    map(word(POLICIES)).named(text().length(1, NAME_CHARS)).example(json!({"eval_code": "hybrid"}))
}

/// What a key may do.
pub(crate) fn scopes() -> Schema {
    list(word(&Scope::ALL.map(Scope::as_str)))
}

/// Three numbers.
pub(crate) fn version() -> Schema {
    text().pattern(r"^(0|[1-9]\d{0,18})\.(0|[1-9]\d{0,18})\.(0|[1-9]\d{0,18})$").example("1.0.0")
}

/// A page of a list.
pub(crate) fn page_of(rows: Shape) -> Schema {
    object()
        .with("data", list(rows.refer()))
        .with("total", count())
        .with("page", count())
        .with("limit", count())
        .with("totalPages", count())
        .maybe("nextCursor", text().about("What the next page is asked for with, as `before`."))
}

/// That it was done.
pub(crate) fn done() -> Schema {
    object().with("success", flag())
}

/// One execution under its name.
pub(crate) fn one_execution() -> Schema {
    object().with("execution", EXECUTION.refer())
}
