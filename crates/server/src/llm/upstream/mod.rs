//! Where models are asked: configured upstreams, and the built-in `demo`.
//!
//! An upstream takes a finished body in its own dialect and streams bytes back. It never looks into either, and
//! never learns what a skill is.

mod demo;
mod headers;
mod remote;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use axum::http::{HeaderMap, StatusCode};
use bytes::Bytes;
use dialects::Dialect;
use futures_util::stream::BoxStream;
use globset::{Glob, GlobMatcher};

pub(crate) use headers::{ClientCredential, response_headers};

/// One `[[upstreams]]` entry.
#[derive(Clone, Debug)]
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
    /// Time to connect.
    pub connect_timeout: Duration,
    /// Time to the first byte of an answer.
    pub first_byte_timeout: Duration,
    /// Longest silence inside an answer.
    pub idle_timeout: Duration,
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
            connect_timeout: Duration::from_secs(10),
            first_byte_timeout: Duration::from_mins(10),
            idle_timeout: Duration::from_mins(5),
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

#[async_trait]
pub(crate) trait Upstream: Send + Sync {
    fn name(&self) -> &str;
    async fn send(&self, question: Question<'_>) -> Result<UpstreamAnswer, SendError>;
}

struct Route {
    dialects: Vec<String>,
    models: Vec<GlobMatcher>,
    upstream: Arc<dyn Upstream>,
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
        let mut routes: Vec<Route> = Vec::new();
        for config in configs {
            if routes.iter().any(|r| r.upstream.name() == config.name) {
                return Err(UpstreamsError::Twice(config.name));
            }
            routes.push(Route {
                dialects: check_dialects(&config)?,
                models: config.models.iter().map(|g| glob(&config.name, g)).collect::<Result<_, _>>()?,
                upstream: Arc::new(remote::Remote::new(config)?),
            });
        }
        let demo = demo.then(|| Arc::new(demo::Demo) as Arc<dyn Upstream>);
        Ok(Self { routes, demo })
    }

    /// The upstream that answers this model in this dialect.
    pub(crate) fn pick(&self, dialect: &str, model: &str) -> Option<&Arc<dyn Upstream>> {
        if model == DEMO_MODEL && self.demo.is_some() {
            return self.demo.as_ref();
        }
        let speaks = self.routes.iter().filter(|r| r.dialects.iter().any(|d| d == dialect));
        speaks.into_iter().find(|r| r.models.iter().any(|g| g.is_match(model))).map(|r| &r.upstream)
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
