//! Long conversations in every dialect: the upstream sees every hidden call and result in its place, the client none.

use serde_json::{Value, json};
use testkit::fake_upstream::FakeUpstream;
use testkit::gateway::Gateway;
use testkit::held;
use testkit::script::{Call, Round, Script};

use crate::client::{DIALECTS, Seen, body, gateway, history, send};

/// A client that holds its own history, whichever dialect it speaks.
pub(crate) struct Talk {
    pub(crate) dialect: &'static str,
    pub(crate) body: Value,
    pub(crate) headers: Vec<(&'static str, &'static str)>,
}

/// The member that holds the conversation.
pub(crate) fn list(dialect: &str) -> &'static str {
    match dialect {
        "openai_responses" => "input",
        "gemini" => "contents",
        _ => "messages",
    }
}

pub(crate) fn user(dialect: &str, text: &str) -> Value {
    match dialect {
        "gemini" => json!({"role": "user", "parts": [{"text": text}]}),
        _ => json!({"role": "user", "content": text}),
    }
}

/// The data of every event, or the whole of a plain answer.
pub(crate) fn values(raw: &str) -> Vec<Value> {
    if let Ok(whole) = serde_json::from_str(raw) {
        return vec![whole];
    }
    let data = raw.lines().filter_map(|line| line.strip_prefix("data: "));
    data.filter_map(|data| serde_json::from_str(data).ok()).collect()
}

/// What the client puts into its history.
fn shown(dialect: &str, raw: &str) -> Vec<Value> {
    let values = values(raw);
    match dialect {
        "openai_responses" => {
            let last = values.last().unwrap();
            last.get("response").unwrap_or(last)["output"].as_array().unwrap().clone()
        }
        "gemini" => {
            let parts = values.iter().filter_map(|v| v["candidates"][0]["content"]["parts"].as_array());
            let parts: Vec<_> = parts.flatten().filter(|part| part["text"] != "").cloned().collect();
            vec![json!({"role": "model", "parts": parts})]
        }
        _ => vec![held::assistant_message(dialect, raw)],
    }
}

/// Id and name of the calls that the client was given.
fn calls(dialect: &str, shown: &[Value]) -> Vec<(Value, Value)> {
    let all = |list: &Value, id: &str, of: fn(&Value) -> &Value| -> Vec<(Value, Value)> {
        let calls = list.as_array().into_iter().flatten().map(of).filter(|call| call["name"].is_string());
        calls.map(|call| (call[id].clone(), call["name"].clone())).collect()
    };
    match dialect {
        "openai_chat" => {
            let calls = shown[0]["tool_calls"].as_array().into_iter().flatten();
            calls.map(|call| (call["id"].clone(), call["function"]["name"].clone())).collect()
        }
        "openai_responses" => all(&json!(shown), "call_id", |item| item),
        "gemini" => all(&shown[0]["parts"], "id", |part| &part["functionCall"]),
        _ => all(&shown[0]["content"], "id", |block| block),
    }
}

impl Talk {
    pub(crate) fn new(dialect: &'static str, stream: bool, tools: &[&str]) -> Self {
        let mut body = body(dialect, stream, "", tools);
        body[list(dialect)] = json!([]);
        Self { dialect, body, headers: Vec::new() }
    }

    pub(crate) fn extend(&mut self, items: Vec<Value>) {
        self.body[list(self.dialect)].as_array_mut().unwrap().extend(items);
    }

    /// Sends the history, takes the answer into it.
    pub(crate) async fn send(&mut self, gateway: &Gateway) -> (Seen, Vec<Value>) {
        let seen = send(&gateway.base, self.dialect, &self.body, &self.headers).await;
        assert_eq!((seen.status, seen.error.as_deref()), (200, None), "{}: {seen:?}", self.dialect);
        assert!(!seen.raw.contains("eval_code__"), "the client saw a call of ours: {}", seen.raw);
        let shown = shown(self.dialect, &seen.raw);
        self.extend(shown.clone());
        (seen, shown)
    }

    pub(crate) async fn ask(&mut self, gateway: &Gateway, text: &str) -> (Seen, Vec<Value>) {
        self.extend(vec![user(self.dialect, text)]);
        self.send(gateway).await
    }

    /// Answers the calls that it was shown with `theirs`.
    pub(crate) async fn answer(&mut self, gateway: &Gateway, shown: &[Value], theirs: &str) -> Seen {
        self.answer_all(gateway, shown, theirs).await.0
    }

    /// The same, and what it was shown then.
    pub(crate) async fn answer_all(
        &mut self,
        gateway: &Gateway,
        shown: &[Value],
        theirs: &str,
    ) -> (Seen, Vec<Value>) {
        let result = |(id, name): (Value, Value)| match self.dialect {
            "openai_chat" => json!({"role": "tool", "tool_call_id": id, "content": theirs}),
            "openai_responses" => json!({"type": "function_call_output", "call_id": id, "output": theirs}),
            // A call may have no id.
            "gemini" if id.is_null() => {
                json!({"functionResponse": {"name": name, "response": {"output": theirs}}})
            }
            "gemini" => {
                json!({"functionResponse": {"id": id, "name": name, "response": {"output": theirs}}})
            }
            _ => json!({"type": "tool_result", "tool_use_id": id, "content": theirs}),
        };
        let results: Vec<Value> = calls(self.dialect, shown).into_iter().map(result).collect();
        self.extend(match self.dialect {
            "gemini" => vec![json!({"role": "user", "parts": results})],
            "anthropic_messages" => vec![json!({"role": "user", "content": results})],
            _ => results,
        });
        self.send(gateway).await
    }
}

