//! What every handler shares. Built once, by the binary; what a running gateway can change is swapped as one piece.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use domain::{Policy, limits};
use executor::Executor;
use ipnet::IpNet;
use registry::Registry;
use store::Database;

use crate::keyring::Keyring;
use crate::llm::StickySets;
use crate::llm::upstream::Upstreams;
use crate::settings::{Reloader, Settings};
use crate::turns::TurnJournal;

/// The shared parts of the gateway.
pub struct App {
    /// Which skills there are.
    pub registry: Arc<Registry>,
    /// What runs them.
    pub executor: Arc<Executor>,
    /// What is kept.
    pub store: Arc<dyn Database>,
    /// Who may come in; made of the same store.
    pub keyring: Keyring,
    /// Where records of turns go.
    pub turns: TurnJournal,
    /// Skills that cannot run at present, by name, with the reason.
    pub unavailable: Arc<BTreeMap<String, String>>,
    /// What conversations were offered.
    pub sticky: StickySets,
    /// What can change while the gateway runs.
    pub live: Live,
    /// What an operator sets over REST, and what the file and the environment pin of it.
    pub settings: Settings,
    /// Reads the configuration again.
    pub reloader: Reloader,
}

impl App {
    /// Settings of the surfaces, as they are now. A request takes them once, so that they do not change under it.
    pub fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.live.load().config)
    }

    /// Where models are asked now.
    pub fn upstreams(&self) -> Arc<Upstreams> {
        Arc::clone(&self.live.load().upstreams)
    }
}

/// What can change while the gateway runs. Nobody ever sees a part of a change.
pub struct Live(ArcSwap<Running>);

/// One state of [`Live`].
#[derive(Clone)]
pub struct Running {
    /// Settings of the surfaces.
    pub config: Arc<ServerConfig>,
    /// Where models are asked.
    pub upstreams: Arc<Upstreams>,
    /// Certificate and key for connections from now on; without, they are not encrypted.
    pub tls: Option<Arc<rustls::ServerConfig>>,
}

impl Live {
    /// The first state.
    pub fn new(first: Running) -> Self {
        Self(ArcSwap::from_pointee(first))
    }

    /// The state now.
    pub fn load(&self) -> Arc<Running> {
        self.0.load_full()
    }

    /// The next state. Requests under way go on with the one they began with.
    pub fn store(&self, next: Running) {
        self.0.store(Arc::new(next));
    }
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
    /// Path under which a proxy in front serves the gateway: `/a`, or nothing.
    pub base_path: String,
    /// Proxies whose word about their clients is taken.
    pub trusted_proxies: Vec<IpNet>,
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
    /// Whether a conversation keeps the skills that it was offered.
    pub sticky: bool,
    /// How long turns wait for a person.
    pub approval: ApprovalWaits,
    /// Policies of skills in this process, by name, whatever their rows say.
    pub policies: BTreeMap<String, Policy>,
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
