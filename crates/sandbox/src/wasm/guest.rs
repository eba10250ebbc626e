//! What both languages have in common: the output streams of a run, and how its end is read from what the engine
//! reports. It knows nothing about any interpreter.

use std::time::Duration;

use wasmtime::Trap;
use wasmtime_wasi::I32Exit;

use super::output::{Output, TooMuchOutput};
use super::protocol::{Done, Job};
use crate::Reason;
use crate::spec::MAX_OUTPUT_CHARS;

/// The two output streams of a run; clones share them.
#[derive(Debug, Clone)]
pub(crate) struct Streams {
    pub(crate) stdout: Output,
    pub(crate) stderr: Output,
}

impl Streams {
    /// Streams with the limit of `job`.
    pub(crate) fn new(job: &Job) -> Self {
        let limit = job.output_chars.min(MAX_OUTPUT_CHARS);
        Self { stdout: Output::new(limit), stderr: Output::new(limit) }
    }
}

/// How the guest itself came to an end.
#[derive(Debug, Default)]
pub(crate) struct Exit {
    pub(crate) code: i32,
    /// What the program asked for that does not exist, if it failed because of that.
    pub(crate) missing: Option<String>,
}

/// The end of a run.
pub(crate) struct End {
    /// The guest's own end, or what stopped it.
    pub(crate) exit: Result<Exit, wasmtime::Error>,
    /// Whether it was ever refused memory.
    pub(crate) memory_refused: bool,
}

impl End {
    /// The answer to the gateway.
    pub(crate) fn into_done(self, streams: &Streams, took: Duration) -> Done {
        let mut missing = None;
        let (reason, exit_code) = match self.exit {
            Ok(exit) => {
                let reason = match exit.code {
                    0 => Reason::Ok,
                    _ if self.memory_refused => Reason::Oom,
                    _ if exit.missing.is_some() => Reason::Unsupported,
                    _ => Reason::Nonzero,
                };
                missing = exit.missing.filter(|_| reason == Reason::Unsupported);
                (reason, Some(exit.code))
            }
            Err(stop) => stopped(&stop, self.memory_refused, streams),
        };
        done(reason, exit_code, missing, streams, took)
    }
}

/// The answer for a run that was given up at its time limit.
pub(crate) fn stuck(streams: &Streams, took: Duration) -> Done {
    Done { last: true, ..done(Reason::Timeout, None, None, streams, took) }
}

fn stopped(stop: &wasmtime::Error, memory_refused: bool, streams: &Streams) -> (Reason, Option<i32>) {
    if let Some(exit) = stop.downcast_ref::<I32Exit>() {
        let reason = if exit.0 == 0 { Reason::Ok } else { Reason::Nonzero };
        return (reason, Some(exit.0));
    }
    if stop.is::<TooMuchOutput>() {
        return (Reason::OutputLimit, None);
    }
    match stop.downcast_ref::<Trap>() {
        Some(Trap::Interrupt) => (Reason::Timeout, None),
        Some(Trap::StackOverflow) => {
            note(streams, "the program was stopped: its recursion is too deep");
            (Reason::Nonzero, Some(1))
        }
        _ if memory_refused => (Reason::Oom, None),
        _ => {
            note(streams, &format!("the interpreter crashed: {}", stop.root_cause()));
            (Reason::EngineError, None)
        }
    }
}

fn note(streams: &Streams, text: &str) {
    // A full stream has nothing more to say.
    streams.stderr.push(format!("{text}\n").as_bytes()).unwrap_or_default();
}

fn done(
    reason: Reason,
    exit_code: Option<i32>,
    missing: Option<String>,
    streams: &Streams,
    took: Duration,
) -> Done {
    let (stdout, cut_out) = streams.stdout.text();
    let (stderr, cut_err) = streams.stderr.text();
    let duration_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    let truncated = cut_out || cut_err || reason == Reason::OutputLimit;
    Done { reason, exit_code, stdout, stderr, truncated, missing, duration_ms, last: false }
}
