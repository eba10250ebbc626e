//! Finds runtimes and worker, makes engines and runs programs.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use sandbox::{Engine, Language, Limits, Outcome, Runtimes, Spec, WasmConfig, WasmEngine, find_runtimes};

pub(crate) use Language::{JavaScript, Python};

/// The runtimes that `cargo xtask runtimes` made.
pub(crate) fn runtimes() -> Runtimes {
    let given = std::env::var_os("OMNI_SKILLS_RUNTIMES").map(PathBuf::from);
    let base = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache");
    let cache = base.unwrap_or_else(home).join("omni-skills/runtimes");
    find_runtimes(given.as_deref(), None, Some(&cache)).expect("run `cargo xtask runtimes` first")
}

/// The example that is a worker process.
pub(crate) fn worker_program() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let program = tests.ancestors().nth(2).unwrap().join("examples/wasm_worker");
    assert!(
        program.exists(),
        "the example wasm_worker was not built with the tests: cargo build -p sandbox --examples"
    );
    program
}

/// An engine whose worker processes can be told by a word of their command line.
pub(crate) struct Marked {
    pub(crate) engine: WasmEngine,
    marker: String,
}

impl Marked {
    pub(crate) fn new(max_workers: usize) -> Self {
        Self::with_runtimes(max_workers, runtimes())
    }

    pub(crate) fn with_runtimes(max_workers: usize, runtimes: Runtimes) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let marker = format!("engine-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let worker_args = vec![marker.clone().into()];
        let config = WasmConfig { worker_program: worker_program(), worker_args, runtimes, max_workers };
        Self { engine: WasmEngine::new(config), marker }
    }

    /// Process ids of its living workers.
    pub(crate) fn pids(&self) -> Vec<u32> {
        let ids = std::fs::read_dir("/proc").unwrap().flatten();
        let ids = ids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        ids.filter(|id| {
            let words =
                std::fs::read(Path::new("/proc").join(id.to_string()).join("cmdline")).unwrap_or_default();
            words.split(|byte| *byte == 0).any(|word| word == self.marker.as_bytes())
        })
        .collect()
    }

    /// Waits until exactly so many workers live.
    pub(crate) async fn wait_for_workers(&self, wanted: usize) -> Vec<u32> {
        for _ in 0..1000 {
            let pids = self.pids();
            if pids.len() == wanted {
                return pids;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{} workers live, not {wanted}", self.pids().len());
    }

    pub(crate) async fn run(&self, language: Language, code: &str) -> Outcome {
        self.engine.run(spec(language, code)).await.unwrap()
    }

    pub(crate) async fn run_limited(&self, language: Language, code: &str, limits: Limits) -> Outcome {
        self.engine.run(Spec { limits, ..spec(language, code) }).await.unwrap()
    }
}

/// A program with limits that a loaded machine does not reach by accident.
pub(crate) fn spec(language: Language, code: &str) -> Spec {
    let limits = Limits { timeout: Duration::from_mins(1), ..Limits::default() };
    Spec { language, code: code.to_owned(), stdin: String::new(), limits }
}

/// Default limits with another time limit.
pub(crate) fn within(milliseconds: u64) -> Limits {
    Limits { timeout: Duration::from_millis(milliseconds), ..Limits::default() }
}
