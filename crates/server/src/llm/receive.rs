//! The first step: whose request is it, what does it ask, which upstream answers.
//!
//! Everything that can be refused is refused here, before a byte goes to an upstream.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::rejection::BytesRejection;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use bytes::Bytes;
use dialects::{ClientRequest, Dialect, WireError};
use domain::limits::PROXY_BODY_BYTES;
use domain::{Policy, Scope, Skill, SkillRef};

use super::budgets::Budgets;
use super::options::Options;
use super::upstream::{ClientCredential, Upstream};
use super::{failure, inject, kept, respond};
use crate::app::{App, ServerConfig};
use crate::caller::Caller;
use crate::http::{self, query};

/// A request that may go on.
pub(super) struct Received {
    pub(super) app: Arc<App>,
    /// The settings when it came: a change in between is for later requests.
    pub(super) config: Arc<ServerConfig>,
    pub(super) dialect: &'static dyn Dialect,
    pub(super) caller: Caller,
    pub(super) headers: HeaderMap,
    pub(super) options: Options,
    pub(super) request: ClientRequest,
    /// Skills that the request names itself, in its header and in its tools.
    pub(super) named: Vec<SkillRef>,
    pub(super) upstream: Arc<dyn Upstream>,
    pub(super) credential: Option<ClientCredential>,
    /// The end user, when known.
    pub(super) user: Option<String>,
    /// The conversation, when known.
    pub(super) session: Option<String>,
    pub(super) turn_id: String,
    /// Bounds of this turn: the gateway's, narrowed by the key's and the request's.
    pub(super) budgets: Budgets,
    /// `Idempotency-Key`, for runs that happen once however often the request comes.
    pub(super) idempotency_key: Option<String>,
}

impl Received {
    /// The policy of a skill for this caller: what an operator set for the key, else for the process, else the
    /// skill's own.
    pub(super) fn policy(&self, skill: &Skill) -> Policy {
        let here = self.config.policies.get(&skill.name).copied();
        self.caller.policy(&skill.name).or(here).unwrap_or(skill.policy)
    }

    /// Whether somebody bounds the tokens of this turn or of its key, so that the upstream has to report them.
    pub(super) fn counts_tokens(&self) -> bool {
        self.budgets.tokens.is_some() || self.caller.limits().tokens_per_day.is_some()
    }

    /// How long a call may wait for a person.
    pub(super) fn approval_wait(&self) -> Duration {
        let waits = &self.config.approval;
        if self.request.stream { waits.stream } else { waits.plain }
    }

    /// Whether skills that are not built in may run.
    pub(super) fn custom_allowed(&self) -> bool {
        self.caller.custom_skills() && !self.options.custom_off
    }
}

/// Answers one request of `dialect`.
pub(super) async fn receive(
    dialect: &'static dyn Dialect,
    app: Arc<App>,
    caller: Caller,
    uri: Uri,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let mut received = match read(dialect, app, caller, &uri, headers, body) {
        Ok(received) => received,
        Err(error) => return failure::response(dialect, &error),
    };
    if let Err(error) = kept::restore(&mut received).await {
        return failure::response(dialect, &error);
    }
    let injected = inject::inject(&received);
    if injected.is_idle() && !received.counts_tokens() {
        respond::pass_through(received, injected).await
    } else {
        respond::turn(received, injected).await
    }
}

