//! The last step: one answer for the client, streamed or not, and its `x-omni-*` headers.
//!
//! A client that goes away takes the turn with it: dropping the response cancels what still runs.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use domain::StopReason;
use futures_util::StreamExt;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;

use super::failure;
use super::inject::Injected;
use super::issued;
use super::receive::Received;
use super::record::{self, TurnLog};
use super::retry_plain;
use super::turn::{Broken, Done, Loop, Turn, refused};
use super::upstream::{UpstreamAnswer, response_headers};

/// Pieces of a stream that wait for a slow client; beyond it the upstream waits too.
const WAITING_PIECES: usize = 16;

/// What a record says of a turn whose upstream said no.
const REFUSED: &str = "upstream_refused";

/// Where a turn's bytes go.
pub(super) struct Sink {
    buffer: Vec<u8>,
    stream: Option<mpsc::Sender<Bytes>>,
    last_sent: Instant,
}

impl Sink {
    fn new(stream: Option<mpsc::Sender<Bytes>>) -> Self {
        Self { buffer: Vec::new(), stream, last_sent: Instant::now() }
    }

    pub(super) fn is_stream(&self) -> bool {
        self.stream.is_some()
    }

    /// What is to be sent next; a plain answer collects here until its end.
    pub(super) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    pub(super) fn last_sent(&self) -> Instant {
        self.last_sent
    }

    /// Sends what is in the buffer of a stream; waits for a slow client.
    pub(super) async fn flush(&mut self) -> Result<(), Broken> {
        let Some(stream) = &self.stream else { return Ok(()) };
        if self.buffer.is_empty() {
            return Ok(());
        }
        let bytes = Bytes::from(std::mem::take(&mut self.buffer));
        let sent = stream.send(bytes).await;
        self.last_sent = Instant::now();
        sent.map_err(|_| Broken::Disconnected)
    }
}

/// Nothing of ours in it: the upstream's answer as it is.
pub(super) async fn pass_through(received: Received, injected: Injected) -> Response {
    let turn = Turn { received, injected, log: TurnLog::new() };
    match turn.ask(turn.injected.body.clone()).await {
        Ok(answer) => as_it_came(turn, answer),
        Err(error) => turn.error(&failure::from_send(&error), false),
    }
}

/// The upstream's answer, unread but for its id.
pub(super) fn as_it_came(turn: Turn, answer: UpstreamAnswer) -> Response {
    let turn = Arc::new(turn);
    let body = if answer.status.is_success() {
        record::watched(&turn, issued::watched(&turn, answer.body))
    } else {
        turn.ended(StopReason::UpstreamError, Some(REFUSED));
        answer.body
    };
    let mut response = Response::new(Body::from_stream(body));
    *response.status_mut() = answer.status;
    *response.headers_mut() = response_headers(&answer.headers);
    turn.mark(response.headers_mut());
    response
}

/// A turn with skills on offer.
pub(super) async fn turn(received: Received, injected: Injected) -> Response {
    let turn = Turn { received, injected, log: TurnLog::new() };
    let first = match turn.ask(turn.injected.body.clone()).await {
        Ok(answer) if answer.status.is_success() => answer,
        Ok(answer) if retry_plain::may_be_ours(&turn, answer.status) => {
            return retry_plain::ask_without_tools(turn).await;
        }
        Ok(answer) => return turn.broken(refused(answer).await, false),
        Err(error) => return turn.error(&failure::from_send(&error), false),
    };
    let turn = Arc::new(turn);
    if turn.received.request.stream { stream(&turn, first) } else { plain(&turn, first).await }
}

/// The loop runs in a task of its own, so that what it began is closed properly whenever the client leaves.
async fn plain(turn: &Arc<Turn>, first: UpstreamAnswer) -> Response {
    let gone = CancellationToken::new();
    let _cancel_on_drop = gone.clone().drop_guard();
    let shared = Arc::clone(turn);
    let task = tokio::spawn(async move {
        let mut rounds = Loop::new(Arc::clone(&shared), Sink::new(None));
        let ended = tokio::select! {
            ended = rounds.run(first) => ended,
            () = gone.cancelled() => Err(Broken::Disconnected),
        };
        log(&shared, &rounds, &ended);
        (ended, rounds.has_run(), std::mem::take(rounds.sink.buffer()))
    });
    match task.await {
        Ok((Ok(done), _, body)) => turn.answered(&done, body),
        Ok((Err(broken), has_run, _)) => turn.broken(broken, has_run),
        Err(panic) => {
            tracing::error!(error = &panic as &dyn std::error::Error, "a turn failed unexpectedly");
            let message = "the gateway failed unexpectedly; the request id finds the cause in its log";
            turn.error(&failure::error(StatusCode::INTERNAL_SERVER_ERROR, "internal", message), true)
        }
    }
}

