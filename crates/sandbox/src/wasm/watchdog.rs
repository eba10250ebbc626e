//! Ends a run at its time limit, from a thread of its own.
//!
//! At the deadline it advances the engine's epoch, which stops WebAssembly code at its next check. A guest that waits
//! in the host (sleeping) does not get there; a little later the whole process is given up, and `on_stuck` answers
//! with what was printed so far. Between runs the thread sleeps without a tick.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use wasmtime::Engine;

/// How long after the deadline the guest has to notice it.
const STUCK_AFTER: Duration = Duration::from_millis(200);

/// Pause between two attempts to interrupt: the guest may start counting epochs after the first one.
const AGAIN: Duration = Duration::from_millis(10);

/// Called when the guest did not stop; it has to end the process.
pub(crate) type OnStuck = Box<dyn FnOnce() + Send>;

/// Watches one run at a time.
pub(crate) struct Watchdog {
    watched: Arc<(Mutex<Watched>, Condvar)>,
}

#[derive(Default)]
struct Watched {
    deadline: Option<Instant>,
    on_stuck: Option<OnStuck>,
}

impl Watchdog {
    /// Starts the thread.
    pub(crate) fn start(engine: Engine) -> std::io::Result<Self> {
        let watched = Arc::<(Mutex<Watched>, Condvar)>::default();
        let shared = Arc::clone(&watched);
        std::thread::Builder::new().name("watchdog".to_owned()).spawn(move || watch(&engine, &shared))?;
        Ok(Self { watched })
    }

    /// A run begins that may take `limit`.
    pub(crate) fn arm(&self, limit: Duration, on_stuck: OnStuck) {
        let mut watched = lock(&self.watched.0);
        watched.deadline = Instant::now().checked_add(limit);
        watched.on_stuck = Some(on_stuck);
        self.watched.1.notify_one();
    }

    /// The run ended. Returns after that no interruption of it can happen any more.
    pub(crate) fn disarm(&self) {
        let mut watched = lock(&self.watched.0);
        watched.deadline = None;
        watched.on_stuck = None;
    }
}

fn watch(engine: &Engine, (watched, changed): &(Mutex<Watched>, Condvar)) {
    let mut now = lock(watched);
    loop {
        let Some(deadline) = now.deadline else {
            now = changed.wait(now).unwrap_or_else(PoisonError::into_inner);
            continue;
        };
        let late = Instant::now().saturating_duration_since(deadline);
        let pause = if Instant::now() < deadline {
            deadline.saturating_duration_since(Instant::now())
        } else if late < STUCK_AFTER {
            engine.increment_epoch();
            AGAIN
        } else {
            // The lock is kept: the run cannot end, and so not answer, while this answers for it.
            if let Some(give_up) = now.on_stuck.take() {
                give_up();
            }
            now.deadline = None;
            continue;
        };
        now = changed.wait_timeout(now, pause).unwrap_or_else(PoisonError::into_inner).0;
    }
}

fn lock(watched: &Mutex<Watched>) -> MutexGuard<'_, Watched> {
    watched.lock().unwrap_or_else(PoisonError::into_inner)
}
