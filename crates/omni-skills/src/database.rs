//! Opens the database that a configuration means, for the gateway and for commands that work without one.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use store::Database;
use store_sql::{PostgresStore, SqliteStore};

use crate::config::{Config, Environment, Synchronous};

/// Name of the `SQLite` file in the data folder.
const FILE: &str = "omni-skills.db";
/// Name of the file that every process on the data folder holds a lock of.
const LOCK: &str = "omni-skills.lock";

/// An open database.
pub(crate) enum Opened {
    /// A file in the data folder.
    Sqlite(Arc<SqliteStore>),
    /// A server.
    Postgres(Arc<PostgresStore>),
}

impl Opened {
    /// What it keeps.
    pub(crate) fn database(&self) -> Arc<dyn Database> {
        match self {
            Self::Sqlite(store) => store.clone(),
            Self::Postgres(store) => store.clone(),
        }
    }

    /// Writes what waits and lets go.
    pub(crate) async fn close(self) {
        match self {
            Self::Sqlite(store) => store.close().await,
            Self::Postgres(store) => store.close().await,
        }
    }
}

/// The address of a database server, if one is configured.
pub(crate) fn server_address(env: &Environment) -> Option<&str> {
    env.get("DATABASE_URL")
}

/// Opens it, and brings its schema up to date.
pub(crate) async fn open(config: &Config, data_dir: &Path, env: &Environment) -> Result<Opened> {
    if let Some(url) = server_address(env) {
        let store =
            PostgresStore::open(url).await.context("the database in DATABASE_URL cannot be opened")?;
        return Ok(Opened::Postgres(store));
    }
    let synchronous = match config.store.synchronous {
        Synchronous::Normal => store_sql::Synchronous::Normal,
        Synchronous::Full => store_sql::Synchronous::Full,
    };
    let path = file(data_dir);
    let store = SqliteStore::open_with(&path, synchronous);
    Ok(Opened::Sqlite(store.with_context(|| format!("the database {} cannot be opened", path.display()))?))
}

/// The `SQLite` file.
pub(crate) fn file(data_dir: &Path) -> PathBuf {
    data_dir.join(FILE)
}

/// Everything in it is the gateway's alone.
pub(crate) fn create_private_dir(dir: &Path) -> Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir);
    made.with_context(|| format!("cannot create the data folder {}", dir.display()))
}

/// Says that this process uses the data folder, until it is dropped.
pub(crate) fn share(data_dir: &Path) -> Result<File> {
    let file = lock_file(data_dir)?;
    file.lock_shared().context("the data folder cannot be locked")?;
    Ok(file)
}

/// Has the data folder alone, until it is dropped; an error while a gateway uses it.
pub(crate) fn own(data_dir: &Path) -> Result<File> {
    let file = lock_file(data_dir)?;
    if file.try_lock().is_err() {
        bail!("a gateway uses the data folder {}; stop it first", data_dir.display());
    }
    Ok(file)
}

fn lock_file(data_dir: &Path) -> Result<File> {
    let path = data_dir.join(LOCK);
    let file = File::options().create(true).truncate(false).write(true).open(&path);
    file.with_context(|| format!("cannot open {}", path.display()))
}
