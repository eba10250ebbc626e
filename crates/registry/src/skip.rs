//! Why a skill was left out of a request. Every skill that was named, `on` or well scored and is missing has one.

use std::fmt;

use domain::Version;

/// A skill that was left out, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Its name, as the request or the row has it.
    pub name: String,
    /// Why.
    pub reason: SkipReason,
}

/// Why a skill was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SkipReason {
    /// The caller sees no skill of this name.
    Unknown,
    /// No version satisfies what was asked for.
    NoVersion(Vec<Version>),
    /// Mode `off`, or not enabled.
    Off,
    /// Policy `manual`: only a person starts it.
    Manual,
    /// Unknown handler or unusable schema.
    Broken(String),
    /// It cannot run at the moment.
    Unavailable(String),
    /// Only built-ins run for this key or request.
    CustomsOff,
    /// The client brings tools of its own, which mean another machine.
    ClientTools,
    /// Another version of it is in the request already.
    AlreadyNamed,
    /// Scored below the least score.
    LowScore,
    /// Others scored better.
    Outscored,
    /// The definitions of a request have a size limit.
    Bytes,
    /// The tools of a request have a number limit.
    Tools,
    /// The upstream's configuration says that this model takes no tools.
    NoTools,
    /// The upstream refused this model's requests because of our tools.
    ToolsRefused,
}

impl SkipReason {
    /// One stable word, for headers and metrics.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::NoVersion(_) => "no_version",
            Self::Off => "off",
            Self::Manual => "manual",
            Self::Broken(_) => "broken",
            Self::Unavailable(_) => "unavailable",
            Self::CustomsOff => "customs_off",
            Self::ClientTools => "client_tools",
            Self::AlreadyNamed => "already_named",
            Self::LowScore => "low_score",
            Self::Outscored => "outscored",
            Self::Bytes => "bytes",
            Self::Tools => "tools",
            Self::NoTools => "no_tools",
            Self::ToolsRefused => "upstream_refused_tools",
        }
    }
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("there is no such skill"),
            Self::NoVersion(available) => {
                let list: Vec<String> = available.iter().map(Version::to_string).collect();
                write!(f, "no version fits; there are {}", list.join(", "))
            }
            Self::Off => f.write_str("it is switched off"),
            Self::Manual => f.write_str("its policy is manual: only a person starts it"),
            Self::Broken(why) => write!(f, "it is broken: {why}"),
            Self::Unavailable(why) => write!(f, "it cannot run now: {why}"),
            Self::CustomsOff => f.write_str("only built-in skills run for this key"),
            Self::ClientTools => {
                f.write_str("the client declares tools of its own; name it in x-omni-use to have both")
            }
            Self::AlreadyNamed => f.write_str("another version of it is named already"),
            Self::LowScore => f.write_str("its score is below the least score"),
            Self::Outscored => f.write_str("others scored better"),
            Self::Bytes => f.write_str("the definitions would be too large together"),
            Self::Tools => f.write_str("there would be too many tools"),
            Self::NoTools => f.write_str("`no_tools` of the upstream names this model"),
            Self::ToolsRefused => {
                f.write_str("the upstream refused tools for this model; they are tried again after a while")
            }
        }
    }
}
