//! Answers that a provider stores and a client names by id: what of them the client was shown otherwise.
//!
//! Says nothing about whose they are, and never holds what a skill was given or gave.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// An answer that the provider stores, as a client knows it by one id.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Issued {
    /// By these the provider knows the rounds of its turn, in order; by the last the whole.
    pub ids: Vec<String>,
    /// Wire names of the tools that the gateway added.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// Names of the client's own tools, where the provider holds them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub client_tools: Vec<String>,
    /// Call ids of ours in its conversation, up to and with it; the newest thousand.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<String>,
    /// Members, as an object, in which the client's answer differs from the provider's object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub differs: Option<Box<RawValue>>,
}

impl Issued {
    /// Whether what the provider says of it is what the client, who knows it by `id`, may see as it is.
    #[must_use]
    pub fn is_plain(&self, id: &str) -> bool {
        self.ids == [id] && self.tools.is_empty() && self.calls.is_empty() && self.differs.is_none()
    }
}
