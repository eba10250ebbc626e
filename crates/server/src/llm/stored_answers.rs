//! Stored answers asked for by id: shown, listed, cancelled and deleted as the client knows them.
//!
//! With the server's credential a key reaches only the answers that it was given; any other is not found, and the
//! provider is not asked. What the gateway hid from an answer stays hidden.

use axum::body::Body;
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::Response;
use dialects::{Dialect, WireError};
use domain::Scope;
use domain::limits::PROXY_BODY_BYTES;
use serde_json::{Map, Value};

use super::failure::error;
use super::issued::{self, Note, not_found};
use super::other_paths::{Other, forward, whole};
use super::upstream::{ClientCredential, Forwarded, Remote, Upstream};
use crate::app::App;
use crate::caller::Caller;

/// Path on which tokens are counted, of an earlier answer's conversation too.
pub(super) const INPUT_TOKENS: &str = "responses/input_tokens";

/// What is asked of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish {
    Show,
    Delete,
    Cancel,
    /// What the answer was asked with.
    Input,
}

/// A request for an answer by its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Asked<'a> {
    id: &'a str,
    wish: Wish,
}

impl<'a> Asked<'a> {
    /// Reads it from what follows the version in a path.
    pub(super) fn read(dialect: &dyn Dialect, method: &Method, path: &'a str) -> Option<Self> {
        let rest = path.strip_prefix("responses/").filter(|_| dialect.provider() == "openai")?;
        let (id, behind) = rest.split_once('/').map_or((rest, None), |(id, behind)| (id, Some(behind)));
        let wish = match (method.as_str(), behind) {
            ("GET", None) => Wish::Show,
            ("DELETE", None) => Wish::Delete,
            ("POST", Some("cancel")) => Wish::Cancel,
            ("GET", Some("input_items")) => Wish::Input,
            _ => return None,
        };
        Some(Self { id, wish })
    }

    /// Path and query of the same request for an id of the provider's.
    fn target(self, id: &str, uri: &Uri) -> String {
        let behind = match self.wish {
            Wish::Show | Wish::Delete => "",
            Wish::Cancel => "/cancel",
            Wish::Input => "/input_items",
        };
        let whole = super::receive::target(uri);
        let query = whole.split_once('?').map(|(_, query)| format!("?{query}")).unwrap_or_default();
        format!("/v1/responses/{id}{behind}{query}")
    }
}

/// Writes the provider's name of the answer that a body goes on with into it.
pub(super) async fn rename_previous(app: &App, caller: &Caller, other: &mut Other) -> Result<(), WireError> {
    const PREVIOUS: &str = "previous_response_id";
    const CONVERSATION: &str = "conversation";
    let Some(speaker) = speaker() else { return Ok(()) };
    let bytes = whole(std::mem::take(&mut other.body)).await?;
    other.body = Body::from(bytes.clone());
    let Ok(mut value) = serde_json::from_slice::<Map<String, Value>>(&bytes) else { return Ok(()) };
    let conversation = value.get(CONVERSATION).map(|c| c.get("id").unwrap_or(c));
    let named = value.get(PREVIOUS).filter(|id| !id.is_null()).or(conversation);
    let Some(id) = named.and_then(Value::as_str) else { return Ok(()) };
    let own = ClientCredential::find(&other.headers, other.uri.query());
    let upstreams = app.upstreams();
    let first = upstreams.of_provider("openai", None).next();
    let may_any = first.is_some_and(|first| first.takes(own.as_ref())) || caller.may(Scope::Passthrough);
    let note = issued::of_the_key(issued::find(app, caller.owner(), speaker, id).await, id, may_any)?;
    let last = note.and_then(|note| note.issued.ids.last().cloned()).filter(|last| last != id);
    if let Some(last) = last.filter(|_| value.contains_key(PREVIOUS)) {
        value.insert(PREVIOUS.to_owned(), last.into());
        let body = Value::Object(value).to_string();
        other.headers.insert(header::CONTENT_LENGTH, body.len().into());
        other.body = Body::from(body);
    }
    Ok(())
}

/// The dialect whose answers have ids.
fn speaker() -> Option<&'static dyn Dialect> {
    dialects::ALL.iter().copied().find(|dialect| dialect.names_answers() && dialect.provider() == "openai")
}

/// Answers it. None if the key was not given that id, but may ask the provider for any.
pub(super) async fn answer(
    app: &App,
    caller: &Caller,
    asked: Asked<'_>,
    other: &mut Other,
) -> Result<Option<Response>, WireError> {
    let Some(speaker) = speaker() else { return Ok(None) };
    let own = ClientCredential::find(&other.headers, other.uri.query());
    let note = issued::find(app, caller.owner(), speaker, asked.id).await;
    let all = app.upstreams();
    let mut upstreams = all.of_provider("openai", None);
    let first = all.of_provider("openai", None).next();
    let may_any = first.is_some_and(|first| first.takes(own.as_ref())) || caller.may(Scope::Passthrough);
    let Some(note) = issued::of_the_key(note, asked.id, may_any)? else { return Ok(None) };
    let upstream = upstreams.find(|upstream| upstream.name() == note.upstream);
    let upstream = upstream.ok_or_else(|| not_found(asked.id))?;
    let ask =
        Ask { upstream, asked, note: &note, headers: &other.headers, uri: &other.uri, own: own.as_ref() };
    let body = std::mem::take(&mut other.body);
    ask.answer(speaker, other.dialect, other.method.clone(), body).await.map(Some)
}

