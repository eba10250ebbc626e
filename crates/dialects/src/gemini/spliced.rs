//! Results of ours that the client asked to see, and how a history with them is made legal again.
//!
//! In an answer they stand behind their calls, in the model's own content. In a history they belong into a user's
//! content right behind it, one for each call and in the order of the calls. Parts keep their bytes, signatures and
//! all; none is made up.

use bytes::Bytes;
use domain::ToolResult;

use super::ids::id_of;
use super::members::{children, item};
use super::part::Part;
use super::response::parts_of;
use super::result::response;
use crate::json;
use crate::reading;
use crate::splice::{Container, Edits, Item};

/// Both names of what only a spliced content of the model holds.
const MARKS: [&str; 2] = ["\"functionResponse\"", "\"function_response\""];

/// A result as a part of the answer. It has the id of its call, as the client sees it.
pub(super) fn part(result: &ToolResult) -> String {
    let text = response(result);
    let Some(answer) = Part::read(&text).and_then(|part| part.response()) else { return text };
    if result.call_id.is_empty() || id_of(&answer).is_some() {
        return text.clone();
    }
    let mut edits = Edits::new(&text);
    edits.members(&answer, &[], &[("id", json::quote(&result.call_id))]);
    edits.apply()
}

/// The body as the provider accepts it; none where nothing was spliced.
pub(super) fn made_legal(body: &[u8]) -> Option<Bytes> {
    if !is_marked(std::str::from_utf8(body).ok()?) {
        return None;
    }
    let top = reading::open(body).ok()?;
    let contents = children(&top, "contents")?;
    contents.items.iter().find(|item| stretches(item.value).is_some())?;
    let mut out: Vec<String> = Vec::with_capacity(contents.items.len());
    let mut at = 0;
    while let Some(content) = contents.items.get(at) {
        at += 1;
        let Some(stretches) = stretches(content.value) else {
            out.push(content.value.to_owned());
            continue;
        };
        let last = stretches.len() - 1;
        for (number, stretch) in stretches.into_iter().enumerate() {
            let behind = if number == last { contents.items.get(at..) } else { None };
            at += stretch.write(content.value, behind.unwrap_or_default(), &mut out);
        }
    }
    let mut edits = Edits::new(top.doc());
    edits.replace(item(&top, "contents")?, format!("[{}]", out.join(",")));
    Some(edits.apply().into())
}

fn is_marked(text: &str) -> bool {
    MARKS.iter().any(|mark| text.contains(mark))
}

/// A result, whoever made it.
struct Answer<'a> {
    id: Option<String>,
    name: String,
    text: &'a str,
}

impl<'a> Answer<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let response = Part::read(text)?.response()?;
        Some(Self { id: id_of(&response), name: name(&response), text })
    }
}

/// Takes the result of a call out of these: the one with its id, else the first of its name.
fn take<'a>(call: &Container<'_>, answers: &mut Vec<Answer<'a>>) -> Option<&'a str> {
    let (id, name) = (id_of(call), name(call));
    let same_id = answers.iter().position(|answer| id.is_some() && answer.id == id);
    let nameless = |answer: &Answer<'_>| answer.name == name && (answer.id.is_none() || id.is_none());
    let at = same_id.or_else(|| answers.iter().position(nameless))?;
    Some(answers.remove(at).text)
}

fn name(named: &Container<'_>) -> String {
    named.value("name").and_then(json::string).unwrap_or_default()
}

/// A stretch of a content: what the model says, then results.
#[derive(Default)]
struct Stretch<'a> {
    said: Vec<&'a str>,
    results: Vec<Answer<'a>>,
}

