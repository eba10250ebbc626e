//! Builds the object graph: the one place where traits meet their implementations.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use builtins::{Builtins, EvalLimits, WorkspaceLimits, Workspaces};
use domain::{Policy, limits};
use executor::{ECHO_HANDLER, Echo, Executor, ExecutorConfig, HandlerTable};
use registry::{Known, Registry, SelectLimits, WithClientTools};
use sandbox::{Engine, WasmConfig, WasmEngine, find_runtimes};
use server::{
    App, ApprovalWaits, Budgets, Definition, KeptConfig, Keyring, Live, Pinned, Reloader, Running,
    ServerConfig, Settings, Source, StickySets, TurnJournal, UpstreamConfig, Upstreams,
};
use store::Store;

use crate::access::{self, Token};
use crate::config::{self, Config, EffectFree, Environment, Loaded, OneOrMany, UsageInput};
use crate::database::{self, Opened};
use crate::tls;

/// How long running executions may go on after the last request has ended.
const DRAIN: Duration = Duration::from_secs(5);

/// A gateway that is ready to answer.
pub(crate) struct Gateway {
    pub(crate) app: Arc<App>,
    pub(crate) token: Token,
    /// What isolates sandboxed code, or why nothing does.
    pub(crate) sandbox: Result<String, String>,
    store: Opened,
    /// Held while the data folder is in use.
    _folder: File,
    engine: Option<Arc<WasmEngine>>,
}

impl Gateway {
    /// Ends what still runs and closes the database.
    pub(crate) async fn close(self) {
        self.app.executor.shutdown(DRAIN).await;
        self.app.turns.flush().await;
        if let Some(engine) = self.engine {
            engine.kill_all().await;
        }
        self.store.close().await;
    }
}

pub(crate) async fn build(
    loaded: &Loaded,
    data_dir: &Path,
    env: &Environment,
    loopback: bool,
    reloader: Reloader,
) -> Result<Gateway> {
    let config = &loaded.config;
    database::create_private_dir(data_dir)?;
    let folder = database::share(data_dir)?;
    let opened = database::open(config, data_dir, env).await?;
    let database = opened.database();
    let store: Arc<dyn Store> = database.clone();
    let (management_token_hash, token) =
        access::management_token(store.as_ref(), env.get("OMNI_SKILLS_MGMT_TOKEN")).await?;

    let (engine, sandbox) = match wasm_engine(env) {
        Ok((engine, about)) => (Some(engine), Ok(about)),
        Err(why) => (None, Err(why)),
    };
    let builtins = builtins(data_dir, config, engine.clone())?;
    store.sync_builtins(builtins.skills(&jiff::Timestamp::now().to_string())).await?;

    let mut handlers = HandlerTable::default();
    handlers.register(ECHO_HANDLER, Arc::new(Echo));
    builtins.register(&mut handlers);
    let known = Known {
        handlers: handlers.names().map(str::to_owned).collect::<BTreeSet<_>>(),
        builtins: builtins.summaries(),
    };
    let registry = Registry::load(Arc::clone(&store), known).await.context("the skills cannot be loaded")?;
    let fresh = registry.clone().keep_fresh(Duration::from_millis(limits::REGISTRY_TTL_MS));
    tokio::spawn(fresh);

    let executor = Executor::new(executor_config(config), Arc::clone(&store), handlers);
    let interrupted = server::upkeep::join(database.as_ref()).await?;
    tokio::spawn(server::upkeep::stay_alive(database.clone()));
    if interrupted > 0 {
        tracing::warn!(interrupted, "executions of an earlier process were closed as interrupted");
    }
    tokio::spawn(executor.clone().keep_tidy());
    let app = App {
        registry: Arc::new(registry),
        executor: Arc::new(executor),
        keyring: Keyring::new(database.clone()),
        turns: TurnJournal::new(database.clone()),
        store: database,
        unavailable: Arc::new(builtins.unavailable().into_iter().collect()),
        sticky: StickySets::default(),
        live: Live::new(running(loaded, env, Fixed { management_token_hash, loopback }, None)?),
        settings: Settings::new(pinned(loaded)),
        reloader,
    };
    server::restore_settings(&app).await?;
    let app = Arc::new(app);
    tokio::spawn(server::prune_kept(Arc::clone(&app)));
    tokio::spawn(server::upkeep::follow(Arc::clone(&app)));
    tokio::spawn(server::upkeep::retain(Arc::clone(&app)));
    Ok(Gateway { app, token, sandbox, store: opened, _folder: folder, engine })
}

/// What of the surfaces no reload changes.
pub(crate) struct Fixed {
    management_token_hash: String,
    loopback: bool,
}

impl Fixed {
    /// As it is.
    pub(crate) fn of(config: &ServerConfig) -> Self {
        Self { management_token_hash: config.management_token_hash.clone(), loopback: config.loopback }
    }
}

