//! One part of a content: what it says, what it calls, what it is the result of.

use domain::ToolCall;

use super::ids::{Ids, id_of};
use super::members::{child, item, value};
use crate::answer::{Call, Owned};
use crate::json;
use crate::splice::{Container, Edits};

/// A part as it came.
#[derive(Debug)]
pub(super) struct Part<'a> {
    pub(super) whole: Container<'a>,
}

impl<'a> Part<'a> {
    pub(super) fn read(text: &'a str) -> Option<Self> {
        Container::object(text, text).ok().map(|whole| Self { whole })
    }

    pub(super) fn call(&self) -> Option<Container<'a>> {
        child(&self.whole, "functionCall")
    }

    pub(super) fn response(&self) -> Option<Container<'a>> {
        child(&self.whole, "functionResponse")
    }

    fn is_thought(&self) -> bool {
        self.whole.value("thought") == Some("true")
    }

    /// Text that a user sees.
    pub(super) fn text(&self) -> Option<String> {
        json::string(self.whole.value("text")?).filter(|_| !self.is_thought())
    }

    /// The provider's signature of what it thought.
    pub(super) fn signature(&self) -> Option<String> {
        json::string(value(&self.whole, "thoughtSignature")?)
    }

    /// A part that is nothing but text or thought: the literal, without its quotes.
    pub(super) fn bare_text(&self) -> Option<(bool, &'a str)> {
        let known = |name: &str| matches!(name, "text" | "thought");
        let is_bare = self.whole.items.iter().all(|item| known(&item.name));
        let literal = self.whole.value("text")?.strip_prefix('"')?.strip_suffix('"')?;
        is_bare.then_some((self.is_thought(), literal))
    }

    /// The part for a history. The provider refuses arguments that are no object.
    pub(super) fn replay(&self) -> String {
        let mut edits = Edits::new(self.whole.doc());
        if let Some(call) = self.call()
            && item(&call, "args").is_some_and(|args| !args.value.starts_with('{'))
        {
            edits.members(&call, &[], &[("args", "{}".to_owned())]);
        }
        edits.apply()
    }
}

/// What becomes of a part in the client's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Show {
    /// It stays as it is.
    AsIs,
    /// A call of ours, with its id; it becomes [`Show::Named`] where it is shown.
    Hidden(String),
    /// A call that gets this id where ids matter, if it has none.
    Named(String),
}

/// Name and arguments of a call as they stand there.
pub(super) fn name_and_arguments<'a>(call: &Container<'a>) -> (String, &'a str) {
    let name = call.value("name").and_then(json::string).unwrap_or_default();
    (name, value(call, "args").unwrap_or_default())
}

/// Reads a part's call, if it has one.
pub(super) fn read_call(
    part: &Part<'_>,
    owned: &Owned,
    ids: &mut Ids,
    response_id: &str,
) -> (Option<Call>, Show) {
    let Some(call) = part.call() else { return (None, Show::AsIs) };
    let (name, arguments) = name_and_arguments(&call);
    let given = id_of(&call);
    let id = given.clone().unwrap_or_else(|| ids.next(response_id, &name, arguments));
    let owned = owned(&name);
    let show = match given {
        _ if owned => Show::Hidden(id.clone()),
        Some(_) => Show::AsIs,
        None => Show::Named(id.clone()),
    };
    (Some(Call { call: ToolCall { id, name, arguments: arguments.to_owned() }, owned }), show)
}

/// The text of a part as the client sees it; with `with_ids` a call gets the id that is its own.
pub(super) fn shown(text: &str, show: &Show, with_ids: bool) -> Option<String> {
    match show {
        Show::Hidden(_) => None,
        Show::Named(id) if with_ids => {
            let call = Part::read(text).and_then(|part| part.call());
            let Some(call) = call.filter(|call| id_of(call).is_none()) else { return Some(text.to_owned()) };
            let mut edits = Edits::new(text);
            edits.members(&call, &[], &[("id", json::quote(id))]);
            Some(edits.apply())
        }
        Show::AsIs | Show::Named(_) => Some(text.to_owned()),
    }
}
