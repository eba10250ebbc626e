//! What a turn leaves in the records: what was considered, what was asked, what it cost, how it ended. Never a word of
//! what was said.
//!
//! Notes are taken while the turn goes on; the first end that is noted is the one that counts. A turn that is dropped
//! without one was left by its client.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::http::StatusCode;
use bytes::Bytes;
use dialects::{Answer, Tokens};
use domain::{StopReason, TurnCandidate, TurnRecord, TurnRound};
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use registry::{Selection, Skipped};

use super::turn::Turn;
use super::upstream::BrokenBody;
use crate::api::now;

/// The notes of one turn.
pub(super) struct TurnLog {
    began: Instant,
    created_at: String,
    notes: Mutex<Notes>,
}

#[derive(Default)]
struct Notes {
    status: Option<StatusCode>,
    first_byte: Option<Duration>,
    /// When the question of the current round was sent.
    asked: Option<Instant>,
    rounds: Vec<TurnRound>,
    tokens: Tokens,
    executions: u32,
    has_ended: bool,
}

impl TurnLog {
    /// A turn that begins now.
    pub(super) fn new() -> Self {
        Self { began: Instant::now(), created_at: now(), notes: Mutex::default() }
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        // Nothing below can panic while it holds the lock half-way through a change.
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The upstream is asked.
    pub(super) fn asks(&self) {
        self.notes().asked = Some(Instant::now());
    }

    /// The upstream's answer begins.
    pub(super) fn answers(&self, status: StatusCode) {
        let mut notes = self.notes();
        notes.status = Some(status);
        notes.first_byte.get_or_insert_with(|| self.began.elapsed());
    }

    /// A round has been read to its end; `tokens` are those of all rounds so far.
    pub(super) fn round(&self, tokens: Tokens, calls: usize) {
        let mut notes = self.notes();
        let round = TurnRound {
            status: notes.status.map_or(0, |status| status.as_u16()),
            tokens: tokens.total().saturating_sub(notes.tokens.total()),
            calls: u32::try_from(calls).unwrap_or(u32::MAX),
            duration_ms: notes.asked.map_or(0, |asked| millis(asked.elapsed())),
        };
        notes.rounds.push(round);
        notes.tokens = tokens;
    }

    /// How many executions there have been.
    pub(super) fn executions(&self, count: usize) {
        self.notes().executions = u32::try_from(count).unwrap_or(u32::MAX);
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

impl Turn {
    /// Notes how the turn ended, and hands its record on. Later ends do not count.
    pub(super) fn ended(&self, stop: StopReason, error_code: Option<&str>) {
        let received = &self.received;
        let record = {
            let mut notes = self.log.notes();
            if notes.has_ended {
                return;
            }
            notes.has_ended = true;
            let rounds = std::mem::take(&mut notes.rounds);
            TurnRecord {
                id: received.turn_id.clone(),
                api_key_id: received.caller.owner().to_owned(),
                user: received.user.clone(),
                session_id: received.session.clone(),
                dialect: received.dialect.name().to_owned(),
                model: domain::text::prefix_chars(&received.request.model, 200).to_owned(),
                upstream: received.upstream.name().to_owned(),
                streamed: received.request.stream,
                upstream_status: notes.status.map(|status| status.as_u16()),
                stop_reason: stop,
                error_code: error_code.map(str::to_owned),
                candidates: self.injected.candidates().to_vec(),
                round_count: u32::try_from(rounds.len()).unwrap_or(u32::MAX),
                rounds,
                input_tokens: notes.tokens.input,
                output_tokens: notes.tokens.output,
                executions: notes.executions,
                first_byte_ms: notes.first_byte.map(millis),
                duration_ms: millis(self.log.began.elapsed()),
                created_at: self.log.created_at.clone(),
            }
        };
        received.app.turns.record(record);
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.ended(StopReason::ClientDisconnected, None);
    }
}

/// What selection looked at, for the record: what is offered first, then what is not and why.
pub(super) fn candidates(selection: &Selection) -> Vec<TurnCandidate> {
    let score = |id: &str| selection.scored.iter().find(|(entry, _)| entry.skill.id == id).map(|(_, n)| *n);
    let offered = selection.injected.iter().map(|entry| TurnCandidate {
        skill: entry.skill.identity(),
        score: score(&entry.skill.id),
        skipped: None,
    });
    let is_offered = |id: &str| selection.injected.iter().any(|entry| entry.skill.id == id);
    let why = |name: &str| selection.skipped.iter().find(|skipped| skipped.name == name);
    let scored = selection.scored.iter().filter(|(entry, _)| !is_offered(&entry.skill.id));
    let scored = scored.map(|(entry, points)| TurnCandidate {
        skill: entry.skill.identity(),
        score: Some(*points),
        skipped: Some(
            why(&entry.skill.name).map_or("outscored", |skipped| skipped.reason.as_str()).to_owned(),
        ),
    });
    let is_scored = |name: &str| selection.scored.iter().any(|(entry, _)| entry.skill.name == name);
    let others = selection.skipped.iter().filter(|skipped| !is_scored(&skipped.name)).map(left_out);
    offered.chain(scored).chain(others).collect()
}

/// A candidate that was left out and never scored.
pub(super) fn left_out(skipped: &Skipped) -> TurnCandidate {
    let reason = skipped.reason.as_str().to_owned();
    TurnCandidate { skill: skipped.name.clone(), score: None, skipped: Some(reason) }
}

/// An answer that passes as it came; only what it cost is read.
struct Passing {
    body: BoxStream<'static, Result<Bytes, BrokenBody>>,
    turn: Arc<Turn>,
    /// Reads along, until it meets something that it cannot read.
    answer: Option<Box<dyn Answer>>,
    unread: Vec<u8>,
}

impl Passing {
    fn look(&mut self, bytes: &[u8]) {
        let read = self.answer.as_mut().map(|answer| answer.feed(bytes, &mut self.unread));
        self.unread.clear();
        if let Some(Err(fault)) = read {
            tracing::debug!(%fault, "the tokens of an answer are not counted");
            self.answer = None;
        }
    }

    fn end(mut self) {
        let mut calls = 0;
        if let Some(answer) = &mut self.answer {
            calls = answer.end_round(&mut self.unread).map_or(0, |round| round.calls.len());
        }
        let tokens = self.answer.as_ref().map(|answer| answer.tokens()).unwrap_or_default();
        self.turn.log.round(tokens, 0);
        let stop = if calls > 0 { StopReason::ClientTools } else { StopReason::Completed };
        self.turn.ended(stop, None);
    }
}

/// The body unchanged, with what it cost noted as it passes.
pub(super) fn watched(
    turn: &Arc<Turn>,
    body: BoxStream<'static, Result<Bytes, BrokenBody>>,
) -> BoxStream<'static, Result<Bytes, BrokenBody>> {
    let received = &turn.received;
    let answer = received.dialect.answer(&received.request, Arc::new(|_| false));
    let passing = Passing { body, turn: Arc::clone(turn), answer: Some(answer), unread: Vec::new() };
    let pieces = stream::unfold(Some(passing), |passing| async move {
        let mut passing = passing?;
        match passing.body.next().await {
            None => {
                passing.end();
                None
            }
            Some(Ok(bytes)) => {
                passing.look(&bytes);
                Some((Ok(bytes), Some(passing)))
            }
            Some(Err(error)) => {
                passing.turn.ended(StopReason::UpstreamError, Some("upstream_broke_off"));
                Some((Err(error), None))
            }
        }
    });
    pieces.boxed()
}
