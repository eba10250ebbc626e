//! Finds the folder with the compiled language runtimes.
//!
//! Searched in this order: the folder the operator named, the folder beside the program, the per-user cache that the
//! build step fills. The first two must fit when they exist; in the cache the newest folder that fits is taken. It
//! only reads manifests; code is loaded by the worker process alone.

use std::path::{Path, PathBuf};

use launcher::{Folder, LoadError};

use crate::Language;

const HOW_TO_BUILD: &str = "run `cargo xtask runtimes` first";

/// A folder of compiled runtimes that fits this program.
#[derive(Debug, Clone)]
pub struct Runtimes {
    folder: Folder,
}

impl Runtimes {
    /// Opens one folder.
    ///
    /// # Errors
    /// Why the folder cannot be used; it must hold a runtime of every language.
    pub fn open(dir: &Path) -> Result<Self, LoadError> {
        let folder = Folder::open(dir)?;
        for language in Language::ALL {
            folder.check(language.file_name())?;
        }
        Ok(Self { folder })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// What it holds, for people: product and version of each runtime.
    pub fn about(&self) -> Vec<&str> {
        self.folder.manifest().files.iter().map(|f| f.about.as_str()).collect()
    }
}

/// Finds the compiled runtimes: `explicit` (named by the operator; nothing else is tried), else `beside_binary`, else
/// the newest fitting folder inside `cache`.
///
/// # Errors
/// A sentence that says why there are none and what to do.
pub fn find_runtimes(
    explicit: Option<&Path>,
    beside_binary: Option<&Path>,
    cache: Option<&Path>,
) -> Result<Runtimes, String> {
    if let Some(dir) = explicit {
        return open(dir).map_err(|e| format!("the folder given for the runtimes cannot be used: {e}"));
    }
    if let Some(dir) = beside_binary.filter(|dir| dir.exists()) {
        return open(dir).map_err(|e| format!("the runtimes beside the program cannot be used: {e}"));
    }
    let mut why = None;
    for dir in cache.map(newest_first).unwrap_or_default() {
        match Runtimes::open(&dir) {
            Ok(found) => return Ok(found),
            Err(e) => why = Some(why.unwrap_or_else(|| e.to_string())),
        }
    }
    let why = why.unwrap_or_else(|| "no compiled runtimes were found".to_owned());
    Err(format!("{why}; {HOW_TO_BUILD}"))
}

/// Links are resolved for the folders an administrator names, not inside the cache.
fn open(dir: &Path) -> Result<Runtimes, LoadError> {
    let real = dir.canonicalize().map_err(|e| LoadError::Missing(e.kind().to_string()))?;
    Runtimes::open(&real)
}

fn newest_first(cache: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(cache) else { return Vec::new() };
    let mut dirs: Vec<_> = entries
        .flatten()
        .filter(|e| !e.file_name().to_string_lossy().starts_with('.'))
        .filter_map(|e| {
            Some((e.metadata().ok().filter(std::fs::Metadata::is_dir)?.modified().ok()?, e.path()))
        })
        .collect();
    dirs.sort();
    dirs.into_iter().rev().map(|(_, path)| path).collect()
}
