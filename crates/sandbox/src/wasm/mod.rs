//! The `wasm` engine: WebAssembly in worker processes of our own program.
//!
//! A pool of workers, started when they are needed and kept for the next program; each runs one program at a time in a
//! fresh instance. Callers wait in the order they came. A worker is killed when its caller goes away, when it does not
//! answer in time or when it gives a wrong answer, and the next caller gets another one. The gateway's own process
//! never runs a guest.

mod confine;
mod frame;
mod guest;
mod hint;
mod host;
mod javascript;
mod memory;
mod output;
mod process;
mod protocol;
mod python;
mod quickjs;
mod watchdog;
mod worker;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio_util::sync::CancellationToken;

use self::process::{Failure, Process};
use self::protocol::{Done, Job};
pub use self::worker::worker_main;
use crate::spec::MAX_PROGRAM_BYTES;
use crate::{Engine, Language, Outcome, Probe, Reason, Runtimes, SandboxError, Spec};

const NAME: &str = "wasm";
const ISOLATION: &str = "wasm (WASI without files, network, environment or processes)";
const LIMITS: &str = "memory, time and output, enforced by the engine";

/// How the engine starts its workers.
#[derive(Debug, Clone)]
pub struct WasmConfig {
    /// The program to start; it has to call [`worker_main`].
    pub worker_program: PathBuf,
    /// Its arguments; the folder of the runtimes is added as the last one.
    pub worker_args: Vec<OsString>,
    /// The compiled runtimes.
    pub runtimes: Runtimes,
    /// How many programs may run at the same time; at least one.
    pub max_workers: usize,
}

/// The engine. Share it behind an `Arc`; dropping it kills its workers.
#[derive(Debug)]
pub struct WasmEngine {
    config: WasmConfig,
    workers: u32,
    slots: Semaphore,
    idle: Mutex<Vec<Process>>,
    stop: Mutex<CancellationToken>,
}

impl WasmEngine {
    /// An engine without any worker yet.
    pub fn new(config: WasmConfig) -> Self {
        let workers = u32::try_from(config.max_workers.clamp(1, 1024)).unwrap_or(1);
        Self {
            config,
            workers,
            slots: Semaphore::new(workers as usize),
            idle: Mutex::default(),
            stop: Mutex::default(),
        }
    }

    async fn run_in_worker(&self, job: Job) -> Result<Outcome, SandboxError> {
        let _slot = self.slot().await?;
        let (language, timeout_ms) = (job.language, job.timeout_ms);
        let mut worker = self.worker()?;
        let mut ran = worker.run(&job).await;
        if matches!(ran, Err(Failure::NotStarted(_))) {
            // It died while it waited for work. A new one has nothing to have died of.
            worker = self.new_worker()?;
            ran = worker.run(&job).await;
        }
        match ran {
            Ok(done) => {
                if !done.last {
                    self.idle().push(worker);
                }
                Ok(outcome(language, done))
            }
            Err(Failure::NoAnswer) => Ok(outcome(language, no_answer(timeout_ms))),
            Err(Failure::Runtimes(reason)) => Err(SandboxError::Unavailable { engine: NAME, reason }),
            Err(Failure::NotStarted(reason) | Failure::Broken(reason)) => Err(failed(reason)),
        }
    }

    async fn slot(&self) -> Result<SemaphorePermit<'_>, SandboxError> {
        self.slots.acquire().await.map_err(|_| SandboxError::Cancelled)
    }

    fn worker(&self) -> Result<Process, SandboxError> {
        let mut idle = self.idle();
        while let Some(mut worker) = idle.pop() {
            if worker.is_alive() {
                return Ok(worker);
            }
        }
        drop(idle);
        self.new_worker()
    }

    fn new_worker(&self) -> Result<Process, SandboxError> {
        Process::start(&self.config).map_err(|e| failed(format!("its worker process cannot be started: {e}")))
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Process>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stop_token(&self) -> std::sync::MutexGuard<'_, CancellationToken> {
        self.stop.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait::async_trait]
impl Engine for WasmEngine {
    fn name(&self) -> &'static str {
        NAME
    }

    fn probe(&self) -> Probe {
        let opened = Runtimes::open(self.config.runtimes.path());
        Probe {
            available: opened.is_ok(),
            isolation: ISOLATION.to_owned(),
            limits: LIMITS.to_owned(),
            languages: Language::ALL.iter().map(|language| language.as_str().to_owned()).collect(),
            reason: opened.err().map(|e| e.to_string()),
        }
    }

    async fn run(&self, spec: Spec) -> Result<Outcome, SandboxError> {
        if spec.code.len().saturating_add(spec.stdin.len()) > MAX_PROGRAM_BYTES {
            return Err(failed(format!("program and stdin are larger than {MAX_PROGRAM_BYTES} bytes")));
        }
        let stop = self.stop_token().clone();
        let job = Job {
            language: spec.language,
            code: spec.code,
            stdin: spec.stdin,
            memory_bytes: spec.limits.memory_bytes,
            timeout_ms: u64::try_from(spec.limits.timeout.as_millis()).unwrap_or(u64::MAX),
            output_chars: spec.limits.output_chars,
        };
        tokio::select! {
            biased;
            () = stop.cancelled() => Err(SandboxError::Cancelled),
            result = self.run_in_worker(job) => result,
        }
    }

    async fn kill_all(&self) {
        let stopped = std::mem::take(&mut *self.stop_token());
        stopped.cancel();
        // Every running caller gives its slot back once its worker is dropped, and so killed.
        let all = self.slots.acquire_many(self.workers).await;
        self.idle().clear();
        drop(all);
    }
}

fn failed(reason: String) -> SandboxError {
    SandboxError::Engine { engine: NAME, reason }
}

/// What is reported for a worker that had to be killed at limit and grace.
fn no_answer(timeout_ms: u64) -> Done {
    Done {
        reason: Reason::Timeout,
        exit_code: None,
        stdout: String::new(),
        stderr: String::new(),
        truncated: false,
        missing: None,
        duration_ms: timeout_ms,
        last: true,
    }
}

fn outcome(language: Language, done: Done) -> Outcome {
    Outcome {
        hint: hint::hint(language, &done),
        exit_code: done.exit_code,
        signal: None,
        reason: done.reason,
        stdout: done.stdout,
        stderr: done.stderr,
        truncated: done.truncated,
        duration_ms: done.duration_ms,
        engine: NAME,
        isolation: ISOLATION.to_owned(),
    }
}
