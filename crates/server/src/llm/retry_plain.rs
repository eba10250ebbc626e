//! A model that takes no tools refuses a request only because of ours: it is asked once more without them.
//!
//! Only in round 1, only when the client declares no tools of its own, and never when anything has run.

use axum::http::StatusCode;
use axum::response::Response;
use dialects::ToolPlace;
use registry::SkipReason;

use super::turn::{Broken, Turn};
use super::{failure, respond};

/// Whether a refusal of round 1 may be about our tools.
pub(super) fn may_be_ours(turn: &Turn, status: StatusCode) -> bool {
    let request = &turn.received.request;
    status == StatusCode::BAD_REQUEST
        && !turn.injected.is_idle()
        && request.client_tools.is_empty()
        && request.tool_place == ToolPlace::Body
}

/// Asks without our tools. Refused again, they were not the cause and nothing is remembered: the client gets what
/// the upstream says to its own request.
pub(super) async fn ask_without_tools(mut turn: Turn) -> Response {
    let reason = SkipReason::ToolsRefused;
    turn.injected.withdraw(&turn.received, &reason);
    match turn.ask(turn.injected.body.clone()).await {
        Ok(answer) => {
            if answer.status.is_success() {
                let (upstream, model) = (&turn.received.upstream, &turn.received.request.model);
                tracing::warn!(
                    upstream = upstream.name(),
                    model = domain::text::excerpt(model, 80),
                    "the upstream refused our tools; it is asked without them for a while"
                );
                upstream.note_tools_refused(model);
            }
            respond::as_it_came(turn, answer)
        }
        Err(error) => turn.broken(Broken::Error(failure::from_send(&error)), false),
    }
}
