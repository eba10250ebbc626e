//! The elements of a JSON array out of bytes that may be cut anywhere, each with the bytes in front of it.
//!
//! Finds where an object ends by its brackets and quotes, so that no character is ever cut. Never reads a value.

use bytes::{Bytes, BytesMut};

use crate::answer::Fault;

/// An element, and everything between it and the one before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Element {
    /// White space and the bracket or comma.
    pub(super) lead: Bytes,
    /// The object.
    pub(super) text: Bytes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Before,
    Between,
    Inside { depth: usize, in_text: bool, escaped: bool },
    Closed,
}

/// Cuts a body into elements.
#[derive(Debug)]
pub(super) struct Framer {
    buffer: BytesMut,
    /// The next byte to look at.
    at: usize,
    start: usize,
    state: State,
    cap: usize,
}

impl Framer {
    /// `cap`: bytes that one element and what is in front of it may have.
    pub(super) fn new(cap: usize) -> Self {
        Self { buffer: BytesMut::new(), at: 0, start: 0, state: State::Before, cap }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next element, if it is complete.
    pub(super) fn next(&mut self) -> Result<Option<Element>, Fault> {
        while let Some(byte) = self.buffer.get(self.at).copied() {
            if self.at >= self.cap {
                return Err(Fault::TooLarge);
            }
            self.state = self.step(byte)?;
            self.at += 1;
            if self.state == (State::Inside { depth: 0, in_text: false, escaped: false }) {
                self.state = State::Between;
                let mut whole = self.buffer.split_to(self.at).freeze();
                let lead = whole.split_to(self.start);
                (self.at, self.start) = (0, 0);
                return Ok(Some(Element { lead, text: whole }));
            }
        }
        Ok(None)
    }

    fn step(&mut self, byte: u8) -> Result<State, Fault> {
        let blank = byte.is_ascii_whitespace();
        Ok(match (self.state, byte) {
            // A byte order mark is no more than white space.
            (State::Before, _) if blank || matches!(byte, 0xEF | 0xBB | 0xBF) => State::Before,
            (State::Before, b'[') => State::Between,
            (State::Between, b'{') => {
                self.start = self.at;
                State::Inside { depth: 1, in_text: false, escaped: false }
            }
            (State::Between, b']') => State::Closed,
            (State::Between, _) if blank || byte == b',' => State::Between,
            (State::Closed, _) if blank => State::Closed,
            (State::Inside { depth, in_text: true, escaped }, _) => {
                State::Inside { depth, in_text: escaped || byte != b'"', escaped: !escaped && byte == b'\\' }
            }
            (State::Inside { depth, .. }, _) => State::Inside {
                depth: match byte {
                    b'{' | b'[' => depth + 1,
                    b'}' | b']' => depth - 1,
                    _ => depth,
                },
                in_text: byte == b'"',
                escaped: false,
            },
            _ => return Err(Fault::Unreadable("the stream is no array of objects".to_owned())),
        })
    }

    /// What closes the array. To be called after [`Framer::next`] gave `None`.
    pub(super) fn finish(&mut self) -> Result<Bytes, Fault> {
        if self.state == State::Closed { Ok(self.buffer.split().freeze()) } else { Err(Fault::Truncated) }
    }
}

#[cfg(test)]
#[path = "array_tests.rs"]
mod tests;
