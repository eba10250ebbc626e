//! Settings that hold at once. What the file or the environment says is pinned; what they leave open an operator sets
//! over REST, and the database keeps it.
//!
//! The only place that knows which of them wins: environment, file, database, default.

mod definition;
mod reload;

use std::collections::BTreeMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use serde_json::Value;
use store::{Store, StoreError};
use tokio::sync::{Mutex, MutexGuard};

use crate::app::{App, Running};

pub use definition::{Definition, Kind};
pub use reload::{ReloadRequest, Reloaded, Reloader};

/// The master switch.
pub(crate) const SKILLS_ENABLED: &str = "skillsEnabled";
/// The catalog that is searched.
pub(crate) const SKILLS_PROVIDER: &str = "skillsProvider";

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Nobody said anything.
    Default,
    /// The database.
    Database,
    /// This file.
    File(String),
    /// This variable.
    Environment(String),
}

impl Source {
    /// Whether REST cannot change the value.
    pub const fn is_pinned(&self) -> bool {
        matches!(self, Self::File(_) | Self::Environment(_))
    }

    /// The word in the API.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Database => "database",
            Self::File(_) => "file",
            Self::Environment(_) => "environment",
        }
    }

    /// The file or the variable.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::File(name) | Self::Environment(name) => Some(name),
            Self::Default | Self::Database => None,
        }
    }
}

/// What the file and the environment say, by name of the setting: values of the definition's kind, and where they
/// stand.
pub type Pinned = BTreeMap<&'static str, (Value, Source)>;

/// All settings, with where their values come from.
pub struct Settings {
    state: ArcSwap<State>,
    /// Held while something changes, so that what is applied is the newest.
    changing: Mutex<()>,
}

#[derive(Clone, Default)]
struct State {
    pinned: Pinned,
    stored: BTreeMap<&'static str, Value>,
}

impl Settings {
    /// Settings of this file and environment; what the database holds comes with [`restore_settings`].
    pub fn new(pinned: Pinned) -> Self {
        let state = State { pinned, ..State::default() };
        Self { state: ArcSwap::from_pointee(state), changing: Mutex::default() }
    }

    pub(crate) async fn lock(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().await
    }

    /// The value of a setting and where it comes from.
    pub(crate) fn get(&self, name: &str) -> (Value, Source) {
        let state = self.state.load();
        if let Some((value, source)) = state.pinned.get(name) {
            return (value.clone(), source.clone());
        }
        if let Some(value) = state.stored.get(name) {
            return (value.clone(), Source::Database);
        }
        let definition = Definition::ALL.iter().find(|definition| definition.name == name);
        (definition.map_or(Value::Null, |definition| definition.kind.default()), Source::Default)
    }

    fn flag(&self, name: &str) -> Option<bool> {
        self.get(name).0.as_bool()
    }

    pub(crate) fn whole(&self, name: &str) -> Option<u64> {
        self.get(name).0.as_u64()
    }

    /// A word or a secret.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.get(name).0.as_str().map(str::to_owned)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = State::clone(&self.state.load());
        change(&mut state);
        self.state.store(Arc::new(state));
    }
}

/// Reads what the database holds and applies it: before serving, and whenever another process may have changed it.
pub async fn restore_settings(app: &App) -> Result<(), StoreError> {
    let _changing = app.settings.lock().await;
    let stored = read(app.store.as_ref()).await?;
    app.settings.change(|state| state.stored = stored);
    apply(app, None);
    Ok(())
}

async fn read(store: &dyn Store) -> Result<BTreeMap<&'static str, Value>, StoreError> {
    let mut stored = BTreeMap::new();
    for definition in Definition::ALL {
        // An empty text is a setting that was taken back.
        let Some(text) = store.value(definition.stored).await?.filter(|text| !text.is_empty()) else {
            continue;
        };
        match definition.kind.parse(&text) {
            Some(value) => drop(stored.insert(definition.name, value)),
            None => {
                tracing::warn!(setting = definition.name, "the database holds a value that cannot be used");
            }
        }
    }
    Ok(stored)
}

/// Writes changes (absent: back to what holds without the database) and applies them. The caller holds the lock.
pub(crate) async fn write(
    app: &App,
    changes: Vec<(&'static Definition, Option<Value>)>,
) -> Result<(), StoreError> {
    for (definition, value) in changes {
        let text = value.as_ref().map(Kind::print).unwrap_or_default();
        app.store.set_value(definition.stored, &text).await?;
        app.settings.change(|state| {
            match value {
                Some(value) => state.stored.insert(definition.name, value),
                None => state.stored.remove(definition.name),
            };
        });
    }
    apply(app, None);
    Ok(())
}

/// Takes up a whole new configuration: what it says and what the database holds beneath it. Nobody sees a half of it.
pub async fn reconfigure(app: &App, pinned: Pinned, next: Running) {
    let _changing = app.settings.lock().await;
    app.settings.change(|state| state.pinned = pinned);
    apply(app, Some(next));
}

/// Hands the values on to those who use them.
fn apply(app: &App, next: Option<Running>) {
    let settings = &app.settings;
    let mut next = next.unwrap_or_else(|| Running::clone(&app.live.load()));
    let config = Arc::make_mut(&mut next.config);
    if let Some(most) = settings.whole("selection.autoMaxSkills").and_then(|n| usize::try_from(n).ok()) {
        config.select.auto_skills = most;
    }
    if let Some(least) = settings.whole("selection.autoMinScore").and_then(|n| i32::try_from(n).ok()) {
        config.select.auto_score = least;
    }
    app.live.store(next);
    if let Some(enabled) = settings.flag(SKILLS_ENABLED) {
        app.executor.set_enabled(enabled);
    }
    if let Some(ms) = settings.whole("executor.timeoutMs") {
        app.executor.set_timeout(ms);
    }
    if let Some(times) = settings.whole("executor.maxRetries").and_then(|n| u32::try_from(n).ok()) {
        app.executor.set_max_retries(times);
    }
}
