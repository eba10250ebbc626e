//! Answers that a provider stores, by the ids under which they were given out: noted when they are, and found again
//! by the same key alone.
//!
//! A note is written while the answer is on its way and never holds back its first byte; a client that has the end
//! of an answer can name it. Nothing is noted of an answer that nobody stores.

use std::sync::Arc;

use axum::http::StatusCode;
use bytes::Bytes;
use dialects::{Dialect, FirstId, Issued, Round, Shown, WireError};
use domain::{Scope, limits};
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use serde::{Deserialize, Serialize};
use store::{KeptRounds, KeptScope, RecallKept};
use tokio::task::JoinHandle;

use super::failure::error;
use super::kept::{PATIENCE, now_ms};
use super::receive::Received;
use super::turn::Turn;
use super::upstream::BrokenBody;
use crate::app::App;

/// How keys of these notes begin.
const ISSUED: &str = "issued:";

/// What is noted of an answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Note {
    /// Name of the upstream that stores it.
    pub(super) upstream: String,
    /// `name@version` of what was offered in its turn.
    #[serde(default)]
    pub(super) skills: Vec<String>,
    pub(super) issued: Issued,
}

/// The notes cannot be read.
#[derive(Debug)]
pub(super) struct Unreadable;

/// A key's notes, whoever its users are: an id is given out to a key.
fn scope(owner: &str, dialect: &dyn Dialect) -> KeptScope {
    KeptScope { owner: owner.to_owned(), dialect: dialect.name().to_owned(), ..KeptScope::default() }
}

/// The note of the answer that this owner was given under this id.
pub(super) async fn find(
    app: &App,
    owner: &str,
    dialect: &dyn Dialect,
    id: &str,
) -> Result<Option<Note>, Unreadable> {
    let recall = RecallKept {
        scope: scope(owner, dialect),
        keys: vec![format!("{ISSUED}{id}")],
        anywhere: Vec::new(),
        now_ms: now_ms(),
        ttl_ms: app.config().kept.ttl_ms(),
    };
    let found = match tokio::time::timeout(PATIENCE, app.store.recall_rounds(recall)).await {
        Ok(Ok(found)) => found,
        Ok(Err(error)) => {
            tracing::error!(error = &error as &dyn std::error::Error, "ids of answers cannot be looked up");
            return Err(Unreadable);
        }
        Err(_) => {
            tracing::error!("ids of answers cannot be looked up: the database takes too long");
            return Err(Unreadable);
        }
    };
    let Some(found) = found.first() else { return Ok(None) };
    serde_json::from_slice(&found.payload).map(Some).map_err(|error| {
        tracing::error!(%error, "the note of an answer cannot be read");
        Unreadable
    })
}

/// The note of the answer that a request goes on with. A conversation that the key was not given is refused: with the
/// server's credential every key could read everybody's.
pub(super) async fn before(received: &Received) -> Result<Option<Note>, WireError> {
    let named = received.request.conversation.as_deref().filter(|_| received.dialect.names_answers());
    let Some(id) = named else { return Ok(None) };
    let note = find(&received.app, received.caller.owner(), received.dialect, id).await;
    let may_any = received.upstream.takes(received.credential.as_ref());
    of_the_key(note, id, may_any || received.caller.may(Scope::Passthrough))
}

/// What was found, if the caller may go on with it.
pub(super) fn of_the_key(
    found: Result<Option<Note>, Unreadable>,
    id: &str,
    may_any: bool,
) -> Result<Option<Note>, WireError> {
    match found {
        Ok(None) if !may_any => Err(not_found(id)),
        Ok(note) => Ok(note),
        Err(Unreadable) => {
            let message = "the ids of answers cannot be looked up at the moment; try again";
            Err(error(StatusCode::SERVICE_UNAVAILABLE, "not_ready", message))
        }
    }
}

