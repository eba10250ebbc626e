//! API keys and management tokens as the gateway asks for them on every request: a short-lived view of the store.
//!
//! Every write of one in this process goes through here, so that a revoked one stops at once. Secrets are never
//! kept, only their hashes.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use domain::{ApiKey, KeySettings, ManagementToken};
use store::{Database, KeyUpdate, NewKey, StoreError};

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
    store: Arc<dyn Database>,
    seen: Mutex<Seen>,
    /// Held while settings are read and written again.
    settings: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Seen {
    /// Counts writes: what was read before one must not be remembered after it.
    generation: u64,
    keys: Remembered<ApiKey>,
    tokens: Remembered<ManagementToken>,
    any: Option<(bool, Instant)>,
    touched: HashMap<Used, Instant>,
}

/// What was found by the hash of a secret, and what was not.
struct Remembered<T>(HashMap<String, Found<T>>);

struct Found<T> {
    /// None: the secret opens nothing.
    what: Option<Arc<T>>,
    read: Instant,
}

impl<T> Default for Remembered<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<T> Remembered<T> {
    /// What is known of a secret, where it was read lately.
    fn get(&self, hash: &str) -> Option<&Found<T>> {
        self.0.get(hash).filter(|found| found.read.elapsed() < FRESH)
    }

    fn put(&mut self, hash: String, what: Option<Arc<T>>) {
        if self.0.len() >= REMEMBERED {
            self.0.clear();
        }
        self.0.insert(hash, Found { what, read: Instant::now() });
    }
}

/// A credential that was used, by its id.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Used {
    Key(String),
    Token(String),
}

impl Keyring {
    /// A view of this store's keys.
    pub fn new(store: Arc<dyn Database>) -> Self {
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
            if let Some(known) = seen.keys.get(&hash) {
                return Ok(known.what.clone());
            }
            seen.generation
        };
        let key = self.store.key_by_hash(&hash).await?.filter(|k| !k.revoked).map(Arc::new);
        let mut seen = self.seen();
        if seen.generation == generation {
            seen.keys.put(hash, key.clone());
        }
        Ok(key)
    }

    /// The named management token of this secret.
    pub(crate) async fn find_token(&self, secret: &str) -> Result<Option<Arc<ManagementToken>>, StoreError> {
        let hash = hash_secret(secret);
        let generation = {
            let seen = self.seen();
            if let Some(known) = seen.tokens.get(&hash) {
                return Ok(known.what.clone());
            }
            seen.generation
        };
        let token = self.store.token_by_hash(&hash).await?.map(Arc::new);
        let mut seen = self.seen();
        if seen.generation == generation {
            seen.tokens.put(hash, token.clone());
        }
        Ok(token)
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

    /// Notes the use of a credential, off the request's path and not on every request.
    pub(crate) fn touch(&self, used: Used) {
        let now = Instant::now();
        {
            let mut seen = self.seen();
            if seen.touched.get(&used).is_some_and(|last| now.duration_since(*last) < TOUCH_EVERY) {
                return;
            }
            seen.touched.insert(used.clone(), now);
        }
        let store = Arc::clone(&self.store);
        tokio::spawn(async move {
            let now = crate::api::now();
            let noted = match &used {
                Used::Key(id) => store.touch_key(id, &now).await,
                Used::Token(id) => store.touch_token(id, &now).await,
            };
            if let Err(error) = noted {
                tracing::debug!(%error, "the last use of a credential was not written");
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

    /// Writes a new management token.
    pub async fn create_token(&self, token: &ManagementToken, secret: &str) -> Result<(), StoreError> {
        let written = self.store.create_token(token, &hash_secret(secret)).await;
        self.forget();
        written
    }

    /// Removes a management token; it stops at once.
    pub async fn delete_token(&self, id: &str) -> Result<(), StoreError> {
        let gone = self.store.delete_token(id).await;
        self.forget();
        gone
    }

    /// Forgets what was read: somebody else may have changed it.
    pub(crate) fn forget(&self) {
        let mut seen = self.seen();
        let generation = seen.generation.wrapping_add(1);
        let touched = std::mem::take(&mut seen.touched);
        *seen = Seen { generation, touched, ..Seen::default() };
    }
}
