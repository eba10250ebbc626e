//! The work of one run: calls the handler, and calls it again where that may help and cannot harm.
//!
//! A handler lives in a task of its own, so that its panic is only an `error`. Never begins anything past the deadline.

use std::sync::Arc;
use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBuilder};
use domain::{Execution, Status, limits};
use serde_json::{Map, Value};
use tokio::task::JoinError;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::admit::Ready;
use crate::executor::{INTERRUPTED, Shared};
use crate::handler::{Handler, HandlerError, Output, RunContext};
use crate::schema::sentence;
use crate::schema_check::Compiled;

/// Message of a row whose caller went away or cancelled it.
pub(crate) const CANCELLED: &str = "cancelled";
/// Message of a row whose handler panicked.
const PANICKED: &str = "the handler failed unexpectedly";
/// How long a stopped handler may take to let go. Only one that blocks its thread needs it.
const LET_GO: Duration = Duration::from_secs(1);
/// Pause before the first repetition; each further one is twice as long, and jitter makes it up to twice that.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
/// Longest pause that is not asked for by the handler, before jitter.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// How a run ended, before it is written.
pub(crate) struct End {
    pub(crate) status: Status,
    pub(crate) output: Option<Output>,
    pub(crate) message: Option<String>,
    pub(crate) attempts: u32,
}

impl End {
    pub(crate) fn error(message: impl Into<String>, output: Option<Output>) -> Self {
        Self { status: Status::Error, output, message: Some(message.into()), attempts: 0 }
    }

    fn timeout(message: impl Into<String>, output: Option<Output>) -> Self {
        Self { status: Status::Timeout, ..Self::error(message, output) }
    }
}

/// What one call of a handler shows about what it depends on.
enum Shows {
    /// It is there.
    Present,
    /// It fails, and may not fail later; after this time, if the handler knows.
    Failing(Option<Duration>),
    /// Nothing.
    Nothing,
}

/// Resolves when a run has to stop, with the message of its row.
pub(crate) async fn stopped(shared: &Shared, cancel: &CancellationToken) -> &'static str {
    tokio::select! {
        biased;
        () = shared.stop.cancelled() => INTERRUPTED,
        () = cancel.cancelled() => CANCELLED,
    }
}

/// Runs to the end of the last attempt.
pub(crate) async fn work(shared: &Shared, row: &Execution, ready: Ready, cancel: &CancellationToken) -> End {
    let Ready { handler, input, output: schema, timeout, retries, leave } = ready;
    let deadline = Instant::now() + timeout;
    let call = Call { shared, row, handler, input, schema: schema.as_deref(), timeout, deadline, cancel };
    let pauses = ExponentialBuilder::default().with_min_delay(FIRST_PAUSE).with_max_delay(LONGEST_PAUSE);
    let mut pauses = pauses.with_max_times(retries as usize).with_jitter().build();
    let mut attempts = 0;
    loop {
        attempts += 1;
        let (end, shows) = call.once().await;
        let end = End { attempts, ..end };
        match shows {
            Shows::Present => leave.answered(),
            Shows::Nothing => {}
            Shows::Failing(after) => {
                let pause = pauses.next().map(|pause| pause.max(after.unwrap_or_default()));
                let pause = pause.filter(|pause| Instant::now() + *pause < deadline);
                let Some(pause) = pause else {
                    if leave.failed() {
                        tracing::warn!(skill = %row.skill_name, owner = %row.api_key_id, "a skill fails again and again and is refused for a moment");
                    }
                    return end;
                };
                tokio::select! {
                    biased;
                    message = stopped(shared, cancel) => return End { attempts, ..End::error(message, None) },
                    () = tokio::time::sleep(pause) => continue,
                }
            }
        }
        return end;
    }
}

/// What all attempts of a run have in common.
struct Call<'r> {
    shared: &'r Shared,
    row: &'r Execution,
    handler: Arc<dyn Handler>,
    input: Map<String, Value>,
    schema: Option<&'r Compiled>,
    timeout: Duration,
    deadline: Instant,
    cancel: &'r CancellationToken,
}

impl Call<'_> {
    /// Calls the handler and waits for the first of: its end, a stop, the time limit.
    async fn once(&self) -> (End, Shows) {
        let row = self.row;
        let token = self.cancel.child_token();
        let ctx = RunContext {
            execution_id: row.id.clone(),
            api_key_id: row.api_key_id.clone(),
            user: row.user.clone(),
            session_id: row.session_id.clone(),
            turn_id: row.turn_id.clone(),
            door: row.door,
            deadline: self.deadline.into_std(),
            cancel: token.clone(),
        };
        let (handler, input) = (Arc::clone(&self.handler), self.input.clone());
        let mut task = tokio::spawn(async move { handler.run(input, &ctx).await });
        let end = tokio::select! {
            biased;
            joined = &mut task => return judge(row, joined, self.schema),
            message = stopped(self.shared, self.cancel) => End::error(message, None),
            () = tokio::time::sleep_until(self.deadline) => {
                End::timeout(format!("Skill execution timed out after {} ms", self.timeout.as_millis()), None)
            }
        };
        token.cancel();
        task.abort();
        // The row must not say that it is over while the work still goes on.
        if tokio::time::timeout(LET_GO, task).await.is_err() {
            tracing::error!(skill = %row.skill_name, execution = %row.id, "a stopped handler blocks its thread");
        }
        (end, Shows::Nothing)
    }
}

/// What the handler's own end means.
fn judge(
    row: &Execution,
    joined: Result<Result<Output, HandlerError>, JoinError>,
    schema: Option<&Compiled>,
) -> (End, Shows) {
    match joined {
        Err(_) => {
            // Not the panic's own words: they may quote the input.
            tracing::error!(skill = %row.skill_name, execution = %row.id, "a handler panicked");
            (End::error(PANICKED, None), Shows::Nothing)
        }
        Ok(Err(HandlerError::TimedOut { message, output })) => {
            (End::timeout(message, output.map(|output| *output)), Shows::Nothing)
        }
        Ok(Err(HandlerError::Failed { message, output, transient, retry_after, .. })) => {
            let shows = if transient { Shows::Failing(retry_after) } else { Shows::Present };
            (End::error(message, output.map(|output| *output)), shows)
        }
        Ok(Ok(output)) => {
            let value = Value::Object(output.value.clone());
            let wrong = schema.map(|schema| schema.violations(&value)).unwrap_or_default();
            if wrong.is_empty() {
                let end = End { status: Status::Success, output: Some(output), message: None, attempts: 0 };
                return (end, Shows::Present);
            }
            let message = format!("the output does not fit the schema of the skill: {}", sentence(&wrong));
            (End::error(message, Some(output)), Shows::Present)
        }
    }
}

/// How often a run may be tried again: never, unless that is harmless.
pub(crate) fn retries(run: &crate::run::Run, default: u32) -> u32 {
    let harmless = run.skill.annotations.idempotent || run.skill.annotations.read_only;
    let wanted = run.skill.max_retries.or(run.limits.max_retries).unwrap_or(default);
    if harmless { wanted.min(limits::MAX_RETRIES) } else { 0 }
}