/// The stretches of a model's content that holds results, at least one; none of any other.
fn stretches(content: &str) -> Option<Vec<Stretch<'_>>> {
    let whole = Container::object(content, content).ok().filter(|_| is_marked(content))?;
    if whole.value("role").and_then(json::string).as_deref() != Some("model") {
        return None;
    }
    let mut stretches = vec![Stretch::default()];
    for part in parts_of(&whole) {
        let result = Answer::read(part);
        if result.is_none() && stretches.last().is_some_and(|stretch| !stretch.results.is_empty()) {
            stretches.push(Stretch::default());
        }
        let stretch = stretches.last_mut()?;
        match result {
            Some(result) => stretch.results.push(result),
            None => stretch.said.push(part),
        }
    }
    stretches.iter().any(|stretch| !stretch.results.is_empty()).then_some(stretches)
}

impl Stretch<'_> {
    /// Writes the stretch as contents. Says how many of those `behind` it the client's results were taken from.
    fn write(mut self, content: &str, behind: &[Item<'_>], out: &mut Vec<String>) -> usize {
        out.extend((!self.said.is_empty()).then(|| with_parts(content, &self.said)));
        if self.results.is_empty() {
            return 0;
        }
        let calls: Vec<_> = self.said.iter().filter_map(|part| Part::read(part)?.call()).collect();
        let ours: Vec<_> = calls.iter().map(|call| take(call, &mut self.results)).collect();
        let theirs = if ours.contains(&None) { Behind::read(behind) } else { Behind::default() };
        let Behind { count, mut answers, others } = theirs;
        let all = calls.iter().zip(ours).filter_map(|(call, own)| own.or_else(|| take(call, &mut answers)));
        // What answers no call of these is the client's affair where it is the client's; ours would be refused.
        let all: Vec<&str> = all.collect();
        let left = answers.iter().map(|answer| answer.text);
        let parts: Vec<&str> = all.into_iter().chain(left).chain(others).collect();
        let first = behind.first().filter(|_| count > 0).map(|item| item.value);
        out.extend((!parts.is_empty()).then(|| with_parts(first.unwrap_or("{\"role\":\"user\"}"), &parts)));
        count
    }
}

/// What the client answered right behind a content; it may do so in several.
#[derive(Default)]
struct Behind<'a> {
    count: usize,
    answers: Vec<Answer<'a>>,
    others: Vec<&'a str>,
}

