//! Gives every request an id: in the log, in `x-request-id` of the answer and in the body of an error.
//!
//! An upstream's own `x-request-id` is never replaced: its support asks for it.

use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;

/// Id of one request.
#[derive(Clone, Debug, Default)]
pub(crate) struct RequestId(String);

impl RequestId {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Middleware.
pub(crate) async fn request_id(mut request: Request, next: Next) -> Response {
    let id = domain::ids::new_id();
    let header = HeaderValue::from_str(&id);
    request.extensions_mut().insert(RequestId(id));
    let mut response = next.run(request).await;
    if let Ok(header) = header {
        response.headers_mut().entry(HeaderName::from_static("x-request-id")).or_insert(header);
    }
    response
}
