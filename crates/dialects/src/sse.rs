//! Server-sent events out of bytes that may be cut anywhere, each with the bytes it came in.
//!
//! Understands LF, CRLF and CR, comments, `data:` without a space, several data lines, a byte order mark (dropped,
//! it belongs to no event) and a last event without its blank line. Never decodes text: data stays bytes.

use bytes::{Bytes, BytesMut};
use memchr::memchr2;

/// One event, or a group of comment lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    /// Its bytes, the blank line included.
    pub(crate) raw: Bytes,
    /// The `event` field.
    pub(crate) event: Option<Bytes>,
    /// The `data` fields, joined by line feeds; none in a frame of comments.
    pub(crate) data: Option<Bytes>,
    /// Whether a blank line ended it; the end of the body may have instead.
    pub(crate) complete: bool,
}

impl Frame {
    /// Writes the frame as it came, ended properly.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.raw);
        if !self.complete {
            out.extend_from_slice(if self.raw.ends_with(b"\n") { b"\n" } else { b"\n\n" });
        }
    }

    /// Writes the frame with other data.
    pub(crate) fn write_data(&self, data: &str, out: &mut Vec<u8>) {
        write(self.event.as_deref(), data, out);
    }
}

/// Writes an event.
pub(crate) fn write(event: Option<&[u8]>, data: &str, out: &mut Vec<u8>) {
    if let Some(event) = event {
        out.extend_from_slice(b"event: ");
        out.extend_from_slice(event);
        out.push(b'\n');
    }
    for line in data.split(['\n', '\r']) {
        out.extend_from_slice(b"data: ");
        out.extend_from_slice(line.as_bytes());
        out.push(b'\n');
    }
    out.push(b'\n');
}

/// A frame is larger than the cap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLarge;

/// Cuts a body into frames.
#[derive(Debug)]
pub(crate) struct Framer {
    buffer: BytesMut,
    /// Everything before was searched for line ends.
    searched: usize,
    line_start: usize,
    begun: bool,
    cap: usize,
}

const BOM: &[u8] = b"\xEF\xBB\xBF";

impl Framer {
    /// `cap`: bytes that one frame may have.
    pub(crate) fn new(cap: usize) -> Self {
        Self { buffer: BytesMut::new(), searched: 0, line_start: 0, begun: false, cap }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next complete frame.
    pub(crate) fn next(&mut self) -> Result<Option<Frame>, TooLarge> {
        if !self.skip_mark(false) {
            return Ok(None);
        }
        while let Some(rest) = self.buffer.get(self.searched..) {
            let Some(found) = memchr2(b'\n', b'\r', rest) else {
                self.searched = self.buffer.len();
                break;
            };
            let end = self.searched + found;
            let pair = match (self.buffer.get(end), self.buffer.get(end + 1)) {
                // A lone CR may be half of a CRLF whose other half has not come yet.
                (Some(b'\r'), None) => {
                    self.searched = end;
                    break;
                }
                (Some(b'\r'), Some(b'\n')) => 2,
                _ => 1,
            };
            let blank = end == self.line_start;
            self.searched = end + pair;
            self.line_start = self.searched;
            if blank {
                return self.take(self.searched, true).map(Some);
            }
        }
        if self.buffer.len() > self.cap { Err(TooLarge) } else { Ok(None) }
    }

    /// What is left when the body has ended. To be called after [`Framer::next`] gave `None`.
    pub(crate) fn finish(&mut self) -> Result<Option<Frame>, TooLarge> {
        self.skip_mark(true);
        if self.buffer.is_empty() {
            return Ok(None);
        }
        // Here only a CR can be a blank line that was held back.
        let complete = self.buffer.get(self.line_start..) == Some(b"\r");
        self.take(self.buffer.len(), complete).map(Some)
    }

    fn take(&mut self, end: usize, complete: bool) -> Result<Frame, TooLarge> {
        let raw = self.buffer.split_to(end).freeze();
        (self.searched, self.line_start) = (0, 0);
        if raw.len() > self.cap { Err(TooLarge) } else { Ok(parse(raw, complete)) }
    }

    /// Drops a byte order mark; false while it cannot be told whether there is one.
    fn skip_mark(&mut self, ended: bool) -> bool {
        if self.begun {
            return true;
        }
        if self.buffer.starts_with(BOM) {
            self.buffer = self.buffer.split_off(BOM.len());
        } else if BOM.starts_with(&self.buffer) && !ended {
            return false;
        }
        self.begun = true;
        true
    }
}

fn parse(raw: Bytes, complete: bool) -> Frame {
    let (mut event, mut data) = (None, None::<Bytes>);
    let mut several: Vec<u8> = Vec::new();
    let mut rest: &[u8] = &raw;
    while !rest.is_empty() {
        let end = memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
        let (line, after) = rest.split_at(end);
        rest = after.strip_prefix(b"\r\n").or_else(|| after.get(1..)).unwrap_or_default();
        let colon = memchr::memchr(b':', line).unwrap_or(line.len());
        let (field, value) = line.split_at(colon);
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"event" => event = Some(raw.slice_ref(value)),
            b"data" => {
                if let Some(first) = &data {
                    if several.is_empty() {
                        several.extend_from_slice(first);
                    }
                    several.push(b'\n');
                    several.extend_from_slice(value);
                } else {
                    data = Some(raw.slice_ref(value));
                }
            }
            _ => {}
        }
    }
    if !several.is_empty() {
        data = Some(several.into());
    }
    Frame { raw, event, data, complete }
}

#[cfg(test)]
#[path = "sse_tests.rs"]
mod tests;
