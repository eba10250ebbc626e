//! Hidden rounds across requests: put back where a request's history shows what the client saw of them, and kept at
//! the end of a turn.
//!
//! Memory is a help, never a condition: what cannot be found or kept is logged and the request goes on. Nothing is
//! found by anybody but the owner and user that it was kept for; where the user is not known, or only says who it
//! is, nothing is found outside its session.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use dialects::kept::{CALL, RESPONSE};
use dialects::{Anchor, Kept, Round, Shown, ToolPlace, WireError};
use domain::{SkillRef, ToolResult, limits};
use store::{KeptRounds, KeptScope, PruneKept, RecallKept, RecalledKept};

use super::issued::{self, Note};
use super::receive::Received;
use super::turn::Turn;
use crate::app::App;
use crate::caller::Caller;

/// How long an answer waits for the store.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);
/// How often expired rounds are looked for.
const PRUNE_EVERY: Duration = Duration::from_mins(10);
/// Expired rounds that go in one write.
const PRUNE_BATCH: u32 = 200;

/// What is kept of turns, and how long.
#[derive(Clone, Copy, Debug)]
pub struct KeptConfig {
    /// Whether rounds before an answer are kept. Those that an open call of the client's needs always are.
    pub memory: bool,
    /// Time since their last use after which rounds have expired.
    pub ttl: Duration,
    /// Bytes of all rounds of one owner.
    pub owner_bytes: u64,
}

impl Default for KeptConfig {
    fn default() -> Self {
        Self {
            memory: true,
            ttl: Duration::from_millis(limits::KEPT_TTL_MS),
            owner_bytes: limits::KEPT_OWNER_BYTES,
        }
    }
}

impl KeptConfig {
    /// Whether what a key leads to is wanted at all.
    fn wants(&self, key: &str) -> bool {
        self.memory || key.starts_with(CALL) || key.starts_with(RESPONSE)
    }

    pub(super) fn ttl_ms(&self) -> i64 {
        i64::try_from(self.ttl.as_millis()).unwrap_or(i64::MAX)
    }
}

/// Puts back into the request what its history lacks.
pub(super) async fn restore(received: &mut Received) -> Result<(), WireError> {
    let config = received.config.kept;
    let mut anchors = received.dialect.anchors(&received.request);
    anchors.retain(|anchor| config.wants(&anchor.key));
    let named = received.request.conversation.as_ref().map(|id| format!("{RESPONSE}{id}"));
    if received.options.off || received.upstream.tools_unwanted(&received.request.model).is_some() {
        // Nothing of ours is wanted; but the provider knows the answer by no other id.
        anchors.retain(|anchor| named.as_ref() == Some(&anchor.key));
    }
    let note = issued::before(received).await?;
    if let Some(note) = &note {
        received.request.hidden_calls.clone_from(&note.issued.calls);
    }
    if received.request.tool_place == ToolPlace::Provider {
        hold_tools(received, note.as_ref());
    }
    let found = look_up(received, &anchors).await;
    go_on_with_session(received, &found);
    let kept = by_key(&found);
    let at = |anchor: Anchor| {
        let mut kept = kept.get(anchor.key.as_str()).cloned();
        let last = note.as_ref().filter(|_| named.as_ref() == Some(&anchor.key));
        if let Some(id) = last.and_then(|note| note.issued.ids.last())
            && kept.as_ref().is_none_or(|kept| kept.response_id.is_none())
        {
            kept.get_or_insert_default().response_id = Some(id.clone());
        }
        kept.map(|kept| (anchor, kept))
    };
    let mut kept: Vec<(Anchor, Kept)> = anchors.into_iter().filter_map(at).collect();
    if kept.is_empty() {
        return Ok(());
    }
    if received.dialect.media(&received.request.model).is_empty() {
        let plain = |(anchor, kept)| (anchor, received.dialect.without_media(kept));
        kept = kept.into_iter().map(plain).collect();
    }
    let restored = received.dialect.restore(&received.request, &kept);
    if restored != received.request.raw {
        received.request.unrestored = Some(std::mem::replace(&mut received.request.raw, restored));
    }
    Ok(())
}

/// The tools that the provider holds are those of the answer that the request goes on with, ours and the client's.
fn hold_tools(received: &mut Received, note: Option<&Note>) {
    let Some(note) = note else {
        received.request.inhibit = received.request.inhibit.or(Some("a thread of unknown tools"));
        return;
    };
    received.request.client_tools.clone_from(&note.issued.client_tools);
    received.named.extend(note.skills.iter().filter_map(|label| SkillRef::parse(label).ok()));
}

/// What the store has for these anchors; nothing where it cannot be asked.
async fn look_up(received: &Received, anchors: &[Anchor]) -> Vec<RecalledKept> {
    let ttl_ms = received.config.kept.ttl_ms();
    let Some(recall) = question(received, anchors, ttl_ms) else { return Vec::new() };
    match tokio::time::timeout(PATIENCE, received.app.store.recall_rounds(recall)).await {
        Ok(Ok(found)) => found,
        Ok(Err(error)) => {
            tracing::error!(error = &error as &dyn std::error::Error, "kept rounds cannot be looked up");
            Vec::new()
        }
        Err(_) => {
            tracing::error!("kept rounds cannot be looked up: the database takes too long");
            Vec::new()
        }
    }
}