/// Whether these stand in a text in this order.
pub(crate) fn in_order(text: &str, parts: &[&str]) {
    let mut rest = text;
    for part in parts {
        rest = rest.split_once(part).unwrap_or_else(|| panic!("no {part:?} in its place in {text}")).1;
    }
}

fn run(code: &str) -> Call {
    Call::new("eval_code", json!({"language": "javascript", "code": code}))
}

/// A model that counts the questions, calls once for each, and answers; `goodbye` it only answers.
fn counting() -> Script {
    Script::choose(|body, index| {
        let lists = ["messages", "input", "contents"].iter().filter_map(|name| body[*name].as_array());
        let text = |one: &Value| {
            let text = one["content"].as_str().or(one["parts"][0]["text"].as_str());
            text.or(one["content"][0]["text"].as_str()).unwrap_or_default().to_owned()
        };
        let questions: Vec<_> = lists.flatten().filter(|one| one["role"] == "user").map(text).collect();
        let number = questions.iter().filter(|text| text.contains("the next one")).count();
        match index {
            0 if !questions.last().unwrap().contains("goodbye") => {
                Round::calls([run(&format!("console.log('found ' + {number} * 1000)"))]).saying("A moment.")
            }
            _ => Round::text("It is done."),
        }
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn after_ten_turns_the_upstream_has_every_call_and_result_and_the_client_none() {
    for dialect in DIALECTS {
        for (stream, is_kept) in [(false, true), (true, true), (false, false), (true, false)] {
            let cell = format!("{dialect} stream={stream} kept={is_kept}");
            let upstream = FakeUpstream::start(counting()).await;
            let more = if is_kept { "" } else { "[turn]\nmemory_ttl_ms = 0\n" };
            let gateway = gateway(&upstream.base_url(), more);
            let mut talk = Talk::new(dialect, stream, &[]);
            for turn in 0..10 {
                let (seen, _) = talk.ask(&gateway, "the next one, please").await;
                assert_eq!(upstream.refusals(), Vec::<String>::new(), "{cell} {turn}");
                assert!(seen.calls.is_empty() && seen.text.ends_with("It is done."), "{cell}: {seen:?}");
                assert!(!seen.raw.contains("found "), "{cell}: {}", seen.raw);
            }
            assert_eq!(history(&gateway).await.len(), 10, "{cell}: every call once");
            let (seen, _) = talk.ask(&gateway, "goodbye").await;
            assert_eq!((seen.text.as_str(), upstream.refusals()), ("It is done.", vec![]), "{cell}");
            let sent = upstream.requests().last().unwrap().body[list(dialect)].to_string();
            // A client of streamed Gemini sends the pieces of a text back as it got them.
            let texts = sent.replace(r#""},{"text":""#, "").matches("A moment.").count();
            assert_eq!(texts, 10, "{cell}: every text once: {sent}");
            let times = if is_kept { 10 } else { 0 };
            assert_eq!(sent.matches("found ' + ").count(), times, "{cell}: every call once: {sent}");
            if is_kept {
                let pairs = (1..=10).flat_map(|n| [format!("' + {n} * 1000"), format!("found {n}000")]);
                in_order(&sent, &pairs.collect::<Vec<_>>().iter().map(String::as_str).collect::<Vec<_>>());
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mixed_turn_is_whole_for_the_upstream_and_the_clients_own_for_the_client() {
    for dialect in DIALECTS {
        for stream in [false, true] {
            for is_kept in [true, false] {
                let cell = format!("{dialect} stream={stream} kept={is_kept}");
                let bash = Call::new("Bash", json!({"n": "their call"})).exactly();
                let mixed = Round::calls([run("console.log('o'+'urs')"), bash]).saying("Both.");
                let upstream = FakeUpstream::start(Script::rounds([mixed, Round::text("done")])).await;
                let ttl = if is_kept { "" } else { "[turn]\nmemory_ttl_ms = 0\n" };
                let more = format!("[selection]\nwith_client_tools = \"all\"\n{ttl}");
                let mut gateway = gateway(&upstream.base_url(), &more);
                let mut talk = Talk::new(dialect, stream, &["Bash"]);
                let (seen, shown) = talk.ask(&gateway, "please").await;
                assert_eq!(seen.calls, ["Bash"], "{cell}: {seen:?}");
                assert_eq!((seen.text.as_str(), seen.stop.as_deref()), ("Both.", Some("client_tools")));
                assert!(!seen.raw.contains("console.log"), "{cell}: {}", seen.raw);
                gateway.kill_and_restart();
                let seen = talk.answer(&gateway, &shown, "theirs").await;
                assert_eq!((seen.text.as_str(), upstream.refusals()), ("done", vec![]), "{cell}");
                assert_eq!(history(&gateway).await.len(), 1, "{cell}: not run again");
                let sent = upstream.requests().last().unwrap().body[list(dialect)].to_string();
                if is_kept {
                    in_order(&sent, &["console.log", "their call", "\\\"ours", "theirs"]);
                } else {
                    in_order(&sent, &["their call", "theirs"]);
                    assert!(!sent.contains("stdout"), "{cell}: {sent}");
                }
            }
        }
    }
}
