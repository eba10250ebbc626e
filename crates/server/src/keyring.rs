//! API keys as the gateway asks for them on every request: a short-lived view of the store.
//!
//! Every write of a key in this process goes through here, so that a revoked key stops at once. Secrets are never
//! kept, only their hashes.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use domain::{ApiKey, KeySettings};
use store::{KeyUpdate, NewKey, Store, StoreError};

/// How long a write of another process may go unnoticed.
const FRESH: Duration = Duration::from_secs(5);
/// Hashes that are remembered, unknown ones included; beyond it all are forgotten.
const REMEMBERED: usize = 4096;
/// How often the last use of a key is written, at most.
const TOUCH_EVERY: Duration = Duration::from_mins(1);
/// Name of the stored value that keeps anonymous callers out after the last key was deleted.
const HAD_KEYS: &str = "had_api_keys";

/// Lower-case hex sha256, as secrets are stored.
pub fn hash_secret(secret: &str) -> String {
    domain::ids::sha256_hex(secret)
}

/// 256 random bits behind a prefix that says what they open. Fails where the system has no randomness.
pub fn new_secret(prefix: &str) -> io::Result<String> {
    let mut bytes = [0u8; 32];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(format!("{prefix}{}", domain::ids::hex(&bytes)))
}

/// The keys.
pub struct Keyring {
    store: Arc<dyn Store>,
    seen: Mutex<Seen>,
    /// Held while settings are read and written again.
    settings: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Seen {
    /// Counts writes: what was read before one must not be remembered after it.
    generation: u64,
    by_hash: HashMap<String, (Option<Arc<ApiKey>>, Instant)>,
    any: Option<(bool, Instant)>,
    touched: HashMap<String, Instant>,
}

impl Keyring {
    /// A view of this store's keys.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store, seen: Mutex::default(), settings: tokio::sync::Mutex::default() }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        // Nothing below can panic while it holds the lock half-way through a change.
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The key of this secret, unless it is unknown or revoked.
    pub(crate) async fn find(&self, secret: &str) -> Result<Option<Arc<ApiKey>>, StoreError> {
        let hash = hash_secret(secret);
        let generation = {
            let seen = self.seen();
            if let Some((key, read)) = seen.by_hash.get(&hash)
                && read.elapsed() < FRESH
            {
                return Ok(key.clone());
            }
            seen.generation
        };
        let key = self.store.key_by_hash(&hash).await?.filter(|k| !k.revoked).map(Arc::new);
        let mut seen = self.seen();
        if seen.generation == generation {
            if seen.by_hash.len() >= REMEMBERED {
                seen.by_hash.clear();
            }
            seen.by_hash.insert(hash, (key.clone(), Instant::now()));
        }
        Ok(key)
    }

    /// Whether there is or ever was a key: from then on nobody is anonymous.
    pub(crate) async fn any(&self) -> Result<bool, StoreError> {
        let generation = {
            let seen = self.seen();
            match seen.any {
                Some((true, _)) => return Ok(true),
                Some((false, read)) if read.elapsed() < FRESH => return Ok(false),
                _ => seen.generation,
            }
        };
        let any = self.store.value(HAD_KEYS).await?.is_some() || !self.store.keys().await?.is_empty();
        let mut seen = self.seen();
        if seen.generation == generation {
            seen.any = Some((any, Instant::now()));
        }
        Ok(any)
    }

    /// Notes the use of a key, off the request's path and not on every request.
    pub(crate) fn touch(&self, id: &str) {
        let now = Instant::now();
        {
            let mut seen = self.seen();
            if seen.touched.get(id).is_some_and(|last| now.duration_since(*last) < TOUCH_EVERY) {
                return;
            }
            seen.touched.insert(id.to_owned(), now);
        }
        let (store, id) = (Arc::clone(&self.store), id.to_owned());
        tokio::spawn(async move {
            if let Err(error) = store.touch_key(&id, &crate::api::now()).await {
                tracing::debug!(%error, "the last use of a key was not written");
            }
        });
    }

    /// Writes a new key.
    pub(crate) async fn create(&self, key: NewKey) -> Result<ApiKey, StoreError> {
        let key = self.store.create_key(key).await;
        self.forget();
        key
    }

    /// Changes a key.
    pub(crate) async fn update(&self, id: &str, update: KeyUpdate) -> Result<ApiKey, StoreError> {
        let key = self.store.update_key(id, update).await;
        self.forget();
        key
    }

    /// Changes a key and some of its settings; the others stay as they are.
    pub(crate) async fn update_settings(
        &self,
        id: &str,
        update: KeyUpdate,
        change: impl FnOnce(KeySettings) -> KeySettings + Send,
    ) -> Result<ApiKey, StoreError> {
        // Two changes at once must not take each other back.
        let _alone = self.settings.lock().await;
        let keys = self.store.keys().await?;
        let key = keys.into_iter().find(|key| key.id == id);
        let key = key.ok_or_else(|| StoreError::NotFound { what: "key", id: id.to_owned() })?;
        self.update(id, KeyUpdate { settings: Some(change(key.settings)), ..update }).await
    }

    /// Removes a key. Deleting the last one does not let anonymous callers in again.
    pub(crate) async fn delete(&self, id: &str) -> Result<(), StoreError> {
        self.store.set_value(HAD_KEYS, "true").await?;
        let gone = self.store.delete_key(id).await;
        self.forget();
        gone
    }

    fn forget(&self) {
        let mut seen = self.seen();
        let generation = seen.generation.wrapping_add(1);
        let touched = std::mem::take(&mut seen.touched);
        *seen = Seen { generation, touched, ..Seen::default() };
    }
}
