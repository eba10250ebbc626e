//! One worker process as the gateway sees it: started, asked, and killed when it is dropped.
//!
//! It is started without environment, in a process group of its own (so that a Ctrl-C in the gateway's terminal is
//! the gateway's to handle) and with nothing but its three standard streams.

use std::collections::HashSet;
use std::io;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use super::WasmConfig;
use super::frame;
use super::protocol::{Done, Job, Request, Response};
use crate::Language;

/// How long after its limit a program may take to be reported before its worker is killed.
const GRACE: Duration = Duration::from_millis(500);

/// How long loading a runtime may take.
const LOAD_LIMIT: Duration = Duration::from_mins(1);

/// Why a worker did not answer.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The runtimes cannot be used.
    Runtimes(String),
    /// It took longer than limit and grace, and had to be killed.
    NoAnswer,
    /// It died before anything of the program ran; another worker may take it.
    NotStarted(String),
    /// It died or broke the protocol.
    Broken(String),
}

impl Failure {
    /// What a death means before the program was announced.
    fn before_start(self) -> Self {
        match self {
            Self::Broken(reason) => Self::NotStarted(reason),
            other => other,
        }
    }
}

fn wrong_answer() -> Failure {
    Failure::Broken("it gave a wrong answer".to_owned())
}

/// A running worker process; dropping it kills it.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    stdin: ChildStdin,
    stdout: ChildStdout,
    loaded: HashSet<Language>,
}

impl Process {
    /// Starts a worker.
    pub(crate) fn start(config: &WasmConfig) -> io::Result<Self> {
        let mut child = Command::new(&config.worker_program)
            .args(&config.worker_args)
            .arg(config.runtimes.path())
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let streams = child.stdin.take().zip(child.stdout.take());
        let (stdin, stdout) = streams.ok_or_else(|| io::Error::other("the worker has no pipes"))?;
        Ok(Self { child, stdin, stdout, loaded: HashSet::new() })
    }

    /// Whether it still runs, as far as is known.
    pub(crate) fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Runs one program, after loading its runtime if this worker has not done so yet.
    pub(crate) async fn run(&mut self, job: &Job) -> Result<Done, Failure> {
        let language = job.language;
        if !self.loaded.contains(&language) {
            match self.ask(&Request::Load(language), LOAD_LIMIT).await.map_err(Failure::before_start)? {
                Response::Loaded => self.loaded.insert(language),
                Response::LoadFailed(reason) => return Err(Failure::Runtimes(reason)),
                Response::Started | Response::Done(_) => return Err(wrong_answer()),
            };
        }
        let limit = Duration::from_millis(job.timeout_ms).saturating_add(GRACE);
        match self.ask(&Request::Run(job.clone()), limit).await.map_err(Failure::before_start)? {
            Response::Started => {}
            Response::LoadFailed(reason) => return Err(Failure::Runtimes(reason)),
            Response::Loaded | Response::Done(_) => return Err(wrong_answer()),
        }
        match self.hear(limit).await? {
            Response::Done(done) => Ok(done),
            Response::LoadFailed(reason) => Err(Failure::Runtimes(reason)),
            Response::Loaded | Response::Started => Err(wrong_answer()),
        }
    }

    async fn ask(&mut self, request: &Request, limit: Duration) -> Result<Response, Failure> {
        let request = frame::encode(request).map_err(|e| Failure::Broken(e.to_string()))?;
        match timeout(limit, self.stdin.write_all(&request)).await {
            Ok(Ok(())) => self.hear(limit).await,
            Ok(Err(e)) => Err(Failure::Broken(self.epitaph(&e).await)),
            Err(_) => Err(Failure::NoAnswer),
        }
    }

    async fn hear(&mut self, limit: Duration) -> Result<Response, Failure> {
        match timeout(limit, frame::read_async(&mut self.stdout)).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(e)) => Err(Failure::Broken(self.epitaph(&e).await)),
            Err(_) => Err(Failure::NoAnswer),
        }
    }

    /// Why the pipe broke: how the worker ended, if it did.
    async fn epitaph(&mut self, error: &io::Error) -> String {
        match timeout(GRACE, self.child.wait()).await {
            Ok(Ok(status)) => format!("its worker process ended ({status})"),
            _ => format!("its worker process cannot be understood: {error}"),
        }
    }
}
