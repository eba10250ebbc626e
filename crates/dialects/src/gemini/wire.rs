//! The two forms of a streamed answer, server-sent events and one JSON array, behind one face.
//!
//! What is not changed is written as it came. Never looks inside a chunk.

use bytes::Bytes;

use super::array::{self, Element};
use crate::answer::Fault;
use crate::limits::EVENT_BYTES;
use crate::sse::{self, Frame};

/// How a stream is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Server-sent events.
    Events,
    /// One JSON array.
    Array,
}

/// One chunk with the bytes around it.
#[derive(Clone, Debug)]
pub(super) enum Piece {
    Event(Frame),
    Element(Element),
}

impl Piece {
    /// The chunk's JSON; none in a frame that holds none.
    pub(super) fn data(&self) -> Option<Bytes> {
        match self {
            Self::Event(frame) => frame.data.clone().filter(|data| !is_nothing(data)),
            Self::Element(element) => Some(element.text.clone()),
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Event(frame) => frame.raw.len(),
            Self::Element(element) => element.lead.len() + element.text.len(),
        }
    }

    /// Whether it was ended properly.
    pub(super) fn is_complete(&self) -> bool {
        match self {
            Self::Event(frame) => frame.complete,
            Self::Element(_) => true,
        }
    }
}

/// Imitators end their streams with a word that the dialect's SDKs cannot read.
fn is_nothing(data: &[u8]) -> bool {
    let data = data.trim_ascii();
    data.is_empty() || data == b"[DONE]"
}

/// The data of a frame that has lines of another kind: a comment in it is more than the dialect's SDKs can read.
fn bare(frame: &sse::Frame) -> Option<&str> {
    let mut lines = frame.raw.split(|byte| matches!(byte, b'\n' | b'\r'));
    let has_others = lines.any(|line| !line.is_empty() && !line.starts_with(b"data"));
    has_others.then(|| std::str::from_utf8(frame.data.as_deref()?).ok()).flatten()
}

/// Reads one round's body.
pub(super) enum Reader {
    Events(sse::Framer),
    Array(array::Framer),
}

impl Reader {
    pub(super) fn new(form: Form) -> Self {
        match form {
            Form::Events => Self::Events(sse::Framer::new(EVENT_BYTES)),
            Form::Array => Self::Array(array::Framer::new(EVENT_BYTES)),
        }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        match self {
            Self::Events(framer) => framer.push(bytes),
            Self::Array(framer) => framer.push(bytes),
        }
    }

    pub(super) fn next(&mut self) -> Result<Option<Piece>, Fault> {
        match self {
            Self::Events(framer) => Ok(framer.next()?.map(Piece::Event)),
            Self::Array(framer) => Ok(framer.next()?.map(Piece::Element)),
        }
    }

    /// A last chunk without its end, and the bytes that close the stream.
    pub(super) fn finish(&mut self) -> Result<(Option<Piece>, Bytes), Fault> {
        match self {
            Self::Events(framer) => Ok((framer.finish()?.map(Piece::Event), Bytes::new())),
            Self::Array(framer) => Ok((None, framer.finish()?)),
        }
    }
}

/// Writes the client's stream.
#[derive(Debug)]
pub(super) struct Pen {
    form: Form,
    begun: bool,
}

impl Pen {
    pub(super) fn new(form: Form) -> Self {
        Self { form, begun: false }
    }

    /// Writes a chunk as it came, or with another text.
    pub(super) fn write(&mut self, piece: &Piece, text: Option<&str>, out: &mut Vec<u8>) {
        match (piece, text) {
            (Piece::Event(frame), None) => match bare(frame) {
                Some(data) => sse::write(None, data, out),
                None => frame.write(out),
            },
            (Piece::Event(_), Some(text)) => sse::write(None, text, out),
            (Piece::Element(element), text) => {
                // Each round begins an array of its own; the client's begins once.
                let fits = element.lead.contains(&if self.begun { b',' } else { b'[' });
                self.lead(fits.then_some(&element.lead), out);
                out.extend_from_slice(text.map_or(&element.text, str::as_bytes));
            }
        }
        self.begun = true;
    }

    /// Writes a chunk of our own.
    pub(super) fn make(&mut self, text: &str, out: &mut Vec<u8>) {
        match self.form {
            Form::Events => sse::write(None, text, out),
            Form::Array => {
                self.lead(None, out);
                out.extend_from_slice(text.as_bytes());
            }
        }
        self.begun = true;
    }

    fn lead(&self, own: Option<&Bytes>, out: &mut Vec<u8>) {
        let made: &[u8] = if self.begun { b"\n,\r\n" } else { b"[" };
        out.extend_from_slice(own.map_or(made, |own| own));
    }

    /// Ends the stream; with the upstream's own bytes, if it had some.
    pub(super) fn close(&mut self, tail: &Bytes, out: &mut Vec<u8>) {
        if self.form == Form::Array {
            let fits = self.begun && tail.contains(&b']');
            let made: &[u8] = if self.begun { b"\n]\n" } else { b"[]\n" };
            out.extend_from_slice(if fits { tail } else { made });
        }
    }

    /// Something that says nothing. Comments break the dialect's SDKs.
    pub(super) fn keep_alive(&mut self, out: &mut Vec<u8>) {
        match self.form {
            Form::Events => sse::write(None, SILENCE, out),
            Form::Array => out.push(b'\n'),
        }
    }
}

/// A chunk with an empty text.
const SILENCE: &str = r#"{"candidates":[{"content":{"role":"model","parts":[{"text":""}]},"index":0}]}"#;
