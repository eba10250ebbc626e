//! Which processes on the database are alive: each holds a locked file in a folder beside it. The operating system lets
//! the lock go when the process dies, however it dies, so a file that can be locked belongs to nobody.
//!
//! Blocks; for threads that may. Never follows a link out of the folder.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, params};
use serde_json::to_string;

use crate::common::count;
use crate::error::SqlError;

/// Tries to get a file of one's own in place; another process that tidies the folder may be in the way.
const TRIES: usize = 100;

/// The folder, and this process's file in it.
pub(super) struct Instances {
    folder: PathBuf,
    own: Mutex<Option<Own>>,
}

struct Own {
    id: Arc<str>,
    /// Locked for as long as it is open.
    file: File,
}

impl Instances {
    /// Nothing is created yet. `path` is that of the database.
    pub(super) fn beside(path: &Path) -> Self {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push("-instances");
        Self { folder: path.with_file_name(name), own: Mutex::new(None) }
    }

    fn own(&self) -> MutexGuard<'_, Option<Own>> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// This process, if it has registered.
    pub(super) fn id(&self) -> Option<Arc<str>> {
        self.own().as_ref().map(|own| own.id.clone())
    }

    /// See [`store::Instances::register_instance`].
    pub(super) fn register(&self, id: &str) -> Result<(), SqlError> {
        if !is_name(id) {
            return Err(SqlError::BadInstance);
        }
        self.make_folder()?;
        {
            // One at a time: two that wait for one another's file would wait for ever.
            let mut own = self.own();
            let file = self.lock_file(id)?;
            let before = own.replace(Own { id: id.into(), file });
            if let Some(before) = before.filter(|before| *before.id != *id) {
                self.remove(&before.id);
            }
        }
        self.tidy(id)
    }

    /// See [`store::Instances::renew_instance`]. A lock cannot get lost, but its file can be removed by somebody.
    pub(super) fn renew(&self) -> Result<(), SqlError> {
        let lost = {
            let own = self.own();
            let Some(own) = own.as_ref() else { return Ok(()) };
            (!is_at(&own.file, &self.folder.join(&*own.id))?).then(|| own.id.clone())
        };
        match lost {
            Some(id) => {
                tracing::warn!("the lock file of this process was removed; it is made again");
                self.register(&id)
            }
            None => Ok(()),
        }
    }

    /// Those of `ids` that are not alive.
    pub(super) fn dead(&self, ids: Vec<String>) -> Result<Vec<String>, SqlError> {
        let own = self.id();
        let mut dead = Vec::new();
        for id in ids {
            let alive = own.as_deref() == Some(&*id) || (is_name(&id) && self.holds_lock(&id)?);
            if !alive {
                dead.push(id);
            }
        }
        Ok(dead)
    }

    /// Lets the lock go.
    pub(super) fn release(&self) {
        if let Some(own) = self.own().take() {
            self.remove(&own.id);
        }
    }

