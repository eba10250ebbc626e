//! Which processes share the database, and which of them are still alive.

use async_trait::async_trait;

use crate::Result;

/// Processes on one database.
///
/// A process that has registered is alive until it unregisters, closes the store or dies: nobody has to wait for a
/// time to pass where the operating system or the database can tell at once (a locked file on `SQLite`, a session lock on
/// `PostgreSQL`).
#[async_trait]
pub trait Instances: Send + Sync {
    /// Makes this process known under `id` (UUID v7). Executions that are created from now on bear it.
    async fn register_instance(&self, id: &str) -> Result<()>;

    /// Says again that this process is alive; to be called every few seconds. Registers again what was lost with a
    /// connection.
    async fn renew_instance(&self) -> Result<()>;

    /// Executions that a process which is not alive any more left `pending` or `running` become `error` with
    /// `message`; those that wait for a person stay, and so do those of living processes. Returns how many.
    async fn interrupt_orphans(&self, message: &str) -> Result<u64>;

    /// Returns when another process has or may have changed skills, sets, defaults, keys, tokens or values since the
    /// call that returned `seen` (0 at first), with the number to hand in next. Never returns for this process's own
    /// writes alone where the database can tell them apart. May never return.
    async fn changed(&self, seen: u64) -> Result<u64>;
}
