//! The living registry: the current snapshot, and every way it changes.
//!
//! A write goes to the store and returns only when a load that began after it has been published. Waiting loads
//! collapse into one. Each change runs as a task of its own, so a caller that goes away cannot leave a write unseen.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use domain::skill::{check_name, normalise_tags};
use domain::{Skill, schema};
use store::{SkillUpdate, Store, StoreError};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

use crate::error::RegistryError;
use crate::known::Known;
use crate::snapshot::Snapshot;

/// A handle; clones share one registry.
#[derive(Clone)]
pub struct Registry {
    shared: Arc<Shared>,
}

struct Shared {
    store: Arc<dyn Store>,
    known: Arc<Known>,
    current: ArcSwap<Snapshot>,
    /// Loads asked for so far.
    asked: AtomicU64,
    /// How many of them the last published load answers: those asked before it began. Held while loading.
    answered: Mutex<u64>,
}

impl Registry {
    /// Reads all skills for the first time. An error means that nothing is known yet, which is not the same as no
    /// skills.
    pub async fn load(store: Arc<dyn Store>, known: Known) -> Result<Self, RegistryError> {
        let shared = Arc::new(Shared {
            store,
            known: Arc::new(known),
            current: ArcSwap::default(),
            asked: AtomicU64::new(0),
            answered: Mutex::new(0),
        });
        shared.refresh().await?;
        Ok(Self { shared })
    }

    /// The skills as they are now. Never blocks.
    pub fn current(&self) -> Arc<Snapshot> {
        self.shared.current.load_full()
    }

    /// Facts about the program that the skills are checked against.
    pub fn known(&self) -> &Known {
        &self.shared.known
    }

    /// Writes a new skill; with `replace`, over one of the same owner, name and version. Returns the stored row.
    pub async fn install(&self, mut skill: Skill, replace: bool) -> Result<Skill, RegistryError> {
        check_name(&skill.name)?;
        if self.shared.known.is_reserved(&skill.name) || skill.is_builtin() {
            return Err(RegistryError::Reserved(skill.name));
        }
        schema::normalise_input(&skill.schema)?;
        schema::normalise_output(&skill.schema)?;
        if !self.shared.known.handlers.contains(&skill.handler) {
            let known = self.shared.known.handlers.iter().cloned().collect();
            return Err(RegistryError::UnknownHandler { handler: skill.handler, known });
        }
        skill.tags = normalise_tags(skill.tags);
        self.change(move |store| async move { store.insert_skill(skill, replace).await }).await
    }

    /// Changes a skill. Returns the stored row.
    pub async fn update(&self, id: &str, mut update: SkillUpdate) -> Result<Skill, RegistryError> {
        if update.description.is_some() || update.tags.is_some() {
            self.refuse_builtin(id).await?;
        }
        update.tags = update.tags.map(normalise_tags);
        let id = id.to_owned();
        self.change(move |store| async move { store.update_skill(&id, update).await }).await
    }

    /// Removes a skill; its history stays.
    pub async fn delete(&self, id: &str) -> Result<(), RegistryError> {
        self.refuse_builtin(id).await?;
        let id = id.to_owned();
        self.change(move |store| async move { store.delete_skill(&id).await }).await
    }

    /// Reads everything again, for writes that did not come through here. Returns when it is visible.
    pub async fn invalidate(&self) -> Result<(), RegistryError> {
        let shared = Arc::clone(&self.shared);
        settled(tokio::spawn(async move { shared.refresh().await })).await
    }

    /// Refreshes for ever, every `period`: what bounds the staleness of writes by other processes. A failure is
    /// logged and leaves the skills as they are.
    pub async fn keep_fresh(self, period: Duration) {
        loop {
            tokio::time::sleep(period).await;
            if let Err(error) = self.shared.refresh().await {
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    "the skills could not be read again"
                );
            }
        }
    }

    /// Refuses a built-in. An id that is not known yet is looked for once more.
    async fn refuse_builtin(&self, id: &str) -> Result<(), RegistryError> {
        if self.current().get(id).is_none() {
            self.invalidate().await?;
        }
        match self.current().get(id) {
            None => Err(RegistryError::NotFound(id.to_owned())),
            Some(entry) if entry.skill.is_builtin() => {
                Err(RegistryError::BuiltinImmutable(entry.skill.name.clone()))
            }
            Some(_) => Ok(()),
        }
    }

    async fn change<T, F, W>(&self, write: F) -> Result<T, RegistryError>
    where
        T: Send + 'static,
        F: FnOnce(Arc<dyn Store>) -> W + Send + 'static,
        W: Future<Output = Result<T, StoreError>> + Send,
    {
        let shared = Arc::clone(&self.shared);
        settled(tokio::spawn(async move {
            let written = write(Arc::clone(&shared.store)).await?;
            shared.refresh().await.map_err(|error| RegistryError::NotVisible(Box::new(error)))?;
            Ok(written)
        }))
        .await
    }
}

impl Shared {
    /// Publishes a load that began after this call.
    async fn refresh(&self) -> Result<(), RegistryError> {
        let ticket = self.asked.fetch_add(1, Ordering::SeqCst) + 1;
        let mut answered = self.answered.lock().await;
        if *answered >= ticket {
            return Ok(());
        }
        let covered = self.asked.load(Ordering::SeqCst);
        let loaded = self.store.load_skills().await?;
        let (known, old) = (Arc::clone(&self.known), self.current.load_full());
        let build = move || {
            let new = Snapshot::build(loaded, &known, Some(&old))?;
            report_broken(&new, &old);
            Ok(new)
        };
        let snapshot = settled(tokio::task::spawn_blocking(build)).await?;
        self.current.store(Arc::new(snapshot));
        *answered = covered;
        Ok(())
    }
}

/// The result of a task; one that did not finish (the program stops, or a bug) is a failed load.
async fn settled<T>(task: JoinHandle<Result<T, RegistryError>>) -> Result<T, RegistryError> {
    task.await.unwrap_or_else(|stopped| Err(RegistryError::Index(Box::new(stopped))))
}

/// Logs what is broken and was not before: a row that stays broken is not news every minute.
fn report_broken(new: &Snapshot, old: &Snapshot) {
    for row in new.broken_rows().iter().filter(|row| !old.broken_rows().contains(row)) {
        tracing::error!(id = %row.id, reason = %row.reason, "a skill cannot be read and is left out");
    }
    for entry in new.entries() {
        let known = old.get(&entry.skill.id).is_some_and(|before| before.broken == entry.broken);
        if let Some(reason) = entry.broken.as_ref().filter(|_| !known) {
            tracing::error!(skill = %entry.skill.identity(), %reason, "a skill is broken and is never offered");
        }
    }
}
