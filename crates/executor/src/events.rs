//! What happens to executions, while it happens, for whoever listens; and who is there to decide about waiting ones.
//!
//! Hearing is best effort: a listener that falls behind is told so and reads the store. Nothing waits for a listener.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use domain::{Approval, Door, Execution, Status, Version};
use serde::Serialize;
use serde_json::Value;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio_util::sync::CancellationToken;

/// Events that a slow listener may be behind.
const BEHIND: usize = 256;
/// Pause between two looks when there is nothing to hear any more.
const PAUSE: std::time::Duration = std::time::Duration::from_millis(50);

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// The handler runs.
    Started,
    /// The row is terminal.
    Finished,
    /// A person is asked.
    ApprovalWanted,
    /// A person has decided, or the time to do so is over.
    ApprovalDecided,
}

impl EventKind {
    /// The word in API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::Finished => "finished",
            Self::ApprovalWanted => "approval_wanted",
            Self::ApprovalDecided => "approval_decided",
        }
    }
}

/// One event. Outputs are not in it: the history has them.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// What happened.
    pub event: EventKind,
    /// The execution.
    pub execution_id: String,
    /// Its skill.
    pub skill_name: String,
    /// Its skill's version.
    pub version: Version,
    /// Its owner.
    pub api_key_id: String,
    /// The end user, when known.
    pub user: Option<String>,
    /// The conversation, when known.
    pub session_id: Option<String>,
    /// The turn, when a model called.
    pub turn_id: Option<String>,
    /// The way it came in.
    pub door: Door,
    /// Where it stands now.
    pub status: Status,
    /// One sentence, when it did not succeed.
    pub error_message: Option<String>,
    /// Milliseconds it took, when it has ended.
    pub duration_ms: Option<u64>,
    /// What a person said, where one was asked.
    pub approval: Option<Approval>,
    /// What it is to do, where a person is asked.
    pub input: Option<Value>,
}

impl Event {
    fn new(event: EventKind, row: &Execution) -> Self {
        Self {
            event,
            execution_id: row.id.clone(),
            skill_name: row.skill_name.clone(),
            version: row.version,
            api_key_id: row.api_key_id.clone(),
            user: row.user.clone(),
            session_id: row.session_id.clone(),
            turn_id: row.turn_id.clone(),
            door: row.door,
            status: row.status,
            error_message: row.error_message.clone(),
            duration_ms: row.duration_ms,
            approval: row.approval.clone(),
            input: (event == EventKind::ApprovalWanted).then(|| row.input.clone()),
        }
    }

    /// That this execution waits for a person.
    pub fn wanted(row: &Execution) -> Self {
        Self::new(EventKind::ApprovalWanted, row)
    }
}

/// Somebody who may decide about executions that wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decider {
    /// An API key id, or `management`.
    pub id: String,
    /// The management token, which decides about everything. A key never decides about its own calls.
    pub is_token: bool,
}

impl Decider {
    /// Whether it may decide about what `owner` called.
    pub fn may_decide(&self, owner: &str) -> bool {
        self.is_token || self.id != owner
    }
}

/// What a listener hears.
#[derive(Clone, Debug)]
pub enum Heard {
    /// Something happened.
    Event(Arc<Event>),
    /// This listener was too slow and missed so many.
    Missed(u64),
}

type Present = Arc<Mutex<HashMap<u64, Listener>>>;

/// Somebody who listens by its own wish.
struct Listener {
    owner: String,
    decider: Option<Decider>,
    leave: CancellationToken,
}

/// The bus.
pub(crate) struct Events {
    sender: broadcast::Sender<Arc<Event>>,
    present: Present,
    next: AtomicU64,
    closed: CancellationToken,
}

impl Events {
    pub(crate) fn new() -> Self {
        Self {
            sender: broadcast::Sender::new(BEHIND),
            present: Present::default(),
            next: AtomicU64::new(0),
            closed: CancellationToken::new(),
        }
    }

    pub(crate) fn publish(&self, event: EventKind, row: &Execution) {
        if self.sender.receiver_count() > 0 {
            // An error means that the last listener has just left.
            self.sender.send(Arc::new(Event::new(event, row))).ok();
        }
    }

    /// For the executor's own waiting.
    pub(crate) fn subscribe(&self) -> Subscription {
        Subscription { receiver: self.sender.subscribe(), closed: self.closed.clone(), _seat: None }
    }

