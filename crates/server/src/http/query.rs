//! Credentials in a query string, however they are escaped. Every other pair keeps its bytes.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

/// The name under which Google's SDKs send a key.
const KEY: &str = "key";

/// Name and value of a pair, decoded; what is no UTF-8 is replaced.
fn decoded(pair: &str) -> (String, String) {
    let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
    let text = |raw: &str| {
        let raw = raw.replace('+', " ");
        let text: Cow<'_, str> = percent_decode_str(&raw).decode_utf8_lossy();
        text.into_owned()
    };
    (text(name), text(value))
}

/// Values of that name, in order.
pub(crate) fn values(query: &str, wanted: &str) -> impl Iterator<Item = String> {
    query.split('&').map(decoded).filter(move |(name, _)| name == wanted).map(|(_, value)| value)
}

/// Values of `key`, in order.
pub(crate) fn keys(query: &str) -> impl Iterator<Item = String> {
    values(query, KEY)
}

/// The query without the credentials for which `gone` says so. Nothing is one whose name and value are empty.
pub(crate) fn without(query: &str, gone: impl Fn(&str, &str) -> bool) -> String {
    let stays = |pair: &&str| {
        let (name, value) = decoded(pair);
        !pair.is_empty() && !gone(&name, &value)
    };
    query.split('&').filter(stays).collect::<Vec<_>>().join("&")
}

/// Whether a pair is a credential, for whomever.
pub(crate) fn is_credential(name: &str, value: &str) -> bool {
    name == KEY || is_ours(value)
}

/// Whether a value is a credential of this gateway.
pub(crate) fn is_ours(value: &str) -> bool {
    let value = value.trim();
    value.starts_with("osk_") || value.starts_with("omt_")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_key_is_found_however_it_is_escaped() {
        for query in ["key=osk_1", "k%65y=osk_1", "a=b&%6B%65%79=osk%5F1", "key=%6fsk_1&c"] {
            assert_eq!(keys(query).collect::<Vec<_>>(), ["osk_1"], "{query}");
            let left = without(query, is_credential);
            assert!(!left.contains('1'), "{query}: {left}");
        }
        assert_eq!(without("a=%20&KEY=%6Fsk_1&&b=+", is_credential), "a=%20&b=+");
    }

    proptest! {
        #[test]
        fn no_escape_hides_a_key(plain in prop::collection::vec(any::<bool>(), 9), rest in "[a-z=&%+]{0,9}") {
            let pair: String = "key=osk_1".chars().zip(plain).map(|(letter, plain)| {
                if plain || letter == '=' { letter.to_string() } else { format!("%{:02x}", letter as u32) }
            }).collect();
            let left = without(&format!("{rest}&{pair}"), is_credential);
            prop_assert!(keys(&left).next().is_none() && !left.contains(&pair));
        }
    }
}
