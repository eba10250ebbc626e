//! Host and Origin: keeps pages of other sites from using a gateway on somebody's own machine.
//!
//! A page can make a browser call any address, and with DNS rebinding even as the same origin; what it cannot do is
//! choose the Host and Origin that the browser sends.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, header};
use axum::middleware::Next;
use axum::response::Response;

use super::client::Client;
use crate::app::{App, ServerConfig};
use crate::error::{ApiError, Code};

/// Middleware.
pub(crate) async fn check(
    State(app): State<Arc<App>>,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let host = named(&request)?;
    // Bound elsewhere nobody is anonymous, and a credential is what a foreign page does not have.
    let config = app.config();
    if config.loopback && !is_loopback(&host) && !listed(&config.allowed_hosts, &host) {
        return Err(ApiError::new(
            Code::HostRefused,
            "this gateway does not answer to that Host; add it to `allowed_hosts` if it is yours",
        ));
    }
    if request.uri().path().starts_with("/api") && is_cross_site(request.headers(), host.host(), &config) {
        return Err(ApiError::new(Code::OriginRefused, "requests from pages of other sites are refused"));
    }
    Ok(next.run(request).await)
}

/// Whether a page of another site sent it, as seen from a request that [`check`] let through.
pub(crate) fn is_foreign_page(request: &Request, config: &ServerConfig) -> bool {
    named(request).map_or(true, |host| is_cross_site(request.headers(), host.host(), config))
}

/// The host that the client named: to us, or to a proxy whose word is taken.
fn named(request: &Request) -> Result<Authority, ApiError> {
    let direct = requested(request)?;
    let Some(host) = request.extensions().get::<Client>().and_then(|client| client.host.as_deref()) else {
        return Ok(direct);
    };
    let host =
        host.parse::<Authority>().ok().filter(|host| !host.host().is_empty() && !host.as_str().contains('@'));
    host.ok_or_else(|| ApiError::new(Code::InvalidHost, "the proxy in front names no valid host"))
}

/// The host that the request names; exactly one.
fn requested(request: &Request) -> Result<Authority, ApiError> {
    if let Some(authority) = request.uri().authority() {
        return Ok(authority.clone());
    }
    let mut hosts = request.headers().get_all(header::HOST).iter();
    let (first, second) = (hosts.next(), hosts.next());
    let host = first.filter(|_| second.is_none()).and_then(|h| h.to_str().ok());
    let host = host.filter(|h| !h.contains('@')).and_then(|h| h.parse::<Authority>().ok());
    host.filter(|h| !h.host().is_empty())
        .ok_or_else(|| ApiError::new(Code::InvalidHost, "the request needs exactly one valid Host header"))
}

fn is_cross_site(headers: &HeaderMap, host: &str, config: &ServerConfig) -> bool {
    headers.get_all(header::ORIGIN).iter().any(|origin| {
        let origin = origin.to_str().unwrap_or_default();
        let web = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        match web.and_then(|rest| rest.parse::<Authority>().ok()) {
            Some(origin) => {
                !bare(origin.host()).eq_ignore_ascii_case(bare(host))
                    && !listed(&config.allowed_hosts, &origin)
            }
            None => true,
        }
    })
}

/// A host without the dot and brackets that do not change its meaning.
fn bare(host: &str) -> &str {
    let host = host.strip_suffix('.').unwrap_or(host);
    host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host)
}

fn is_loopback(host: &Authority) -> bool {
    let host = bare(host.host());
    if let Ok(ip) = host.parse::<IpAddr>() {
        return ip.to_canonical().is_loopback();
    }
    let host = host.to_ascii_lowercase();
    host == "localhost" || host.ends_with(".localhost")
}

/// Entries are host names, with a port or without.
fn listed(allowed: &[String], host: &Authority) -> bool {
    allowed.iter().any(|entry| {
        entry.eq_ignore_ascii_case(host.as_str()) || bare(entry).eq_ignore_ascii_case(bare(host.host()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_loopback_by_name_and_number() {
        for yes in [
            "localhost",
            "LOCALHOST:1",
            "a.localhost:80",
            "127.0.0.1:20128",
            "127.9.9.9",
            "[::1]:1",
            "localhost.",
        ] {
            assert!(is_loopback(&yes.parse().unwrap()), "{yes}");
        }
        for no in [
            "evil.example",
            "localhost.evil.example",
            "10.0.0.1",
            "[::2]",
            "127.0.0.1.evil.example",
            "notlocalhost",
        ] {
            assert!(!is_loopback(&no.parse().unwrap()), "{no}");
        }
    }

    #[test]
    fn listed_hosts_match_with_any_port_or_exactly() {
        let allowed = vec!["Gateway.example".to_owned(), "other.example:8443".to_owned()];
        assert!(listed(&allowed, &"gateway.example:1".parse().unwrap()));
        assert!(listed(&allowed, &"other.example:8443".parse().unwrap()));
        assert!(!listed(&allowed, &"other.example:1".parse().unwrap()));
        assert!(!listed(&allowed, &"x.gateway.example".parse().unwrap()));
    }
}