/// One request for an answer that the key was given.
struct Ask<'a> {
    upstream: &'a Remote,
    asked: Asked<'a>,
    note: &'a Note,
    headers: &'a HeaderMap,
    uri: &'a Uri,
    own: Option<&'a ClientCredential>,
}

impl Ask<'_> {
    async fn answer(
        self,
        speaker: &dyn Dialect,
        dialect: &dyn Dialect,
        method: Method,
        body: Body,
    ) -> Result<Response, WireError> {
        let issued = &self.note.issued;
        let is_plain = issued.is_plain(self.asked.id);
        if !is_plain && self.wish_is_stream() {
            let message = "this answer cannot be streamed a second time; ask for it without `stream`";
            return Err(error(StatusCode::BAD_REQUEST, "bad_request", message));
        }
        // What the turn was asked with is what its first round was.
        let id = if self.asked.wish == Wish::Input { issued.ids.first() } else { issued.ids.last() };
        let id = id.ok_or_else(|| not_found(self.asked.id))?;
        let response = self.forward(dialect, method, id, body).await?;
        if self.asked.wish == Wish::Delete && response.status().is_success() {
            self.delete_earlier(dialect, id).await;
        }
        if is_plain { Ok(response) } else { self.shown(speaker, response).await }
    }

    /// The rounds before the last are nothing that anybody could ask for any more.
    async fn delete_earlier(&self, dialect: &dyn Dialect, last: &str) {
        for id in self.note.issued.ids.iter().filter(|id| *id != last) {
            let failed = match self.forward(dialect, Method::DELETE, id, Body::empty()).await {
                Ok(answer) if answer.status().is_success() || answer.status() == StatusCode::NOT_FOUND => {
                    continue;
                }
                Ok(answer) => answer.status().to_string(),
                Err(error) => error.message,
            };
            tracing::warn!(reason = failed, "a round of a deleted answer is still stored by its provider");
        }
    }

    fn wish_is_stream(&self) -> bool {
        self.asked.wish == Wish::Show
            && crate::http::query::values(self.uri.query().unwrap_or_default(), "stream")
                .any(|value| value == "true")
    }

    async fn forward(
        &self,
        dialect: &dyn Dialect,
        method: Method,
        id: &str,
        body: Body,
    ) -> Result<Response, WireError> {
        let target = self.asked.target(id, self.uri);
        let request =
            Forwarded { dialect, method, target: &target, headers: self.headers, credential: self.own, body };
        forward(self.upstream, request).await
    }

    /// The provider's answer as the client may see it.
    async fn shown(&self, speaker: &dyn Dialect, response: Response) -> Result<Response, WireError> {
        let (mut parts, body) = response.into_parts();
        let broken = || {
            let message = "the upstream's answer broke off or is too large; ask again";
            error(StatusCode::BAD_GATEWAY, "upstream_broken", message)
        };
        let bytes = axum::body::to_bytes(body, PROXY_BODY_BYTES).await.map_err(|_| broken())?;
        let shown = speaker.retrieved(&bytes, self.asked.id, &self.note.issued);
        // What cannot be read may show what is hidden.
        let shown = shown.ok_or_else(broken)?;
        parts.headers.remove(header::CONTENT_LENGTH);
        Ok(Response::from_parts(parts, Body::from(shown)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_an_answer_and_a_wish() {
        let read = |dialect: &str, method: &str, path: &'static str| {
            Asked::read(dialects::by_name(dialect).unwrap(), &method.parse().unwrap(), path)
        };
        for (method, path, wish) in [
            ("GET", "responses/r", Wish::Show),
            ("DELETE", "responses/r", Wish::Delete),
            ("POST", "responses/r/cancel", Wish::Cancel),
            ("GET", "responses/r/input_items", Wish::Input),
        ] {
            let asked = read("openai_chat", method, path).unwrap();
            assert_eq!(asked, Asked { id: "r", wish });
            let target = asked.target("last", &"/v1/responses/r?limit=2&k%65y=x".parse().unwrap());
            assert_eq!(target, format!("/v1/{}?limit=2", path.replace("/r", "/last")));
            assert_eq!(read("gemini", method, path), None);
        }
        for (method, path) in [
            ("POST", "responses/r"),
            ("GET", "responses/r/cancel"),
            ("GET", "responses/r/input_items/x"),
            ("POST", "responses/input_tokens"),
            ("GET", "responses"),
        ] {
            assert_eq!(read("openai_chat", method, path), None, "{method} {path}");
        }
    }
}
