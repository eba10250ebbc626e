//! Which headers travel: the client's to the upstream, the upstream's to the client.
//!
//! Nothing that is ours (`x-omni-*`, an `osk_` key), that names hops, or that hints at who the client is goes up.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};

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

/// A credential of the client's own, not one of this gateway.
#[derive(Clone, Debug)]
pub(crate) struct ClientCredential {
    name: HeaderName,
    value: HeaderValue,
}

impl ClientCredential {
    /// Finds it in the places where the SDKs put one. An `osk_` key is ours and never counts.
    pub(crate) fn find(headers: &HeaderMap) -> Option<Self> {
        [header::AUTHORIZATION, HeaderName::from_static("x-api-key")].into_iter().find_map(|name| {
            let value = headers.get(&name)?;
            let text = value.to_str().ok()?;
            let secret = text.strip_prefix("Bearer ").unwrap_or(text).trim();
            let own = !secret.is_empty() && !secret.starts_with("osk_") && !secret.starts_with("omt_");
            own.then(|| Self { name, value: value.clone() })
        })
    }

    /// Puts it back where it was.
    pub(crate) fn apply(&self, headers: &mut HeaderMap) {
        let mut value = self.value.clone();
        value.set_sensitive(true);
        headers.insert(self.name.clone(), value);
    }
}

/// The client's headers as far as they go to an upstream.
pub(crate) fn request_headers(client: &HeaderMap) -> HeaderMap {
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
    out.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
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
    fn only_foreign_credentials_are_the_clients_own() {
        assert!(ClientCredential::find(&map(&[("authorization", "Bearer osk_1")])).is_none());
        assert!(ClientCredential::find(&map(&[("x-api-key", "osk_1")])).is_none());
        assert!(ClientCredential::find(&map(&[("authorization", "Bearer omt_1")])).is_none());
        assert!(ClientCredential::find(&map(&[("authorization", "Bearer sk-1")])).is_some());
        assert!(ClientCredential::find(&map(&[("x-api-key", "sk-ant")])).is_some());
    }
}
