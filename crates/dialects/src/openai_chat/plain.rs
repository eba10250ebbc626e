//! A plain chat completion: the last round's body, changed only where the turn had rounds or calls of ours.

use std::collections::HashSet;

use domain::{ToolCall, ToolResult};

use super::{finish_of, first_choice, usage};
use crate::answer::{self, Answer, Call, Ending, Fault, Finish, Owned, Round, Shown, Tokens};
use crate::json;
use crate::plain_body::PlainBody;
use crate::request::WireError;
use crate::splice::{Container, Edits};
use crate::usage::Totals;

pub(super) struct Plain {
    owned: Owned,
    body: PlainBody,
    rounds: usize,
    any_owned: bool,
    /// Texts of the rounds before the last.
    earlier: Vec<String>,
    last: String,
    /// Calls of the last round.
    calls: Vec<Call>,
    /// Results that the client is shown.
    spliced: Vec<String>,
    /// Calls of ours that the client is shown.
    shown_calls: HashSet<String>,
    totals: Totals,
}

impl Plain {
    pub(super) fn new(owned: Owned) -> Self {
        Self {
            owned,
            body: PlainBody::default(),
            rounds: 0,
            any_owned: false,
            earlier: Vec::new(),
            last: String::new(),
            calls: Vec::new(),
            spliced: Vec::new(),
            shown_calls: HashSet::new(),
            totals: Totals::default(),
        }
    }

    fn edit(&self, ending: &Ending) -> Option<String> {
        let top = Container::object(&self.last, &self.last).ok()?;
        let mut edits = Edits::new(&self.last);
        if let Some(choice) = first_choice(&top.children("choices")?) {
            let message = choice.child("message");
            let clients = message.as_ref().map_or(0, |message| self.edit_message(message, &mut edits));
            let reason = choice.value("finish_reason").and_then(json::string);
            if clients == 0 && reason.as_deref() == Some("tool_calls") {
                edits.members(&choice, &[], &[("finish_reason", "\"stop\"".to_owned())]);
            }
        }
        if self.rounds > 1
            && let Some(usage) = usage(&self.totals, ending.input_usage_of_last_round)
        {
            edits.members(&top, &[], &[("usage", usage.to_string())]);
        }
        Some(edits.apply())
    }

    /// Takes hidden calls out and puts the earlier texts and the spliced results in; says how many calls are left.
    fn edit_message(&self, message: &Container<'_>, edits: &mut Edits<'_>) -> usize {
        let mut removed: &[&str] = &[];
        let mut clients = 0;
        if let Some(list) = message.children("tool_calls") {
            let ours: Vec<bool> = list
                .items
                .iter()
                .map(|item| list.element(item).is_some_and(|call| self.hides(&read_call(&call, &self.owned))))
                .collect();
            clients = ours.iter().filter(|owned| !**owned).count();
            if clients == 0 {
                removed = &["tool_calls"];
            } else {
                edits.elements(&list, &|i| ours.get(i) == Some(&true), &[]);
            }
        }
        let content =
            if self.earlier.is_empty() { None } else { Some(self.content(message.value("content"))) };
        let mut set: Vec<_> = content.into_iter().map(|content| ("content", content)).collect();
        if !self.spliced.is_empty() {
            set.push(("tool_results", format!("[{}]", self.spliced.join(","))));
        }
        edits.members(message, removed, &set);
        clients
    }

    fn hides(&self, call: &Call) -> bool {
        call.owned && !self.shown_calls.contains(&call.call.id)
    }

    /// Earlier texts in front of the last content, whose own bytes stay.
    fn content(&self, last: Option<&str>) -> String {
        let earlier = json::quote(&self.earlier.join("\n\n"));
        let Some(last) = last else { return earlier };
        if let Ok(parts) = Container::array(last, last) {
            let mut all = vec![format!("{{\"type\":\"text\",\"text\":{earlier}}}")];
            all.extend(parts.items.iter().map(|part| part.value.to_owned()));
            return format!("[{}]", all.join(","));
        }
        match (earlier.strip_suffix('"'), last.strip_prefix('"')) {
            (Some(earlier), Some(last)) if last != "\"" => format!("{earlier}\\n\\n{last}"),
            _ => earlier,
        }
    }
}

impl Answer for Plain {
    fn feed(&mut self, bytes: &[u8], _out: &mut Vec<u8>) -> Result<(), Fault> {
        self.body.push(bytes)
    }

