//! The worker process: runs programs one after the other, each in a fresh instance, and answers on its stdout.
//!
//! The main thread only reads requests, so it notices at once when the gateway is gone (end of stdin) and ends the
//! process, even while a program loops. Programs run on a thread of their own with a stack of known size; the
//! watchdog's thread ends them. A worker never starts a process, opens a socket or reads a file but the runtimes, and
//! before anything else it gives up the right to.

use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use launcher::{Folder, LoadError, MAX_GUEST_STACK, engine_config};
use wasmtime::Engine;

use super::confine::confine;
use super::frame;
use super::guest::{End, Streams, stuck};
use super::javascript::JavaScript;
use super::protocol::{Done, Job, Request, Response};
use super::python::Python;
use super::watchdog::Watchdog;
use crate::Language;

/// Runs this process as a worker of the wasm engine: frames on stdin and stdout, until stdin ends.
pub fn worker_main(runtimes_dir: &Path) -> ExitCode {
    let confined = confine(runtimes_dir);
    let (requests, inbox) = channel();
    let dir = runtimes_dir.to_owned();
    let runner = thread::Builder::new()
        .name("runner".to_owned())
        .stack_size(MAX_GUEST_STACK + 2 * 1024 * 1024)
        .spawn(move || run_all(&dir, confined, &inbox));
    if runner.is_err() {
        return ExitCode::FAILURE;
    }
    let mut stdin = io::stdin().lock();
    while let Ok(Some(request)) = frame::read::<Request>(&mut stdin) {
        if requests.send(request).is_err() {
            return ExitCode::FAILURE;
        }
    }
    end_process()
}

/// Ends the process without waiting for the program that may still run in it.
#[expect(
    clippy::exit,
    reason = "other threads cannot be asked to stop, and this process has nothing to clean up"
)]
fn end_process() -> ! {
    std::process::exit(0)
}

fn run_all(dir: &Path, confined: io::Result<()>, inbox: &Receiver<Request>) {
    let confined = confined.map_err(|error| format!("its worker process cannot be confined: {error}"));
    let mut worker = confined.and_then(|()| Worker::new(dir));
    for request in inbox {
        if matches!(request, Request::Run(_))
            && frame::write(&mut io::stdout().lock(), &Response::Started).is_err()
        {
            end_process();
        }
        let response = match &mut worker {
            Err(reason) => Response::LoadFailed(reason.clone()),
            Ok(worker) => match request {
                Request::Load(language) => match worker.load(language) {
                    Ok(()) => Response::Loaded,
                    Err(reason) => Response::LoadFailed(reason),
                },
                Request::Run(job) => match worker.run(job) {
                    Ok(done) => Response::Done(done),
                    Err(reason) => Response::LoadFailed(reason),
                },
            },
        };
        if frame::write(&mut io::stdout().lock(), &response).is_err() {
            end_process();
        }
    }
}

struct Worker {
    engine: Engine,
    folder: Folder,
    watchdog: Watchdog,
    javascript: Option<JavaScript>,
    python: Option<Python>,
}

impl Worker {
    fn new(dir: &Path) -> Result<Self, String> {
        let engine = Engine::new(&engine_config()).map_err(|e| e.to_string())?;
        let folder = Folder::open(dir).map_err(|e| e.to_string())?;
        let watchdog = Watchdog::start(engine.clone()).map_err(|e| e.to_string())?;
        Ok(Self { engine, folder, watchdog, javascript: None, python: None })
    }

    fn load(&mut self, language: Language) -> Result<(), String> {
        let name = language.file_name();
        let cannot_link = |e: wasmtime::Error| LoadError::Mismatch(format!("{name}: {e}"));
        let loaded = match language {
            Language::JavaScript => self.folder.module(&self.engine, name).and_then(|module| {
                self.javascript = Some(JavaScript::new(&self.engine, &module).map_err(cannot_link)?);
                Ok(())
            }),
            Language::Python => self.folder.component(&self.engine, name).and_then(|component| {
                self.python = Some(Python::new(&self.engine, &component).map_err(cannot_link)?);
                Ok(())
            }),
        };
        loaded.map_err(|e| e.to_string())
    }

    fn run(&self, job: Job) -> Result<Done, String> {
        let streams = Streams::new(&job);
        let start = Instant::now();
        let given_up = streams.clone();
        let limit = Duration::from_millis(job.timeout_ms);
        self.watchdog.arm(limit, Box::new(move || give_up(&given_up, start)));
        let end: Option<End> = match job.language {
            Language::JavaScript => self.javascript.as_ref().map(|language| language.run(job, &streams)),
            Language::Python => self.python.as_ref().map(|language| language.run(job, &streams)),
        };
        self.watchdog.disarm();
        let end = end.ok_or_else(|| "the runtime was not loaded".to_owned())?;
        Ok(end.into_done(&streams, start.elapsed()))
    }
}

/// Answers for a program that does not stop, and ends the process with it.
fn give_up(streams: &Streams, start: Instant) {
    let answer = Response::Done(stuck(streams, start.elapsed()));
    // Whether the gateway still listens makes no difference: the process ends.
    frame::write(&mut io::stdout().lock(), &answer).unwrap_or_default();
    end_process();
}