impl<'a> Behind<'a> {
    fn read(contents: &[Item<'a>]) -> Self {
        let mut behind = Self::default();
        for item in contents {
            let Ok(content) = Container::object(item.value, item.value) else { break };
            let is_model = content.value("role").and_then(json::string).as_deref() == Some("model");
            let parts = parts_of(&content);
            if is_model || !parts.iter().any(|part| Answer::read(part).is_some()) {
                break;
            }
            behind.count += 1;
            for part in parts {
                match Answer::read(part) {
                    Some(answer) => behind.answers.push(answer),
                    None => behind.others.push(part),
                }
            }
        }
        behind
    }
}

/// A content with other parts.
fn with_parts(content: &str, parts: &[&str]) -> String {
    let mut edits = Edits::new(content);
    if let Ok(whole) = Container::object(content, content) {
        edits.members(&whole, &[], &[("parts", format!("[{}]", parts.join(",")))]);
    }
    edits.apply()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn legal(contents: &Value) -> Value {
        let body = json!({"contents": contents}).to_string();
        let made = made_legal(body.as_bytes()).expect("it was spliced");
        serde_json::from_slice::<Value>(&made).unwrap()["contents"].take()
    }

    fn call(id: &str) -> Value {
        json!({"functionCall": {"id": id, "name": "n", "args": {}}, "thoughtSignature": id})
    }

    fn result(id: &str) -> Value {
        json!({"functionResponse": {"id": id, "name": "n", "response": {}}})
    }

    fn nameless(mut part: Value) -> Value {
        for name in ["functionCall", "functionResponse"] {
            if let Some(named) = part.get_mut(name) {
                named.as_object_mut().unwrap().remove("id");
            }
        }
        part
    }

    fn text(text: &str) -> Value {
        json!({"text": text})
    }

    fn model(parts: &[Value]) -> Value {
        json!({"role": "model", "parts": parts})
    }

    fn user(parts: &[Value]) -> Value {
        json!({"role": "user", "parts": parts})
    }

    #[test]
    fn a_content_of_several_rounds_becomes_several() {
        let asks = user(&[text("and now?")]);
        let parts =
            [text("a"), call("1"), call("2"), result("2"), result("1"), call("3"), result("3"), text("b")];
        let expected = json!([
            asks,
            model(&parts[..3]),
            user(&[result("1"), result("2")]),
            model(&[call("3")]),
            user(&[result("3")]),
            model(&[text("b")]),
            asks,
        ]);
        assert_eq!(legal(&json!([asks, model(&parts), asks])), expected);
        let parts = [call("1"), call("2"), result("1"), result("2")].map(nameless);
        let expected = json!([model(&parts[..2]), user(&parts[2..]), asks]);
        assert_eq!(legal(&json!([model(&parts), asks])), expected);
    }

    #[test]
    fn results_of_both_stand_in_one_content_in_the_order_of_the_calls() {
        let said = [call("1"), call("c"), call("3"), call("d")];
        let spliced = model(&[&said[..], &[result("3"), result("1")]].concat());
        let all = [result("1"), result("c"), result("3"), result("d"), text("so")];
        let expected = json!([model(&said), user(&all), user(&[text("x")])]);
        for theirs in [
            vec![user(&[result("d"), result("c"), text("so")])],
            vec![user(&[result("c")]), user(&[result("d"), text("so")])],
        ] {
            let contents = [vec![spliced.clone()], theirs, vec![user(&[text("x")])]].concat();
            assert_eq!(legal(&json!(contents)), expected);
        }
        // What is not answered yet is for the provider to judge.
        let open = json!([model(&said), user(&[result("1"), result("3")]), user(&[text("x")])]);
        assert_eq!(legal(&json!([spliced, user(&[text("x")])])), open);
        // Results that stand behind answered calls belong to nobody here.
        let answered = model(&[call("1"), result("1")]);
        let expected = json!([model(&[call("1")]), user(&[result("1")]), user(&[result("c")])]);
        assert_eq!(legal(&json!([answered, user(&[result("c")])])), expected);
    }

    #[test]
    fn results_without_their_calls_are_dropped() {
        assert_eq!(legal(&json!([model(&[result("1"), text("a")])])), json!([model(&[text("a")])]));
        let expected = json!([model(&[call("1")]), user(&[result("1")])]);
        assert_eq!(legal(&json!([model(&[call("1"), result("2"), result("1")])])), expected);
    }

    #[test]
    fn a_legal_history_is_left_alone() {
        for contents in [
            json!([user(&[text("x")]), model(&[call("1")]), user(&[result("1")])]),
            json!([model(&[text("\"functionResponse\"")])]),
            json!("functionResponse"),
            json!([7, {"role": "model", "parts": 7}, {"role": "model", "parts": [{"functionResponse": 7}]}]),
        ] {
            assert_eq!(made_legal(json!({"contents": contents}).to_string().as_bytes()), None);
        }
        assert_eq!(made_legal(b"{\"functionResponse\""), None);
    }

    #[test]
    fn only_parts_change_hands() {
        let body = r#"{ "contents": [ {"role":"model", "x":1e2, "parts":[ {"functionCall":{"name":"n"},"thoughtSignature":"A\/="}, {"function_response":{"name":"n"}} ]} ] }"#;
        let expected = r#"{ "contents": [{"role":"model", "x":1e2, "parts":[{"functionCall":{"name":"n"},"thoughtSignature":"A\/="}]},{"role":"user","parts":[{"function_response":{"name":"n"}}]}] }"#;
        assert_eq!(made_legal(body.as_bytes()).unwrap(), expected);
    }
}