fn read(
    dialect: &'static dyn Dialect,
    app: Arc<App>,
    caller: Caller,
    uri: &Uri,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Received, WireError> {
    if !caller.may(Scope::Proxy) {
        let message = "this API key lacks the scope `proxy`; give it that scope or use another key";
        return Err(failure::error(StatusCode::FORBIDDEN, "missing_scope", message));
    }
    let body = body.map_err(|rejection| unreadable(&rejection))?;
    let options = Options::read(&headers);
    let options =
        options.map_err(|e| failure::error(StatusCode::BAD_REQUEST, "bad_header", e.to_string()))?;
    let request = dialect.read_request(&target(uri), body);
    let request =
        request.map_err(|e| failure::error(StatusCode::BAD_REQUEST, "bad_request", e.to_string()))?;
    let fit = options.fit(&request);
    fit.map_err(|e| failure::error(StatusCode::BAD_REQUEST, "bad_header", e.to_string()))?;
    let named = named(&options, &request)?;
    let upstream = app.upstreams().pick(dialect.name(), &request.model);
    let upstream = upstream.ok_or_else(|| no_upstream(&app, dialect, &request.model))?;
    let user = options.user.clone().or_else(|| request.user.clone());
    if caller.requires_user() && user.is_none() {
        return Err(no_user(dialect));
    }
    let session = options.session.clone();
    let session = session.or_else(|| session_of(&caller, user.as_deref(), begins(&request)));
    let credential = ClientCredential::find(&headers, uri.query());
    let turn_id = domain::ids::new_id();
    let config = app.config();
    let budgets = config.budgets.narrowed(caller.budgets()).narrowed(options.budgets);
    let idempotency_key = http::idempotency_key(&headers);
    let idempotency_key =
        idempotency_key.map_err(|e| failure::error(StatusCode::BAD_REQUEST, "bad_header", e))?;
    Ok(Received {
        app,
        config,
        dialect,
        caller,
        headers,
        options,
        request,
        named,
        upstream,
        credential,
        user,
        session,
        turn_id,
        budgets,
        idempotency_key,
    })
}

/// Path and query as an upstream may see them: a key in the query is a credential, and not for its log.
pub(super) fn target(uri: &Uri) -> String {
    let query = query::without(uri.query().unwrap_or_default(), query::is_credential);
    if query.is_empty() { uri.path().to_owned() } else { format!("{}?{query}", uri.path()) }
}

fn named(options: &Options, request: &ClientRequest) -> Result<Vec<SkillRef>, WireError> {
    let mut named = options.named.clone();
    for text in &request.omni_entries {
        let skill = SkillRef::parse(text);
        let bad =
            |e| failure::error(StatusCode::BAD_REQUEST, "bad_request", format!("tool `omni:{text}`: {e}"));
        named.push(skill.map_err(bad)?);
    }
    Ok(named)
}

fn unreadable(rejection: &BytesRejection) -> WireError {
    let status = rejection.status();
    if status == StatusCode::PAYLOAD_TOO_LARGE {
        let message = format!("the body is larger than {PROXY_BODY_BYTES} bytes; send less");
        return failure::error(status, "body_too_large", message);
    }
    failure::error(
        StatusCode::BAD_REQUEST,
        "bad_request",
        "the body could not be read to its end; send it again",
    )
}

fn no_user(dialect: &dyn Dialect) -> WireError {
    let message = format!(
        "chats of this API key have to say who the end user is: send `x-omni-user`, or the body's own user field \
         where {} has one",
        dialect.name()
    );
    failure::error(StatusCode::BAD_REQUEST, "missing_user", message)
}

fn no_upstream(app: &App, dialect: &dyn Dialect, model: &str) -> WireError {
    let model = domain::text::excerpt(model, 80);
    let hint = if app.upstreams().has_demo() { ", or use the model `demo`" } else { "" };
    let message = format!(
        "no upstream for the model `{model}` in the dialect {}; add an [[upstreams]] entry whose `dialect` and \
         `models` match{hint}",
        dialect.name()
    );
    failure::error(StatusCode::NOT_FOUND, "model_not_found", message)
}

/// What tells a conversation from others: its id, or how it began.
fn begins(request: &ClientRequest) -> Option<&str> {
    request.conversation.as_deref().or(request.first_user_text.as_deref())
}

/// A stable name for a conversation that has none: who, and how it began.
fn session_of(caller: &Caller, user: Option<&str>, first: Option<&str>) -> Option<String> {
    let first = first?;
    // Lengths keep ("ab", "c") and ("a", "bc") apart.
    let parts =
        [caller.owner(), user.unwrap_or_default(), first].map(|part| format!("{} {part}", part.len()));
    let hash = domain::ids::sha256_hex(parts.concat());
    Some(format!("auto-{}", domain::text::prefix_bytes(&hash, 32)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_in_the_query_does_not_go_up() {
        let target = |text: &str| target(&text.parse().unwrap());
        assert_eq!(target("/v1/messages?beta=true&key=secret"), "/v1/messages?beta=true");
        assert_eq!(target("/v1/messages?key=secret"), "/v1/messages");
        assert_eq!(target("/v1/messages?k%65y=osk_1&a=%6Fsk_2&b=%20"), "/v1/messages?b=%20");
    }

    #[test]
    fn a_session_is_stable_and_separates_users() {
        let one = session_of(&Caller::Anonymous, Some("u"), Some("hello"));
        assert_eq!(one, session_of(&Caller::Anonymous, Some("u"), Some("hello")));
        assert_ne!(one, session_of(&Caller::Anonymous, Some("v"), Some("hello")));
        assert_ne!(one, session_of(&Caller::Management, Some("u"), Some("hello")));
        assert_ne!(
            session_of(&Caller::Anonymous, Some("ab"), Some("c")),
            session_of(&Caller::Anonymous, Some("a"), Some("bc"))
        );
        assert_eq!(session_of(&Caller::Anonymous, None, None), None);
    }
}
