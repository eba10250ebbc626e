//! `[[upstreams]]`: where models are asked.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::section::section;

section! {
    /// `[[upstreams]]`
    Upstream {
        /// Unique name.
        name: String = String::new(), Required;
        /// A dialect, or a list of them: `openai_chat`, `openai_responses`, `anthropic_messages`, `gemini`.
        dialect: OneOrMany = OneOrMany::Many(Vec::new()), Required;
        /// What precedes `/v1`; a trailing `/v1` is not doubled.
        base_url: String = String::new(), Required;
        /// Environment variable that holds the credential. Without it and `api_key_file` the client's own goes through.
        api_key_env: Option<String> = None, Live;
        /// File that holds the credential; a reload reads it again.
        api_key_file: Option<PathBuf> = None, Live;
        /// Whether the client's own credential goes through, before ours; by default where there is none of ours.
        passthrough: Option<bool> = None, Live;
        /// Globs over model names; the first upstream of the dialect that matches, in file order, is asked.
        models: Vec<String> = vec!["*".to_owned()], Live;
        /// Globs over model names that are never offered a tool of ours.
        no_tools: Vec<String> = Vec::new(), Live;
        /// Headers set on every request, such as `{ "OpenAI-Organization" = "org-1" }`; they replace the client's.
        headers: BTreeMap<String, String> = BTreeMap::new(), Live;
        /// Milliseconds to connect.
        connect_timeout_ms: u64 = 10_000, Live [1..=3_600_000];
        /// Milliseconds to the first byte of an answer.
        first_byte_timeout_ms: u64 = 600_000, Live [1..=86_400_000];
        /// Milliseconds of silence inside an answer.
        idle_timeout_ms: u64 = 300_000, Live [1..=86_400_000];
    }
}

/// A string or a list of strings.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(untagged)]
pub(crate) enum OneOrMany {
    /// A string.
    One(String),
    /// A list.
    Many(Vec<String>),
}
