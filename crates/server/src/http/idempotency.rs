//! `Idempotency-Key`: the client's name for a request that it may send again.

use axum::http::HeaderMap;

const NAME: &str = "idempotency-key";
/// Longest key, in characters.
const CHARS: usize = 255;

/// The key, trimmed; an empty one counts as absent. The error says what is wrong with it.
pub(crate) fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, String> {
    let Some(value) = headers.get(NAME) else { return Ok(None) };
    let text = std::str::from_utf8(value.as_bytes());
    let text = text.map_err(|_| "header `idempotency-key`: the value is not UTF-8".to_owned())?.trim();
    if text.chars().count() > CHARS {
        return Err(format!("header `idempotency-key`: the value has more than {CHARS} characters"));
    }
    Ok(Some(text.to_owned()).filter(|text| !text.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn read(value: &[u8]) -> Result<Option<String>, String> {
        let mut headers = HeaderMap::new();
        headers.insert(NAME, HeaderValue::from_bytes(value).unwrap());
        idempotency_key(&headers)
    }

    #[test]
    fn reads_trims_and_refuses() {
        assert_eq!(idempotency_key(&HeaderMap::new()), Ok(None));
        assert_eq!(read(b" a b "), Ok(Some("a b".to_owned())));
        assert_eq!(read(b"  "), Ok(None));
        assert!(read(&[b'x'; 256]).unwrap_err().contains("255"));
        assert!(read(&[0xff, 0xfe]).unwrap_err().contains("UTF-8"));
    }
}
