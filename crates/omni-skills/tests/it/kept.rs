//! Hidden rounds across requests: what the model gets back of earlier turns, and the client never sees.

use serde_json::{Value, json};
use testkit::fake_upstream::FakeUpstream;
use testkit::gateway::Gateway;
use testkit::held;
use testkit::script::{Call, Round, Script};

use crate::client::{Seen, body, gateway, history, send};

/// Dialects whose clients send their history as messages.
const DIALECTS: [&str; 2] = ["openai_chat", "anthropic_messages"];
/// Skills are offered beside the client's own tools.
const BESIDE: &str = "[selection]\nwith_client_tools = \"all\"\n";

fn run(code: &str) -> Call {
    Call::new("eval_code", json!({"language": "javascript", "code": code}))
}

fn bash(id: &str) -> Call {
    Call::new("Bash", json!({"n": id})).id(id).exactly()
}

/// A client that holds its own history.
struct Client {
    dialect: &'static str,
    body: Value,
    headers: Vec<(&'static str, &'static str)>,
}

impl Client {
    fn new(dialect: &'static str, stream: bool, tools: &[&str]) -> Self {
        let mut body = body(dialect, stream, "", tools);
        body["messages"] = json!([]);
        Self { dialect, body, headers: Vec::new() }
    }

    fn push(&mut self, message: Value) {
        self.body["messages"].as_array_mut().unwrap().push(message);
    }

    /// Sends the history, takes the answer into it.
    async fn send(&mut self, gateway: &Gateway) -> Seen {
        let seen = send(&gateway.base, self.dialect, &self.body, &self.headers).await;
        assert_eq!(seen.status, 200, "{seen:?}");
        assert!(!seen.raw.contains("eval_code__"), "the client saw a call of ours: {}", seen.raw);
        self.push(held::assistant_message(self.dialect, &seen.raw));
        seen
    }

    async fn ask(&mut self, gateway: &Gateway, text: &str) -> Seen {
        self.push(json!({"role": "user", "content": text}));
        self.send(gateway).await
    }

    /// Answers its calls, in this order.
    async fn answer(&mut self, gateway: &Gateway, ids: &[&str]) -> Seen {
        let result = |id: &&str| match self.dialect {
            "openai_chat" => json!({"role": "tool", "tool_call_id": id, "content": format!("theirs {id}")}),
            _ => json!({"type": "tool_result", "tool_use_id": id, "content": format!("theirs {id}")}),
        };
        let results: Vec<Value> = ids.iter().map(result).collect();
        if self.dialect == "openai_chat" {
            for result in results {
                self.push(result);
            }
        } else {
            self.push(json!({"role": "user", "content": results}));
        }
        self.send(gateway).await
    }
}

