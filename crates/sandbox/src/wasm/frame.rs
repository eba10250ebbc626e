//! Length-prefixed frames on a pipe: four bytes of length (little endian), then that many bytes of JSON.
//!
//! Used on both ends of the pipe between gateway and worker: asynchronously outside, blocking inside. A frame that
//! claims to be larger than [`MAX`] is refused before anything is allocated for it.

use std::io::{self, Read, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncReadExt};

/// The most bytes of JSON in one frame.
pub(crate) const MAX: usize = 128 * 1024 * 1024;

/// A message as a complete frame.
pub(crate) fn encode<T: Serialize>(message: &T) -> io::Result<Vec<u8>> {
    let mut frame = vec![0; 4];
    serde_json::to_writer(&mut frame, message)?;
    let length = frame.len() - 4;
    let prefix = u32::try_from(length).ok().filter(|_| length <= MAX).ok_or_else(too_large)?;
    if let Some(head) = frame.first_chunk_mut::<4>() {
        *head = prefix.to_le_bytes();
    }
    Ok(frame)
}

/// Writes one message.
pub(crate) fn write<T: Serialize>(to: &mut impl Write, message: &T) -> io::Result<()> {
    to.write_all(&encode(message)?)?;
    to.flush()
}

/// Reads one message, waiting for it; `None` when the other end closed the pipe between two frames.
pub(crate) fn read<T: DeserializeOwned>(from: &mut impl Read) -> io::Result<Option<T>> {
    let mut prefix = [0; 4];
    if from.read(prefix.get_mut(..1).unwrap_or_default())? == 0 {
        return Ok(None);
    }
    from.read_exact(prefix.get_mut(1..).unwrap_or_default())?;
    let mut body = vec![0; length(prefix)?];
    from.read_exact(&mut body)?;
    Ok(Some(serde_json::from_slice(&body)?))
}

/// Reads one message without blocking the thread; the pipe closing is an error.
pub(crate) async fn read_async<T: DeserializeOwned>(from: &mut (impl AsyncRead + Unpin)) -> io::Result<T> {
    let mut prefix = [0; 4];
    from.read_exact(&mut prefix).await?;
    let mut body = vec![0; length(prefix)?];
    from.read_exact(&mut body).await?;
    Ok(serde_json::from_slice(&body)?)
}

fn length(prefix: [u8; 4]) -> io::Result<usize> {
    usize::try_from(u32::from_le_bytes(prefix)).ok().filter(|n| *n <= MAX).ok_or_else(too_large)
}

fn too_large() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the message is too large")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn frames_round_trip_in_a_row(messages in prop::collection::vec(any::<String>(), 0..5)) {
            let mut pipe = Vec::new();
            for message in &messages {
                write(&mut pipe, message).unwrap();
            }
            let mut pipe = pipe.as_slice();
            let mut back = Vec::new();
            while let Some(message) = read::<String>(&mut pipe).unwrap() {
                back.push(message);
            }
            prop_assert_eq!(back, messages);
        }

        #[test]
        fn hostile_bytes_are_an_error_or_a_message(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let mut pipe = bytes.as_slice();
            while let Ok(Some(_)) = read::<serde_json::Value>(&mut pipe) {}
        }
    }

    #[test]
    fn a_huge_length_is_refused() {
        let mut pipe: &[u8] = &u32::MAX.to_le_bytes();
        assert_eq!(read::<String>(&mut pipe).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn a_frame_cut_short_is_an_error() {
        let whole = encode(&"text").unwrap();
        let mut pipe = &whole[..whole.len() - 1];
        assert!(read::<String>(&mut pipe).is_err());
    }
}
