//! What only `SQLite` can get wrong, and the contract that every store keeps.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod broken;
mod child;
mod contract;
mod crash;
mod crash_all;
mod files;
mod pg;
mod round_trip;
mod space;
mod upgrade;

use std::path::PathBuf;

use tempfile::TempDir;

/// A folder that goes away with the test, and the path of a database in it.
fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("omni-skills.db");
    (folder, path)
}
