//! Runs that may be asked for twice: the second asker gets what came of the first.
//!
//! Nothing here runs a skill again, whatever became of the first run.

use std::time::{Duration, Instant};

use domain::{Execution, limits};
use store::{Claim, Claimed};
use tokio_util::sync::CancellationToken;

use crate::executor::Shared;
use crate::fingerprint;
use crate::lifecycle::stored;
use crate::refusal::Refusal;
use crate::run::Run;

/// How long a repeat trusts that it heard everything: the first run may be another process's.
const LOOK_AGAIN: Duration = Duration::from_millis(500);
/// Seconds that a repeat should wait when the first run is not over.
const RETRY_AFTER_S: u64 = 5;

pub(crate) fn claim(run: &Run, key: &str) -> Claim {
    let now_ms = jiff::Timestamp::now().as_millisecond();
    let ttl = i64::try_from(limits::IDEMPOTENCY_TTL_MS).unwrap_or(i64::MAX);
    Claim {
        key: key.to_owned(),
        fingerprint: fingerprint::of_work(run),
        now_ms,
        expires_ms: now_ms.saturating_add(ttl),
    }
}

/// The execution of an earlier run of this name, if there was one.
pub(crate) async fn earlier(shared: &Shared, run: &Run) -> Result<Option<(Claim, Claimed)>, Refusal> {
    let Some(key) = &run.once else { return Ok(None) };
    let claim = claim(run, key);
    match shared.store.claimed(&claim.key, claim.now_ms).await? {
        Some(taken) if taken.fingerprint != claim.fingerprint => Err(Refusal::KeyReused),
        taken => Ok(taken.map(|taken| (claim, taken))),
    }
}

/// What came of the run that took the claim first; waits for it as long as a run of its own might take.
pub(crate) async fn outcome(
    shared: &Shared,
    claim: &Claim,
    taken: Claimed,
    patience: Duration,
    cancel: &CancellationToken,
) -> Result<Execution, Refusal> {
    if taken.fingerprint != claim.fingerprint {
        return Err(Refusal::KeyReused);
    }
    let mut heard = shared.events.subscribe();
    let begun = Instant::now();
    loop {
        let row = stored(shared, &taken.execution_id).await?;
        if row.status.is_terminal() {
            return Ok(row);
        }
        let left = patience.saturating_sub(begun.elapsed());
        if left.is_zero() || shared.stop.is_cancelled() || cancel.is_cancelled() {
            return Err(Refusal::StillRunning { retry_after_s: RETRY_AFTER_S });
        }
        heard.news_of(&row.id, left.min(LOOK_AGAIN)).await;
    }
}
