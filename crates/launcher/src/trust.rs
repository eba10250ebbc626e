//! Decides whether a file or folder can be trusted like the program itself.
//!
//! Trusted means: a regular file (or a folder, no symbolic link) that belongs to us or to the administrator and that
//! nobody else may write to. Nothing here changes a permission: what is wrong is refused, not repaired.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::LoadError;

/// Checks a folder.
pub(crate) fn directory(path: &Path) -> Result<(), LoadError> {
    check(path, Metadata::is_dir)
}

/// Checks a regular file.
pub(crate) fn file(path: &Path) -> Result<(), LoadError> {
    check(path, Metadata::is_file)
}

fn check(path: &Path, right_type: fn(&Metadata) -> bool) -> Result<(), LoadError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let found = path.symlink_metadata().map_err(|e| LoadError::Missing(format!("{name}: {}", e.kind())))?;
    let me = rustix::process::geteuid().as_raw();
    let why = if !right_type(&found) {
        "has the wrong file type"
    } else if found.uid() != me && found.uid() != 0 {
        "belongs to another user"
    } else if found.mode() & 0o022 != 0 {
        "can be written to by other users; remove it or take that right away"
    } else {
        return Ok(());
    };
    Err(LoadError::Untrusted(format!("{name} {why}")))
}
