//! Where models are asked: configured upstreams, and the built-in `demo`.
//!
//! An upstream takes a finished body in its own dialect and streams bytes back. It never looks into either, and
//! never learns what a skill is.

mod demo;
mod headers;
mod remote;
mod tool_support;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use axum::body::Body;
use axum::http::{HeaderMap, Method, StatusCode};
use bytes::Bytes;
use dialects::Dialect;
use domain::limits::PROXY_BODY_BYTES;
use executor::whole_seconds;
use futures_util::stream::BoxStream;
use globset::{Glob, GlobMatcher};
use registry::SkipReason;

pub(crate) use headers::{ClientCredential, response_headers};
pub(crate) use remote::Remote;

/// One `[[upstreams]]` entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpstreamConfig {
    /// Unique name.
    pub name: String,
    /// Dialects it speaks, by name.
    pub dialects: Vec<String>,
    /// What precedes `/v1`; a trailing `/v1` is not doubled.
    pub base_url: String,
    /// The server's own credential.
    pub api_key: Option<String>,
    /// Whether the client's own credential goes through, before the server's.
    pub passthrough: bool,
    /// Globs over model names; the first upstream of the dialect that matches, in file order, is asked.
    pub models: Vec<String>,
    /// Globs over model names that are never offered a tool of ours.
    pub no_tools: Vec<String>,
    /// Headers that are set on every request to it, by name; they replace the client's.
    pub headers: BTreeMap<String, String>,
    /// Time to connect.
    pub connect_timeout: Duration,
    /// Time to the first byte of an answer.
    pub first_byte_timeout: Duration,
    /// Longest silence inside an answer.
    pub idle_timeout: Duration,
    /// How long it is not asked after it could not be reached five times in a row.
    pub pause: Duration,
}

impl UpstreamConfig {
    /// An upstream for every model, with the default timeouts. Without a credential of the server's, the client's
    /// own goes through.
    pub fn new(name: &str, dialects: &[&str], base_url: &str, api_key: Option<String>) -> Self {
        Self {
            name: name.to_owned(),
            dialects: dialects.iter().map(|d| (*d).to_owned()).collect(),
            base_url: base_url.to_owned(),
            passthrough: api_key.is_none(),
            api_key,
            models: vec!["*".to_owned()],
            no_tools: Vec::new(),
            headers: BTreeMap::new(),
            connect_timeout: Duration::from_secs(10),
            first_byte_timeout: Duration::from_mins(10),
            idle_timeout: Duration::from_mins(5),
            pause: Duration::from_secs(10),
        }
    }
}

/// A configuration that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum UpstreamsError {
    /// Two entries share a name.
    #[error("upstream `{0}` is configured twice; names are unique")]
    Twice(String),
    /// A dialect nobody speaks.
    #[error("upstream `{name}`: unknown dialect `{dialect}`; known are {known}")]
    Dialect {
        /// The entry.
        name: String,
        /// The word in the file.
        dialect: String,
        /// Every dialect.
        known: String,
    },
    /// Not an http or https address.
    #[error("upstream `{name}`: `base_url` must be an http:// or https:// address")]
    BaseUrl {
        /// The entry.
        name: String,
    },
    /// A glob that cannot be read.
    #[error("upstream `{name}`: `{glob}` is not a model glob")]
    Glob {
        /// The entry.
        name: String,
        /// The glob in the file.
        glob: String,
    },
    /// A header that cannot be set.
    #[error("upstream `{name}`: the header `{header}` cannot be set: {problem}")]
    Header {
        /// The entry.
        name: String,
        /// The header in the file.
        header: String,
        /// What is wrong.
        problem: &'static str,
    },
    /// The HTTP client cannot be built.
    #[error("the HTTP client for upstreams cannot be built")]
    Client(#[source] reqwest::Error),
}

/// What an upstream answered, as far as its head.
pub(crate) struct UpstreamAnswer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: BoxStream<'static, Result<Bytes, BrokenBody>>,
}

/// The body ended early or fell silent.
#[derive(Debug, thiserror::Error)]
#[error("the upstream's answer broke off")]
pub(crate) struct BrokenBody(#[source] pub(crate) Option<reqwest::Error>);

/// No head of an answer came.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SendError {
    #[error("upstream `{0}` cannot be reached")]
    Connect(String, #[source] reqwest::Error),
    #[error("upstream `{0}` did not answer in time")]
    Timeout(String),
    #[error("upstream `{name}` could not be reached several times in a row; ask again in {} s", whole_seconds(*.wait))]
    Unavailable { name: String, wait: Duration },
    #[error("the body is larger than {PROXY_BODY_BYTES} bytes; send less")]
    TooLarge,
}

/// One round's question.
pub(crate) struct Question<'a> {
    pub(crate) dialect: &'a dyn Dialect,
    /// Path and query.
    pub(crate) target: &'a str,
    pub(crate) body: Bytes,
    /// The client's headers, already cleaned of what is ours.
    pub(crate) headers: &'a HeaderMap,
    pub(crate) credential: Option<&'a ClientCredential>,
}

