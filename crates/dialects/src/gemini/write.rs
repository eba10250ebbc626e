//! What the gateway writes into a request: declarations of ours, the rounds so far, the mode of the next round.

use bytes::Bytes;
use domain::{ToolDefinition, ToolResult};
use serde_json::json;

use super::ids;
use super::members::{both, child, children, each, item, spelled};
use super::request::{DECLARATIONS, calling, declared_name};
use super::result::response;
use super::schema;
use crate::answer::{Fault, Round};
use crate::reading;
use crate::request::{Ask, ClientRequest};
use crate::splice::{Container, Edits};
use crate::writing::unreadable;

/// See [`crate::Dialect::inject`].
pub(super) fn inject(request: &ClientRequest, tools: &[ToolDefinition]) -> Bytes {
    let raw = ids::taken_out(&request.raw);
    if tools.is_empty() && request.omni_entries.is_empty() {
        return raw;
    }
    let listed = with_lists(&raw);
    let Ok(top) = reading::open(listed.as_bytes()) else { return raw };
    let ours: Vec<String> = tools.iter().filter_map(declaration).collect();
    let entry = format!("{{\"{DECLARATIONS}\":[{}]}}", ours.join(","));
    let mut edits = Edits::new(top.doc());
    let Some(theirs) = children(&top, "tools") else {
        edits.members(&top, &[], &[("tools", format!("[{entry}]"))]);
        return edits.apply().into();
    };
    let gone: Vec<bool> = theirs.items.iter().map(|item| reading::is_omni(&theirs, item)).collect();
    let stay = theirs.items.iter().zip(&gone).filter(|(_, gone)| !**gone).map(|(item, _)| item);
    let last = stay.rev().find_map(|item| children(&theirs.element(item)?, DECLARATIONS));
    if ours.is_empty() && gone.iter().all(|gone| *gone) {
        // A mode without functions is refused.
        let [camel, snake] = both("toolConfig");
        edits.members(&top, &["tools", &camel, &snake], &[]);
    } else {
        let appended = if ours.is_empty() || last.is_some() { Vec::new() } else { vec![entry] };
        edits.elements(&theirs, &|i| gone.get(i) == Some(&true), &appended);
        if let Some(last) = last.filter(|_| !ours.is_empty()) {
            edits.elements(&last, &|_| false, &ours);
        }
    }
    edits.apply().into()
}

fn declaration(tool: &ToolDefinition) -> Option<String> {
    let mut declaration = json!({"name": tool.wire_name, "description": tool.description});
    if let Some(parameters) = schema::reduce(&tool.parameters).ok()?.parameters() {
        declaration.as_object_mut()?.insert("parameters".to_owned(), parameters);
    }
    Some(declaration.to_string())
}

/// The body with lists where a lone object stands for one.
fn with_lists(raw: &Bytes) -> String {
    let mut text = String::from_utf8_lossy(raw).into_owned();
    if let Ok(top) = reading::open(raw) {
        let mut edits = Edits::new(top.doc());
        for tool in each(&top, "tools") {
            wrap(&tool, DECLARATIONS, &mut edits);
        }
        text = edits.apply();
    }
    let Ok(top) = reading::open(text.as_bytes()) else { return text };
    let mut edits = Edits::new(top.doc());
    wrap(&top, "tools", &mut edits);
    wrap(&top, "contents", &mut edits);
    if edits.is_empty() { text } else { edits.apply() }
}

fn wrap(object: &Container<'_>, name: &str, edits: &mut Edits<'_>) {
    if let Some(item) = item(object, name).filter(|item| item.value.starts_with('{')) {
        edits.replace(item, format!("[{}]", item.value));
    }
}

/// See [`crate::Dialect::follow_up`].
pub(super) fn follow_up(
    body: &Bytes,
    round: &Round,
    results: &[ToolResult],
    ask: Ask,
    ours: &[String],
) -> Result<Bytes, Fault> {
    let top = reading::open(body).map_err(|error| unreadable(&error.to_string()))?;
    let history = children(&top, "contents").ok_or_else(|| unreadable("`contents` is not an array"))?;
    let message = String::from_utf8(round.message.to_vec());
    let message = message.map_err(|error| Fault::Unreadable(error.to_string()))?;
    let result = |id: &str| results.iter().find(|result| result.call_id == id);
    let parts = round.calls.iter().filter_map(|call| Some(response(result(&call.call.id)?)));
    let answers = format!("{{\"role\":\"user\",\"parts\":[{}]}}", parts.collect::<Vec<_>>().join(","));
    let mut edits = Edits::new(top.doc());
    edits.elements(&history, &|_| false, &[message, answers]);
    settle_tools(&top, &mut edits, ask, ours);
    Ok(edits.apply().into())
}

/// The functions and the mode of the next round: a forced call becomes a free choice; see [`Ask`] for the last one.
fn settle_tools(top: &Container<'_>, edits: &mut Edits<'_>, ask: Ask, ours: &[String]) {
    let calling = calling(top);
    let mut mode = (calling.mode == "ANY" && !calling.is_limited).then_some("AUTO");
    if ask == Ask::Last
        && let Some(tools) = children(top, "tools")
    {
        let is_ours = |one: &Container<'_>| declared_name(one).is_some_and(|name| ours.contains(&name));
        let lists: Vec<_> =
            tools.items.iter().map(|item| children(&tools.element(item)?, DECLARATIONS)).collect();
        let gone = |list: &Container<'_>| -> Vec<bool> {
            list.items.iter().map(|item| list.element(item).is_some_and(|one| is_ours(&one))).collect()
        };
        let gone: Vec<Option<Vec<bool>>> = lists.iter().map(|list| list.as_ref().map(gone)).collect();
        let all = |gone: &Option<Vec<bool>>| gone.as_ref().is_none_or(|gone| gone.iter().all(|gone| *gone));
        if gone.iter().all(all) {
            mode = Some("NONE");
        } else {
            let emptied = |i: usize| {
                gone.get(i)
                    .and_then(Option::as_ref)
                    .is_some_and(|gone| !gone.is_empty() && gone.iter().all(|gone| *gone))
            };
            edits.elements(&tools, &emptied, &[]);
            for (_, (list, gone)) in lists.iter().zip(&gone).enumerate().filter(|(i, _)| !emptied(*i)) {
                if let (Some(list), Some(gone)) = (list, gone) {
                    edits.elements(list, &|i| gone.get(i) == Some(&true), &[]);
                }
            }
        }
    }
    if let Some(mode) = mode {
        set_mode(top, mode, edits);
    }
}

fn set_mode(top: &Container<'_>, mode: &str, edits: &mut Edits<'_>) {
    const CONFIG: &str = "functionCallingConfig";
    let mode = format!("\"{mode}\"");
    let Some(config) = child(top, "toolConfig") else {
        let config = format!("{{\"{CONFIG}\":{{\"mode\":{mode}}}}}");
        return edits.members(top, &[], &[(&spelled(top, "toolConfig"), config)]);
    };
    match child(&config, CONFIG) {
        Some(calling) => edits.members(&calling, &[], &[("mode", mode)]),
        None => edits.members(&config, &[], &[(&spelled(&config, CONFIG), format!("{{\"mode\":{mode}}}"))]),
    }
}