/// Everything that a reload can change, made of a configuration; with `before`, upstreams that stay as they are keep
/// their connections.
pub(crate) fn running(
    loaded: &Loaded,
    env: &Environment,
    fixed: Fixed,
    before: Option<&Upstreams>,
) -> Result<Running> {
    changeable(&loaded.config, env, fixed, before).with_context(|| loaded.name())
}

fn changeable(
    config: &Config,
    env: &Environment,
    fixed: Fixed,
    before: Option<&Upstreams>,
) -> Result<Running> {
    let upstreams = upstreams(config, env)?;
    let upstreams = match before {
        Some(before) => before.successor(upstreams, config.demo.enabled)?,
        None => Upstreams::new(upstreams, config.demo.enabled)?,
    };
    Ok(Running {
        config: Arc::new(server_config(config, fixed)?),
        upstreams: Arc::new(upstreams),
        tls: config.server.tls.as_ref().map(tls::server_config).transpose()?,
    })
}

/// Whether a gateway could be made of a configuration.
pub(crate) fn check(loaded: &Loaded, env: &Environment) -> Result<()> {
    let fixed = Fixed { management_token_hash: String::new(), loopback: true };
    running(loaded, env, fixed, None).map(drop)
}

/// What the file and the environment say about settings that REST could change otherwise.
pub(crate) fn pinned(loaded: &Loaded) -> Pinned {
    let whole = serde_json::to_value(&loaded.config).unwrap_or_default();
    let value = |path: &str| whole.pointer(&format!("/{}", path.replace('.', "/"))).cloned();
    let row = |definition: &'static Definition| {
        let source = match loaded.source(definition.path) {
            config::Source::File(name) => Source::File(name),
            config::Source::Variable(name) => Source::Environment(name),
            config::Source::Default => return None,
        };
        Some((definition.name, (value(definition.path)?, source)))
    };
    Definition::ALL.iter().filter_map(row).collect()
}

/// What would isolate sandboxed code here, or why nothing would.
pub(crate) fn sandbox(env: &Environment) -> Result<String, String> {
    wasm_engine(env).map(|(_, about)| about)
}

fn wasm_engine(env: &Environment) -> Result<(Arc<WasmEngine>, String), String> {
    let program = std::env::current_exe().map_err(|e| format!("this program cannot be found again: {e}"))?;
    let beside = program.parent().map(|dir| dir.join("runtimes"));
    let cache = env.get("XDG_CACHE_HOME").map(|dir| Path::new(dir).to_owned());
    let cache = cache.or_else(|| env.get("HOME").map(|home| Path::new(home).join(".cache")));
    let cache = cache.map(|dir| dir.join("omni-skills/runtimes"));
    let explicit = env.get("OMNI_SKILLS_RUNTIMES").map(Path::new);
    let runtimes = find_runtimes(explicit, beside.as_deref(), cache.as_deref())?;
    let about = runtimes.about().join(", ");
    let engine = Arc::new(WasmEngine::new(WasmConfig {
        worker_program: program,
        worker_args: vec!["wasm-worker".into()],
        runtimes,
        max_workers: std::thread::available_parallelism().map_or(2, usize::from),
    }));
    let probe = engine.probe();
    Ok((engine, format!("{}, with {about}", probe.isolation)))
}

fn builtins(data_dir: &Path, config: &Config, engine: Option<Arc<WasmEngine>>) -> Result<Builtins> {
    let files = WorkspaceLimits { file_bytes: config.limits.file_bytes, ..WorkspaceLimits::default() };
    let workspaces = Workspaces::open(data_dir, files).context("the workspaces cannot be opened")?;
    let eval = EvalLimits {
        timeout_ms: config.limits.sandbox_timeout_ms,
        output_chars: config.limits.sandbox_output_chars,
        ..EvalLimits::default()
    };
    let engine = engine.map(|engine| engine as Arc<dyn Engine>);
    Ok(Builtins::new(&Arc::new(workspaces), engine, eval))
}

