//! `GET /api/docs`: what this API is, for people. Made from the document; works without scripts, which only add
//! filtering and trying out. Nothing is loaded from elsewhere.

mod page;
mod schema;

use std::sync::LazyLock;

use askama::Template as _;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use self::page::{Page, SignIn};
use crate::api::openapi::openapi;
use crate::error::ApiError;
use crate::openapi::schema::text;
use crate::openapi::{Doc, Operation, Tag};

/// Files of the page are none of the API.
pub(crate) const ASSET: Doc = Doc::Outside;

/// Where the page is, below the base path.
const PATH: &str = "/api/docs";
/// Everything from here and nothing inline.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; \
    img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const STYLE: &str = include_str!("../../../assets/docs.css");
const SCRIPT: &str = include_str!("../../../assets/docs.js");

/// The page never changes while the process lives.
static PAGE: LazyLock<Result<String, String>> =
    LazyLock::new(|| Page::of(openapi()).render().map_err(|error| error.to_string()));

pub(crate) fn get_doc() -> Operation {
    Operation::new(Tag::Operations, "getDocs", "This document, for people")
        .about("Without a credential a browser is shown where to put one.")
        .gives_as(StatusCode::OK, "text/html", text())
        .asks_with_a_page()
}

/// The handler.
pub(crate) async fn get() -> Result<Response, ApiError> {
    match &*PAGE {
        Ok(page) => Ok(html(StatusCode::OK, page.clone())),
        Err(error) => Err(ApiError::internal(error.clone())),
    }
}

/// `GET /assets/docs.css`.
pub(crate) async fn style() -> Response {
    asset("text/css; charset=utf-8", STYLE)
}

/// `GET /assets/docs.js`.
pub(crate) async fn script() -> Response {
    asset("text/javascript; charset=utf-8", SCRIPT)
}

/// Middleware: a person without a credential is asked for one instead of being shown JSON. Still a 401.
pub(crate) async fn sign_in(request: Request, next: Next) -> Response {
    let asks = request.uri().path() == PATH && prefers_html(request.headers());
    let response = next.run(request).await;
    if !asks || response.status() != StatusCode::UNAUTHORIZED {
        return response;
    }
    let Ok(page) = SignIn.render() else { return response };
    let mut page = html(StatusCode::UNAUTHORIZED, page);
    for name in [header::WWW_AUTHENTICATE, HeaderName::from_static("x-request-id")] {
        let kept = response.headers().get(&name).cloned();
        page.headers_mut().extend(kept.map(|value| (name, value)));
    }
    page
}

fn prefers_html(headers: &HeaderMap) -> bool {
    headers
        .get(header::ACCEPT)
        .and_then(|v| v.to_str().ok())
        .is_some_and(|accept| accept.contains("text/html"))
}

fn html(status: StatusCode, page: String) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::CACHE_CONTROL, "no-store"),
    ];
    guarded((status, headers, page).into_response())
}

fn asset(kind: &'static str, text: &'static str) -> Response {
    guarded(([(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "no-cache")], text).into_response())
}

fn guarded(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}