fn stream(turn: &Arc<Turn>, first: UpstreamAnswer) -> Response {
    let mut headers = response_headers(&first.headers);
    let received = &turn.received;
    let media_type = received.dialect.stream_media_type(&received.request);
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    turn.mark(&mut headers);

    let (sender, pieces) = mpsc::channel(WAITING_PIECES);
    let shared = Arc::clone(turn);
    tokio::spawn(async move {
        let mut rounds = Loop::new(Arc::clone(&shared), Sink::new(Some(sender.clone())));
        let ended = tokio::select! {
            ended = rounds.run(first) => ended,
            () = sender.closed() => Err(Broken::Disconnected),
        };
        log(&shared, &rounds, &ended);
        match ended {
            Err(Broken::Error(error)) => rounds.fail(&error).await,
            Err(Broken::Refused { status, body, .. }) => {
                rounds.fail(&failure::from_refusal(status, &body)).await;
            }
            Ok(_) | Err(Broken::Disconnected) => {}
        }
    });
    let body = Body::from_stream(ReceiverStream::new(pieces).map(Ok::<_, std::convert::Infallible>));
    let mut response = Response::new(body);
    *response.headers_mut() = headers;
    response
}

fn log(turn: &Turn, rounds: &Loop, ended: &Result<Done, Broken>) {
    let (stop, code) = match ended {
        Ok(done) => (done.stop, None),
        Err(broken) => broken.stop(),
    };
    turn.log.executions(rounds.executions.len());
    turn.ended(stop, code);
    tracing::info!(
        turn = turn.received.turn_id,
        dialect = turn.received.dialect.name(),
        upstream = turn.received.upstream.name(),
        executions = rounds.executions.len(),
        stop = stop.as_str(),
        "turn ended"
    );
}

impl Broken {
    /// What the record says of it.
    fn stop(&self) -> (StopReason, Option<&str>) {
        match self {
            Self::Error(error) => (StopReason::UpstreamError, Some(&error.code)),
            Self::Refused { .. } => (StopReason::UpstreamError, Some(REFUSED)),
            Self::Disconnected => (StopReason::ClientDisconnected, None),
        }
    }
}

impl Turn {
    /// Headers that are known before the first round.
    fn mark(&self, headers: &mut HeaderMap) {
        put(headers, "x-omni-turn-id", &self.received.turn_id);
        let labels = self.injected.labels().join(", ");
        if !labels.is_empty() {
            put(headers, "x-omni-injected", &labels);
        }
        let skipped: Vec<_> =
            self.injected.skipped.iter().map(|s| format!("{} ({})", s.name, s.reason.as_str())).collect();
        if !skipped.is_empty() {
            put(headers, "x-omni-skipped", &skipped.join(", "));
        }
    }

    fn answered(&self, done: &Done, body: Vec<u8>) -> Response {
        let mut response = Response::new(Body::from(body));
        let mut headers = response_headers(&done.headers);
        self.mark(&mut headers);
        put(&mut headers, "x-omni-rounds", &done.rounds.to_string());
        put(&mut headers, "x-omni-stop", done.stop.as_str());
        put(&mut headers, "x-omni-executions", &done.executions.join(", "));
        *response.headers_mut() = headers;
        response
    }

    /// A turn that broke before the client's answer began.
    pub(super) fn broken(&self, broken: Broken, has_run: bool) -> Response {
        let (stop, code) = broken.stop();
        self.ended(stop, code);
        match broken {
            Broken::Error(error) => self.error(&error, has_run),
            Broken::Refused { status, headers, body } => {
                let mut response = (status, body).into_response();
                *response.headers_mut() = response_headers(&headers);
                self.finish_error(response, has_run)
            }
            // Nobody reads it; the status is that of a client that closed the request.
            Broken::Disconnected => StatusCode::REQUEST_TIMEOUT.into_response(),
        }
    }

    fn error(&self, error: &dialects::WireError, has_run: bool) -> Response {
        self.ended(StopReason::UpstreamError, Some(&error.code));
        self.finish_error(failure::response(self.received.dialect, error), has_run)
    }

    /// After a skill ran, an SDK that repeats the request would run it once more.
    fn finish_error(&self, mut response: Response, has_run: bool) -> Response {
        let headers = response.headers_mut();
        self.mark(headers);
        if has_run {
            headers.insert(HeaderName::from_static("x-should-retry"), HeaderValue::from_static("false"));
        }
        response
    }
}

/// Sets a header; what a header cannot carry is replaced, never a reason to fail.
fn put(headers: &mut HeaderMap, name: &'static str, value: &str) {
    /// Clients and proxies refuse long header lines.
    const MAX: usize = 4096;
    let text: String = domain::text::prefix_bytes(value, MAX)
        .chars()
        .map(|c| if c.is_ascii() && !c.is_ascii_control() { c } else { '?' })
        .collect();
    if let Ok(value) = HeaderValue::from_str(&text) {
        headers.insert(HeaderName::from_static(name), value);
    }
}
