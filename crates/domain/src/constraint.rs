//! A version requirement: one optional operator and a full or partial version, read as npm reads it.
//!
//! Never a list, a range, a wildcard, a `v` or a pre-release: what is not one of the forms below is refused.
//! `^1.2.3 ~1.2.3 >1.2.3 >=1.2.3 <1.2.3 <=1.2.3 ==1.2.3 =1.2.3`, a bare `1.2.3` (exactly that), and each of
//! them with a partial version (`1.2` = any 1.2.x, `^1`, `~1.2`).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::version::{Version, number};

/// The operator. `==`, `=` and none are one and the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Operator {
    Caret,
    Tilde,
    Greater,
    GreaterEqual,
    Less,
    LessEqual,
    Equal,
}

impl Operator {
    /// Longer spellings first, so that `>=` is not read as `>`.
    const SPELLINGS: [(&str, Self); 8] = [
        (">=", Self::GreaterEqual),
        ("<=", Self::LessEqual),
        ("==", Self::Equal),
        ("^", Self::Caret),
        ("~", Self::Tilde),
        (">", Self::Greater),
        ("<", Self::Less),
        ("=", Self::Equal),
    ];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Caret => "^",
            Self::Tilde => "~",
            Self::Greater => ">",
            Self::GreaterEqual => ">=",
            Self::Less => "<",
            Self::LessEqual => "<=",
            Self::Equal => "",
        }
    }
}

/// One, two or three numbers: how much of the version was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Partial {
    Major(u64),
    Minor(u64, u64),
    Full(u64, u64, u64),
}

impl Partial {
    fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split('.').map(number);
        match (numbers.next(), numbers.next(), numbers.next(), numbers.next()) {
            (Some(Some(a)), None, None, None) => Some(Self::Major(a)),
            (Some(Some(a)), Some(Some(b)), None, None) => Some(Self::Minor(a, b)),
            (Some(Some(a)), Some(Some(b)), Some(Some(c)), None) => Some(Self::Full(a, b, c)),
            _ => None,
        }
    }

    /// The lowest version it stands for.
    const fn first(self) -> Version {
        match self {
            Self::Major(a) => Version::new(a, 0, 0),
            Self::Minor(a, b) => Version::new(a, b, 0),
            Self::Full(a, b, c) => Version::new(a, b, c),
        }
    }

    /// The lowest version above all it stands for; none when there is no higher number.
    fn after(self) -> Option<Version> {
        match self {
            Self::Major(a) => Some(Version::new(a.checked_add(1)?, 0, 0)),
            Self::Minor(a, b) => match b.checked_add(1) {
                Some(next) => Some(Version::new(a, next, 0)),
                None => Self::Major(a).after(),
            },
            Self::Full(a, b, c) => match c.checked_add(1) {
                Some(next) => Some(Version::new(a, b, next)),
                None => Self::Minor(a, b).after(),
            },
        }
    }

    /// What `~` lets vary: the last number, or all below the only one.
    const fn tilde(self) -> Self {
        match self {
            Self::Full(a, b, _) => Self::Minor(a, b),
            other => other,
        }
    }

    /// What `^` lets vary: everything right of the first number that is not zero.
    const fn caret(self) -> Self {
        match self {
            Self::Full(0, 0, _) | Self::Minor(0, 0) | Self::Major(_) => self,
            Self::Full(0, b, _) | Self::Minor(0, b) => Self::Minor(0, b),
            Self::Full(a, _, _) | Self::Minor(a, _) => Self::Major(a),
        }
    }
}

impl fmt::Display for Partial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Major(a) => write!(f, "{a}"),
            Self::Minor(a, b) => write!(f, "{a}.{b}"),
            Self::Full(a, b, c) => write!(f, "{a}.{b}.{c}"),
        }
    }
}

/// A version requirement. Two spellings of the same requirement (`==1.2.3`, `1.2.3`) are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Constraint {
    operator: Operator,
    version: Partial,
}

impl Constraint {
    /// Exactly this version.
    pub const fn exact(version: Version) -> Self {
        Self {
            operator: Operator::Equal,
            version: Partial::Full(version.major, version.minor, version.patch),
        }
    }

    /// Whether `version` satisfies it.
    pub fn matches(&self, version: &Version) -> bool {
        let below = |bound: Option<Version>| bound.is_none_or(|end| *version < end);
        let first = self.version.first();
        match self.operator {
            Operator::Equal => *version >= first && below(self.version.after()),
            Operator::Tilde => *version >= first && below(self.version.tilde().after()),
            Operator::Caret => *version >= first && below(self.version.caret().after()),
            Operator::Greater => self.version.after().is_some_and(|start| *version >= start),
            Operator::GreaterEqual => *version >= first,
            Operator::Less => *version < first,
            Operator::LessEqual => below(self.version.after()),
        }
    }

