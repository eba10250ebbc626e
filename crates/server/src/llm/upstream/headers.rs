//! Which headers travel: the client's to the upstream, the upstream's to the client.
//!
//! Nothing that is ours (`x-omni-*`, an `osk_` key), that names hops, or that hints at who the client is goes up.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};

use super::{UpstreamConfig, UpstreamsError};
use crate::http::query;

/// Named in RFC 9110 7.6.1 as valid for one hop only, or describing a body that we rewrite.
const ONE_HOP: [&str; 11] = [
    "connection",
    "content-length",
    "host",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// The client's business with us, not with the upstream.
const OURS: [&str; 10] = [
    "accept-encoding",
    "authorization",
    "cookie",
    "expect",
    "forwarded",
    "idempotency-key",
    "via",
    "x-api-key",
    "x-goog-api-key",
    "x-real-ip",
];

/// Where Google's SDKs put a key; one in the query goes up here.
const GOOGLE: HeaderName = HeaderName::from_static("x-goog-api-key");

/// A credential of the client's own, not one of this gateway.
#[derive(Clone, Debug)]
pub(crate) struct ClientCredential {
    name: HeaderName,
    value: HeaderValue,
}

impl ClientCredential {
    /// Finds it in the places where the SDKs put one. A credential of this gateway is ours and never counts.
    pub(crate) fn find(headers: &HeaderMap, query: Option<&str>) -> Option<Self> {
        let places = [header::AUTHORIZATION, HeaderName::from_static("x-api-key"), GOOGLE];
        let header = places.into_iter().find_map(|name| {
            let value = headers.get(&name)?;
            let text = value.to_str().ok()?;
            is_foreign(text.strip_prefix("Bearer ").unwrap_or(text))
                .then(|| Self { name, value: value.clone() })
        });
        header.or_else(|| {
            let key = query::keys(query?).find(|key| is_foreign(key))?;
            Some(Self { name: GOOGLE, value: HeaderValue::from_str(&key).ok()? })
        })
    }

    /// Puts it back where it was.
    pub(crate) fn apply(&self, headers: &mut HeaderMap) {
        let mut value = self.value.clone();
        value.set_sensitive(true);
        headers.insert(self.name.clone(), value);
    }
}

fn is_foreign(secret: &str) -> bool {
    let secret = secret.trim();
    !secret.is_empty() && !query::is_ours(secret)
}

/// The headers of an upstream's configuration.
pub(super) fn configured_headers(config: &UpstreamConfig) -> Result<HeaderMap, UpstreamsError> {
    let mut out = HeaderMap::with_capacity(config.headers.len());
    for (header, text) in &config.headers {
        let bad =
            |problem| UpstreamsError::Header { name: config.name.clone(), header: header.clone(), problem };
        let name: HeaderName = header.parse().map_err(|_| bad("the name is not one"))?;
        if ONE_HOP.contains(&name.as_str()) {
            return Err(bad("it belongs to the connection"));
        }
        let mut value = HeaderValue::from_str(text).map_err(|_| bad("the value has a control character"))?;
        // It may be a credential.
        value.set_sensitive(true);
        out.insert(name, value);
    }
    Ok(out)
}

/// The client's headers as far as they go to an upstream, with a chat's body.
pub(crate) fn request_headers(client: &HeaderMap) -> HeaderMap {
    let mut out = forwarded_headers(client);
    out.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    out
}

/// The client's headers as far as they go to an upstream, with the client's own body.
pub(crate) fn forwarded_headers(client: &HeaderMap) -> HeaderMap {
    let mut out = HeaderMap::with_capacity(client.len());
    for (name, value) in client {
        let word = name.as_str();
        let stays = ONE_HOP.contains(&word)
            || OURS.contains(&word)
            || word.starts_with("x-omni-")
            || word.starts_with("x-forwarded-");
        if !stays {
            out.append(name.clone(), value.clone());
        }
    }
    out
}

/// The upstream's headers as far as they go to the client.
pub(crate) fn response_headers(upstream: &HeaderMap) -> HeaderMap {
    let mut out = HeaderMap::with_capacity(upstream.len());
    for (name, value) in upstream {
        if !ONE_HOP.contains(&name.as_str()) && name != header::SET_COOKIE {
            out.append(name.clone(), value.clone());
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(n, v)| (HeaderName::from_static(n), HeaderValue::from_static(v))).collect()
    }

    #[test]
    fn nothing_of_ours_goes_up() {
        let up = request_headers(&map(&[
            ("authorization", "Bearer osk_1"),
            ("x-api-key", "osk_1"),
            ("x-omni-session", "s"),
            ("x-forwarded-for", "10.0.0.1"),
            ("cookie", "a=b"),
            ("anthropic-version", "2023-06-01"),
        ]));
        let names: Vec<_> = up.keys().map(HeaderName::as_str).collect();
        assert_eq!(names, ["anthropic-version", "content-type"]);
    }

    #[test]
    fn configured_headers_are_checked() {
        let with = |name: &str, value: &str| {
            let headers = [(name.to_owned(), value.to_owned())].into();
            configured_headers(&UpstreamConfig { headers, ..UpstreamConfig::new("a", &[], "http://a", None) })
        };
        assert_eq!(with("OpenAI-Organization", "org").unwrap()["openai-organization"], "org");
        for (name, value) in [("a b", "x"), ("Host", "x"), ("content-length", "1"), ("x", "a\nb")] {
            assert!(with(name, value).is_err(), "{name}");
        }
    }

    #[test]
    fn only_foreign_credentials_are_the_clients_own() {
        let find = |pairs: &[(&'static str, &'static str)], query| ClientCredential::find(&map(pairs), query);
        assert!(find(&[("authorization", "Bearer osk_1")], None).is_none());
        assert!(find(&[("x-api-key", "osk_1")], Some("key=osk_1")).is_none());
        assert!(find(&[("authorization", "Bearer omt_1")], None).is_none());
        assert!(find(&[("authorization", "Bearer sk-1")], None).is_some());
        assert!(find(&[("x-api-key", "sk-ant")], None).is_some());
        let mut up = HeaderMap::new();
        find(&[], Some("alt=sse&k%65y=AI%7Aa")).unwrap().apply(&mut up);
        assert_eq!(up["x-goog-api-key"], "AIza");
    }
}
