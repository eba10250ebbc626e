//! What the stand-in says: three rules, no dialect.

use serde_json::{Map, Value};

/// What it can see of a request.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Wire names of the tools on offer.
    pub(super) tools: Vec<String>,
    /// Whether it may call them.
    pub(super) may_call: bool,
    /// Text of the last user message.
    pub(super) user: String,
    /// Name and content of the results that end the conversation, in order.
    pub(super) results: Vec<(String, String)>,
}

/// What it says.
#[derive(Debug, PartialEq)]
pub(super) enum Reply {
    /// Words.
    Text(String),
    /// Wire name and arguments of each call.
    Calls(Vec<(String, Map<String, Value>)>),
}

/// Results are reported; named tools are called; else it explains itself.
pub(super) fn reply(seen: &Seen) -> Reply {
    if !seen.results.is_empty() {
        let lines = seen.results.iter().map(|(name, content)| format!("{} returned: {content}", base(name)));
        return Reply::Text(lines.collect::<Vec<_>>().join("\n"));
    }
    let calls = if seen.may_call { calls(seen) } else { Vec::new() };
    if calls.is_empty() { Reply::Text(explain(seen)) } else { Reply::Calls(calls) }
}

/// `eval_code__1_0_0` as people say it: `eval_code`.
fn base(wire: &str) -> &str {
    wire.split("__").next().unwrap_or(wire)
}

/// Each `NAME {json}` of the text, in order of appearance.
fn calls(seen: &Seen) -> Vec<(String, Map<String, Value>)> {
    let mut found: Vec<(usize, String, Map<String, Value>)> = Vec::new();
    for wire in &seen.tools {
        let hits = [wire.as_str(), base(wire)].into_iter().find_map(|name| {
            let hits: Vec<_> = seen.user.match_indices(name).map(|(at, _)| (at, at + name.len())).collect();
            (!hits.is_empty()).then_some(hits)
        });
        for (start, end) in hits.unwrap_or_default() {
            if let Some(arguments) = seen.user.get(end..).and_then(object_after) {
                found.push((start, wire.clone(), arguments));
            }
        }
    }
    found.sort_by_key(|(start, ..)| *start);
    found.into_iter().map(|(_, wire, arguments)| (wire, arguments)).collect()
}

/// The JSON object that begins after at most a few words of glue (`eval_code with {...}`).
fn object_after(text: &str) -> Option<Map<String, Value>> {
    let open = text.find('{').filter(|open| *open <= 24)?;
    let mut stream = serde_json::Deserializer::from_str(text.get(open..)?).into_iter::<Map<String, Value>>();
    stream.next()?.ok()
}

fn explain(seen: &Seen) -> String {
    let names: Vec<_> = seen.tools.iter().map(|t| base(t)).collect();
    if names.is_empty() {
        return "I am the demo model. No tool was offered to me in this request, so I have nothing to call."
            .to_owned();
    }
    format!(
        "I am the demo model. I call a tool when you name it with its input as JSON, such as: \
         eval_code {{\"language\":\"python\",\"code\":\"print(6*7)\"}}. Tools on offer: {}.",
        names.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(user: &str) -> Seen {
        Seen {
            tools: vec!["eval_code__1_0_0".into(), "file_read__1_0_0".into()],
            may_call: true,
            user: user.into(),
            results: Vec::new(),
        }
    }

    #[test]
    fn calls_what_the_user_names_in_order() {
        let reply = reply(&seen("file_read {\"path\":\"a\"} then eval_code with {\"code\":\"}\"}"));
        let Reply::Calls(calls) = reply else { panic!("{reply:?}") };
        let names: Vec<_> = calls.iter().map(|(n, _)| n.as_str()).collect();
        assert_eq!(names, ["file_read__1_0_0", "eval_code__1_0_0"]);
        assert_eq!(calls[1].1["code"], "}");
    }

    #[test]
    fn explains_itself_without_json_or_permission() {
        assert!(matches!(reply(&seen("eval_code please")), Reply::Text(_)));
        let mut forbidden = seen("eval_code {}");
        forbidden.may_call = false;
        assert!(matches!(reply(&forbidden), Reply::Text(_)));
    }

    #[test]
    fn reports_results() {
        let mut seen = seen("x");
        seen.results = vec![("eval_code__1_0_0".into(), "42".into())];
        assert_eq!(reply(&seen), Reply::Text("eval_code returned: 42".into()));
    }
}