    /// The highest of `versions` that satisfies it.
    pub fn best<'a, I: IntoIterator<Item = &'a Version>>(&self, versions: I) -> Option<&'a Version> {
        versions.into_iter().filter(|v| self.matches(v)).max()
    }
}

/// The text is not a constraint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a version constraint: write one of ^ ~ > >= < <= == = or nothing, then a version such as 1.2.3, 1.2 or 1"
)]
pub struct ConstraintError(pub String);

impl FromStr for Constraint {
    type Err = ConstraintError;

    fn from_str(text: &str) -> Result<Self, ConstraintError> {
        let trimmed = text.trim();
        let (operator, rest) = Operator::SPELLINGS
            .into_iter()
            .find_map(|(spelling, operator)| Some((operator, trimmed.strip_prefix(spelling)?.trim_start())))
            .unwrap_or((Operator::Equal, trimmed));
        match Partial::parse(rest) {
            Some(version) => Ok(Self { operator, version }),
            None => Err(ConstraintError(crate::text::excerpt(text, 40))),
        }
    }
}

impl fmt::Display for Constraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.operator.as_str(), self.version)
    }
}

impl From<Constraint> for String {
    fn from(constraint: Constraint) -> Self {
        constraint.to_string()
    }
}

impl TryFrom<String> for Constraint {
    type Error = ConstraintError;

    fn try_from(text: String) -> Result<Self, ConstraintError> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn holds(constraint: &str, version: &str) -> bool {
        constraint.parse::<Constraint>().unwrap().matches(&version.parse().unwrap())
    }

    #[test]
    fn every_row_of_the_table_holds() {
        let mut rows = 0;
        for line in include_str!("../tests/vectors/semver.tsv").lines().skip(1) {
            let mut columns = line.split('\t');
            let (constraint, version, expected) =
                (columns.next().unwrap(), columns.next().unwrap(), columns.next().unwrap());
            match expected {
                "y" | "n" => {
                    assert_eq!(holds(constraint, version), expected == "y", "{constraint} {version}");
                }
                "invalid" => assert!(constraint.parse::<Constraint>().is_err(), "{constraint}"),
                "bad-version" => assert!(version.parse::<Version>().is_err(), "{version}"),
                other => panic!("unknown expectation {other}"),
            }
            rows += 1;
        }
        assert!(rows > 200, "only {rows} rows");
    }

    #[test]
    fn the_largest_numbers_do_not_overflow() {
        let top = u64::MAX;
        let last = format!("{top}.{top}.{top}");
        for (constraint, expected) in [
            (format!("^{last}"), true),
            (format!("~{last}"), true),
            (format!("=={last}"), true),
            (format!("<={last}"), true),
            (format!(">={last}"), true),
            (format!(">{last}"), false),
            (format!(">{top}.{top}"), false),
            (format!(">{top}"), false),
            (format!("<{last}"), false),
            (format!("{top}.{top}"), true),
            (format!("^{top}"), true),
            (format!(">1.{top}.{top}"), true),
            (format!("~0.{top}"), false),
        ] {
            assert_eq!(holds(&constraint, &last), expected, "{constraint}");
        }
        assert!(holds(&format!(">1.2.{top}"), "1.3.0"));
        assert!(!holds(&format!("~1.{top}.0"), "2.0.0"));
        assert!("^99999999999999999999.0.0".parse::<Constraint>().is_err());
    }

    #[test]
    fn the_best_is_the_highest_by_number() {
        let versions: Vec<Version> =
            ["1.9.0", "1.10.0", "2.0.0"].iter().map(|v| v.parse().unwrap()).collect();
        let best = "^1".parse::<Constraint>().unwrap().best(&versions).copied();
        assert_eq!(best, Some(Version::new(1, 10, 0)));
        assert_eq!("^3".parse::<Constraint>().unwrap().best(&versions), None);
    }

    #[test]
    fn the_message_tells_the_forms() {
        let message = "latest".parse::<Constraint>().unwrap_err().to_string();
        assert!(
            message.contains("`latest`") && message.contains(">=") && message.contains("1.2.3"),
            "{message}"
        );
    }

    proptest! {
        #[test]
        fn what_is_read_is_written_back(
            op in prop::sample::select(vec!["", "^", "~", ">", ">=", "<", "<=", "==", "="]),
            numbers in prop::collection::vec(any::<u64>(), 1..=3),
            space in " {0,2}",
        ) {
            let version = numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(".");
            let read: Constraint = format!("{space}{op}{space}{version}{space}").parse().unwrap();
            prop_assert_eq!(read.to_string().parse::<Constraint>().unwrap(), read);
            let json = serde_json::to_string(&read).unwrap();
            prop_assert_eq!(serde_json::from_str::<Constraint>(&json).unwrap(), read);
        }

        #[test]
        fn anything_else_is_refused_without_panic(text in ".{0,30}") {
            if let Ok(read) = text.parse::<Constraint>() {
                prop_assert!(text.trim().ends_with(&read.version.to_string()));
            }
        }
    }
}
