//! What an operator sets for one API key: budgets of its turns, policies of skills, how its turns behave.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::mode::{Mode, Policy};

/// Settings of a key. JSON names are those of the REST API; what is absent is as for everybody.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct KeySettings {
    /// Bounds of its turns; they narrow those of the gateway and never widen them.
    pub budgets: TurnBudgets,
    /// Policy by skill name, in place of the skill's own.
    pub policies: BTreeMap<String, Policy>,
    /// Whether its chats must say who the end user is.
    pub require_user: bool,
    /// What becomes of running executions when the client leaves.
    pub on_disconnect: OnDisconnect,
    /// How much it may do.
    pub limits: KeyLimits,
    /// Which skills it has, and how they run for it.
    pub skills: SkillConfig,
}

/// How much a key may do; absent bounds do not restrict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct KeyLimits {
    /// Requests a minute, through any door.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_per_minute: Option<u32>,
    /// Executions at the same time; beyond it they wait their turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
    /// Executions a day (UTC).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub executions_per_day: Option<u64>,
    /// Tokens a day (UTC), input and output, that upstreams report for its turns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_per_day: Option<u64>,
}

/// Which skills a key has, and how they run for it; absent fields are as for everybody.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SkillConfig {
    /// `false`: no skill is offered to it or runs for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// `on`: every allowed skill is offered; `auto`: all are scored; `off`: only what a request names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// The only skills it has: `name`, `name@constraint` or `set:NAME`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_skills: Option<Vec<String>>,
    /// Milliseconds a run gets where neither its skill nor its caller says otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Retries of a run where its skill does not say otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_retries: Option<u32>,
}

/// Bounds of a turn; absent ones do not restrict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TurnBudgets {
    /// Rounds in which our tools may run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
    /// Milliseconds after which no further round or execution starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall_ms: Option<u64>,
    /// Executions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub executions: Option<u32>,
    /// Bytes of one tool result that reach the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_bytes: Option<u64>,
    /// Bytes of all tool results that reach the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub results_bytes: Option<u64>,
    /// Tokens, input and output, that the upstream reported for the turn's rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
}

/// What becomes of running executions when the client of their turn leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnDisconnect {
    /// They are cancelled.
    #[default]
    Cancel,
    /// The round's executions go on to their end; no further round begins.
    Finish,
}
