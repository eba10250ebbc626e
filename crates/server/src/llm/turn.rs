//! The loop: ask the model, run the calls that are ours, ask again, until the model answers.
//!
//! One code for every dialect, streamed or not. It decides when a turn goes on and when it ends; what a call does
//! is `execute`'s, what bytes look like is the dialect's.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderMap, StatusCode};
use bytes::Bytes;
use dialects::{Answer, Ask, Call, Ending, Fault, Finish, Round, WireError};
use domain::{StopReason, ToolResult};
use futures_util::StreamExt;
use http_body_util::BodyExt;
use serde_json::json;
use tokio::time::Instant;

use super::budgets::Spent;
use super::execute::{self, Memory};
use super::failure;
use super::inject::{self, Injected};
use super::issued;
use super::kept;
use super::parts;
use super::receive::Received;
use super::record::TurnLog;
use super::respond::Sink;
use super::upstream::{Question, SendError, UpstreamAnswer};

/// Tries of one round's question from round 2 on, the first included.
const TRIES: u32 = 3;
/// Longest wait that an upstream's `Retry-After` may ask for.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(5);
/// Bytes of a refusal's body that are passed on.
const REFUSAL_BYTES: usize = 1024 * 1024;

/// A turn with skills on offer.
pub(super) struct Turn {
    pub(super) received: Received,
    pub(super) injected: Injected,
    pub(super) log: TurnLog,
}

impl Turn {
    /// Asks the upstream once.
    pub(super) async fn ask(&self, body: Bytes) -> Result<UpstreamAnswer, SendError> {
        let received = &self.received;
        let question = Question {
            dialect: received.dialect,
            target: &received.request.target,
            body,
            headers: &received.headers,
            credential: received.credential.as_ref(),
        };
        self.log.asks();
        let answer = received.upstream.send(question).await;
        if let Ok(answer) = &answer {
            self.log.answers(answer.status);
        }
        answer
    }
}

/// A turn that ended as it should.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) stop: StopReason,
    pub(super) rounds: u32,
    pub(super) executions: Vec<String>,
    /// Head of the last round's answer.
    pub(super) headers: HeaderMap,
}

/// A turn that could not go on.
#[derive(Debug)]
pub(super) enum Broken {
    /// The gateway's own word on it.
    Error(WireError),
    /// The upstream's refusal, as it came.
    Refused { status: StatusCode, headers: HeaderMap, body: Bytes },
    /// Nobody listens any more.
    Disconnected,
}

/// Rounds of one turn.
pub(super) struct Loop {
    turn: Arc<Turn>,
    answer: Box<dyn Answer>,
    pub(super) sink: Sink,
    spent: Spent,
    memory: Memory,
    /// Whether the client's answer shows every call of ours with its result.
    shows_all: bool,
    pub(super) executions: Vec<String>,
}

impl Loop {
    pub(super) fn new(turn: Arc<Turn>, sink: Sink) -> Self {
        let received = &turn.received;
        let answer = received.dialect.answer(&received.request, turn.injected.owned());
        Self {
            turn,
            answer,
            sink,
            spent: Spent::new(),
            memory: Memory::default(),
            shows_all: false,
            executions: Vec::new(),
        }
    }

    /// Whether a skill ran: then the client must not send the same request again.
    pub(super) fn has_run(&self) -> bool {
        self.spent.executions > 0
    }

