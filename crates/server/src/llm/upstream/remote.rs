//! An upstream over HTTP: one pooled client per entry, no redirects, no proxies from the environment.

use std::time::Duration;

use async_trait::async_trait;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use bytes::Bytes;
use futures_util::stream::{self, BoxStream};
use futures_util::{Stream, StreamExt};

use super::headers::request_headers;
use super::{BrokenBody, Question, SendError, Upstream, UpstreamAnswer, UpstreamConfig, UpstreamsError};

pub(super) struct Remote {
    config: UpstreamConfig,
    base: String,
    client: reqwest::Client,
}

impl Remote {
    pub(super) fn new(config: UpstreamConfig) -> Result<Self, UpstreamsError> {
        let trimmed = config.base_url.trim_end_matches('/');
        let base = trimmed.strip_suffix("/v1").unwrap_or(trimmed).to_owned();
        let legal =
            reqwest::Url::parse(&base).is_ok_and(|u| matches!(u.scheme(), "http" | "https") && u.has_host());
        if !legal {
            return Err(UpstreamsError::BaseUrl { name: config.name });
        }
        let client = reqwest::Client::builder()
            .connect_timeout(config.connect_timeout)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .build()
            .map_err(UpstreamsError::Client)?;
        Ok(Self { config, base, client })
    }

    fn headers(&self, question: &Question<'_>) -> HeaderMap {
        let mut headers = request_headers(question.headers);
        let own = question.credential.filter(|_| self.config.passthrough);
        match (own, &self.config.api_key) {
            (Some(credential), _) => credential.apply(&mut headers),
            (None, Some(key)) => set_key(&mut headers, question.dialect.provider(), key),
            (None, None) => {}
        }
        headers
    }
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

    async fn send(&self, question: Question<'_>) -> Result<UpstreamAnswer, SendError> {
        let headers = self.headers(&question);
        let url = format!("{}{}", self.base, question.target);
        let sent = self.client.post(url).headers(headers).body(question.body).send();
        let answer = match tokio::time::timeout(self.config.first_byte_timeout, sent).await {
            Err(_) => return Err(SendError::Timeout(self.config.name.clone())),
            Ok(Err(error)) if error.is_timeout() && !error.is_connect() => {
                return Err(SendError::Timeout(self.config.name.clone()));
            }
            // The address may name an internal host or carry a key: it stays out of the error.
            Ok(Err(error)) => return Err(SendError::Connect(self.config.name.clone(), error.without_url())),
            Ok(Ok(answer)) => answer,
        };
        Ok(UpstreamAnswer {
            status: answer.status(),
            headers: answer.headers().clone(),
            body: with_idle_limit(answer.bytes_stream(), self.config.idle_timeout),
        })
    }
}
