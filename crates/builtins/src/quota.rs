//! How much a workspace holds. One book per workspace; whoever writes there holds it meanwhile, so that counting
//! and writing are one step. Counts are refreshed from the disk, since other processes write there too.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cap_fs_ext::DirExt;
use cap_std::fs::Dir;

use crate::files::FileError;
use crate::path_policy::TEMPORARY;
use crate::workspace::WorkspaceLimits;

/// Age at which counts are taken again.
const FRESH: Duration = Duration::from_mins(1);
/// Age at which a file that was being written is taken for a remainder of a crash.
const STALE_TEMPORARY: Duration = Duration::from_hours(1);
/// Folders inside folders that are counted; paths go 32 deep, plus our own.
const DEEPEST: usize = 64;
/// Books beyond this number are dropped while nobody holds them; they are counted anew when needed.
const BOOKS: usize = 1_000;

/// All books.
#[derive(Default)]
pub(crate) struct Books {
    books: Mutex<HashMap<String, Arc<Book>>>,
}

impl Books {
    /// The book of a workspace, by its folder's name.
    pub(crate) fn of(&self, key: &str, whole: Dir, limits: WorkspaceLimits) -> Arc<Book> {
        let mut books = lock(&self.books);
        if books.len() >= BOOKS {
            books.retain(|_, book| Arc::strong_count(book) > 1);
        }
        let book = books
            .entry(key.to_owned())
            .or_insert_with(|| Arc::new(Book { whole, limits, counted: Mutex::new(None) }));
        Arc::clone(book)
    }
}

/// The book of one workspace.
pub(crate) struct Book {
    whole: Dir,
    limits: WorkspaceLimits,
    counted: Mutex<Option<Counted>>,
}

#[derive(Clone, Copy, Debug)]
struct Counted {
    at: Instant,
    bytes: u64,
    entries: u64,
}

impl Book {
    /// Opens the book; others wait until the page is dropped.
    pub(crate) fn open(&self) -> Page<'_> {
        Page { book: self, counted: lock(&self.counted) }
    }

    fn count(&self) -> Result<Counted, FileError> {
        let mut counted = Counted { at: Instant::now(), bytes: 0, entries: 0 };
        count(&self.whole, 0, &mut counted)?;
        Ok(counted)
    }
}

/// The right to write into a workspace.
pub(crate) struct Page<'a> {
    book: &'a Book,
    counted: MutexGuard<'a, Option<Counted>>,
}

impl Page<'_> {
    /// Whether so many new entries, and `grown` bytes in place of `replaced` ones, still fit.
    pub(crate) fn check(&mut self, entries: u64, grown: u64, replaced: u64) -> Result<(), FileError> {
        let limits = self.book.limits;
        let mut fresh = false;
        let mut counted = match *self.counted {
            Some(counted) if counted.at.elapsed() < FRESH => counted,
            _ => {
                fresh = true;
                self.book.count()?
            }
        };
        loop {
            *self.counted = Some(counted);
            let bytes = counted.bytes.saturating_sub(replaced).saturating_add(grown);
            // What only shrinks may always be written.
            let too_big = bytes > limits.total_bytes && grown > replaced;
            let too_many = entries > 0 && counted.entries.saturating_add(entries) > limits.entries;
            match (too_big, too_many) {
                (false, false) => return Ok(()),
                _ if !fresh => {
                    fresh = true;
                    counted = self.book.count()?;
                }
                (true, _) => return Err(FileError::QuotaBytes { max: limits.total_bytes }),
                (false, true) => return Err(FileError::QuotaEntries { max: limits.entries }),
            }
        }
    }

    /// Notes what was written.
    pub(crate) fn note(&mut self, entries: u64, grown: u64, replaced: u64) {
        if let Some(counted) = self.counted.as_mut() {
            counted.bytes = counted.bytes.saturating_sub(replaced).saturating_add(grown);
            counted.entries = counted.entries.saturating_add(entries);
        }
    }
}

/// Adds up a folder. What vanishes meanwhile is not there; links are entries, never ways.
fn count(dir: &Dir, depth: usize, counted: &mut Counted) -> Result<(), FileError> {
    for entry in dir.entries()? {
        let entry = entry?;
        let Ok(metadata) = entry.metadata() else { continue };
        let name = entry.file_name();
        if name.to_str().is_some_and(|name| name.starts_with(TEMPORARY)) {
            let age = metadata.modified().ok().and_then(|time| time.into_std().elapsed().ok());
            if age.is_some_and(|age| age > STALE_TEMPORARY) && dir.remove_file(&name).is_ok() {
                continue;
            }
        }
        counted.entries += 1;
        if metadata.is_file() {
            counted.bytes = counted.bytes.saturating_add(metadata.len());
        } else if metadata.is_dir()
            && depth < DEEPEST
            && let Ok(inner) = dir.open_dir_nofollow(&name)
        {
            count(&inner, depth + 1, counted)?;
        }
    }
    Ok(())
}

/// A panic while counting leaves counts that are taken again, so a poisoned lock is as good as any.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