/// Runs `check` for every dialect, streamed and not.
async fn cells(check: impl AsyncFn(&'static str, bool)) {
    for dialect in DIALECTS {
        for stream in [false, true] {
            check(dialect, stream).await;
        }
    }
}

fn last_body(upstream: &FakeUpstream) -> String {
    assert_eq!(upstream.refusals(), Vec::<String>::new());
    upstream.requests().last().unwrap().body["messages"].to_string()
}

/// Whether these stand in a text in this order.
fn in_order(text: &str, parts: &[&str]) {
    let mut rest = text;
    for part in parts {
        rest = rest.split_once(part).unwrap_or_else(|| panic!("no {part:?} in its place in {text}")).1;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mixed_turn_runs_ours_and_gives_the_client_its_own() {
    cells(async |dialect, stream| {
        let mixed = Round::calls([run("console.log('o'+'urs')"), bash("bash00001")]).saying("Both.");
        let upstream = FakeUpstream::start(Script::rounds([mixed, Round::text("done")])).await;
        let mut gateway = gateway(&upstream.base_url(), BESIDE);
        let mut client = Client::new(dialect, stream, &["Bash"]);
        let seen = client.ask(&gateway, "please").await;
        assert_eq!(
            (seen.calls.as_slice(), seen.stop.as_deref()),
            (&["Bash".to_owned()][..], Some("client_tools"))
        );
        assert!(matches!(seen.finish.as_deref(), Some("tool_calls" | "tool_use")), "{seen:?}");
        assert_eq!(seen.text, "Both.");
        assert_eq!(history(&gateway).await[0]["status"], "success");
        gateway.kill_and_restart();

        let seen = client.answer(&gateway, &["bash00001"]).await;
        assert_eq!((seen.text.as_str(), seen.stop.as_deref()), ("done", Some("completed")));
        let call_and_result = ["Both.", "console.log", "bash00001", "ours", "theirs bash00001"];
        in_order(&last_body(&upstream), &call_and_result);
        client.ask(&gateway, "and now?").await;
        in_order(&last_body(&upstream), &call_and_result);
        assert_eq!(
            history(&gateway).await.len(),
            2,
            "the new question's own, and the first is not run again"
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn results_stand_in_call_order_whoever_made_them() {
    cells(async |dialect, stream| {
        let calls =
            [run("console.log('r-'+1)"), bash("bash00002"), run("console.log('r-'+3)"), bash("bash00004")];
        let upstream = FakeUpstream::start(Script::rounds([Round::calls(calls), Round::text("done")])).await;
        let gateway = gateway(&upstream.base_url(), BESIDE);
        let mut client = Client::new(dialect, stream, &["Bash"]);
        assert_eq!(client.ask(&gateway, "please").await.calls, ["Bash", "Bash"]);
        assert_eq!(client.answer(&gateway, &["bash00002", "bash00004"]).await.text, "done");
        let text = last_body(&upstream);
        in_order(&text, &["'r-'+1", "bash00002", "'r-'+3", "bash00004"]);
        in_order(&text, &["r-1", "theirs bash00002", "r-3", "theirs bash00004"]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_questions_later_the_model_still_knows_every_result() {
    cells(async |dialect, stream| {
        let script = Script::choose(|body, index| {
            let users = body["messages"].as_array().unwrap().iter();
            let question = users.filter(|m| m["role"] == "user" && m["content"].is_string()).count();
            match index {
                0 => Round::calls([run(&format!("console.log('found ' + {question} * 1000)"))])
                    .saying("A moment."),
                _ => Round::text("It is done."),
            }
        });
        let upstream = FakeUpstream::start(script).await;
        let gateway = gateway(&upstream.base_url(), "");
        let mut client = Client::new(dialect, stream, &[]);
        for _ in 0..10 {
            let seen = client.ask(&gateway, "the next one, please").await;
            assert!(seen.calls.is_empty() && seen.text.ends_with("It is done."), "{seen:?}");
        }
        let text = last_body(&upstream);
        let numbers: Vec<String> = (1..=10).map(|n| format!("found {n}000")).collect();
        in_order(&text, &numbers.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(text.matches("found ' + ").count(), 10, "every call once: {text}");
        assert_eq!(text.matches("A moment.").count(), 10, "every text once: {text}");
        assert_eq!(history(&gateway).await.len(), 10);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_expired_leaves_a_legal_history_and_a_word_about_it() {
    cells(async |dialect, stream| {
        for limit in ["memory_ttl_ms = 0", "memory_bytes = 1"] {
            let mixed = Round::calls([run("console.log('o'+'urs')"), bash("bash00001")]);
            let upstream = FakeUpstream::start(Script::rounds([mixed, Round::text("done")])).await;
            let gateway = gateway(&upstream.base_url(), &format!("{BESIDE}[turn]\n{limit}\n"));
            let mut client = Client::new(dialect, stream, &["Bash"]);
            client.ask(&gateway, "please").await;
            client.answer(&gateway, &["bash00001"]).await;
            let text = last_body(&upstream);
            in_order(&text, &["theirs bash00001", "have expired"]);
            assert!(!text.contains("console.log") && !text.contains("stdout"), "{text}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_else_gets_them() {
    cells(async |dialect, stream| {
        let mixed = Round::calls([run("console.log('sec'+'ret')"), bash("bash00001")]);
        let upstream = FakeUpstream::start(Script::rounds([mixed, Round::text("done")])).await;
        let gateway = gateway(&upstream.base_url(), BESIDE);
        let bearer: &'static str = Box::leak(format!("Bearer {}", gateway.token).into_boxed_str());
        let ann = vec![("authorization", bearer), ("x-omni-user", "ann")];
        let mut client = Client::new(dialect, stream, &["Bash"]);
        client.headers = ann.clone();
        client.ask(&gateway, "please").await;
        let begun = client.body.clone();
        let others = [
            vec![("authorization", bearer), ("x-omni-user", "bob")],
            vec![("authorization", bearer)],
            vec![("x-omni-user", "ann")],
            vec![("authorization", bearer), ("x-omni-user", "ann"), ("x-omni-skills", "off")],
        ];
        for other in others {
            client.body = begun.clone();
            client.headers = other;
            client.answer(&gateway, &["bash00001"]).await;
            let text = last_body(&upstream);
            assert!(!text.contains("secret") && !text.contains("expired"), "{text}");
        }
        client.body = begun;
        // Another conversation of the same user is still the same user's.
        client.headers = [ann, vec![("x-omni-session", "another")]].concat();
        client.answer(&gateway, &["bash00001"]).await;
        assert!(last_body(&upstream).contains("secret"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_anonymous_stranger_gets_nothing_by_guessing() {
    cells(async |dialect, stream| {
        let rounds = [Round::calls([run("console.log('sec'+'ret')")]), Round::text("done")];
        let upstream = FakeUpstream::start(Script::rounds(rounds)).await;
        let gateway = gateway(&upstream.base_url(), "");
        for (session, other) in [(Some("mine"), Some("theirs")), (Some("mine"), None)] {
            let mut client = Client::new(dialect, stream, &[]);
            client.headers = session.map(|session| ("x-omni-session", session)).into_iter().collect();
            client.ask(&gateway, "please").await;
            let mut stranger = Client { body: client.body.clone(), headers: Vec::new(), ..client };
            stranger.headers.extend(other.map(|session| ("x-omni-session", session)));
            stranger.headers.push(("x-omni-user", "x"));
            let before = upstream.requests().len();
            stranger.ask(&gateway, "what did you find?").await;
            let first = upstream.requests()[before].body["messages"].to_string();
            assert!(!first.contains("secret"), "{first}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_off_keeps_only_what_an_open_call_needs() {
    cells(async |dialect, stream| {
        let mixed = [Round::calls([run("console.log('o'+'urs')"), bash("bash00001")]), Round::text("done")];
        let hidden = [Round::calls([run("console.log('hid'+'den')")]), Round::text("done")];
        let script = Script::rounds(hidden).when("mixed", mixed);
        let upstream = FakeUpstream::start(script).await;
        let gateway = gateway(&upstream.base_url(), &format!("{BESIDE}[turn]\nmemory = \"off\"\n"));
        let mut client = Client::new(dialect, stream, &["Bash"]);
        client.ask(&gateway, "please").await;
        client.ask(&gateway, "mixed").await;
        client.answer(&gateway, &["bash00001"]).await;
        let text = last_body(&upstream);
        assert!(text.contains("'o'+'urs'") && !text.contains("'hid'+'den'"), "{text}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edited_answer_is_the_clients_own() {
    cells(async |dialect, stream| {
        let rounds = [Round::calls([run("console.log('hid'+'den')")]), Round::text("done")];
        let upstream = FakeUpstream::start(Script::rounds(rounds)).await;
        let gateway = gateway(&upstream.base_url(), "");
        let mut client = Client::new(dialect, stream, &[]);
        client.ask(&gateway, "please").await;
        client.body["messages"][1]["content"] = "undone".into();
        client.push(json!({"role": "user", "content": "and?"}));
        let before = upstream.requests().len();
        client.send(&gateway).await;
        let first = &upstream.requests()[before].body["messages"];
        let own = client.body["messages"].as_array().unwrap();
        assert_eq!(first.as_array().unwrap().as_slice(), &own[..own.len() - 1]);
    })
    .await;
}

/// Structured output: nothing is offered, but the history is whole.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_without_skills_gets_its_history_back_too() {
    cells(async |dialect, stream| {
        let rounds = [Round::calls([run("console.log('hid'+'den')")]), Round::text("done")];
        let upstream = FakeUpstream::start(Script::rounds(rounds)).await;
        let gateway = gateway(&upstream.base_url(), "");
        let mut client = Client::new(dialect, stream, &[]);
        client.ask(&gateway, "please").await;
        let format =
            json!({"type": "json_schema", "schema": {"type": "object"}, "json_schema": {"name": "x"}});
        match dialect {
            "openai_chat" => client.body["response_format"] = format,
            _ => client.body["output_config"] = json!({"format": format}),
        }
        upstream.set_script(Script::rounds([Round::text("{}")]));
        client.ask(&gateway, "as JSON").await;
        in_order(&last_body(&upstream), &["'hid'+'den'", "hidden", "done", "as JSON"]);

        client.headers = vec![("x-omni-skills", "off")];
        let sent = client.body.to_string();
        client.send(&gateway).await;
        assert_eq!(upstream.requests().last().unwrap().raw, sent, "off: byte for byte");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn thinking_comes_back_with_its_calls() {
    for (stream, ttl) in [(false, 60_000), (true, 60_000), (false, 0), (true, 0)] {
        let first = Round::calls([run("console.log('o'+'ne')")]).thinking("hm", "sig-1").saying("First.");
        let second = Round::calls([run("console.log('t'+'wo')"), bash("toolu_bash1")]);
        let second = second.thinking("so", "sig-2").redacted_thinking("opaque").saying("Second.");
        let script = Script::rounds([first, second, Round::text("done").thinking("well", "sig-3")]);
        let upstream = FakeUpstream::start(script).await;
        let gateway = gateway(&upstream.base_url(), &format!("{BESIDE}[turn]\nmemory_ttl_ms = {ttl}\n"));
        let mut client = Client::new("anthropic_messages", stream, &["Bash"]);
        client.body["thinking"] = json!({"type": "enabled", "budget_tokens": 1024});
        client.ask(&gateway, "please").await;
        if ttl == 0 {
            // The turn's first round is lost to the model, so that it is in its second again.
            let rest = Round::text("done").thinking("well", "sig-3");
            upstream.set_script(Script::rounds([rest]));
        }
        assert!(client.answer(&gateway, &["toolu_bash1"]).await.text.ends_with("done"));
        let text = last_body(&upstream);
        if ttl == 0 {
            in_order(&text, &["sig-2", "opaque", "First.", "Second.", "toolu_bash1", "have expired"]);
            assert!(!text.contains("sig-1"), "{text}");
        } else {
            in_order(
                &text,
                &["sig-1", "First.", "'o'+'ne'", "one", "sig-2", "opaque", "Second.", "'t'+'wo'"],
            );
        }
        client.ask(&gateway, "and now?").await;
        last_body(&upstream);
    }
}