    fn make_folder(&self) -> Result<(), SqlError> {
        let mut builder = std::fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        match builder.create(&self.folder) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error.into()),
            _ => {}
        }
        let found = self.folder.symlink_metadata()?;
        if !found.is_dir() {
            return Err(SqlError::NotAFolder);
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            // Fails for a folder of somebody else.
            if found.permissions().mode() & 0o077 != 0 {
                std::fs::set_permissions(&self.folder, std::fs::Permissions::from_mode(0o700))?;
            }
        }
        Ok(())
    }

    /// The file is locked before it has its name, so that under its name nobody ever finds it unlocked while its
    /// process lives.
    fn lock_file(&self, id: &str) -> Result<File, SqlError> {
        let new = self.folder.join(format!("{id}.new"));
        for _ in 0..TRIES {
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(false);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            let file = open(&mut options, &new)?;
            file.lock()?;
            match std::fs::rename(&new, self.folder.join(id)) {
                Ok(()) => return Ok(file),
                // A process that tidies took the file for one of the dead before it was locked.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(std::io::Error::other("the lock file of this process is removed by others again and again")
            .into())
    }

    /// Whether a living process holds this file. Removes it if not.
    fn holds_lock(&self, name: &str) -> Result<bool, SqlError> {
        let path = self.folder.join(name);
        match path.symlink_metadata() {
            Ok(found) if found.is_file() => {}
            // Nobody's lock.
            Ok(_) => return Ok(false),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        let file = match open(OpenOptions::new().read(true), &path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        match file.try_lock() {
            Ok(()) => {
                self.remove(name);
                Ok(false)
            }
            Err(TryLockError::WouldBlock) => Ok(true),
            Err(TryLockError::Error(error)) => Err(error.into()),
        }
    }

    /// Removes the files of the dead.
    fn tidy(&self, own: &str) -> Result<(), SqlError> {
        for entry in std::fs::read_dir(&self.folder)? {
            let name = entry?.file_name();
            let Some(name) = name.to_str() else { continue };
            let id = name.strip_suffix(".new").unwrap_or(name);
            if is_name(id) && name != own {
                self.holds_lock(name)?;
            }
        }
        Ok(())
    }

    /// Best effort: a file that stays is one of the dead, and somebody else removes it.
    fn remove(&self, name: &str) {
        match std::fs::remove_file(self.folder.join(name)) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                tracing::warn!(%error, "a lock file was not removed");
            }
            _ => {}
        }
    }
}

impl Drop for Instances {
    fn drop(&mut self) {
        self.release();
    }
}

/// Ids come from rows too, which anybody may have written: only what can be nothing but a file name is one.
fn is_name(id: &str) -> bool {
    !id.is_empty() && id.len() <= 64 && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

fn open(options: &mut OpenOptions, path: &Path) -> std::io::Result<File> {
    #[cfg(unix)]
    {
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        std::os::unix::fs::OpenOptionsExt::custom_flags(options, flags.bits().cast_signed());
    }
    options.open(path)
}

/// Whether the path leads to this very file.
fn is_at(file: &File, path: &Path) -> Result<bool, SqlError> {
    let found = match path.symlink_metadata() {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error.into()),
    };
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let own = file.metadata()?;
        Ok((own.dev(), own.ino()) == (found.dev(), found.ino()))
    }
    #[cfg(not(unix))]
    Ok(found.is_file() && file.metadata()?.is_file())
}

/// Processes that have rows which have not ended.
pub(super) fn with_open_rows(connection: &Connection) -> Result<Vec<String>, SqlError> {
    // The second condition, a consequence of the first, opens the index of what is no success.
    let sql = "SELECT DISTINCT instance FROM skill_executions
        WHERE status IN ('pending', 'running') AND status <> 'success' AND instance IS NOT NULL";
    let mut statement = connection.prepare_cached(sql)?;
    let ids = statement.query_map([], |row| row.get(0))?;
    Ok(ids.collect::<rusqlite::Result<_>>()?)
}

