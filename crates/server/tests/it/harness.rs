//! A gateway in a temporary folder, and short ways to ask it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Request, StatusCode, header};
use domain::{Annotations, Mode, Part, Policy, Skill, SourceProvider, Version};
use executor::{
    ECHO_HANDLER, Echo, Executor, ExecutorConfig, Handler, HandlerError, HandlerTable, Output, RunContext,
};
use http_body_util::BodyExt;
use registry::{Known, Registry};
use serde_json::{Map, Value, json};
use server::{App, Keyring, Live, Running, ServerConfig, StickySets, Upstreams, router};
use store::{Database, Store};
use store_sql::SqliteStore;
use tower::ServiceExt;

/// The management token of every test.
pub(crate) const TOKEN: &str = "omt_test";
/// Its sha256.
const TOKEN_HASH: &str = "573760184012a474a36bab847b1da02d6349512add0b8dd2a1869f3d566e29fd";

/// Waits until it is dropped, and tells both.
#[derive(Default)]
pub(crate) struct Slow {
    pub(crate) started: Arc<AtomicBool>,
    pub(crate) dropped: Arc<AtomicBool>,
}

struct SetOnDrop(Arc<AtomicBool>);

impl Drop for SetOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[async_trait::async_trait]
impl Handler for Slow {
    async fn run(&self, _input: Map<String, Value>, _ctx: &RunContext) -> Result<Output, HandlerError> {
        let _on_drop = SetOnDrop(Arc::clone(&self.dropped));
        self.started.store(true, Ordering::SeqCst);
        std::future::pending().await
    }
}

/// Returns a text, an image of three bytes for each letter of the input's `text`, and one that no model takes.
struct Pictures;

#[async_trait::async_trait]
impl Handler for Pictures {
    async fn run(&self, input: Map<String, Value>, _ctx: &RunContext) -> Result<Output, HandlerError> {
        let letters = input["text"].as_str().unwrap_or_default().len();
        let image = |mime: &str, data: String| Part::Image { mime: mime.to_owned(), data };
        let parts = vec![
            Part::Text { text: "a caption".to_owned() },
            image("image/png", "AAAA".repeat(letters)),
            image("image/tiff", "AAAA".to_owned()),
        ];
        let value = Map::from_iter([("drawn".to_owned(), true.into())]);
        Ok(Output { value, parts, sandboxed: None })
    }
}

/// Settings of a test's gateway.
pub(crate) struct Setup {
    pub(crate) loopback: bool,
    pub(crate) allowed_hosts: Vec<String>,
    pub(crate) executor: ExecutorConfig,
    pub(crate) upstreams: Vec<server::UpstreamConfig>,
    pub(crate) demo: bool,
    pub(crate) pinned: server::Pinned,
    pub(crate) reloader: Option<server::Reloader>,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            loopback: true,
            allowed_hosts: Vec::new(),
            executor: ExecutorConfig::default(),
            upstreams: Vec::new(),
            demo: false,
            pinned: server::Pinned::new(),
            reloader: None,
        }
    }
}

pub(crate) struct Gateway {
    pub(crate) app: Arc<App>,
    pub(crate) started: Arc<AtomicBool>,
    pub(crate) dropped: Arc<AtomicBool>,
    router: Router,
    folder: tempfile::TempDir,
}

/// An answer, read.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) bytes: Bytes,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes)
            .unwrap_or_else(|e| panic!("{} is not JSON ({e}): {:?}", self.status, self.bytes))
    }

    /// An error of REST: checks its shape and gives its code.
    pub(crate) fn code(&self) -> String {
        let body = self.json();
        assert!(body["error"].as_str().is_some_and(|s| !s.is_empty()), "{body}");
        let id = body["requestId"].as_str().unwrap();
        assert_eq!(self.headers["x-request-id"], id);
        body["code"].as_str().unwrap().to_owned()
    }

    pub(crate) fn expect(self, status: u16, code: &str) -> Self {
        assert_eq!((self.status.as_u16(), self.code().as_str()), (status, code), "{self:?}");
        self
    }

    pub(crate) fn ok(self) -> Value {
        assert_eq!(self.status, StatusCode::OK, "{self:?}");
        self.json()
    }
}

impl Gateway {
    pub(crate) async fn start() -> Self {
        Self::with(Setup::default()).await
    }