    /// Goes on from the head of round 1 to the end of the turn.
    pub(super) async fn run(&mut self, first: UpstreamAnswer) -> Result<Done, Broken> {
        let turn = Arc::clone(&self.turn);
        let received = &turn.received;
        let budgets = &received.budgets;
        let ours = turn.injected.wire_names();
        let mut body = turn.injected.body.clone();
        let mut answer = first;
        let mut last: Option<StopReason> = None;
        loop {
            let headers = std::mem::take(&mut answer.headers);
            let round = self.read_round(answer).await?;
            self.spent.rounds += 1;
            let (mine, theirs): (Vec<&Call>, Vec<&Call>) = round.calls.iter().partition(|c| c.owned);
            turn.log.round(self.answer.tokens(), mine.len());
            let runs = last.is_none() && round.finish == Finish::Normal && !mine.is_empty();
            let mut results = if runs { self.run_calls(&mine).await? } else { Vec::new() };
            let options = &received.options;
            if runs && options.spliced && !self.sink.is_stream() {
                self.shows_all = self.answer.splice(&results, options.splice_only);
            }
            let stop = match last {
                Some(reason) => Some(reason),
                None if !theirs.is_empty() => Some(StopReason::ClientTools),
                None if !runs || options.splice_only => Some(self.completed()),
                None => None,
            };
            if let Some(stop) = stop {
                // Results of ours in a message that the client goes on with are parked.
                return self.end(stop, headers, &body, &round, &results).await;
            }
            last = self.spent.last_round(budgets);
            let ask = if last.is_some() { Ask::Last } else { Ask::Again };
            let write = |results: &[ToolResult]| {
                let next = received.dialect.follow_up(&received.request, &body, &round, results, ask, &ours);
                next.map_err(|fault| broken(&fault))
            };
            let mut next = write(&results)?;
            answer = match self.ask_again(&next).await {
                Err(Broken::Refused { status, .. }) if parts::may_be_why(status, &results) => {
                    tracing::warn!(turn = received.turn_id, %status, "asked again without images and files");
                    for result in &mut results {
                        result.parts.clear();
                    }
                    next = write(&results)?;
                    self.ask_again(&next).await?
                }
                asked => asked?,
            };
            body = next;
            self.answer.asks(&body);
        }
    }

    /// How a turn ends whose model has answered.
    fn completed(&self) -> StopReason {
        if self.spent.approval_pending { StopReason::ApprovalPending } else { StopReason::Completed }
    }

    async fn read_round(&mut self, answer: UpstreamAnswer) -> Result<Round, Broken> {
        let mut body = answer.body;
        while let Some(piece) = self.patiently(body.next()).await? {
            let bytes = piece.map_err(|error| {
                tracing::warn!(error = &error as &dyn std::error::Error, "upstream broke off");
                Broken::Error(failure::from_fault(&Fault::Truncated))
            })?;
            self.answer.feed(&bytes, self.sink.buffer()).map_err(|f| broken(&f))?;
            self.sink.flush().await?;
        }
        let round = self.answer.end_round(self.sink.buffer()).map_err(|f| broken(&f))?;
        self.spent.tokens = self.answer.tokens().total();
        self.sink.flush().await?;
        Ok(round)
    }

    async fn run_calls(&mut self, calls: &[&Call]) -> Result<Vec<ToolResult>, Broken> {
        let plans = execute::plan(&self.turn, calls, &mut self.memory, &mut self.spent);
        let outcomes = self.patiently(execute::run(Arc::clone(&self.turn), plans)).await?;
        let received = &self.turn.received;
        let (budgets, media) = (&received.budgets, received.dialect.media(&received.request.model));
        let (results, ids) = execute::settle(outcomes, budgets, media, &mut self.memory, &mut self.spent);
        self.executions.extend(ids);
        Ok(results)
    }

    /// The same question at most three times, until its answer has begun. Skills never run again for it.
    async fn ask_again(&mut self, body: &Bytes) -> Result<UpstreamAnswer, Broken> {
        let mut tried = 0;
        loop {
            tried += 1;
            let turn = Arc::clone(&self.turn);
            let asked = self.patiently(turn.ask(body.clone())).await?;
            let wait = match &asked {
                Ok(answer) if answer.status.is_success() => None,
                Ok(answer) => retry_wait(answer.status, &answer.headers, tried),
                Err(SendError::Connect(..)) => Some(backoff(tried)),
                Err(SendError::Unavailable { wait, .. }) => {
                    Some(*wait).filter(|wait| *wait <= RETRY_AFTER_MAX)
                }
                Err(SendError::Timeout(_) | SendError::TooLarge) => None,
            };
            match (wait, asked) {
                (Some(wait), _) if tried < TRIES => self.patiently(tokio::time::sleep(wait)).await?,
                (_, Ok(answer)) if answer.status.is_success() => return Ok(answer),
                (_, Ok(answer)) => return Err(refused(answer).await),
                (_, Err(error)) => return Err(Broken::Error(failure::from_send(&error))),
            }
        }
    }