/// An answer that this key was not given.
pub(super) fn not_found(id: &str) -> WireError {
    let message = format!(
        "no response or conversation `{}` was given to this API key; ask with the key that created it, or give this one the scope \
         `passthrough`",
        domain::text::excerpt(id, 80)
    );
    error(StatusCode::NOT_FOUND, "response_not_found", message)
}

/// Writes a note. Returns when it is durable, or cannot be.
async fn write(app: &App, rounds: Option<KeptRounds>) {
    let Some(rounds) = rounds else { return };
    match tokio::time::timeout(PATIENCE, app.store.keep_rounds(rounds)).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            tracing::error!(error = &error as &dyn std::error::Error, "the id of an answer is not noted");
        }
        Err(_) => tracing::error!("the id of an answer is noted late: the database takes too long"),
    }
}

fn rounds(turn: &Turn, id: &str, issued: Issued) -> Option<KeptRounds> {
    let received = &turn.received;
    let mut keys = vec![format!("{ISSUED}{id}")];
    // Elsewhere an answer may be called by the provider's own name: it means the same.
    keys.extend(issued.ids.last().filter(|last| *last != id).map(|last| format!("{ISSUED}{last}")));
    let mut note = Note {
        upstream: received.upstream.name().to_owned(),
        skills: turn.injected.labels().to_vec(),
        issued,
    };
    let whole = serde_json::to_vec(&note).ok()?;
    note.issued.differs = None;
    let trace = serde_json::to_vec(&note).ok()?;
    let payload = if whole.len() > limits::KEPT_ENTRY_BYTES { trace.clone() } else { whole };
    let scope = scope(received.caller.owner(), received.dialect);
    let owner_bytes = received.config.kept.owner_bytes;
    Some(KeptRounds { scope, keys, payload, trace: Some(trace), now_ms: now_ms(), owner_bytes })
}

/// Notes the answer of a turn.
pub(super) async fn note(turn: &Turn, last: &Round, shown: &Shown) {
    let received = &turn.received;
    let ours = turn.injected.wire_names();
    let issued = received.dialect.issued(&received.request, Some(last), shown, &ours);
    if let (Some(id), Some(issued)) = (&shown.id, issued) {
        write(&received.app, rounds(turn, id, issued)).await;
    }
}

/// An answer that passes unread.
struct Passing {
    body: BoxStream<'static, Result<Bytes, BrokenBody>>,
    turn: Option<Arc<Turn>>,
    id: FirstId,
    writing: Option<JoinHandle<()>>,
}

impl Passing {
    /// Looks for the id; when it is there the note is begun.
    fn look(&mut self, bytes: &[u8]) {
        let Some(id) = self.turn.as_ref().and_then(|_| self.id.feed(bytes)) else { return };
        let Some(turn) = self.turn.take() else { return };
        let shown = Shown { id: Some(id.to_owned()), ..Shown::default() };
        let received = &turn.received;
        let issued = received.dialect.issued(&received.request, None, &shown, &[]);
        let rounds = issued.and_then(|issued| rounds(&turn, id, issued));
        self.writing = Some(tokio::spawn(async move { write(&turn.received.app, rounds).await }));
    }
}

/// The body with its id noted as it passes; it ends only when the note is written.
pub(super) fn watched(
    turn: &Arc<Turn>,
    body: BoxStream<'static, Result<Bytes, BrokenBody>>,
) -> BoxStream<'static, Result<Bytes, BrokenBody>> {
    if !turn.received.dialect.names_answers() {
        return body;
    }
    let passing = Passing { body, turn: Some(Arc::clone(turn)), id: FirstId::default(), writing: None };
    let pieces = stream::unfold(passing, |mut passing| async move {
        let Some(piece) = passing.body.next().await else {
            if let Some(Err(error)) = match passing.writing.take() {
                Some(writing) => Some(writing.await),
                None => None,
            } {
                tracing::error!(error = &error as &dyn std::error::Error, "the id of an answer is not noted");
            }
            return None;
        };
        if let Ok(bytes) = &piece {
            passing.look(bytes);
        }
        Some((piece, passing))
    });
    pieces.boxed()
}
