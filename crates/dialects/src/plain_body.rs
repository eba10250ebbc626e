//! Collects a plain answer up to a cap.

use crate::answer::Fault;
use crate::limits::BODY_BYTES;

/// The body of one round.
#[derive(Debug, Default)]
pub(crate) struct PlainBody {
    bytes: Vec<u8>,
}

impl PlainBody {
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        if self.bytes.len() + bytes.len() > BODY_BYTES {
            return Err(Fault::TooLarge);
        }
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    /// The whole text, leaving an empty body for the next round.
    pub(crate) fn take(&mut self) -> Result<String, Fault> {
        let bytes = std::mem::take(&mut self.bytes);
        String::from_utf8(bytes).map_err(|error| Fault::Unreadable(error.to_string()))
    }
}
