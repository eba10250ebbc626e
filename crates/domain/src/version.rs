//! The version of a skill: exactly three numbers, `major.minor.patch`.
//!
//! Never a pre-release, a build tag, a leading `v` or a leading zero: what is not three plain numbers is refused.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Three numbers, each up to `u64::MAX`; ordered as numbers (`1.10.0` is above `1.9.0`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Version {
    /// Incompatible changes.
    pub major: u64,
    /// Compatible additions.
    pub minor: u64,
    /// Fixes.
    pub patch: u64,
}

impl Version {
    /// A version from its three numbers.
    pub const fn new(major: u64, minor: u64, patch: u64) -> Self {
        Self { major, minor, patch }
    }
}

/// The text is not a version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a version: write three numbers without leading zeros, such as 1.0.0")]
pub struct VersionError(pub String);

/// Reads one number: digits only, no leading zero, fits a `u64`.
pub(crate) fn number(text: &str) -> Option<u64> {
    let plain = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !plain || (text.len() > 1 && text.starts_with('0')) {
        return None;
    }
    text.parse().ok()
}

impl FromStr for Version {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, VersionError> {
        let mut parts = text.split('.').map(number);
        match (parts.next(), parts.next(), parts.next(), parts.next()) {
            (Some(Some(major)), Some(Some(minor)), Some(Some(patch)), None) => {
                Ok(Self { major, minor, patch })
            }
            _ => Err(VersionError(crate::text::excerpt(text, 40))),
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

impl From<Version> for String {
    fn from(version: Version) -> Self {
        version.to_string()
    }
}

impl TryFrom<String> for Version {
    type Error = VersionError;

    fn try_from(text: String) -> Result<Self, VersionError> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_as_numbers_and_round_trips() {
        let low: Version = "1.9.0".parse().unwrap();
        let high: Version = "1.10.0".parse().unwrap();
        assert!(high > low);
        assert_eq!(high.to_string(), "1.10.0");
    }

    #[test]
    fn refuses_what_is_not_three_plain_numbers() {
        for bad in [
            "",
            "1",
            "1.2",
            "1.2.3.4",
            "01.2.3",
            "v1.2.3",
            "1.2.3-rc.1",
            "1.2.3+b",
            "99999999999999999999.0.0",
            "١.٢.٣",
        ] {
            assert!(bad.parse::<Version>().is_err(), "{bad}");
        }
    }
}