/// What to look for; none if there is nothing, or nobody for whom.
fn question(received: &Received, anchors: &[Anchor], ttl_ms: i64) -> Option<RecallKept> {
    let (scope, known) = (scope(received), knows_user(received));
    let has_scope = known || !scope.session.is_empty();
    let mut recall = RecallKept { scope, now_ms: now_ms(), ttl_ms, ..RecallKept::default() };
    for anchor in anchors {
        // Nobody can guess the id of an answer.
        if known || anchor.key.starts_with(RESPONSE) {
            recall.anywhere.push(anchor.key.clone());
        } else if has_scope {
            recall.keys.push(anchor.key.clone());
        }
    }
    (!recall.keys.is_empty() || !recall.anywhere.is_empty()).then_some(recall)
}

fn scope(received: &Received) -> KeptScope {
    KeptScope {
        owner: received.caller.owner().to_owned(),
        user: received.user.clone().unwrap_or_default(),
        session: received.session.clone().unwrap_or_default(),
        dialect: received.dialect.name().to_owned(),
    }
}

/// Whether the user is somebody that an authenticated caller vouches for.
fn knows_user(received: &Received) -> bool {
    received.user.is_some() && !matches!(received.caller, Caller::Anonymous)
}

/// A request that only names an earlier answer belongs to that answer's session.
fn go_on_with_session(received: &mut Received, found: &[RecalledKept]) {
    let named = |one: &&RecalledKept| one.keys.iter().any(|key| key.starts_with(RESPONSE));
    if received.options.session.is_none()
        && received.request.conversation.is_some()
        && let Some(one) = found.iter().find(named)
    {
        received.session = Some(one.session.clone());
    }
}

fn by_key(found: &[RecalledKept]) -> HashMap<&str, Kept> {
    let mut kept = HashMap::new();
    for one in found {
        match serde_json::from_slice::<Kept>(&one.payload) {
            Ok(rounds) => kept.extend(one.keys.iter().map(|key| (key.as_str(), rounds.clone()))),
            Err(error) => tracing::error!(%error, "kept rounds cannot be read"),
        }
    }
    kept
}

/// Keeps what the client was not shown of a turn. Returns when it is durable, or cannot be.
pub(super) async fn keep(turn: &Turn, body: &Bytes, last: &Round, parked: &[ToolResult], shown: &Shown) {
    let received = &turn.received;
    let Some(rounds) = rounds(received, body, last, parked, shown) else { return };
    match tokio::time::timeout(PATIENCE, received.app.store.keep_rounds(rounds)).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            let turn = &received.turn_id;
            tracing::error!(turn, error = &error as &dyn std::error::Error, "hidden rounds are not kept");
        }
        Err(_) => {
            tracing::error!(
                turn = received.turn_id,
                "hidden rounds are kept late: the database takes too long"
            );
        }
    }
}

fn rounds(
    received: &Received,
    body: &Bytes,
    last: &Round,
    parked: &[ToolResult],
    shown: &Shown,
) -> Option<KeptRounds> {
    let config = received.config.kept;
    let scope = scope(received);
    let mut keeping = received.dialect.keep(&received.request, body, last, parked, shown)?;
    let has_scope = knows_user(received) || !scope.session.is_empty();
    keeping.keys.retain(|key| config.wants(key) && (has_scope || key.starts_with(RESPONSE)));
    if keeping.keys.is_empty() {
        return None;
    }
    let leaves_trace =
        !keeping.kept.orphans.is_empty() || keeping.keys.iter().any(|key| key.starts_with(CALL));
    let trace = leaves_trace.then(|| keeping.kept.trace());
    let trace = trace.and_then(|trace| serde_json::to_vec(&trace).ok());
    let mut payload = serde_json::to_vec(&keeping.kept).ok()?;
    if payload.len() > limits::KEPT_MEDIA_BYTES {
        payload = serde_json::to_vec(&received.dialect.without_media(keeping.kept)).ok()?;
    }
    if payload.len() > limits::KEPT_ENTRY_BYTES {
        tracing::warn!(
            turn = received.turn_id,
            bytes = payload.len(),
            "hidden rounds are too large to be kept"
        );
        payload = trace.clone()?;
    }
    let owner_bytes = config.owner_bytes;
    Some(KeptRounds { scope, keys: keeping.keys, payload, trace, now_ms: now_ms(), owner_bytes })
}

pub(super) fn now_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

/// Forgets expired rounds, for ever.
pub async fn prune_kept(app: Arc<App>) {
    let mut every = tokio::time::interval(PRUNE_EVERY);
    loop {
        every.tick().await;
        let trace_ms = i64::try_from(limits::KEPT_TRACE_MS).unwrap_or(i64::MAX);
        loop {
            let prune = PruneKept {
                now_ms: now_ms(),
                ttl_ms: app.config().kept.ttl_ms(),
                trace_ms,
                batch: PRUNE_BATCH,
            };
            match app.store.prune_rounds(prune).await {
                Ok(touched) if touched >= u64::from(PRUNE_BATCH) => {}
                Ok(_) => break,
                Err(store::StoreError::Closed) => return,
                Err(error) => {
                    tracing::error!(
                        error = &error as &dyn std::error::Error,
                        "expired rounds are not forgotten"
                    );
                    break;
                }
            }
        }
    }
}