/// Ends what the dead left open. Rows of no process are of an older release, or of a store that never registered.
pub(super) fn interrupt(connection: &Connection, message: &str, dead: &[String]) -> Result<u64, SqlError> {
    let sql = "UPDATE skill_executions SET status = 'error', error_message = ?1
        WHERE status IN ('pending', 'running') AND status <> 'success'
            AND (instance IS NULL OR instance IN (SELECT value FROM json_each(?2)))
            AND id NOT IN (SELECT execution_id FROM approvals WHERE state = 'waiting')";
    let rows = connection.prepare_cached(sql)?.execute(params![message, to_string(dead)?])?;
    Ok(count(i64::try_from(rows).unwrap_or(i64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.db");
        (folder, path)
    }

    fn files(instances: &Instances) -> Vec<String> {
        let entries = std::fs::read_dir(&instances.folder).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn the_living_are_told_from_the_dead() {
        let (_folder, path) = folder();
        let (one, two) = (Instances::beside(&path), Instances::beside(&path));
        one.register("one").unwrap();
        two.register("two").unwrap();
        let all = || ["one", "two", "gone", "../x", ""].map(str::to_owned).to_vec();
        assert_eq!(one.dead(all()).unwrap(), ["gone", "../x", ""]);
        assert_eq!(files(&one), ["one", "two"]);
        drop(two);
        assert_eq!(one.dead(all()).unwrap(), ["two", "gone", "../x", ""]);
        one.release();
        assert_eq!(files(&one), Vec::<String>::new());
    }

    #[test]
    fn files_of_the_dead_are_removed_and_those_of_the_living_stay() {
        let (_folder, path) = folder();
        let (one, two) = (Instances::beside(&path), Instances::beside(&path));
        one.register("one").unwrap();
        std::fs::write(one.folder.join("dead"), "").unwrap();
        std::fs::write(one.folder.join("dead.new"), "").unwrap();
        std::fs::write(one.folder.join("somebody's notes"), "").unwrap();
        two.register("two").unwrap();
        assert_eq!(files(&one), ["one", "somebody's notes", "two"]);
        two.register("three").unwrap();
        assert_eq!(files(&one), ["one", "somebody's notes", "three"]);
    }

    #[test]
    fn a_removed_file_is_made_again() {
        let (_folder, path) = folder();
        let (one, two) = (Instances::beside(&path), Instances::beside(&path));
        one.renew().unwrap();
        assert!(!one.folder.exists(), "who has not registered has nothing to renew");
        one.register("one").unwrap();
        std::fs::remove_dir_all(&one.folder).unwrap();
        assert_eq!(two.dead(vec!["one".to_owned()]).unwrap(), ["one"]);
        one.renew().unwrap();
        assert!(two.dead(vec!["one".to_owned()]).unwrap().is_empty());
        one.renew().unwrap();
        assert_eq!(files(&one), ["one"]);
    }

    #[test]
    fn many_that_come_and_go_never_lose_their_lock() {
        let (_folder, path) = folder();
        let threads: Vec<_> = (0..8)
            .map(|n| {
                let instances = Instances::beside(&path);
                std::thread::spawn(move || {
                    for round in 0..20 {
                        let id = format!("{n}-{round}");
                        instances.register(&id).unwrap();
                        assert!(
                            is_at(&instances.own().as_ref().unwrap().file, &instances.folder.join(&id))
                                .unwrap()
                        );
                    }
                    instances
                })
            })
            .collect();
        let living: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        let expected: Vec<String> = (0..8).map(|n| format!("{n}-19")).collect();
        assert_eq!(files(&living[0]), expected);
        assert!(Instances::beside(&path).dead(expected).unwrap().is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn links_are_not_followed_and_the_folder_is_private() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let (folder, path) = folder();
        let elsewhere = folder.path().join("elsewhere");
        std::fs::create_dir(&elsewhere).unwrap();
        let instances = Instances::beside(&path);
        symlink(&elsewhere, &instances.folder).unwrap();
        assert!(matches!(instances.register("one"), Err(SqlError::NotAFolder)));
        std::fs::remove_file(&instances.folder).unwrap();

        std::fs::create_dir(&instances.folder).unwrap();
        std::fs::set_permissions(&instances.folder, std::fs::Permissions::from_mode(0o755)).unwrap();
        let victim = elsewhere.join("victim");
        std::fs::write(&victim, "precious").unwrap();
        symlink(&victim, instances.folder.join("link")).unwrap();
        symlink(&victim, instances.folder.join("one.new")).unwrap();
        assert!(instances.register("one").is_err(), "a link is no lock file");
        std::fs::remove_file(instances.folder.join("one.new")).unwrap();
        instances.register("one").unwrap();
        assert_eq!(instances.dead(vec!["link".to_owned()]).unwrap(), ["link"]);
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious");
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&instances.folder), 0o700);
        assert_eq!(mode(&instances.folder.join("one")), 0o600);
        for bad in ["", "../x", "a/b", "a.new"] {
            assert!(matches!(instances.register(bad), Err(SqlError::BadInstance)), "{bad}");
        }
    }
}
