//! The response object: what it repeats of the request, and how it ends a turn of several rounds.

use std::collections::HashSet;

use bytes::Bytes;
use serde_json::Value;

use super::follow_up;
use super::item::{self, Item, Mark};
use crate::answer::{Ending, Fault, Finish, Owned, Tokens};
use crate::json;
use crate::reading;
use crate::request::ClientRequest;
use crate::splice::{Container, Edits};
use crate::usage::Totals;

/// Members in which a later round repeats our request instead of the client's.
const REPEATED: [&str; 2] = ["previous_response_id", "tool_choice"];
/// Members that say which answer it is; in a stream they are those of its first event.
const IDENTITY: [&str; 2] = ["id", "created_at"];

/// The object as round 1 gave it, without our tools.
#[derive(Clone, Debug)]
pub(super) struct Opening {
    text: String,
}

impl Opening {
    pub(super) fn new(response: &str, echo: &Echo) -> Option<Self> {
        let top = Container::object(response, response).ok()?;
        let mut edits = Edits::new(response);
        echo.mend(&top, &mut edits);
        Some(Self { text: edits.apply() })
    }

    pub(super) fn id(&self) -> Option<String> {
        item::word(&Container::object(&self.text, &self.text).ok()?, "id")
    }

    /// The object of an answer that failed, with the usage of the rounds that did not.
    pub(super) fn failed(&self, error: &Value, output: &str, usage: Option<Value>) -> Option<String> {
        let top = Container::object(&self.text, &self.text).ok()?;
        let mut edits = Edits::new(&self.text);
        let mut set = vec![
            ("status", "\"failed\"".to_owned()),
            ("error", error.to_string()),
            ("output", format!("[{output}]")),
        ];
        set.extend(usage.map(|usage| ("usage", usage.to_string())));
        edits.members(&top, &[], &set);
        Some(edits.apply())
    }
}

/// What an object repeats of the request, as the client wrote it.
pub(super) struct Echo {
    pub(super) owned: Owned,
    /// JSON of the client's `previous_response_id`, where the provider was given another.
    pub(super) previous: Option<String>,
}

impl Echo {
    pub(super) fn new(request: &ClientRequest, owned: Owned) -> Self {
        let previous = |body: &Bytes| {
            let top = reading::open(body).ok()?;
            Some(top.value("previous_response_id")?.to_owned())
        };
        let own = request.unrestored.as_ref().and_then(previous);
        Self { owned, previous: own.filter(|own| previous(&request.raw).as_ref() != Some(own)) }
    }

    /// Writes it into an object of the provider's.
    pub(super) fn mend(&self, response: &Container<'_>, edits: &mut Edits<'_>) {
        hide_tools(response, &self.owned, edits);
        let set: Vec<_> = self.previous.iter().map(|id| ("previous_response_id", id.clone())).collect();
        edits.members(response, &[], &set);
    }
}

/// How the last round's object becomes the turn's.
pub(super) struct Last<'a> {
    pub(super) echo: &'a Echo,
    /// Every item that the client sees; none where the object's own are right.
    pub(super) output: Option<String>,
    /// The object of round 1, if this is another.
    pub(super) opening: Option<&'a Opening>,
    /// Whether the client knows the answer by the name of round 1.
    pub(super) keeps_identity: bool,
    /// Usage over all rounds.
    pub(super) usage: Option<Value>,
    pub(super) omni: Option<&'a Value>,
}

impl Last<'_> {
    /// Edits the object. Says what the provider's own object has otherwise, as an object; none if nothing.
    pub(super) fn edit(self, response: &Container<'_>, edits: &mut Edits<'_>) -> Option<String> {
        hide_tools(response, &self.echo.owned, edits);
        let mut set: Vec<(&str, String)> = Vec::new();
        let opening = self.opening.and_then(|opening| Container::object(&opening.text, &opening.text).ok());
        if let Some(opening) = &opening {
            let names = REPEATED.into_iter().chain(IDENTITY.into_iter().filter(|_| self.keeps_identity));
            set.extend(names.filter_map(|name| Some((name, opening.get(name)?.value.to_owned()))));
        } else {
            set.extend(self.echo.previous.iter().map(|id| ("previous_response_id", id.clone())));
        }
        set.extend(self.output.map(|output| ("output", format!("[{output}]"))));
        set.extend(self.usage.map(|usage| ("usage", usage.to_string())));
        let other: Vec<String> =
            set.iter().map(|(name, value)| format!("{}:{value}", json::quote(name))).collect();
        set.extend(self.omni.map(|omni| ("omni", omni.to_string())));
        edits.members(response, &[], &set);
        (!other.is_empty()).then(|| format!("{{{}}}", other.join(",")))
    }
}

