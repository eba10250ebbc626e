//! This process's place in the database: a connection that listens for what others change and that holds the lock by
//! which others know that this process is alive. When it is lost it is made again, and what may have been missed counts
//! as a change.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use domain::ids::sha256_hex;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio_postgres::{AsyncMessage, Client};

use super::connect::{Connector, answer};
use super::error::PgError;
use super::lanes::Lanes;
use super::text::text;
use crate::error::SqlError;

/// The channel that the triggers of the schema speak on.
const CHANNEL: &str = "omni_skills_changed";
/// How long a process counts as alive without its lock: time to connect again.
const GRACE: Duration = Duration::from_secs(10);
/// Pauses between tries to connect again.
const PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(3);

const SEEN: &str = "INSERT INTO instances (id, lock_key, seen) VALUES ($1, $2, clock_timestamp())
    ON CONFLICT (id) DO UPDATE SET seen = excluded.seen";

/// Whether the row `i` of `instances` is of a living process. A server that has just started, or a moment without a
/// connection, is no death.
macro_rules! alive {
    () => {
        "(i.lock_key IN (SELECT (classid::bigint << 32) | objid::bigint FROM pg_locks
                WHERE locktype = 'advisory' AND objsubid = 1 AND granted
                    AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))
            OR greatest(i.seen, pg_postmaster_start_time()) > clock_timestamp() - interval '10 seconds')"
    };
}

/// Rows of no process are of an older release, or of a store that never registered.
const INTERRUPT: &str = concat!(
    "UPDATE skill_executions SET status = 'error', error_message = $1
    WHERE status IN ('pending', 'running') AND status <> 'success'
        AND (instance IS NULL OR instance IS DISTINCT FROM $2
            AND NOT EXISTS (SELECT 1 FROM instances i WHERE i.id = instance AND ", alive!(), "))
        AND NOT EXISTS (SELECT 1 FROM approvals WHERE execution_id = skill_executions.id AND state = 'waiting')"
);
const FORGET: &str = concat!("DELETE FROM instances i WHERE i.id IS DISTINCT FROM $1 AND NOT ", alive!());

pub(super) struct Home {
    shared: Arc<Shared>,
    task: Mutex<Option<(oneshot::Sender<()>, JoinHandle<()>)>>,
}

struct Shared {
    connector: Arc<Connector>,
    schema: String,
    /// How often others have or may have changed something.
    changes: watch::Sender<u64>,
    link: Mutex<Option<Arc<Link>>>,
    id: Mutex<Option<Arc<str>>>,
}

/// The connection, while there is one.
struct Link {
    client: Client,
    /// Whether it holds the lock.
    locked: AtomicBool,
    /// When it was made again after it was lost.
    again: Option<Instant>,
}

impl Home {
    /// Connects. From now on no change of others is missed.
    pub(super) async fn open(connector: Arc<Connector>, schema: String) -> Result<Self, SqlError> {
        let shared = Arc::new(Shared {
            connector,
            schema,
            changes: watch::Sender::new(0),
            link: Mutex::default(),
            id: Mutex::default(),
        });
        let ended = shared.connect(None).await?;
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(Arc::clone(&shared).keep(ended, stopped));
        Ok(Self { shared, task: Mutex::new(Some((stop, task))) })
    }

    /// This process, if it has registered.
    pub(super) fn id(&self) -> Option<Arc<str>> {
        self.shared.id().clone()
    }

    /// See [`store::Instances::register_instance`].
    pub(super) async fn register(&self, lanes: &Lanes, id: &str) -> Result<(), SqlError> {
        let before = self.shared.id().replace(id.into());
        if let Some(before) = before.filter(|before| **before != *id) {
            self.shared.leave(&before).await;
        }
        self.renew(lanes).await
    }

    /// See [`store::Instances::renew_instance`].
    pub(super) async fn renew(&self, lanes: &Lanes) -> Result<(), SqlError> {
        let Some(id) = self.id() else { return Ok(()) };
        lanes.execute(SEEN, &[&text(&id), &lock_key(&id)]).await?;
        // Without a connection it counts as seen; the lock is taken with the next one.
        Ok(self.shared.lock().await?)
    }

    /// See [`store::Instances::interrupt_orphans`].
    pub(super) async fn interrupt(&self, lanes: &Lanes, message: &str) -> Result<u64, SqlError> {
        if !self.shared.is_settled() {
            return Ok(0);
        }
        let own = self.id();
        let own = own.as_deref().map(text);
        let ended = lanes.execute(INTERRUPT, &[&text(message), &own]).await?;
        lanes.execute(FORGET, &[&own]).await?;
        Ok(ended)
    }