/// A request that is not a chat.
pub(crate) struct Forwarded<'a> {
    pub(crate) dialect: &'a dyn Dialect,
    pub(crate) method: Method,
    /// Path and query.
    pub(crate) target: &'a str,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) credential: Option<&'a ClientCredential>,
    pub(crate) body: Body,
}

#[async_trait]
pub(crate) trait Upstream: Send + Sync {
    fn name(&self) -> &str;
    async fn send(&self, question: Question<'_>) -> Result<UpstreamAnswer, SendError>;

    /// Why this model is not to be offered tools of ours, if it is not.
    fn tools_unwanted(&self, _model: &str) -> Option<SkipReason> {
        None
    }

    /// Whether this credential of the client's goes up in place of the server's.
    fn takes(&self, _own: Option<&ClientCredential>) -> bool {
        false
    }

    /// Notes that this model refused a request because of tools of ours.
    fn note_tools_refused(&self, _model: &str) {}
}

struct Route {
    dialects: Vec<String>,
    models: Vec<GlobMatcher>,
    upstream: Arc<Remote>,
}

impl Route {
    fn answers(&self, model: &str) -> bool {
        self.models.iter().any(|glob| glob.is_match(model))
    }
}

/// The model name that the built-in stand-in answers to.
pub(crate) const DEMO_MODEL: &str = "demo";

/// All upstreams, in file order.
pub struct Upstreams {
    routes: Vec<Route>,
    demo: Option<Arc<dyn Upstream>>,
}

impl Upstreams {
    /// Checks the configuration and builds the clients. With `demo`, the model `demo` is answered by a stand-in
    /// inside this process, before any glob.
    pub fn new(configs: Vec<UpstreamConfig>, demo: bool) -> Result<Self, UpstreamsError> {
        let none = Self { routes: Vec::new(), demo: None };
        none.successor(configs, demo)
    }

    /// As [`Upstreams::new`], for a configuration that follows this one: an upstream that stays as it is keeps its
    /// connections and what was learnt about it.
    pub fn successor(&self, configs: Vec<UpstreamConfig>, demo: bool) -> Result<Self, UpstreamsError> {
        let mut routes: Vec<Route> = Vec::new();
        for config in configs {
            if routes.iter().any(|r| r.upstream.name() == config.name) {
                return Err(UpstreamsError::Twice(config.name));
            }
            routes.push(Route {
                dialects: check_dialects(&config)?,
                models: config.models.iter().map(|g| glob(&config.name, g)).collect::<Result<_, _>>()?,
                upstream: match self.routes.iter().find(|old| *old.upstream.config() == config) {
                    Some(old) => Arc::clone(&old.upstream),
                    None => Arc::new(Remote::new(config)?),
                },
            });
        }
        let demo = demo.then(|| Arc::new(demo::Demo) as Arc<dyn Upstream>);
        Ok(Self { routes, demo })
    }

    /// The upstream that answers this model in this dialect.
    pub(crate) fn pick(&self, dialect: &str, model: &str) -> Option<Arc<dyn Upstream>> {
        if model == DEMO_MODEL
            && let Some(demo) = &self.demo
        {
            return Some(Arc::clone(demo));
        }
        let mut speaks = self.routes.iter().filter(|r| r.dialects.iter().any(|d| d == dialect));
        speaks.find(|r| r.answers(model)).map(|r| Arc::clone(&r.upstream) as Arc<dyn Upstream>)
    }

    /// Upstreams that share a provider's other paths with this dialect, in file order; with a model, those that
    /// are asked for it.
    pub(crate) fn of_provider(
        &self,
        provider: &str,
        model: Option<&str>,
    ) -> impl Iterator<Item = &Arc<Remote>> {
        let speaks =
            move |dialect: &String| dialects::by_name(dialect).is_some_and(|d| d.provider() == provider);
        let routes = self.routes.iter().filter(move |route| route.dialects.iter().any(speaks));
        routes
            .filter(move |route| model.is_none_or(|model| route.answers(model)))
            .map(|route| &route.upstream)
    }

    /// Each as people see it, in file order.
    pub(crate) fn health(&self) -> Vec<serde_json::Value> {
        self.routes.iter().map(|route| route.upstream.shown()).collect()
    }

    /// Whether the `demo` model is there, for messages.
    pub(crate) fn has_demo(&self) -> bool {
        self.demo.is_some()
    }
}

fn check_dialects(config: &UpstreamConfig) -> Result<Vec<String>, UpstreamsError> {
    for dialect in &config.dialects {
        if !dialects::ALL.iter().any(|d| d.name() == dialect) {
            let known: Vec<_> = dialects::ALL.iter().map(|d| d.name()).collect();
            return Err(UpstreamsError::Dialect {
                name: config.name.clone(),
                dialect: dialect.clone(),
                known: known.join(", "),
            });
        }
    }
    Ok(config.dialects.clone())
}

fn glob(name: &str, text: &str) -> Result<GlobMatcher, UpstreamsError> {
    let bad = || UpstreamsError::Glob { name: name.to_owned(), glob: text.to_owned() };
    Glob::new(text).map(|g| g.compile_matcher()).map_err(|_| bad())
}