/// Takes our tools out of the request's echo.
fn hide_tools(response: &Container<'_>, owned: &Owned, edits: &mut Edits<'_>) {
    let Some(tools) = response.children("tools") else { return };
    let is_ours = |item| {
        let tool = tools.element(item)?;
        let is_function = item::word(&tool, "type")? == "function";
        Some(is_function && owned(&item::word(&tool, "name")?))
    };
    let gone: Vec<bool> = tools.items.iter().map(|item| is_ours(item) == Some(true)).collect();
    edits.elements(&tools, &|i| gone.get(i) == Some(&true), &[]);
}

/// What the end of a round says.
pub(super) struct End {
    pub(super) id: Option<String>,
    pub(super) usage: Option<Value>,
    pub(super) finish: Finish,
}

impl End {
    /// Reads the object that ends a round. One that failed is the upstream's error.
    pub(super) fn read(response: &Container<'_>, text: &str) -> Result<Self, Fault> {
        let status = item::word(response, "status");
        if status.as_deref() == Some("failed") || (status.is_none() && response.value("error").is_some()) {
            return Err(Fault::Upstream(json::event(text.as_bytes())));
        }
        let usage = response.value("usage").map(json::value).transpose();
        // An answer that the provider did not store cannot be named in the next round.
        let is_stored = response.value("store") != Some("false");
        Ok(Self {
            id: item::word(response, "id").filter(|id| is_stored && !id.is_empty()),
            usage: usage.map_err(|error| Fault::Unreadable(error.to_string()))?,
            finish: if status.as_deref() == Some("incomplete") { Finish::Cut } else { Finish::Normal },
        })
    }

    /// How the round ended, its words considered.
    pub(super) fn finish_with(&self, items: &[Item]) -> Finish {
        if items.iter().any(|item| item.is_refusal) { Finish::Cut } else { self.finish }
    }
}

/// Tokens over all rounds.
pub(super) fn tokens(totals: &Totals) -> Tokens {
    totals.tokens(&["input_tokens"], &["output_tokens"])
}

/// Usage over all rounds.
pub(super) fn usage(totals: &Totals, ending: &Ending) -> Option<Value> {
    totals.with_total(
        ending.input_usage_of_last_round,
        &["input_tokens", "input_tokens_details"],
        ["input_tokens", "output_tokens"],
    )
}

/// The rounds of a turn as they go into the next request.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    /// Items of the rounds before and their results, as long as the provider stores them and nobody repeats them.
    earlier: Vec<String>,
    /// Ids of the answers that the provider stores.
    ids: Vec<String>,
}

impl Rounds {
    /// One more round: the id by which the provider knows it, if it does, its items, and those before it.
    pub(super) fn message(&mut self, id: Option<&str>, items: &[Item]) -> Bytes {
        let items: Vec<&str> = items.iter().map(|item| item.text.as_str()).collect();
        let output = items.join(",");
        let Some(id) = id else { return format!("{{\"output\":[{output}]}}").into() };
        self.ids.push(json::quote(id));
        let (ids, earlier) = (self.ids.join(","), self.earlier.join(","));
        self.earlier.extend(items.into_iter().map(str::to_owned));
        format!("{{\"ids\":[{ids}],\"earlier\":[{earlier}],\"output\":[{output}]}}").into()
    }

    /// Takes the results with which the next round is asked.
    pub(super) fn asks(&mut self, body: &Bytes) {
        let call_id = |text: &String| Mark::of(text).call_id;
        let called: HashSet<String> = self.earlier.iter().filter_map(call_id).collect();
        if called.is_empty() {
            return;
        }
        let sent = reading::open(body).ok().and_then(|top| follow_up::items(&top)).unwrap_or_default();
        let is_result = |text: &String| {
            let mark = Mark::of(text);
            mark.is_output() && mark.call_id.is_some_and(|id| called.contains(&id))
        };
        self.earlier.extend(sent.into_iter().filter(is_result));
    }
}

/// A round's message, read again.
pub(super) struct Said {
    /// By these the provider knows the rounds so far.
    pub(super) ids: Vec<String>,
    /// By this it knows the last.
    pub(super) id: Option<String>,
    pub(super) earlier: Vec<String>,
    pub(super) items: Vec<String>,
}

impl Said {
    pub(super) fn read(message: &Bytes) -> Result<Self, Fault> {
        let text = std::str::from_utf8(message).map_err(|error| Fault::Unreadable(error.to_string()))?;
        let top = Container::object(text, text).map_err(|error| Fault::Unreadable(error.to_string()))?;
        let list = |name: &str| -> Vec<String> {
            let items = top.children(name).map(|list| list.items).unwrap_or_default();
            items.iter().map(|item| item.value.to_owned()).collect()
        };
        let ids: Vec<String> = list("ids").iter().filter_map(|id| json::string(id)).collect();
        Ok(Self { id: ids.last().cloned(), ids, earlier: list("earlier"), items: list("output") })
    }
}
