//! Who is at the other end: the address of the client, the host it named, and whether it came over TLS, where proxies
//! that an operator trusts stand in between.
//!
//! Headers of anybody else are never believed, and never make anyone local.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::middleware::Next;
use axum::response::Response;
use ipnet::IpNet;

use crate::app::App;

/// Longest list of proxies that is walked.
const HOPS: usize = 32;

/// The other end of the connection; from the listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Peer {
    pub(crate) address: IpAddr,
    /// Whether the connection to us is encrypted.
    pub(crate) tls: bool,
}

/// What is known about the client of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Client {
    /// Its address; none where the listener did not say (tests).
    pub(crate) address: Option<IpAddr>,
    /// The host that it named to the outermost trusted proxy.
    pub(crate) host: Option<String>,
    /// Whether it came over TLS.
    pub(crate) tls: bool,
}

/// Middleware.
pub(crate) async fn find(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    let peer = request.extensions().get::<Peer>().copied();
    let client = read(peer, request.headers(), &app.config().trusted_proxies);
    request.extensions_mut().insert(client);
    next.run(request).await
}

/// Whether a proxy says that it handed the request on, be it one that is trusted or not.
pub(crate) fn was_proxied(headers: &HeaderMap) -> bool {
    headers.keys().any(|name| {
        let name = name.as_str();
        matches!(name, "forwarded" | "via" | "x-real-ip") || name.starts_with("x-forwarded-")
    })
}

fn read(peer: Option<Peer>, headers: &HeaderMap, trusted: &[IpNet]) -> Client {
    let Some(peer) = peer else { return Client::default() };
    let direct = Client { address: Some(peer.address), host: None, tls: peer.tls };
    let is_trusted = |address: &IpAddr| trusted.iter().any(|net| net.contains(address));
    if !is_trusted(&peer.address) {
        return direct;
    }
    let hops = if headers.contains_key("forwarded") { forwarded(headers) } else { x_forwarded(headers) };
    // From us outward, as far as everyone who vouches is trusted.
    let mut client = direct;
    for hop in hops.into_iter().rev().take(HOPS) {
        client.host = hop.host.or(client.host);
        client.tls = hop.tls.unwrap_or(client.tls);
        // An address that cannot be read (`unknown`, `_hidden`) ends what is known.
        client.address = hop.address;
        if !client.address.as_ref().is_some_and(is_trusted) {
            break;
        }
    }
    client
}

/// What one proxy says about whoever asked it.
#[derive(Default)]
struct Hop {
    address: Option<IpAddr>,
    host: Option<String>,
    tls: Option<bool>,
}

/// `Forwarded` (RFC 7239), the outermost first.
fn forwarded(headers: &HeaderMap) -> Vec<Hop> {
    let values = headers.get_all("forwarded").iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| split(value, ',')).map(|element| hop(&element)).collect()
}

fn hop(element: &str) -> Hop {
    let mut hop = Hop::default();
    for pair in split(element, ';') {
        let Some((name, value)) = pair.split_once('=') else { continue };
        let value = value.trim().trim_matches('"');
        match name.trim().to_ascii_lowercase().as_str() {
            "for" => hop.address = address(value),
            "host" => hop.host = Some(value.to_owned()),
            "proto" => hop.tls = Some(value.eq_ignore_ascii_case("https")),
            _ => {}
        }
    }
    hop
}

/// `X-Forwarded-*`, else `X-Real-IP`. Hosts and protocols may be fewer than addresses: the last belong to the last.
fn x_forwarded(headers: &HeaderMap) -> Vec<Hop> {
    let all = |name: &str| -> Vec<String> {
        let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
        values.flat_map(|value| split(value, ',')).filter(|item| !item.is_empty()).collect()
    };
    let mut addresses = all("x-forwarded-for");
    if addresses.is_empty() {
        addresses = all("x-real-ip");
    }
    let (hosts, protos) = (all("x-forwarded-host"), all("x-forwarded-proto"));
    let count = addresses.len().max(hosts.len()).max(protos.len());
    let nth =
        |list: &[String], n: usize| (n + list.len()).checked_sub(count).and_then(|n| list.get(n).cloned());
    let hop = |n| Hop {
        address: nth(&addresses, n).and_then(|text| address(&text)),
        host: nth(&hosts, n),
        tls: nth(&protos, n).map(|proto| proto.eq_ignore_ascii_case("https")),
    };
    (0..count).map(hop).collect()
}

