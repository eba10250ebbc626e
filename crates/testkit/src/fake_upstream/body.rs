//! The bytes of an answer on their way: cut as the script says, slowed down, broken off. Knows no dialect.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;

use super::serve::Watch;
use crate::script::{Chunking, Fault};

/// How a body leaves.
pub(crate) struct Sending {
    /// Writes, in order.
    pub(crate) frames: VecDeque<Bytes>,
    /// Whether the connection breaks after them.
    pub(crate) breaks: bool,
    /// Pause before each write but the first.
    pub(crate) pause: Duration,
}

/// The writes of an answer made of `events`, failing as the fault says.
pub(crate) fn plan(
    mut events: Vec<String>,
    fault: Option<&Fault>,
    error_event: String,
    chunking: Chunking,
) -> Sending {
    let mut breaks = false;
    let mut limit = usize::MAX;
    match fault {
        Some(Fault::DropAfterEvents(count)) => {
            events.truncate(*count);
            breaks = true;
        }
        Some(Fault::DropAfterBytes(count)) => {
            limit = *count;
            breaks = true;
        }
        Some(Fault::EndAfterEvents(count)) => events.truncate(*count),
        Some(Fault::ErrorEvent { after_events, .. }) => {
            events.truncate(*after_events);
            events.push(error_event);
        }
        Some(Fault::Http { .. } | Fault::Drop) | None => {}
    }
    let mut bytes: Vec<Vec<u8>> = events.into_iter().map(String::into_bytes).collect();
    if chunking != Chunking::Event || limit != usize::MAX {
        let mut whole = bytes.concat();
        whole.truncate(limit);
        bytes = match chunking {
            Chunking::Bytes(size) => whole.chunks(size.max(1)).map(<[u8]>::to_vec).collect(),
            Chunking::Whole | Chunking::Event => vec![whole],
        };
    }
    Sending { frames: bytes.into_iter().map(Bytes::from).collect(), breaks, pause: Duration::ZERO }
}

/// A body that sends the frames one write each; `watch` lives as long as the body.
pub(crate) fn body(sending: Sending, watch: Watch) -> Body {
    Body::from_stream(stream::unfold(Some((sending, watch, true)), |now| async move {
        let (mut sending, watch, is_first) = now?;
        if !is_first && !sending.pause.is_zero() {
            tokio::time::sleep(sending.pause).await;
        } else if !is_first {
            // Being pending once makes the server write out what it has, so that the cuts reach the wire.
            tokio::task::yield_now().await;
        }
        if let Some(frame) = sending.frames.pop_front() {
            return Some((Ok(frame), Some((sending, watch, false))));
        }
        watch.finish();
        sending.breaks.then(|| (Err(io::Error::other("the script breaks the connection")), None))
    }))
}