    /// See [`store::Instances::changed`].
    pub(super) async fn changed(&self, seen: u64) -> Result<u64, SqlError> {
        let mut changes = self.shared.changes.subscribe();
        let number = changes.wait_for(|number| *number != seen).await;
        Ok(*number.map_err(|_| store::StoreError::Closed)?)
    }

    /// Says that this process is gone, and disconnects.
    pub(super) async fn close(&self) {
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((stop, task)) = task {
            drop(stop);
            // A task that was cut off has left nothing to do.
            task.await.ok();
        }
    }
}

impl Shared {
    fn id(&self) -> MutexGuard<'_, Option<Arc<str>>> {
        self.id.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn link(&self) -> MutexGuard<'_, Option<Arc<Link>>> {
        self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether others have had the time to come back, after this process had to.
    fn is_settled(&self) -> bool {
        match &*self.link() {
            Some(link) => link.again.is_none_or(|again| again.elapsed() > GRACE),
            None => false,
        }
    }

    /// Connects and listens. The result tells when the connection ends.
    async fn connect(&self, again: Option<Instant>) -> Result<oneshot::Receiver<()>, PgError> {
        let (alive, ended) = oneshot::channel::<()>();
        let (changes, schema, own) =
            (self.changes.clone(), self.schema.clone(), self.connector.writer().to_owned());
        let heard = move |message| {
            // Dropped with the connection.
            let _held = &alive;
            if let AsyncMessage::Notification(notification) = message
                && let Some((writer, place)) = notification.payload().split_once(' ')
                && place == schema
                && writer != own
            {
                changes.send_modify(|number| *number += 1);
            }
        };
        let client = self.connector.open(heard).await?;
        answer(client.batch_execute(&format!("LISTEN {CHANNEL}"))).await?;
        *self.link() = Some(Arc::new(Link { client, locked: AtomicBool::new(false), again }));
        Ok(ended)
    }

    /// Keeps connected until it is told to stop.
    async fn keep(self: Arc<Self>, mut ended: oneshot::Receiver<()>, mut stopped: oneshot::Receiver<()>) {
        loop {
            tokio::select! {
                _ = &mut ended => {}
                _ = &mut stopped => break,
            }
            *self.link() = None;
            tracing::warn!("the connection to PostgreSQL that hears of changes was lost");
            ended = tokio::select! {
                ended = self.connect_again() => ended,
                _ = &mut stopped => return,
            };
            tracing::info!("changes of other processes are heard of again");
        }
        let id = self.id().clone();
        if let Some(id) = id {
            self.leave(&id).await;
        }
        *self.link() = None;
    }

    async fn connect_again(&self) -> oneshot::Receiver<()> {
        let mut pause = PAUSE;
        loop {
            match self.connect(Some(Instant::now())).await {
                Ok(ended) => {
                    if let Err(error) = self.lock().await {
                        tracing::warn!(%error, "this process could not be registered again yet");
                    }
                    self.changes.send_modify(|number| *number += 1);
                    return ended;
                }
                Err(error) => tracing::debug!(%error, "PostgreSQL is not there yet"),
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Takes the lock of this process, if it has registered and there is a connection that does not hold it.
    async fn lock(&self) -> Result<(), PgError> {
        let link = self.link().clone();
        let id = self.id().clone();
        let (Some(link), Some(id)) = (link, id) else { return Ok(()) };
        if link.locked.load(Ordering::Relaxed) {
            return Ok(());
        }
        // Not taken while the server believes in an earlier connection of this process.
        let row = answer(link.client.query_one("SELECT pg_try_advisory_lock($1)", &[&lock_key(&id)])).await?;
        link.locked.store(row.try_get(0)?, Ordering::Relaxed);
        answer(link.client.execute(SEEN, &[&text(&id), &lock_key(&id)])).await?;
        Ok(())
    }

    /// Says that a process is gone; its lock is free from then on. Others would find out.
    async fn leave(&self, id: &str) {
        let Some(link) = self.link().clone() else { return };
        link.locked.store(false, Ordering::Relaxed);
        let gone = async {
            answer(link.client.execute("DELETE FROM instances WHERE id = $1", &[&text(id)])).await?;
            answer(link.client.execute("SELECT pg_advisory_unlock($1)", &[&lock_key(id)])).await
        };
        if let Err(error) = gone.await {
            tracing::debug!(%error, "this process was not removed from the list of the living");
        }
    }
}

/// Names the lock of a process.
fn lock_key(id: &str) -> i64 {
    let hash = sha256_hex(format!("omni-skills instance {id}"));
    let start = hash.get(..16).and_then(|digits| u64::from_str_radix(digits, 16).ok());
    start.unwrap_or_default().cast_signed()
}
