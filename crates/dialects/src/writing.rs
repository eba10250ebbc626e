//! What all message-list dialects write into a request in the same way: tools, and the messages of a round.

use bytes::Bytes;
use domain::ToolDefinition;

use crate::answer::Fault;
use crate::reading::{self, Choice};
use crate::request::{Ask, ClientRequest};
use crate::splice::{Container, Edits};

/// Where the dialects differ.
pub(crate) struct Wire {
    /// A tool's definition.
    pub(crate) tool: fn(&ToolDefinition) -> String,
    /// The automatic choice, out of the request's members.
    pub(crate) auto: fn(&Container<'_>) -> String,
    /// The choice of no tool.
    pub(crate) none: &'static str,
    /// Members that are refused without tools, `tools` included.
    pub(crate) tool_members: &'static [&'static str],
}

/// See [`crate::Dialect::inject`].
pub(crate) fn inject(wire: &Wire, request: &ClientRequest, tools: &[ToolDefinition]) -> Bytes {
    if tools.is_empty() && request.omni_entries.is_empty() {
        return request.raw.clone();
    }
    let Ok(top) = reading::open(&request.raw) else { return request.raw.clone() };
    let ours: Vec<String> = tools.iter().map(wire.tool).collect();
    let mut edits = Edits::new(top.doc());
    match top.children("tools") {
        Some(theirs) => {
            let gone: Vec<bool> = theirs.items.iter().map(|item| reading::is_omni(&theirs, item)).collect();
            if ours.is_empty() && gone.iter().all(|gone| *gone) {
                edits.members(&top, wire.tool_members, &[]);
            } else {
                edits.elements(&theirs, &|i| gone.get(i) == Some(&true), &ours);
            }
        }
        None => edits.members(&top, &[], &[("tools", format!("[{}]", ours.join(",")))]),
    }
    edits.apply().into()
}

/// See [`crate::Dialect::follow_up`]; `messages` are the texts to append.
pub(crate) fn follow_up(
    wire: &Wire,
    body: &Bytes,
    messages: &[String],
    ask: Ask,
    ours: &[String],
) -> Result<Bytes, Fault> {
    let top = reading::open(body).map_err(|error| unreadable(&error.to_string()))?;
    let history = top.children("messages").ok_or_else(|| unreadable("`messages` is not an array"))?;
    let mut edits = Edits::new(top.doc());
    edits.elements(&history, &|_| false, messages);
    settle_tools(wire, &top, &mut edits, ask, ours)?;
    Ok(edits.apply().into())
}

/// The tools and the choice of the next round: a forced choice becomes automatic; see [`Ask`] for the last one.
pub(crate) fn settle_tools(
    wire: &Wire,
    top: &Container<'_>,
    edits: &mut Edits<'_>,
    ask: Ask,
    ours: &[String],
) -> Result<(), Fault> {
    let forced = match reading::choice(top).map_err(|error| unreadable(&error.to_string()))? {
        Choice::Forced => true,
        Choice::Named(name) => ours.contains(&name),
        Choice::Free | Choice::None | Choice::Listed => false,
    };
    let mut choice = forced.then(|| (wire.auto)(top));
    if ask == Ask::Last
        && let Some(tools) = top.children("tools")
    {
        let is_ours = |item| {
            let name = tools.element(item).and_then(|tool| reading::tool_name(&tool));
            name.is_some_and(|name| ours.contains(&name))
        };
        let gone: Vec<bool> = tools.items.iter().map(is_ours).collect();
        if gone.iter().all(|gone| *gone) {
            choice = Some(wire.none.to_owned());
        } else {
            edits.elements(&tools, &|i| gone.get(i) == Some(&true), &[]);
        }
    }
    if let Some(choice) = choice {
        edits.members(top, &[], &[("tool_choice", choice)]);
    }
    Ok(())
}

/// A request of ours that cannot be read again.
pub(crate) fn unreadable(what: &str) -> Fault {
    Fault::Unreadable(format!("the request of the round before: {what}"))
}
