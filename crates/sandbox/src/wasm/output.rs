//! Keeps what a program prints to one stream, up to a limit, while it is printed.
//!
//! The limit counts characters and never splits one. Memory is bounded by four bytes per character of the limit; what
//! comes after is counted and dropped, and a program that goes on to a multiple of the limit is stopped.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use tokio::io::AsyncWrite;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamError, StreamResult};

/// Bytes that may be printed per character of the limit before the program is stopped.
const STOP_FACTOR: usize = 8;

/// The most bytes of one character in UTF-8.
const LONGEST_CHAR: usize = 4;

/// Bytes that a guest may hand over in one write.
const WRITE_SIZE: usize = 64 * 1024;

/// The program printed a multiple of what is kept.
#[derive(Debug, thiserror::Error)]
#[error("the program printed too much")]
pub(crate) struct TooMuchOutput;

/// One output stream of one run; clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Output {
    limit: usize,
    printed: Arc<Mutex<Printed>>,
}

#[derive(Debug, Default)]
struct Printed {
    kept: Vec<u8>,
    total: usize,
}

impl Output {
    /// A stream of which `limit` characters are kept.
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, printed: Arc::default() }
    }

    /// Takes what the program prints.
    pub(crate) fn push(&self, bytes: &[u8]) -> Result<(), TooMuchOutput> {
        let mut printed = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
        // One character more than the limit, so that the end of what is kept never shows.
        let room = (self.limit.saturating_add(1) * LONGEST_CHAR).saturating_sub(printed.kept.len());
        printed.kept.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
        printed.total = printed.total.saturating_add(bytes.len());
        if printed.total > self.limit.max(1024).saturating_mul(STOP_FACTOR) {
            Err(TooMuchOutput)
        } else {
            Ok(())
        }
    }

    /// The first characters up to the limit, and whether there were more.
    pub(crate) fn text(&self) -> (String, bool) {
        let printed = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = String::from_utf8_lossy(&printed.kept).into_owned();
        match text.char_indices().nth(self.limit) {
            None => (text, false),
            Some((end, _)) => {
                text.truncate(end);
                (text, true)
            }
        }
    }

    fn push_or_trap(&self, bytes: &[u8]) -> StreamResult<()> {
        self.push(bytes).map_err(|e| StreamError::Trap(wasmtime::Error::new(e)))
    }
}

impl IsTerminal for Output {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Output {
    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }

    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }
}

#[async_trait::async_trait]
impl Pollable for Output {
    async fn ready(&mut self) {}
}

impl OutputStream for Output {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.push_or_trap(&bytes)
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(WRITE_SIZE)
    }
}

impl AsyncWrite for Output {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(self.push(bytes).map(|()| bytes.len()).map_err(io::Error::other))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Output;

    fn printed(limit: usize, pieces: &[Vec<u8>]) -> (String, bool) {
        let output = Output::new(limit);
        for piece in pieces {
            if output.push(piece).is_err() {
                break;
            }
        }
        output.text()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn text_is_cut_between_characters(text in "\\PC{0,60}", limit in 0..70usize, piece in 1..9usize) {
            let pieces: Vec<_> = text.as_bytes().chunks(piece).map(<[u8]>::to_vec).collect();
            let (kept, truncated) = printed(limit, &pieces);
            prop_assert_eq!(&kept, &text.chars().take(limit).collect::<String>());
            prop_assert_eq!(truncated, text.chars().count() > limit);
        }

        #[test]
        fn any_bytes_show_as_the_whole_would(
            pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 0..8),
            limit in 0..50usize,
        ) {
            let whole = pieces.concat();
            let (kept, truncated) = printed(limit, &pieces);
            let shown = String::from_utf8_lossy(&whole);
            prop_assert_eq!(kept, shown.chars().take(limit).collect::<String>());
            prop_assert_eq!(truncated, shown.chars().count() > limit);
        }
    }

    #[test]
    fn exactly_the_limit_is_not_truncated() {
        let text = "é".repeat(100_000);
        assert_eq!(printed(100_000, &[text.clone().into_bytes()]), (text, false));
    }

    #[test]
    fn a_flood_is_stopped_and_costs_bounded_memory() {
        let output = Output::new(1000);
        let piece = vec![b'a'; 1 << 16];
        assert!(output.push(&piece).is_err());
        for _ in 0..100 {
            assert!(output.push(&piece).is_err());
        }
        assert!(output.printed.lock().unwrap().kept.len() <= 4004);
        assert_eq!(output.text(), ("a".repeat(1000), true));
    }
}
