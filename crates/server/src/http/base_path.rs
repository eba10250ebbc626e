//! The path under which a proxy in front serves the gateway. Routes do not know it.

use axum::extract::Request;
use axum::http::Uri;

/// Takes the base path off the address, where it is there: some proxies take it away themselves.
pub(super) fn take_off<B>(request: &mut Request<B>, base: &str) {
    if let Some(uri) = without(request.uri(), base) {
        *request.uri_mut() = uri;
    }
}

/// The address without `base` (`/a`, without a slash at its end); none if it does not begin so.
fn without(uri: &Uri, base: &str) -> Option<Uri> {
    let rest = uri.path().strip_prefix(base).filter(|_| !base.is_empty())?;
    if !rest.is_empty() && !rest.starts_with('/') {
        return None;
    }
    let path = if rest.is_empty() { "/" } else { rest };
    let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(format!("{path}{query}").parse().ok()?);
    Uri::from_parts(parts).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_segments_are_taken_off() {
        let take = |uri: &'static str, base| without(&Uri::from_static(uri), base).map(|uri| uri.to_string());
        assert_eq!(take("/skills/api/x?a=1", "/skills").as_deref(), Some("/api/x?a=1"));
        assert_eq!(take("/skills", "/skills").as_deref(), Some("/"));
        assert_eq!(take("http://h:1/a/b/v1", "/a/b").as_deref(), Some("http://h:1/v1"));
        assert_eq!(take("/skillsx/api", "/skills"), None);
        assert_eq!(take("/api", "/skills"), None);
        assert_eq!(take("/api", ""), None);
    }
}