fn server_config(config: &Config, fixed: Fixed) -> Result<ServerConfig> {
    Ok(ServerConfig {
        management_token_hash: fixed.management_token_hash,
        loopback: fixed.loopback,
        allowed_hosts: config.server.hosts()?,
        base_path: config.server.base()?,
        trusted_proxies: config.server.proxies()?,
        budgets: Budgets {
            rounds: config.turn.rounds,
            turn: Duration::from_millis(config.turn.wall_ms),
            executions: config.turn.executions,
            result_bytes: config.turn.result_bytes,
            turn_result_bytes: config.turn.results_bytes,
            tokens: (config.turn.tokens > 0).then_some(config.turn.tokens),
            keep_alive: Duration::from_millis(config.turn.keep_alive_ms.max(1)),
            ..Budgets::default()
        },
        kept: kept_config(config),
        approval: ApprovalWaits {
            stream: Duration::from_millis(config.approval.timeout_ms),
            plain: Duration::from_millis(config.approval.plain_timeout_ms),
        },
        policies: policies(config),
        input_usage_of_last_round: config.usage.input == UsageInput::Last,
        select: SelectLimits {
            auto_skills: config.selection.auto_max_skills,
            auto_score: config.selection.auto_min_score,
            bytes: config.selection.max_injected_bytes,
            tools: limits::TOOLS_PER_REQUEST,
        },
        with_client_tools: match config.selection.with_client_tools {
            config::WithClientTools::Named => WithClientTools::Named,
            config::WithClientTools::All => WithClientTools::All,
        },
        sticky: config.selection.sticky,
    })
}

/// What the configuration says about skills by name; `--allow` and `[approval] allow` over the rest.
fn policies(config: &Config) -> BTreeMap<String, Policy> {
    let allowed = config.approval.allow.iter().map(|name| (name, &Policy::Auto));
    config.policy.iter().chain(allowed).map(|(name, policy)| (name.clone(), *policy)).collect()
}

fn executor_config(config: &Config) -> ExecutorConfig {
    ExecutorConfig {
        enabled: config.skills.enabled,
        default_timeout_ms: config.executor.timeout_ms,
        global_concurrency: config.executor.concurrency,
        concurrency_per_owner: config.executor.per_key_concurrency,
        queue: config.executor.queue,
        ask_effect_free: config.approval.effect_free == EffectFree::Ask,
        approval_expires: Duration::from_millis(config.approval.expires_ms),
        ..ExecutorConfig::default()
    }
}

fn kept_config(config: &Config) -> KeptConfig {
    KeptConfig {
        memory: config.turn.memory == config::Memory::Full,
        ttl: Duration::from_millis(config.turn.memory_ttl_ms),
        owner_bytes: config.turn.memory_bytes,
    }
}

/// The configured upstreams; without any, the providers' public addresses.
fn upstreams(config: &Config, env: &Environment) -> Result<Vec<UpstreamConfig>> {
    if config.upstreams.is_empty() {
        return Ok(vec![
            public(
                "openai",
                &["openai_chat", "openai_responses"],
                "https://api.openai.com",
                env.get("OPENAI_API_KEY"),
            ),
            public(
                "anthropic",
                &["anthropic_messages"],
                "https://api.anthropic.com",
                env.get("ANTHROPIC_API_KEY"),
            ),
            public(
                "gemini",
                &["gemini"],
                "https://generativelanguage.googleapis.com",
                env.get("GEMINI_API_KEY"),
            ),
        ]);
    }
    config.upstreams.iter().map(|upstream| configured(upstream, env)).collect()
}

fn public(name: &str, dialects: &[&str], base_url: &str, api_key: Option<&str>) -> UpstreamConfig {
    UpstreamConfig::new(name, dialects, base_url, api_key.map(str::to_owned))
}

fn configured(upstream: &config::Upstream, env: &Environment) -> Result<UpstreamConfig> {
    let api_key = match (&upstream.api_key_env, &upstream.api_key_file) {
        (Some(name), None) => env.get(name).map(str::to_owned),
        (None, Some(path)) => {
            let text = std::fs::read_to_string(path);
            let text =
                text.with_context(|| format!("upstream `{}`: cannot read its api_key_file", upstream.name))?;
            Some(text.trim().to_owned())
        }
        (None, None) => None,
        (Some(_), Some(_)) => {
            anyhow::bail!("upstream `{}`: give api_key_env or api_key_file, not both", upstream.name)
        }
    };
    if let (Some(name), None) = (&upstream.api_key_env, &api_key) {
        tracing::warn!(upstream = upstream.name, variable = name, "the variable for the API key is not set");
    }
    let dialects = match &upstream.dialect {
        OneOrMany::One(dialect) => std::slice::from_ref(dialect),
        OneOrMany::Many(dialects) => dialects,
    };
    let dialects: Vec<&str> = dialects.iter().map(String::as_str).collect();
    let base = UpstreamConfig::new(&upstream.name, &dialects, &upstream.base_url, api_key);
    Ok(UpstreamConfig {
        passthrough: upstream.passthrough.unwrap_or(base.passthrough),
        models: upstream.models.clone(),
        no_tools: upstream.no_tools.clone(),
        headers: upstream.headers.clone(),
        connect_timeout: Duration::from_millis(upstream.connect_timeout_ms),
        first_byte_timeout: Duration::from_millis(upstream.first_byte_timeout_ms),
        idle_timeout: Duration::from_millis(upstream.idle_timeout_ms),
        ..base
    })
}
