//! `[[upstreams]]`: where models are asked.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;

/// `[[upstreams]]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Upstream {
    /// Unique name.
    pub(crate) name: String,
    /// One dialect, or several.
    pub(crate) dialect: OneOrMany,
    /// What precedes `/v1`.
    pub(crate) base_url: String,
    /// Environment variable that holds the credential.
    #[serde(default)]
    pub(crate) api_key_env: Option<String>,
    /// File that holds the credential.
    #[serde(default)]
    pub(crate) api_key_file: Option<PathBuf>,
    /// Whether the client's own credential goes through; by default where the server has none.
    #[serde(default)]
    pub(crate) passthrough: Option<bool>,
    /// Globs over model names.
    #[serde(default = "every_model")]
    pub(crate) models: Vec<String>,
    /// Globs over model names that are never offered a tool.
    #[serde(default)]
    pub(crate) no_tools: Vec<String>,
    /// Headers set on every request to it.
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, String>,
    /// Milliseconds to connect.
    #[serde(default = "connect_ms")]
    pub(crate) connect_timeout_ms: u64,
    /// Milliseconds to the first byte of an answer.
    #[serde(default = "first_byte_ms")]
    pub(crate) first_byte_timeout_ms: u64,
    /// Milliseconds of silence inside an answer.
    #[serde(default = "idle_ms")]
    pub(crate) idle_timeout_ms: u64,
}

/// A string or a list of strings.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum OneOrMany {
    /// A string.
    One(String),
    /// A list.
    Many(Vec<String>),
}

fn every_model() -> Vec<String> {
    vec!["*".to_owned()]
}

const fn connect_ms() -> u64 {
    10_000
}

const fn first_byte_ms() -> u64 {
    600_000
}

const fn idle_ms() -> u64 {
    300_000
}
