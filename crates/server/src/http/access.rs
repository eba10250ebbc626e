//! Who may call a route. Denied unless the route list says otherwise.

use axum::extract::Request;
use axum::http::header;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use domain::Scope;

use super::middleware::authenticate::Login;
use crate::authorise::{Denied, Resource, authorise};
use crate::caller::Caller;
use crate::error::{ApiError, Code};

/// What a route asks of its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Nothing.
    Public,
    /// A caller with this scope; management has all.
    Needs(Scope),
}

impl Access {
    /// Management only.
    pub const MANAGE: Self = Self::Needs(Scope::Manage);
}

/// Route layer: lets in whom `access` allows and puts the [`Caller`] into the extensions.
pub(crate) async fn guard(access: Access, mut request: Request, next: Next) -> Response {
    match admit(access, &request) {
        Ok(caller) => {
            request.extensions_mut().extend(caller.map(extension).unwrap_or_default());
            next.run(request).await
        }
        Err(error) => error.into_response(),
    }
}

fn extension(caller: Caller) -> axum::http::Extensions {
    let mut extensions = axum::http::Extensions::new();
    extensions.insert(caller);
    extensions
}

/// The caller, unless the route is public.
fn admit(access: Access, request: &Request) -> Result<Option<Caller>, ApiError> {
    let Access::Needs(scope) = access else { return Ok(None) };
    let caller = logged_in(request)?;
    match authorise(&caller, scope, Resource::Common) {
        Ok(()) => Ok(Some(caller)),
        Err(Denied::Stranger) => Err(unknown(request)),
        Err(denied) => Err(denied.into()),
    }
}

/// Whoever asks, with any credential that is known.
pub(crate) fn logged_in(request: &Request) -> Result<Caller, ApiError> {
    match request.extensions().get::<Login>() {
        Some(Login::As(caller)) => Ok(caller.clone()),
        Some(Login::Failed(error)) => Err(error.clone()),
        Some(Login::Unknown) => {
            Err(ApiError::unauthorized(Code::InvalidCredential, "the API key or token is unknown or revoked"))
        }
        Some(Login::Nobody) | None => Err(unknown(request)),
    }
}

/// For paths that do not exist: says so only to somebody known.
pub(crate) fn known(request: &Request) -> Result<(), ApiError> {
    match logged_in(request)? {
        Caller::Anonymous => Err(unknown(request)),
        Caller::Management | Caller::Token(_) | Caller::Key(_) => Ok(()),
    }
}

fn unknown(request: &Request) -> ApiError {
    if request.headers().contains_key(header::AUTHORIZATION) {
        let message =
            "the credential is not one of this gateway; this needs an API key or the management token";
        return ApiError::unauthorized(Code::InvalidCredential, message);
    }
    Denied::Stranger.into()
}
