//! `GET /api/artifacts/{id}`: a file that an execution left. Whoever wrote it is not trusted: a browser is told to store
//! it, not to show it.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use domain::{Artifact, Scope};

use crate::app::App;
use crate::authorise::{Resource, authorise};
use crate::caller::Caller;
use crate::error::{ApiError, Code};
use crate::http::Id;
use crate::openapi::schema::text;
use crate::openapi::{Operation, Tag};

/// What every artifact is sent as: its own media type may make a browser run it.
const MEDIA: &str = "application/octet-stream";

pub(crate) fn get_doc() -> Operation {
    Operation::new(Tag::Workspace, "getArtifact", "The bytes of an artifact")
        .about("Of one of the caller's own runs. `x-omni-media-type` says what the run called it.")
        .gives_as(StatusCode::OK, MEDIA, text().format("binary"))
        .errors(&[Code::ArtifactNotFound])
}

/// The handler. Somebody else's artifact is not there.
pub(crate) async fn get(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Id(id): Id,
) -> Result<Response, ApiError> {
    let missing = || {
        let id = domain::text::excerpt(&id, 60);
        ApiError::new(Code::ArtifactNotFound, format!("no artifact `{id}` of yours; it may have expired"))
    };
    let artifact = app.store.artifact(&id).await?;
    let may = |artifact: &Artifact| {
        authorise(&caller, Scope::ReadSkills, Resource::Of(&artifact.api_key_id)).is_ok()
    };
    let artifact = artifact.filter(may).ok_or_else(missing)?;
    let content = app.store.artifact_content(&id).await?.ok_or_else(missing)?;
    let mut response = Response::new(Body::from(content));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(MEDIA));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'; sandbox"));
    headers.insert(header::CONTENT_DISPOSITION, disposition(&artifact.name));
    if let Ok(mime) = HeaderValue::from_str(&artifact.mime) {
        headers.insert("x-omni-media-type", mime);
    }
    Ok(response)
}

/// `attachment`, with the name in the form that carries every character (RFC 8187).
fn disposition(name: &str) -> HeaderValue {
    use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
    let name = utf8_percent_encode(name, NON_ALPHANUMERIC);
    let text = format!("attachment; filename*=UTF-8''{name}");
    HeaderValue::from_str(&text).unwrap_or_else(|_| HeaderValue::from_static("attachment"))
}
