//! Compiled runtimes are native code: only untouched ones that nobody else can write are loaded.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use sandbox::{Engine, Reason, Runtimes, SandboxError, find_runtimes};
use tempfile::TempDir;

use crate::support::{JavaScript, Marked, runtimes, spec};

const FILES: [&str; 3] = ["manifest.json", "javascript.cwasm", "python.cwasm"];

/// A private copy of the runtimes inside a folder that stands for the cache.
fn copy() -> (TempDir, std::path::PathBuf) {
    let cache = tempfile::tempdir().unwrap();
    let dir = cache.path().join("copy");
    fs::create_dir(&dir).unwrap();
    mode(&dir, 0o700);
    for name in FILES {
        fs::copy(runtimes().path().join(name), dir.join(name)).unwrap();
    }
    (cache, dir)
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[tokio::test]
async fn an_untouched_copy_works() {
    let (cache, dir) = copy();
    let found = find_runtimes(None, None, Some(cache.path())).unwrap();
    assert_eq!(found.path(), dir);
    let marked = Marked::with_runtimes(1, found);
    assert!(marked.engine.probe().available);
    assert_eq!(marked.run(JavaScript, "print(1)").await.reason, Reason::Ok);
}

#[tokio::test]
async fn one_changed_byte_is_refused() {
    let (_cache, dir) = copy();
    let path = dir.join("javascript.cwasm");
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&path, bytes).unwrap();
    let marked = Marked::with_runtimes(1, Runtimes::open(&dir).unwrap());
    let error = marked.engine.run(spec(JavaScript, "print(1)")).await.unwrap_err();
    assert!(matches!(error, SandboxError::Unavailable { engine: "wasm", .. }), "{error}");
    assert!(error.to_string().contains("javascript.cwasm is not what its manifest says"), "{error}");
}

#[test]
fn what_others_can_write_is_refused() {
    for name in FILES {
        for rights in [0o620, 0o602] {
            let (_cache, dir) = copy();
            mode(&dir.join(name), rights);
            let error = Runtimes::open(&dir).unwrap_err().to_string();
            assert!(error.contains("can be written to by other users"), "{error}");
        }
    }
    let (_cache, dir) = copy();
    mode(&dir, 0o770);
    assert!(Runtimes::open(&dir).is_err());
}

#[tokio::test]
async fn rights_are_checked_again_when_a_worker_loads() {
    let (_cache, dir) = copy();
    let marked = Marked::with_runtimes(1, Runtimes::open(&dir).unwrap());
    mode(&dir.join("javascript.cwasm"), 0o660);
    assert!(!marked.engine.probe().available);
    let error = marked.engine.run(spec(JavaScript, "print(1)")).await.unwrap_err();
    assert!(matches!(error, SandboxError::Unavailable { .. }), "{error}");
}

#[test]
fn a_link_is_refused() {
    let (_cache, dir) = copy();
    let path = dir.join("python.cwasm");
    fs::rename(&path, dir.join("elsewhere")).unwrap();
    symlink(dir.join("elsewhere"), &path).unwrap();
    assert!(Runtimes::open(&dir).unwrap_err().to_string().contains("wrong file type"));
}

#[test]
fn runtimes_of_another_version_are_passed_over_in_the_cache() {
    let (cache, dir) = copy();
    let other = cache.path().join("other");
    fs::create_dir(&other).unwrap();
    mode(&other, 0o700);
    let text = fs::read_to_string(dir.join("manifest.json")).unwrap();
    fs::write(other.join("manifest.json"), text.replace("\"48.", "\"47.")).unwrap();
    assert_eq!(find_runtimes(None, None, Some(cache.path())).unwrap().path(), dir);
    let why = find_runtimes(Some(&other), None, Some(cache.path())).unwrap_err();
    assert!(why.contains("made by wasmtime 47."), "{why}");
}

#[test]
fn missing_runtimes_say_what_to_do() {
    let nowhere = Path::new("/nonexistent");
    let why = find_runtimes(None, Some(nowhere), Some(nowhere)).unwrap_err();
    assert!(why.contains("run `cargo xtask runtimes` first"), "{why}");
    assert!(find_runtimes(Some(nowhere), None, None).unwrap_err().contains("the folder given"));
}
