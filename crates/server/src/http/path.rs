//! The `{id}` of a path. One that cannot be read names nothing, so it is not found.

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;

use crate::error::{ApiError, Code};

/// The one parameter of a path.
pub(crate) struct Id(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for Id {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        match Path::<String>::from_request_parts(parts, state).await {
            Ok(Path(id)) => Ok(Self(id)),
            Err(_) => Err(ApiError::new(Code::RouteNotFound, "the id in the path cannot be read")),
        }
    }
}
