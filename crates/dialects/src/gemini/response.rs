//! One answer of the provider, or one chunk of it, as it came. Only read here.

use serde_json::{Map, Value};

use super::ids::Ids;
use super::members::{child, value};
use super::part::{Part, Show, read_call, shown};
use crate::answer::{Call, Fault, Finish, Owned};
use crate::json;
use crate::splice::{Container, Edits, Item};

/// An answer or a chunk.
pub(super) struct Response<'a> {
    pub(super) top: Container<'a>,
    /// Candidate number 0.
    pub(super) candidate: Option<Container<'a>>,
    pub(super) content: Option<Container<'a>>,
    pub(super) parts: Option<Container<'a>>,
}

impl<'a> Response<'a> {
    pub(super) fn read(doc: &'a str) -> Result<Self, Fault> {
        let top = Container::object(doc, doc).map_err(|error| Fault::Unreadable(error.to_string()))?;
        if top.value("error").is_some() {
            return Err(Fault::Upstream(json::event(doc.as_bytes())));
        }
        let candidates = top.children("candidates");
        let candidate = candidates.and_then(|list| {
            let mut all = list.items.iter().filter_map(|item| list.element(item));
            all.find(|candidate| candidate.value("index").is_none_or(|index| index == "0"))
        });
        let content = candidate.as_ref().and_then(|candidate| candidate.child("content"));
        let parts = content.as_ref().and_then(|content| content.children("parts"));
        Ok(Self { top, candidate, content, parts })
    }

    /// The parts, in order.
    pub(super) fn parts(&self) -> impl Iterator<Item = &Item<'a>> {
        self.parts.iter().flat_map(|parts| &parts.items)
    }

    /// Reads what each part calls, and what becomes of it.
    pub(super) fn look(&self, owned: &Owned, ids: &mut Ids) -> (Vec<Show>, Vec<Call>) {
        let id = self.id().unwrap_or_default();
        let look = |item: &Item<'_>| match Part::read(item.value) {
            Some(part) => read_call(&part, owned, ids, &id),
            None => (None, Show::AsIs),
        };
        let (calls, shows): (Vec<_>, Vec<_>) = self.parts().map(look).unzip();
        (shows, calls.into_iter().flatten().collect())
    }

    /// The parts as the client sees them.
    pub(super) fn visible(&self, shows: &[Show], with_ids: bool) -> Vec<String> {
        self.parts().zip(shows).filter_map(|(item, show)| shown(item.value, show, with_ids)).collect()
    }

    /// The visible text.
    pub(super) fn text(&self) -> String {
        self.parts().filter_map(|item| Part::read(item.value)?.text()).collect()
    }

    /// Why the model stopped.
    pub(super) fn finish(&self) -> Option<String> {
        json::string(value(self.candidate.as_ref()?, "finishReason")?)
    }

    /// Whether the request was blocked, so that there is no candidate.
    pub(super) fn is_blocked(&self) -> bool {
        let feedback = child(&self.top, "promptFeedback");
        feedback.is_some_and(|feedback| value(&feedback, "blockReason").is_some())
    }

    pub(super) fn usage(&self) -> Result<Map<String, Value>, Fault> {
        let Some(raw) = value(&self.top, "usageMetadata") else { return Ok(Map::new()) };
        match json::value(raw) {
            Ok(Value::Object(usage)) => Ok(usage),
            Ok(_) => Ok(Map::new()),
            Err(error) => Err(Fault::Unreadable(error.to_string())),
        }
    }

    pub(super) fn id(&self) -> Option<String> {
        json::string(value(&self.top, "responseId")?)
    }

    /// Whether candidate 0 says something besides its parts and its end.
    pub(super) fn says_more(&self) -> bool {
        const PLAIN: [&str; 6] =
            ["content", "index", "finishReason", "finishMessage", "tokenCount", "avgLogprobs"];
        let candidate = self.candidate.as_ref();
        candidate.is_some_and(|one| {
            one.items.iter().any(|item| item.value != "null" && !PLAIN.contains(&item.name.as_ref()))
        })
    }
}

/// How a round ended, out of its finish reason.
pub(super) fn finish_of(reason: Option<&str>, blocked: bool) -> Finish {
    /// The model answered, or made a mess of a call, which is its own affair.
    const NORMAL: [&str; 6] = [
        "STOP",
        "FINISH_REASON_UNSPECIFIED",
        "MALFORMED_FUNCTION_CALL",
        "UNEXPECTED_TOOL_CALL",
        "TOO_MANY_TOOL_CALLS",
        // A word of imitators.
        "FUNCTION_CALL",
    ];
    match reason {
        Some(reason) if !NORMAL.contains(&reason) => Finish::Cut,
        _ if blocked => Finish::Cut,
        _ => Finish::Normal,
    }
}

/// Whether the provider says that calls of this round are not to be run.
pub(super) fn forbids_calls(reason: Option<&str>) -> bool {
    matches!(reason, Some("MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" | "TOO_MANY_TOOL_CALLS"))
}

/// The content of a plain answer for the next request: as it came, but with the role, and with objects for
/// arguments.
pub(super) fn replay(content: Option<&Container<'_>>) -> String {
    let Some(content) = content else { return "{\"parts\":[],\"role\":\"model\"}".to_owned() };
    let mut edits = Edits::new(content.doc());
    let parts = content.children("parts");
    for item in parts.iter().flat_map(|parts| &parts.items) {
        let replay = Part::read(item.value).map(|part| part.replay());
        if let Some(replay) = replay.filter(|replay| replay != item.value) {
            edits.replace(item, replay);
        }
    }
    if content.value("role").is_none() {
        edits.members(content, &[], &[("role", "\"model\"".to_owned())]);
    }
    edits.apply()
}

/// Parts that say nothing: a content without any cannot be sent back.
pub(super) const SILENT_PARTS: &str = "[{\"text\":\"\"}]";

/// A list of parts, never empty.
pub(super) fn list_of(parts: &[String]) -> String {
    if parts.is_empty() { SILENT_PARTS.to_owned() } else { format!("[{}]", parts.join(",")) }
}

/// A content's parts as they stand there.
pub(super) fn parts_of<'a>(content: &Container<'a>) -> Vec<&'a str> {
    match content.children("parts") {
        Some(parts) => parts.items.iter().map(|item| item.value).collect(),
        None => content.value("parts").into_iter().collect(),
    }
}