    fn end_round(&mut self, _out: &mut Vec<u8>) -> Result<Round, Fault> {
        if self.rounds > 0 {
            self.earlier.extend(content_text(&self.last));
        }
        self.rounds += 1;
        self.last = self.body.take()?;
        let top = Container::object(&self.last, &self.last)
            .map_err(|error| Fault::Unreadable(error.to_string()))?;
        let Some(choices) = top.children("choices") else {
            if top.value("error").is_some() {
                return Err(Fault::Upstream(json::value(&self.last).unwrap_or_default()));
            }
            return Err(Fault::Unreadable("`choices` is missing".to_owned()));
        };
        let usage = top.value("usage").map(json::value).transpose();
        self.totals.add(usage.map_err(|error| Fault::Unreadable(error.to_string()))?.as_ref());

        let choice = first_choice(&choices);
        let message = choice.as_ref().and_then(|choice| choice.child("message"));
        let calls: Vec<Call> = message
            .as_ref()
            .and_then(|message| message.children("tool_calls"))
            .map(|list| {
                list.items
                    .iter()
                    .filter_map(|item| Some(read_call(&list.element(item)?, &self.owned)))
                    .collect()
            })
            .unwrap_or_default();
        self.any_owned |= calls.iter().any(|call| call.owned);
        self.calls.clone_from(&calls);
        let reason = choice.as_ref().and_then(|choice| json::string(choice.value("finish_reason")?));
        let refused = message.as_ref().and_then(|message| json::string(message.value("refusal")?));
        let finish = if refused.is_some_and(|text| !text.is_empty()) {
            Finish::Cut
        } else {
            finish_of(reason.as_deref())
        };
        let message = choice.as_ref().and_then(|choice| choice.value("message"));
        let message = message.unwrap_or("{\"role\":\"assistant\",\"content\":null}");
        Ok(Round { calls, finish, message: message.to_owned().into() })
    }

    fn splice(&mut self, results: &[ToolResult], last: bool) -> bool {
        self.spliced.extend(results.iter().map(super::spliced::result));
        if last {
            self.shown_calls = results.iter().map(|result| result.call_id.clone()).collect();
        }
        last
    }

    fn finish(&mut self, ending: &Ending, out: &mut Vec<u8>) -> Result<(), Fault> {
        let edited = if self.rounds > 1 || self.any_owned { self.edit(ending) } else { None };
        out.extend_from_slice(edited.as_ref().unwrap_or(&self.last).as_bytes());
        Ok(())
    }

    fn tokens(&self) -> Tokens {
        super::tokens(&self.totals)
    }

    fn shown(&self) -> Shown {
        let texts: Vec<String> = self.earlier.iter().cloned().chain(content_text(&self.last)).collect();
        let id = Container::object(&self.last, &self.last).ok();
        Shown {
            text: texts.join("\n\n"),
            call_ids: answer::client_ids(&self.calls),
            id: id.and_then(|top| json::string(top.value("id")?)),
            ..Shown::default()
        }
    }

    fn keep_alive(&mut self, _out: &mut Vec<u8>) {}

    fn fail(&mut self, _error: &WireError, _out: &mut Vec<u8>) {}
}

/// Reads a call. Only functions can be ours.
fn read_call(call: &Container<'_>, owned: &Owned) -> Call {
    let text =
        |object: &Container<'_>, name: &str| object.value(name).and_then(json::string).unwrap_or_default();
    let function = call.child("function");
    let (name, arguments) = match (&function, call.child("custom")) {
        (Some(function), _) => {
            let raw = function.value("arguments").unwrap_or("\"\"");
            (text(function, "name"), json::string(raw).unwrap_or_else(|| raw.to_owned()))
        }
        (None, Some(custom)) => (text(&custom, "name"), text(&custom, "input")),
        (None, None) => (String::new(), String::new()),
    };
    let owned = function.is_some() && owned(&name);
    Call { call: ToolCall { id: text(call, "id"), name, arguments }, owned }
}

/// The text of a body's message, if there is any.
fn content_text(body: &str) -> Option<String> {
    let top = Container::object(body, body).ok()?;
    let message = first_choice(&top.children("choices")?)?.child("message")?;
    let raw = message.value("content")?;
    let text = json::string(raw).or_else(|| {
        let parts = message.children("content")?;
        let texts = parts.items.iter().filter_map(|part| json::string(parts.element(part)?.value("text")?));
        Some(texts.collect())
    });
    text.filter(|text| !text.is_empty())
}
