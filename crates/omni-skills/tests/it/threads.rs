//! Messages whose conversation the provider holds: gone on with by the id that the client was given.

use serde_json::{Value, json};
use testkit::fake_upstream::FakeUpstream;
use testkit::gateway::Gateway;
use testkit::held;
use testkit::script::{Call, Round, Script};

use crate::client::{Seen, gateway, send};

const MESSAGES: &str = "anthropic_messages";

fn run(code: &str) -> Call {
    Call::new("eval_code", json!({"language": "javascript", "code": code}))
}

/// Every question is a round of ours, a mixed one, and an answer.
fn script() -> Script {
    let bash = Call::new("Bash", json!({})).exactly();
    let mixed = Round::calls([run("console.log('par'+'ked')"), bash]);
    Script::rounds([Round::calls([run("console.log('hid'+'den')")]), mixed, Round::text("done")])
}

struct Client {
    headers: Vec<(&'static str, String)>,
    stream: bool,
}

impl Client {
    /// Sends what is new.
    async fn send(&self, gateway: &Gateway, thread: Value, content: Value, more: Value) -> (Seen, String) {
        let messages = json!([{"role": "user", "content": content}]);
        let mut body = json!({"model": "m", "max_tokens": 9, "stream": self.stream, "messages": messages, "thread": thread});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let headers: Vec<(&str, &str)> =
            self.headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let seen = send(&gateway.base, MESSAGES, &body, &headers).await;
        let first = seen.raw.split_once("\"id\":\"msg_").map(|(_, rest)| rest.split('"').next().unwrap());
        let id = format!("msg_{}", first.unwrap_or_default());
        (seen, id)
    }
}

fn bash_result(seen: &Seen) -> Value {
    let message = held::assistant_message(MESSAGES, &seen.raw);
    let calls: Vec<&Value> =
        message["content"].as_array().unwrap().iter().filter(|block| block["type"] == "tool_use").collect();
    assert_eq!(calls.len(), 1, "{message}");
    json!([{"type": "tool_result", "tool_use_id": calls[0]["id"], "content": "theirs"}])
}

fn go_on(id: &str) -> Value {
    json!({"type": "continue", "previous_message_id": id})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_held_conversation_goes_on_by_the_id_that_the_client_has() {
    for stream in [false, true] {
        let upstream = FakeUpstream::start(script()).await;
        let mut gateway = gateway(&upstream.base_url(), "[selection]\nwith_client_tools = \"all\"\n");
        let mine = Client { headers: Vec::new(), stream };
        let tools = json!({"tools": [{"name": "Bash", "input_schema": {"type": "object"}}]});
        let (seen, id) = mine.send(&gateway, json!({"type": "create"}), json!("please"), tools).await;
        assert_eq!(
            (seen.calls.join(" "), upstream.refusals()),
            ("Bash".to_owned(), vec![]),
            "stream={stream}"
        );
        gateway.kill_and_restart();

        // Somebody else's id is nothing but what the provider makes of it.
        let bearer = format!("Bearer {}", gateway.token);
        let other = Client { headers: vec![("authorization", bearer)], stream };
        let (refused, _) = other.send(&gateway, go_on(&id), bash_result(&seen), json!({})).await;
        assert_eq!(refused.status, 400, "{refused:?}");
        let sent = upstream.requests().last().unwrap().body.clone();
        assert_eq!((&sent["thread"], sent.get("tools")), (&go_on(&id), None));
        assert!(!sent.to_string().contains("parked"));
        let refused = upstream.refusals();

        let (seen, id) = mine.send(&gateway, go_on(&id), bash_result(&seen), json!({})).await;
        assert_eq!((seen.text.as_str(), upstream.refusals()), ("done", refused.clone()), "stream={stream}");
        let sent = upstream.requests().last().unwrap().body["messages"].to_string();
        assert!(sent.contains("parked") && sent.contains("theirs"), "{sent}");

        // A question that has hidden rounds of its own, and a mixed one behind them.
        let (seen, id) = mine.send(&gateway, go_on(&id), json!("again"), json!({})).await;
        assert_eq!((seen.calls.join(" "), upstream.refusals()), ("Bash".to_owned(), refused.clone()));
        assert!(!seen.raw.contains("eval_code__"), "{}", seen.raw);
        gateway.kill_and_restart();
        let (seen, _) = mine.send(&gateway, go_on(&id), bash_result(&seen), json!({})).await;
        assert_eq!((seen.text.as_str(), upstream.refusals()), ("done", refused), "stream={stream}");
        let bodies = upstream.requests().into_iter().map(|request| request.body);
        assert!(bodies.skip(2).all(|body| body.get("tools").is_none()), "the provider holds them");
    }
}
