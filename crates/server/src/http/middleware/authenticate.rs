//! Finds out who is asking. It never refuses: [`crate::http::access`] does, by the route list.
//!
//! A credential of this gateway is taken out of the request here, so that nothing behind can log or forward it.
//! Any other credential is the client's own and stays where it is; it is no login.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, Uri, header};
use axum::middleware::Next;
use axum::response::Response;
use subtle::ConstantTimeEq;

use super::{client, host};
use crate::app::{App, ServerConfig};
use crate::caller::Caller;
use crate::error::ApiError;
use crate::http::query;
use crate::keyring::{Used, hash_secret};

/// What authentication found; in the extensions of every request.
#[derive(Clone, Debug)]
pub(crate) enum Login {
    /// Somebody known, or an anonymous caller where those are let in.
    As(Caller),
    /// No credential of this gateway, and anonymous callers are not let in.
    Nobody,
    /// A key or token that is unknown or revoked.
    Unknown,
    /// The keys could not be read.
    Failed(ApiError),
}

/// Our own place for a credential; what stands there is meant for us alone.
const OURS: HeaderName = HeaderName::from_static("x-omni-key");
/// Where the SDKs of the dialects put one, beside `Authorization`.
const SDK_PLACES: [HeaderName; 2] =
    [HeaderName::from_static("x-api-key"), HeaderName::from_static("x-goog-api-key")];

/// Middleware.
pub(crate) async fn authenticate(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    let config = app.config();
    let secret = take_secret(&mut request, &config);
    let local = is_local(&request, &config);
    let login = match secret {
        Some(secret) => identify(&secret, &app, &config).await,
        None => anonymous(local, &app).await,
    };
    let login = login.unwrap_or_else(Login::Failed);
    match &login {
        Login::As(Caller::Key(key)) => app.keyring.touch(Used::Key(key.id.clone())),
        Login::As(Caller::Token(token)) => app.keyring.touch(Used::Token(token.id.clone())),
        _ => {}
    }
    request.extensions_mut().insert(login);
    next.run(request).await
}

/// The credential that is meant for this gateway, taken out of the request with every other one that is.
fn take_secret(request: &mut Request, config: &ServerConfig) -> Option<String> {
    let mut found = request.headers().get(OURS).map(|v| v.to_str().unwrap_or_default().trim().to_owned());
    request.headers_mut().remove(OURS);
    for name in std::iter::once(header::AUTHORIZATION).chain(SDK_PLACES) {
        let ours = secrets(request.headers(), &name).find(|s| is_ours(s, config)).map(str::to_owned);
        if ours.is_some() {
            request.headers_mut().remove(&name);
            found = found.or(ours);
        }
    }
    if crate::http::is_proxy_path(request.uri().path()) {
        let (uri, key) = take_query_key(request.uri());
        if let Some(uri) = uri {
            *request.uri_mut() = uri;
            found = found.or(key);
        }
    }
    found
}

fn secrets<'h>(headers: &'h HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'h str> {
    let bearer = *name == header::AUTHORIZATION;
    headers.get_all(name).iter().filter_map(move |value| {
        let text = value.to_str().ok()?.trim();
        if !bearer {
            return Some(text);
        }
        let (scheme, secret) = text.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| secret.trim())
    })
}

fn is_ours(secret: &str, config: &ServerConfig) -> bool {
    secret.starts_with("osk_") || secret.starts_with("omt_") || is_management(secret, config)
}

fn is_management(secret: &str, config: &ServerConfig) -> bool {
    let known = config.management_token_hash.as_bytes();
    !secret.is_empty() && bool::from(hash_secret(secret).as_bytes().ct_eq(known))
}

/// Takes a `key` of this gateway out of the query; the new address only if there was one.
fn take_query_key(uri: &Uri) -> (Option<Uri>, Option<String>) {
    let text = uri.query().unwrap_or_default();
    let Some(key) = query::keys(text).find(|key| key.starts_with("osk_")) else { return (None, None) };
    let kept = query::without(text, |_, value| query::is_ours(value));
    let mark = if kept.is_empty() { "" } else { "?" };
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = format!("{}{mark}{kept}", uri.path()).parse().ok();
    (Uri::from_parts(parts).ok(), Some(key))
}

async fn identify(secret: &str, app: &App, config: &ServerConfig) -> Result<Login, ApiError> {
    if is_management(secret, config) {
        return Ok(Login::As(Caller::Management));
    }
    let caller = if secret.starts_with("omt_") {
        app.keyring.find_token(secret).await?.map(Caller::Token)
    } else {
        app.keyring.find(secret).await?.map(Caller::Key)
    };
    Ok(caller.map_or(Login::Unknown, Login::As))
}

/// Anonymous callers are let in until the first key exists, if they are local.
async fn anonymous(local: bool, app: &App) -> Result<Login, ApiError> {
    if local && !app.keyring.any().await? { Ok(Login::As(Caller::Anonymous)) } else { Ok(Login::Nobody) }
}

/// On loopback, never through a proxy (a proxy in front is not the local user), never from a page of another site.
fn is_local(request: &Request, config: &ServerConfig) -> bool {
    config.loopback && !client::was_proxied(request.headers()) && !host::is_foreign_page(request, config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_key_leaves_the_query() {
        let take = |text: &'static str| take_query_key(&Uri::from_static(text));
        let (uri, key) = take("/v1beta/models/m:generateContent?alt=sse&key=osk_1");
        assert_eq!(uri.unwrap().to_string(), "/v1beta/models/m:generateContent?alt=sse");
        assert_eq!(key.as_deref(), Some("osk_1"));
        assert_eq!(take("/v1/x?key=osk_1").0.unwrap().to_string(), "/v1/x");
        let (uri, key) = take("/v1/x?k%65y=%6fsk_1&a=%20");
        assert_eq!((uri.unwrap().to_string().as_str(), key.as_deref()), ("/v1/x?a=%20", Some("osk_1")));
        assert_eq!(take("/v1/x?key=AIza").0, None);
        assert_eq!(take("/v1/x").0, None);
    }
}