    pub(crate) async fn with(setup: Setup) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let database: Arc<dyn Database> = SqliteStore::open(&folder.path().join("test.db")).unwrap();
        let store: Arc<dyn Store> = database.clone();
        store.sync_builtins(vec![builtin()]).await.unwrap();
        let slow = Slow::default();
        let (started, dropped) = (Arc::clone(&slow.started), Arc::clone(&slow.dropped));
        let mut handlers = HandlerTable::default();
        handlers.register(ECHO_HANDLER, Arc::new(Echo));
        handlers.register("slow-handler", Arc::new(slow));
        handlers.register("picture-handler", Arc::new(Pictures));
        let known = Known {
            handlers: handlers.names().map(str::to_owned).collect(),
            builtins: BTreeMap::from([("file_write".to_owned(), "writes a file".to_owned())]),
        };
        let app = Arc::new(App {
            registry: Arc::new(Registry::load(Arc::clone(&store), known).await.unwrap()),
            executor: Arc::new(Executor::new(setup.executor, Arc::clone(&store), handlers)),
            keyring: Keyring::new(database.clone()),
            turns: server::TurnJournal::new(database.clone()),
            store: database,
            unavailable: Arc::new(BTreeMap::from([("file_write".to_owned(), "no workspace".to_owned())])),
            sticky: StickySets::default(),
            settings: server::Settings::new(setup.pinned),
            reloader: setup.reloader.unwrap_or_else(|| server::Reloader::new().0),
            live: Live::new(Running {
                config: Arc::new(ServerConfig {
                    management_token_hash: TOKEN_HASH.to_owned(),
                    loopback: setup.loopback,
                    allowed_hosts: setup.allowed_hosts,
                    base_path: String::new(),
                    trusted_proxies: Vec::new(),
                    budgets: server::Budgets::default(),
                    kept: server::KeptConfig::default(),
                    input_usage_of_last_round: false,
                    select: registry::SelectLimits::default(),
                    with_client_tools: registry::WithClientTools::default(),
                    sticky: false,
                    approval: server::ApprovalWaits::default(),
                    policies: BTreeMap::new(),
                }),
                upstreams: Arc::new(Upstreams::new(setup.upstreams, setup.demo).unwrap()),
                tls: None,
            }),
        });
        Self { router: router(Arc::clone(&app)), app, started, dropped, folder }
    }

    /// Where its database is.
    pub(crate) fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    /// Sends a request as it is.
    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        let answer = Answer { status: parts.status, headers: parts.headers, bytes };
        crate::conformance::check(&method, &path, &answer);
        answer
    }

    /// With this credential as bearer; an empty one is none.
    pub(crate) async fn call(
        &self,
        credential: &str,
        method: &str,
        path: &str,
        body: Option<Value>,
    ) -> Answer {
        let mut request = request(method, path);
        if !credential.is_empty() {
            request = request.header(header::AUTHORIZATION, format!("Bearer {credential}"));
        }
        let body = match body {
            Some(body) => {
                request = request.header(header::CONTENT_TYPE, "application/json");
                Body::from(body.to_string())
            }
            None => Body::empty(),
        };
        self.send(request.body(body).unwrap()).await
    }

    pub(crate) async fn manage(&self, method: &str, path: &str, body: Option<Value>) -> Answer {
        self.call(TOKEN, method, path, body).await
    }

    /// Makes a key; its id and its secret.
    pub(crate) async fn key(&self, name: &str, scopes: &[&str]) -> (String, String) {
        let made = self.manage("POST", "/api/keys", Some(json!({"name": name, "scopes": scopes}))).await.ok();
        (made["id"].as_str().unwrap().to_owned(), made["key"].as_str().unwrap().to_owned())
    }

    /// Installs a skill with `echo-handler`; what is given is added.
    pub(crate) async fn install(&self, name: &str, more: Value) -> Answer {
        let mut body = json!({
            "name": name, "description": "d", "handlerCode": "echo-handler",
            "schema": {"input": {"text": "string"}},
        });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.manage("POST", "/api/skills/install", Some(body)).await
    }
}

/// A request to this machine.
pub(crate) fn request(method: &str, path: &str) -> axum::http::request::Builder {
    Request::builder().method(method).uri(path).header(header::HOST, "localhost:20128")
}

fn builtin() -> Skill {
    Skill {
        id: domain::ids::new_id(),
        api_key_id: domain::SYSTEM_OWNER.to_owned(),
        name: "file_write".to_owned(),
        version: Version::new(1, 0, 0),
        description: "writes a file".to_owned(),
        schema: json!({"input": {"path": "string"}}),
        handler: ECHO_HANDLER.to_owned(),
        mode: Mode::On,
        policy: Policy::Auto,
        enabled: true,
        mode_before: None,
        timeout_ms: None,
        max_retries: None,
        annotations: Annotations::default(),
        source_provider: SourceProvider::Builtin,
        source_url: None,
        content_sha256: None,
        tags: vec!["file".to_owned()],
        install_count: 0,
        created_at: "2026-01-01T00:00:00.000Z".to_owned(),
        updated_at: "2026-01-01T00:00:00.000Z".to_owned(),
    }
}
