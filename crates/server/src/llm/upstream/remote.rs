//! An upstream over HTTP: one pooled client per entry, no redirects, no proxies from the environment.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use bytes::Bytes;
use dialects::Dialect;
use domain::limits::PROXY_BODY_BYTES;
use executor::{Breaker, Leave};
use futures_util::stream::{self, BoxStream};
use futures_util::{Stream, StreamExt};
use http_body_util::{LengthLimitError, Limited};
use hyper::body::Body as _;
use registry::SkipReason;
use serde_json::{Value, json};

use super::headers::{ClientCredential, configured_headers, forwarded_headers, request_headers};
use super::tool_support::ToolSupport;
use super::{
    BrokenBody, Forwarded, Question, SendError, Upstream, UpstreamAnswer, UpstreamConfig, UpstreamsError,
    glob,
};

/// Failures in a row after which an upstream is not asked.
const FAILURES: u32 = 5;
/// When to ask again while somebody else's request tries.
const WHILE_TRYING: Duration = Duration::from_secs(1);

pub(crate) struct Remote {
    config: UpstreamConfig,
    base: String,
    client: reqwest::Client,
    /// Set on every request.
    extra: HeaderMap,
    tools: ToolSupport,
    /// Only what keeps an answer from beginning counts: no connection, or no first byte in time. A status is the
    /// provider's own word and proves that it is there. A request that was given up on, or whose body was the trouble,
    /// says nothing either way.
    breaker: Arc<Breaker>,
    last_error: Mutex<Option<LastError>>,
}

/// What went wrong last, and when (RFC 3339 UTC).
#[derive(Clone, Debug)]
struct LastError {
    message: String,
    at: String,
}

impl Remote {
    pub(super) fn new(config: UpstreamConfig) -> Result<Self, UpstreamsError> {
        let trimmed = config.base_url.trim_end_matches('/');
        let version = trimmed.strip_suffix("/v1").or_else(|| trimmed.strip_suffix("/v1beta"));
        let base = version.unwrap_or(trimmed).to_owned();
        let legal =
            reqwest::Url::parse(&base).is_ok_and(|u| matches!(u.scheme(), "http" | "https") && u.has_host());
        if !legal {
            return Err(UpstreamsError::BaseUrl { name: config.name });
        }
        let extra = configured_headers(&config)?;
        let never = config.no_tools.iter().map(|g| glob(&config.name, g)).collect::<Result<_, _>>()?;
        let client = reqwest::Client::builder()
            .connect_timeout(config.connect_timeout)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .build()
            .map_err(UpstreamsError::Client)?;
        let breaker = Arc::new(Breaker::new(FAILURES, config.pause, WHILE_TRYING));
        Ok(Self {
            config,
            base,
            client,
            extra,
            tools: ToolSupport::new(never),
            breaker,
            last_error: Mutex::default(),
        })
    }

    /// What it was made of.
    pub(super) fn config(&self) -> &UpstreamConfig {
        &self.config
    }

    /// Sends a request that is not a chat, its body piece by piece.
    pub(crate) async fn forward(&self, request: Forwarded<'_>) -> Result<UpstreamAnswer, SendError> {
        let mut headers = forwarded_headers(request.headers);
        let body = if request.body.is_end_stream() {
            reqwest::Body::default()
        } else {
            if let Some(length) = request.headers.get(header::CONTENT_LENGTH) {
                headers.insert(header::CONTENT_LENGTH, length.clone());
            }
            reqwest::Body::wrap_stream(
                Body::new(Limited::new(request.body, PROXY_BODY_BYTES)).into_data_stream(),
            )
        };
        self.complete(&mut headers, request.dialect, request.credential);
        let url = format!("{}{}", self.base, request.target);
        self.exchange(self.client.request(request.method, url).headers(headers).body(body)).await
    }

    /// Adds what the configuration adds: extra headers and the credential.
    fn complete(&self, headers: &mut HeaderMap, dialect: &dyn Dialect, own: Option<&ClientCredential>) {
        headers.extend(self.extra.clone());
        match (own.filter(|_| self.config.passthrough), &self.config.api_key) {
            (Some(credential), _) => credential.apply(headers),
            (None, Some(key)) => set_key(headers, dialect.provider(), key),
            (None, None) => {}
        }
    }

    /// What people see of it. Neither credentials nor what an address may carry beside host and path.
    pub(super) fn shown(&self) -> Value {
        let error = self.last_error.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let url = reqwest::Url::parse(&self.config.base_url).ok();
        let url = url.map(|url| {
            let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
            format!("{}://{}{port}{}", url.scheme(), url.host_str().unwrap_or_default(), url.path())
        });
        json!({
            "name": self.config.name,
            "dialects": self.config.dialects,
            "baseUrl": url.unwrap_or_default(),
            "models": self.config.models,
            "passthrough": self.config.passthrough,
            "health": self.breaker.health(),
            "lastError": error.map(|error| json!({"message": error.message, "at": error.at})),
        })
    }

