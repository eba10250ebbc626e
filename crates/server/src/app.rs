//! What every handler shares. Built once, by the binary.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use domain::limits;
use executor::Executor;
use registry::Registry;
use store::Store;

use crate::keyring::Keyring;
use crate::llm::StickySets;
use crate::llm::upstream::Upstreams;

/// The shared parts of the gateway.
pub struct App {
    /// Which skills there are.
    pub registry: Arc<Registry>,
    /// What runs them.
    pub executor: Arc<Executor>,
    /// What is kept.
    pub store: Arc<dyn Store>,
    /// Who may come in; made of the same store.
    pub keyring: Keyring,
    /// Where models are asked.
    pub upstreams: Upstreams,
    /// Skills that cannot run at present, by name, with the reason.
    pub unavailable: Arc<BTreeMap<String, String>>,
    /// What conversations were offered, where that stays offered.
    pub sticky: Option<StickySets>,
    /// Settings of the surfaces.
    pub config: ServerConfig,
}

/// Settings of the HTTP surfaces.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// Lower-case hex sha256 of the management token.
    pub management_token_hash: String,
    /// Whether the listener is bound to a loopback address (anonymous rules of spec 07).
    pub loopback: bool,
    /// Host names that requests may name beside the loopback ones.
    pub allowed_hosts: Vec<String>,
    /// Executions of one turn, rounds and the like.
    pub budgets: crate::llm::Budgets,
    /// Hidden rounds that later requests get back.
    pub kept: crate::llm::KeptConfig,
    /// Report the input tokens of a turn's last round instead of the sum over its rounds.
    pub input_usage_of_last_round: bool,
    /// Bounds of selection.
    pub select: registry::SelectLimits,
    /// Whether file and code skills are offered beside tools of the client without being named.
    pub with_client_tools: registry::WithClientTools,
    /// How long turns wait for a person.
    pub approval: ApprovalWaits,
    /// Names of skills whose policy is `auto` in this process, whatever their rows say.
    pub allowed: BTreeSet<String>,
}

/// How long a turn waits for a person's word where somebody is there to give it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApprovalWaits {
    /// While its stream is kept alive.
    pub stream: Duration,
    /// While its client hears nothing.
    pub plain: Duration,
}

impl Default for ApprovalWaits {
    fn default() -> Self {
        Self {
            stream: Duration::from_millis(limits::APPROVAL_WAIT_MS),
            plain: Duration::from_millis(limits::APPROVAL_WAIT_PLAIN_MS),
        }
    }
}