    /// The client has the end of its answer only when what was hidden from it is kept.
    async fn end(
        &mut self,
        stop: StopReason,
        headers: HeaderMap,
        body: &Bytes,
        last: &Round,
        parked: &[ToolResult],
    ) -> Result<Done, Broken> {
        let injected = &self.turn.injected;
        let omni = json!({
            "turnId": self.turn.received.turn_id,
            "rounds": self.spent.rounds,
            "stop": stop,
            "executions": self.executions,
            "injected": injected.labels(),
            "skipped": injected.skipped.iter().map(|s| json!({"name": s.name, "reason": s.reason.as_str()})).collect::<Vec<_>>(),
        });
        let input_usage_of_last_round = self.turn.received.config.input_usage_of_last_round;
        let ending = Ending { omni: Some(omni), input_usage_of_last_round };
        self.answer.finish(&ending, self.sink.buffer()).map_err(|f| broken(&f))?;
        let has_hidden = self.spent.rounds > 1 || last.calls.iter().any(|call| call.owned);
        let shown = self.answer.shown();
        inject::remember_answer(&self.turn.received, shown.id.as_deref());
        let keep = async {
            if has_hidden && !self.shows_all {
                kept::keep(&self.turn, body, last, parked, &shown).await;
            }
        };
        tokio::join!(keep, issued::note(&self.turn, last, &shown));
        self.sink.flush().await?;
        Ok(Done { stop, rounds: self.spent.rounds, executions: self.executions.clone(), headers })
    }

    /// The dialect's error event, for a stream that has begun.
    pub(super) async fn fail(&mut self, error: &WireError) {
        self.answer.fail(error, self.sink.buffer());
        if self.sink.flush().await.is_err() {
            tracing::debug!("the client left before it could be told of the failure");
        }
    }

    /// Awaits `work`; a stream that would fall silent meanwhile is kept alive.
    async fn patiently<T>(&mut self, work: impl Future<Output = T>) -> Result<T, Broken> {
        if !self.sink.is_stream() {
            return Ok(work.await);
        }
        let pause = self.turn.received.budgets.keep_alive;
        tokio::pin!(work);
        loop {
            let due: Instant = self.sink.last_sent() + pause;
            tokio::select! {
                biased;
                out = &mut work => return Ok(out),
                () = tokio::time::sleep_until(due) => {
                    self.answer.keep_alive(self.sink.buffer());
                    self.sink.flush().await?;
                }
            }
        }
    }
}

fn broken(fault: &Fault) -> Broken {
    Broken::Error(failure::from_fault(fault))
}

/// A refusal, body and all.
pub(super) async fn refused(answer: UpstreamAnswer) -> Broken {
    let body = http_body_util::StreamBody::new(answer.body.map(|b| b.map(hyper::body::Frame::data)));
    let body = http_body_util::Limited::new(body, REFUSAL_BYTES).collect().await;
    let body = body.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    Broken::Refused { status: answer.status, headers: answer.headers, body }
}

/// How long to wait before asking again, where asking again makes sense.
fn retry_wait(status: StatusCode, headers: &HeaderMap, tried: u32) -> Option<Duration> {
    if !matches!(status.as_u16(), 429 | 502..=504) {
        return None;
    }
    let asked = headers.get("retry-after").and_then(|v| v.to_str().ok()?.trim().parse().ok());
    let asked = asked.map(Duration::from_secs);
    match asked {
        Some(wait) if wait > RETRY_AFTER_MAX => None,
        Some(wait) => Some(wait),
        None => Some(backoff(tried)),
    }
}

fn backoff(tried: u32) -> Duration {
    Duration::from_millis(200) * tried.pow(2)
}
