//! Asks whoever started the gateway to read its configuration again. This side knows neither files nor variables.

use tokio::sync::{mpsc, oneshot};

/// What a reload did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reloaded {
    /// Settings that changed and hold now, as `section.key`.
    pub applied: Vec<String>,
    /// Settings that changed and wait for the next start.
    pub needs_restart: Vec<String>,
}

/// A wish to reload, and where the answer goes: what it did, or why nothing was changed.
pub type ReloadRequest = oneshot::Sender<Result<Reloaded, String>>;

/// Sends wishes, one after the other.
#[derive(Clone)]
pub struct Reloader(mpsc::Sender<ReloadRequest>);

impl Reloader {
    /// A pair: one side asks, the other answers.
    pub fn new() -> (Self, mpsc::Receiver<ReloadRequest>) {
        let (sender, receiver) = mpsc::channel(1);
        (Self(sender), receiver)
    }

    /// Reloads; none if nobody is there to do it (the gateway stops).
    pub async fn reload(&self) -> Option<Result<Reloaded, String>> {
        let (answer, answered) = oneshot::channel();
        self.0.send(answer).await.ok()?;
        answered.await.ok()
    }
}