    pub(crate) fn seat(&self, owner: &str, decider: Option<Decider>) -> Subscription {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let leave = self.closed.child_token();
        let listener = Listener { owner: owner.to_owned(), decider, leave: leave.clone() };
        self.present.lock().unwrap_or_else(PoisonError::into_inner).insert(number, listener);
        let seat = Seat { number, present: Arc::clone(&self.present) };
        Subscription { receiver: self.sender.subscribe(), closed: leave, _seat: Some(seat) }
    }

    /// Ends all listening of one owner, and its presence.
    pub(crate) fn end(&self, owner: &str) {
        let mut present = self.present.lock().unwrap_or_else(PoisonError::into_inner);
        present.retain(|_, listener| {
            let stays = listener.owner != owner;
            if !stays {
                listener.leave.cancel();
            }
            stays
        });
    }

    /// Ends all listening: nobody is present from now on.
    pub(crate) fn close(&self) {
        self.closed.cancel();
    }

    /// Whether somebody listens who may decide about calls of `owner`.
    pub(crate) fn has_decider(&self, owner: &str) -> bool {
        let present = self.present.lock().unwrap_or_else(PoisonError::into_inner);
        !self.closed.is_cancelled()
            && present.values().filter_map(|l| l.decider.as_ref()).any(|decider| decider.may_decide(owner))
    }
}

/// Presence of a decider, while it lives.
struct Seat {
    number: u64,
    present: Present,
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.present.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.number);
    }
}

/// A listener. Dropping it ends the listening, and the presence of its decider.
pub struct Subscription {
    receiver: broadcast::Receiver<Arc<Event>>,
    closed: CancellationToken,
    _seat: Option<Seat>,
}

impl Subscription {
    /// The next event; none when the gateway is stopping. Cancel safe.
    pub async fn next(&mut self) -> Option<Heard> {
        let received = tokio::select! {
            biased;
            () = self.closed.cancelled() => return None,
            received = self.receiver.recv() => received,
        };
        match received {
            Ok(event) => Some(Heard::Event(event)),
            Err(RecvError::Lagged(missed)) => Some(Heard::Missed(missed)),
            Err(RecvError::Closed) => None,
        }
    }

    /// Returns when something happened to this execution, might have happened, or `wait` is over.
    pub(crate) async fn news_of(&mut self, id: &str, wait: std::time::Duration) {
        let news = async {
            loop {
                match self.next().await {
                    Some(Heard::Event(event)) if event.execution_id != id => {}
                    Some(Heard::Event(_) | Heard::Missed(_)) => return,
                    // The caller looks again, and not in a hurry.
                    None => return tokio::time::sleep(PAUSE).await,
                }
            }
        };
        // Time over is no news, but the caller looks either way.
        tokio::time::timeout(wait, news).await.ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_never_decides_about_its_own_calls() {
        let key = Decider { id: "k".into(), is_token: false };
        assert!(key.may_decide("other") && !key.may_decide("k"));
        let token = Decider { id: "management".into(), is_token: true };
        assert!(token.may_decide("management"));
    }

    #[tokio::test]
    async fn closing_ends_every_listener() {
        let events = Events::new();
        let mut seat = events.seat("k", Some(Decider { id: "k".into(), is_token: true }));
        events.close();
        assert!(seat.next().await.is_none() && !events.has_decider("other"));
    }

    #[tokio::test]
    async fn an_owner_whose_rights_changed_hears_nothing_more() {
        let events = Events::new();
        let decider = |id: &str| Some(Decider { id: id.into(), is_token: false });
        let (mut ended, _stays) = (events.seat("k", decider("k")), events.seat("l", decider("l")));
        events.end("k");
        assert!(ended.next().await.is_none());
        assert!(events.has_decider("k") && !events.has_decider("l"));
    }

    #[tokio::test]
    async fn a_decider_is_present_while_it_listens() {
        let events = Events::new();
        let seat = events.seat("k", Some(Decider { id: "k".into(), is_token: false }));
        let nobody = events.seat("n", None);
        assert!(events.has_decider("other") && !events.has_decider("k"));
        drop(nobody);
        assert!(events.has_decider("other"));
        drop(seat);
        assert!(!events.has_decider("other"));
    }
}
