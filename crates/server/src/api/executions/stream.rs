//! `GET /api/skills/executions/stream`: what happens to executions, as server-sent events, while it happens.
//!
//! A caller hears of its own executions, management of all, and whoever may approve also of calls that wait for a
//! person. Whoever may approve counts as present: turns wait for it. `approver=false` only listens.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::sse::{self, KeepAlive, Sse};
use domain::{ApprovalState, Scope, limits};
use executor::{Decider, Event, Heard, Subscription};
use futures_util::stream::{self, Stream, StreamExt as _};
use serde_json::json;
use store::{ExecutionFilter, PageRequest};

use super::list::may;
use crate::app::App;
use crate::caller::Caller;
use crate::error::ApiError;
use crate::http::Fields;
use crate::openapi::schema::{flag, text};
use crate::openapi::{Operation, Tag};

/// Silence after which a comment keeps the connection alive.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

pub(crate) fn stream_doc() -> Operation {
    Operation::new(Tag::Executions, "streamExecutions", "What happens to executions, while it happens")
        .about(
            "Server-sent events `started`, `finished`, `approval_wanted`, `approval_decided` and `missed`. \
             Own executions; all for management; whoever may approve also hears of calls that wait.",
        )
        .query("approver", flag().default(true).about("`false` only listens: no turn waits for it."))
        .gives_as(StatusCode::OK, "text/event-stream", text())
}

/// The handler. Calls that wait already come first, as `approval_wanted`.
pub(crate) async fn stream(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    mut query: Fields,
) -> Result<Sse<impl Stream<Item = Result<sse::Event, Infallible>>>, ApiError> {
    let approver = query.flag("approver").unwrap_or(true);
    query.finish()?;
    let decider = caller.decider().filter(|_| approver);
    // Before the look at what waits, so that nothing falls in between.
    let heard = app.executor.subscribe(caller.owner(), decider.clone());
    let waiting = match &decider {
        Some(decider) => waiting(&app, decider).await?,
        None => Vec::new(),
    };
    let listener = Listener { heard, caller };
    let news = stream::unfold(listener, |mut listener| async move {
        let event = listener.next().await?;
        Some((event, listener))
    });
    let events = stream::iter(waiting).chain(news).map(Ok);
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)))
}

/// What this decider may decide about now, oldest first.
async fn waiting(app: &App, decider: &Decider) -> Result<Vec<sse::Event>, ApiError> {
    let filter = ExecutionFilter { approval: Some(ApprovalState::Waiting), ..ExecutionFilter::default() };
    let mut events = Vec::new();
    let mut page = PageRequest { page: 1, limit: limits::PAGE_MAX };
    loop {
        let rows = app.executor.list_executions(&filter, page).await?;
        let own = rows.data.iter().filter(|row| decider.may_decide(&row.api_key_id));
        events.extend(own.map(|row| written(&Event::wanted(row))));
        if u64::from(page.page) >= rows.total_pages {
            break;
        }
        page.page += 1;
    }
    events.reverse();
    Ok(events)
}

struct Listener {
    heard: Subscription,
    caller: Caller,
}

impl Listener {
    async fn next(&mut self) -> Option<sse::Event> {
        loop {
            match self.heard.next().await? {
                Heard::Event(event) if self.may_hear(&event) => return Some(written(&event)),
                Heard::Event(_) => {}
                Heard::Missed(count) => return Some(named("missed", &json!({"count": count}))),
            }
        }
    }

    fn may_hear(&self, event: &Event) -> bool {
        may(&self.caller, Scope::ReadSkills, &event.api_key_id, event.approval.is_some())
    }
}

fn written(event: &Event) -> sse::Event {
    named(event.event.as_str(), event)
}

fn named(name: &str, data: &impl serde::Serialize) -> sse::Event {
    let event = sse::Event::default().event(name);
    event.json_data(data).unwrap_or_else(|error| {
        tracing::error!(%error, "an event cannot be written");
        sse::Event::default().event("missed").data("{\"count\":1}")
    })
}
