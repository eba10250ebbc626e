//! What a body says about the settings of a key: `budgets`, `policies`, `requireUser`, `onDisconnect`.
//!
//! Each that is given replaces the old one as a whole; an empty object takes everything back. Reads only; the keyring
//! writes.

use std::collections::BTreeMap;

use domain::limits::NAME_CHARS;
use domain::text::excerpt;
use domain::{KeySettings, OnDisconnect, Policy, TurnBudgets};
use serde_json::Value;

use crate::http::Fields;
use crate::openapi::schema::{Schema, flag, word};
use crate::openapi::shapes::{BUDGETS, policies as policy_map};

/// Skills that one key may have policies for.
const POLICIES: usize = 500;

/// The members, for the description of a body or of an answer.
pub(super) fn described(object: Schema) -> Schema {
    object
        .maybe("budgets", BUDGETS.refer())
        .maybe("policies", policy_map())
        .maybe("requireUser", flag().about("Whether its chats must say who the end user is."))
        .maybe(
            "onDisconnect",
            word(&["cancel", "finish"]).about("What becomes of runs when the client leaves."),
        )
}

/// The settings that a body gives.
#[derive(Debug, Default)]
pub(super) struct SettingsChange {
    budgets: Option<TurnBudgets>,
    policies: Option<BTreeMap<String, Policy>>,
    require_user: Option<bool>,
    on_disconnect: Option<OnDisconnect>,
}

impl SettingsChange {
    pub(super) fn read(body: &mut Fields) -> Self {
        Self {
            budgets: body.object("budgets", budgets),
            policies: policies(body),
            require_user: body.flag("requireUser"),
            on_disconnect: body.word("onDisconnect", &["cancel", "finish"], |word| match word {
                "cancel" => Some(OnDisconnect::Cancel),
                "finish" => Some(OnDisconnect::Finish),
                _ => None,
            }),
        }
    }

    /// Whether nothing is given.
    pub(super) fn is_empty(&self) -> bool {
        let Self { budgets, policies, require_user, on_disconnect } = self;
        budgets.is_none() && policies.is_none() && require_user.is_none() && on_disconnect.is_none()
    }

    /// The settings with what is given.
    pub(super) fn apply(self, old: KeySettings) -> KeySettings {
        KeySettings {
            budgets: self.budgets.unwrap_or(old.budgets),
            policies: self.policies.unwrap_or(old.policies),
            require_user: self.require_user.unwrap_or(old.require_user),
            on_disconnect: self.on_disconnect.unwrap_or(old.on_disconnect),
            limits: old.limits,
            skills: old.skills,
        }
    }
}

fn budgets(body: &mut Fields) -> TurnBudgets {
    let mut count = |name, least| {
        let number = body.whole(name, least..=u64::from(u32::MAX));
        number.and_then(|number| u32::try_from(number).ok())
    };
    // A turn has a round at least.
    let (rounds, executions) = (count("rounds", 1), count("executions", 0));
    TurnBudgets {
        rounds,
        executions,
        wall_ms: body.whole("wallMs", 0..=u64::MAX),
        result_bytes: body.whole("resultBytes", 0..=u64::MAX),
        results_bytes: body.whole("resultsBytes", 0..=u64::MAX),
        tokens: body.whole("tokens", 1..=u64::MAX),
    }
}

fn policies(body: &mut Fields) -> Option<BTreeMap<String, Policy>> {
    let Value::Object(given) = body.value("policies")? else {
        body.wrong_type("policies", "an object");
        return None;
    };
    if given.len() > POLICIES {
        body.refuse("policies", format!("has more than {POLICIES} skills"));
        return None;
    }
    let mut out = BTreeMap::new();
    for (name, word) in given {
        let field = format!("policies.{}", excerpt(&name, 60));
        let legal = !name.is_empty() && name.chars().count() <= NAME_CHARS;
        match word.as_str().map(Policy::parse) {
            None => body.wrong_type(&field, "a string"),
            Some(None) => body.refuse(&field, "is not one of auto, manual, hybrid"),
            Some(Some(_)) if !legal => body.refuse(&field, "is not the name of a skill"),
            Some(Some(policy)) => {
                out.insert(name, policy);
            }
        }
    }
    Some(out)
}