/// An address, with a port or without, an IPv6 one in brackets or without.
fn address(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    let bare = text.strip_prefix('[').and_then(|rest| rest.split_once(']')).map_or(text, |(inner, _)| inner);
    let whole = bare.parse::<IpAddr>().ok();
    let without_port = || bare.rsplit_once(':').and_then(|(address, _)| address.parse::<IpAddr>().ok());
    whole.or_else(without_port).map(|address| address.to_canonical())
}

/// Splits at a mark outside of quotes.
fn split(text: &str, mark: char) -> Vec<String> {
    let mut quoted = false;
    let at_mark = |c: char| {
        quoted ^= c == '"';
        c == mark && !quoted
    };
    text.split(at_mark).map(|part| part.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(peer: &str, trusted: &[&str], headers: &[(&'static str, &str)]) -> Client {
        let peer = Peer { address: peer.parse().unwrap(), tls: false };
        let trusted: Vec<IpNet> = trusted.iter().map(|net| net.parse().unwrap()).collect();
        let headers = headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
        read(Some(peer), &headers.collect(), &trusted)
    }

    fn seen(address: &str, host: Option<&str>, tls: bool) -> Client {
        Client { address: address.parse().ok(), host: host.map(str::to_owned), tls }
    }

    #[test]
    fn nobody_else_is_believed() {
        let headers = [("x-forwarded-for", "1.2.3.4"), ("forwarded", "for=1.2.3.4;proto=https;host=a")];
        assert_eq!(client("9.9.9.9", &[], &headers), seen("9.9.9.9", None, false));
        assert_eq!(client("9.9.9.9", &["10.0.0.0/8"], &headers), seen("9.9.9.9", None, false));
    }

    #[test]
    fn a_trusted_proxy_says_who_asked() {
        let headers = [
            ("x-forwarded-for", "1.2.3.4"),
            ("x-forwarded-proto", "https"),
            ("x-forwarded-host", "a.example"),
        ];
        assert_eq!(client("10.0.0.1", &["10.0.0.0/8"], &headers), seen("1.2.3.4", Some("a.example"), true));
        let standard = [("forwarded", "for=\"[2001:db8::1]:99\";host=\"a.example:8\";proto=HTTPS;by=_x")];
        assert_eq!(
            client("10.0.0.1", &["10.0.0.0/8"], &standard),
            seen("2001:db8::1", Some("a.example:8"), true)
        );
        assert_eq!(client("::1", &["::1/128"], &[("x-real-ip", "1.2.3.4")]), seen("1.2.3.4", None, false));
    }

    #[test]
    fn what_the_client_made_up_is_not_believed() {
        // The client sent a header of its own, to which the proxy added who it saw.
        let forged = [("x-forwarded-for", "6.6.6.6, 1.2.3.4")];
        assert_eq!(client("10.0.0.1", &["10.0.0.0/8"], &forged), seen("1.2.3.4", None, false));
        let chain = [("x-forwarded-for", "6.6.6.6, 1.2.3.4, 10.0.0.2")];
        assert_eq!(client("10.0.0.1", &["10.0.0.0/8"], &chain), seen("1.2.3.4", None, false));
        let forged = [("forwarded", "for=6.6.6.6;host=evil, for=1.2.3.4;host=good")];
        assert_eq!(client("10.0.0.1", &["10.0.0.0/8"], &forged), seen("1.2.3.4", Some("good"), false));
        let hidden = [("forwarded", "for=unknown")];
        assert_eq!(client("10.0.0.1", &["10.0.0.0/8"], &hidden).address, None);
    }
}