    async fn exchange(&self, request: reqwest::RequestBuilder) -> Result<UpstreamAnswer, SendError> {
        let answer = self.exchange_once(request).await;
        if let Err(error @ (SendError::Connect(..) | SendError::Timeout(_))) = &answer {
            let last = LastError { message: error.to_string(), at: crate::api::now() };
            *self.last_error.lock().unwrap_or_else(PoisonError::into_inner) = Some(last);
        }
        answer
    }

    async fn exchange_once(&self, request: reqwest::RequestBuilder) -> Result<UpstreamAnswer, SendError> {
        let name = || self.config.name.clone();
        let leave = self.breaker.enter().map_err(|wait| SendError::Unavailable { name: name(), wait })?;
        let failed = |leave: Leave| {
            if leave.failed() {
                let pause = self.config.pause;
                tracing::warn!(
                    upstream = self.config.name,
                    ?pause,
                    "an upstream cannot be reached and is not asked"
                );
            }
        };
        let answer = match tokio::time::timeout(self.config.first_byte_timeout, request.send()).await {
            Err(_) => {
                failed(leave);
                return Err(SendError::Timeout(name()));
            }
            Ok(Err(error)) if error.is_timeout() && !error.is_connect() => {
                failed(leave);
                return Err(SendError::Timeout(name()));
            }
            Ok(Err(error)) if is_too_large(&error) => return Err(SendError::TooLarge),
            // The address may name an internal host or carry a key: it stays out of the error.
            Ok(Err(error)) => {
                // A connection that was there and broke may have broken at the client's end of the body.
                if error.is_connect() {
                    failed(leave);
                }
                return Err(SendError::Connect(name(), error.without_url()));
            }
            Ok(Ok(answer)) => answer,
        };
        leave.answered();
        Ok(UpstreamAnswer {
            status: answer.status(),
            headers: answer.headers().clone(),
            body: with_idle_limit(answer.bytes_stream(), self.config.idle_timeout),
        })
    }
}

/// Whether the client's own body was the trouble.
fn is_too_large(error: &reqwest::Error) -> bool {
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        if error.is::<LengthLimitError>() {
            return true;
        }
        cause = error.source();
    }
    false
}

/// The place where a provider looks for a key.
fn set_key(headers: &mut HeaderMap, provider: &str, key: &str) {
    let (name, text) = match provider {
        "anthropic" => (HeaderName::from_static("x-api-key"), key.to_owned()),
        "google" => (HeaderName::from_static("x-goog-api-key"), key.to_owned()),
        _ => (header::AUTHORIZATION, format!("Bearer {key}")),
    };
    if let Ok(mut value) = HeaderValue::from_str(&text) {
        value.set_sensitive(true);
        headers.insert(name, value);
    }
}

/// Ends a body that falls silent for longer than `idle`; an error is its last item.
fn with_idle_limit(
    body: impl Stream<Item = reqwest::Result<Bytes>> + Send + 'static,
    idle: Duration,
) -> BoxStream<'static, Result<Bytes, BrokenBody>> {
    stream::unfold(Some(Box::pin(body)), move |body| async move {
        let mut body = body?;
        match tokio::time::timeout(idle, body.next()).await {
            Ok(Some(Ok(bytes))) => Some((Ok(bytes), Some(body))),
            Ok(Some(Err(error))) => Some((Err(BrokenBody(Some(error.without_url()))), None)),
            Ok(None) => None,
            Err(_) => Some((Err(BrokenBody(None)), None)),
        }
    })
    .boxed()
}

#[async_trait]
impl Upstream for Remote {
    fn name(&self) -> &str {
        &self.config.name
    }

    fn takes(&self, own: Option<&ClientCredential>) -> bool {
        self.config.passthrough && own.is_some()
    }

    fn tools_unwanted(&self, model: &str) -> Option<SkipReason> {
        self.tools.unwanted(model)
    }

    fn note_tools_refused(&self, model: &str) {
        self.tools.note_refused(model);
    }

    async fn send(&self, question: Question<'_>) -> Result<UpstreamAnswer, SendError> {
        let mut headers = request_headers(question.headers);
        self.complete(&mut headers, question.dialect, question.credential);
        let url = format!("{}{}", self.base, question.target);
        self.exchange(self.client.post(url).headers(headers).body(question.body)).await
    }
}
