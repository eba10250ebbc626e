//! An executor with handlers for every way a run can end, and runs to give to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use domain::{Annotations, Door, Mode, Policy, Skill, SourceProvider, Version};
use executor::{
    ECHO_HANDLER, Echo, Executor, ExecutorConfig, Handler, HandlerError, HandlerTable, Output, OwnerLimits,
    Run, RunContext, Sandboxed,
};
use serde_json::{Map, Value, json};
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::fake_store::FakeStore;

/// What tests see of the handlers.
pub(crate) struct Probe {
    pub(crate) started: Notify,
    /// Runs of the handler so far.
    pub(crate) calls: AtomicUsize,
    /// Futures of handlers that are alive.
    pub(crate) alive: AtomicUsize,
    /// The most that ever were.
    pub(crate) most: AtomicUsize,
    /// One permit lets one held run end.
    pub(crate) release: Semaphore,
}

struct Alive(Arc<Probe>);

impl Alive {
    fn new(probe: &Arc<Probe>) -> Self {
        let now = probe.alive.fetch_add(1, Ordering::SeqCst) + 1;
        probe.most.fetch_max(now, Ordering::SeqCst);
        Self(Arc::clone(probe))
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.alive.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Does what the input's `do` says.
struct Puppet(Arc<Probe>);

#[async_trait]
impl Handler for Puppet {
    async fn run(&self, input: Map<String, Value>, ctx: &RunContext) -> Result<Output, HandlerError> {
        let _alive = Alive::new(&self.0);
        let output = Output {
            value: json!({ "seen": input, "user": ctx.user }).as_object().unwrap().clone(),
            sandboxed: Some(Sandboxed { engine: "puppet".into(), isolation: "none at all".into() }),
            ..Output::default()
        };
        let call = self.0.calls.fetch_add(1, Ordering::SeqCst) + 1;
        self.0.started.notify_one();
        match input.get("do").and_then(Value::as_str) {
            Some("hold") => {
                self.0.release.acquire().await.unwrap().forget();
                Ok(output)
            }
            Some("forever") => std::future::pending().await,
            Some("panic") => panic!("a handler's own business"),
            // Until the call of this number; waits as long as `after` says.
            Some("flaky") if call < until(&input) => {
                let after = input.get("after").and_then(Value::as_u64).map(Duration::from_millis);
                Err(HandlerError::transient("unavailable", format!("call {call} failed"), after))
            }
            Some("block") => {
                std::thread::sleep(Duration::from_millis(1_500));
                Ok(output)
            }
            Some("fail") => Err(HandlerError::failed("not_found", "no such thing; name another")),
            Some("fail_with_output") => Err(HandlerError::Failed {
                code: "nonzero",
                message: "exit code 3".into(),
                output: Some(Box::new(output)),
                transient: false,
                retry_after: None,
            }),
            Some("time_out") => Err(HandlerError::TimedOut {
                message: "took too long".into(),
                output: Some(Box::new(output)),
            }),
            _ => Ok(output),
        }
    }

    fn dependency(&self, input: &Map<String, Value>) -> Option<String> {
        Some(input.get("on")?.as_str()?.to_owned())
    }

    fn effect_free(&self, input: &Map<String, Value>) -> bool {
        input.contains_key("harmless")
    }
}

fn until(input: &Map<String, Value>) -> usize {
    input.get("until").and_then(Value::as_u64).unwrap().try_into().unwrap()
}

pub(crate) struct Fixture {
    pub(crate) executor: Executor,
    pub(crate) store: Arc<FakeStore>,
    pub(crate) probe: Arc<Probe>,
}

pub(crate) fn fixture(config: ExecutorConfig) -> Fixture {
    let probe = Arc::new(Probe {
        started: Notify::new(),
        calls: AtomicUsize::new(0),
        alive: AtomicUsize::new(0),
        most: AtomicUsize::new(0),
        release: Semaphore::new(0),
    });
    let store = Arc::new(FakeStore::default());
    let mut handlers = HandlerTable::default();
    handlers.register(ECHO_HANDLER, Arc::new(Echo));
    handlers.register("puppet", Arc::new(Puppet(Arc::clone(&probe))));
    Fixture { executor: Executor::new(config, Arc::clone(&store) as _, handlers), store, probe }
}

pub(crate) fn standard() -> Fixture {
    fixture(ExecutorConfig::default())
}

pub(crate) fn skill(handler: &str) -> Skill {
    Skill {
        id: domain::ids::new_id(),
        api_key_id: "system".into(),
        name: "thing".into(),
        version: Version::new(1, 2, 3),
        description: String::new(),
        schema: json!({}),
        handler: handler.into(),
        mode: Mode::On,
        policy: Policy::Auto,
        enabled: true,
        mode_before: None,
        timeout_ms: None,
        max_retries: None,
        annotations: Annotations::default(),
        source_provider: SourceProvider::Local,
        source_url: None,
        content_sha256: None,
        tags: vec![],
        install_count: 0,
        created_at: "2026-01-01T00:00:00.000Z".into(),
        updated_at: "2026-01-01T00:00:00.000Z".into(),
    }
}

pub(crate) fn run_of(skill: Skill, input: Value) -> Run {
    let policy = skill.policy;
    Run {
        skill: Arc::new(skill),
        input_schema: Arc::new(json!({ "type": "object" })),
        output_schema: None,
        input,
        api_key_id: "key-1".into(),
        user: Some("ann".into()),
        session_id: Some("session-1".into()),
        turn_id: None,
        door: Door::Loop,
        policy,
        approval_wait: Duration::ZERO,
        once: None,
        timeout_ms: None,
        cancel: CancellationToken::new(),
        outlives_caller: false,
        custom_allowed: true,
        limits: OwnerLimits::default(),
    }
}

/// A run of the puppet that does `what`.
pub(crate) fn doing(what: &str) -> Run {
    run_of(skill("puppet"), json!({ "do": what }))
}

/// Another process on the same store.
pub(crate) fn beside(fixture: &Fixture) -> Executor {
    let executor =
        Executor::new(ExecutorConfig::default(), Arc::clone(&fixture.store) as _, HandlerTable::default());
    executor.register_handler("puppet", Puppet(Arc::clone(&fixture.probe)));
    executor
}
