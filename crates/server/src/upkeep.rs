//! What a gateway does beside answering: it says that it is alive, ends what dead processes left behind, takes up what
//! other processes write, and keeps the history from growing without end.
//!
//! Everything here goes on for ever and only ever logs: a database that is away for a moment is no reason to stop.

use std::sync::Arc;
use std::time::Duration;

use domain::ids;
use executor::INTERRUPTED;
use jiff::{SignedDuration, Timestamp};
use store::{Database, Prune, StoreError};

use crate::api::rfc3339;
use crate::app::App;
use crate::settings::restore_settings;

/// How often a process says that it is alive, and looks for dead ones.
const ALIVE_EVERY: Duration = Duration::from_secs(5);
/// How long a failure of the database is waited out.
const AGAIN: Duration = Duration::from_secs(5);
/// When the history is looked at for the first time, and then how often.
const RETAIN_FIRST: Duration = Duration::from_secs(30);
const RETAIN_EVERY: Duration = Duration::from_mins(10);
/// Rows of each table that go in one transaction; others write in between.
const BATCH: u32 = 500;

/// Makes this process known to the others on its database, before it runs anything. Returns how many executions of dead
/// processes it closed.
pub async fn join(database: &dyn Database) -> Result<u64, StoreError> {
    database.register_instance(&ids::new_id()).await?;
    database.interrupt_orphans(INTERRUPTED).await
}

/// Goes on saying so, and goes on closing.
pub async fn stay_alive(database: Arc<dyn Database>) {
    loop {
        tokio::time::sleep(ALIVE_EVERY).await;
        let done = async {
            database.renew_instance().await?;
            database.interrupt_orphans(INTERRUPTED).await
        };
        match done.await {
            Ok(0) => {}
            Ok(closed) => tracing::warn!(closed, "executions of a dead process were closed as interrupted"),
            Err(error) => tracing::warn!(
                error = &error as &dyn std::error::Error,
                "this process cannot say that it is alive"
            ),
        }
    }
}

/// Takes up skills, keys, tokens and settings that other processes write.
pub async fn follow(app: Arc<App>) {
    let mut seen = 0;
    loop {
        match app.store.changed(seen).await {
            Ok(now) if take_up(&app).await => seen = now,
            // What could not be read is asked for again.
            Ok(_) => tokio::time::sleep(AGAIN).await,
            Err(StoreError::Closed) => return,
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "changes of other processes are seen late"
                );
                tokio::time::sleep(AGAIN).await;
            }
        }
    }
}

async fn take_up(app: &App) -> bool {
    app.keyring.forget();
    let skills = app.registry.invalidate().await;
    if let Err(error) = &skills {
        tracing::error!(error = error as &dyn std::error::Error, "the skills could not be read again");
    }
    let settings = restore_settings(app).await;
    if let Err(error) = &settings {
        tracing::error!(error = error as &dyn std::error::Error, "the settings could not be read again");
    }
    skills.is_ok() && settings.is_ok()
}

/// Removes what is too old, too much or too large, and gives the space back.
pub async fn retain(app: Arc<App>) {
    let mut pause = RETAIN_FIRST;
    loop {
        tokio::time::sleep(pause).await;
        pause = RETAIN_EVERY;
        if let Err(error) = tidy(&app).await {
            tracing::error!(error = &error as &dyn std::error::Error, "the history could not be tidied");
        }
    }
}

/// One round of it, with the settings as they are now.
pub async fn tidy(app: &App) -> Result<(), StoreError> {
    let bound = |name: &str| app.settings.whole(name).filter(|bound| *bound > 0);
    let ago = |days: u64| {
        let hours = i64::try_from(days.saturating_mul(24)).unwrap_or(i64::MAX);
        Timestamp::now().checked_sub(SignedDuration::from_hours(hours.min(1_000_000))).ok().map(rfc3339)
    };
    let prune = Prune {
        before: bound("retention.days").and_then(ago),
        keep: bound("retention.executions"),
        keep_bytes: bound("retention.bytes"),
        artifacts_before: bound("retention.artifactDays").and_then(ago),
        batch: BATCH,
    };
    let mut removed = 0;
    loop {
        let pruned = app.store.prune(&prune).await?;
        removed += pruned.executions + pruned.turns + pruned.artifacts;
        if !pruned.more {
            break;
        }
        tokio::task::yield_now().await;
    }
    let mut given_back = 0;
    loop {
        match app.store.give_space_back().await? {
            0 => break,
            bytes => given_back += bytes,
        }
    }
    if removed > 0 {
        tracing::info!(removed, given_back, "the history was tidied");
    }
    Ok(())
}
