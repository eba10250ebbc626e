//! How an error leaves the gateway: a stable code, one sentence, and nothing of what happened inside.
//!
//! Handlers and middleware return an [`ApiError`]. It becomes bytes in one place, [`render`], which knows the
//! request id and whether the path speaks a provider's dialect; there its cause is logged, once.

mod codes;
mod convert;
pub(crate) mod render;

use std::error::Error;
use std::sync::Arc;

use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

pub use codes::Code;

/// What is wrong with one field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Detail {
    /// Path of the field (`schema.input.text`), or JSON pointer into an input.
    pub(crate) field: String,
    /// What is wrong with it.
    pub(crate) message: String,
}

impl Detail {
    pub(crate) fn new(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { field: field.into(), message: message.into() }
    }
}

/// An error on its way to a client.
#[derive(Clone, Debug)]
pub(crate) struct ApiError {
    pub(crate) code: Code,
    /// For outside: one sentence that says what to do.
    pub(crate) message: String,
    pub(crate) details: Vec<Detail>,
    headers: Vec<(HeaderName, HeaderValue)>,
    /// For the log only.
    cause: Option<Arc<dyn Error + Send + Sync>>,
}

impl ApiError {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), details: Vec::new(), headers: Vec::new(), cause: None }
    }

    /// One field is wrong, and the sentence says so.
    pub(crate) fn field(code: Code, field: &str, message: &str) -> Self {
        Self::new(code, format!("{field}: {message}")).with_details(vec![Detail::new(field, message)])
    }

    /// A fault of ours. The cause is logged, never shown.
    pub(crate) fn internal(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        let message = "the gateway failed to answer this request; the log has the cause under the request id";
        Self::new(Code::Internal, message).with_cause(cause)
    }

    /// No credential, or one that is not known.
    pub(crate) fn unauthorized(code: Code, message: impl Into<String>) -> Self {
        Self::new(code, message)
            .with_header(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"omni-skills\""))
    }

    pub(crate) fn with_details(mut self, details: Vec<Detail>) -> Self {
        self.details = details;
        self
    }

    pub(crate) fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    pub(crate) fn with_retry_after(self, seconds: u64) -> Self {
        self.with_header(header::RETRY_AFTER, HeaderValue::from(seconds))
    }

    pub(crate) fn with_cause(mut self, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.cause = Some(Arc::from(cause.into()));
        self
    }
}

/// The status and the headers; [`render`] finds the error in the extensions and writes the body.
impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = self.code.status().into_response();
        for (name, value) in &self.headers {
            response.headers_mut().insert(name, value.clone());
        }
        response.extensions_mut().insert(self);
        response
    }
}
