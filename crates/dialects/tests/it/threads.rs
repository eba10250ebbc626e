//! Messages whose conversation the provider holds.

use dialects::{Anchor, Ask, ClientRequest, Ending, Keeping, Kept, ToolPlace};
use domain::ToolResult;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::*;

const OURS: &str = "read__1_0_0";

fn read(thread: &Value, more: &Value) -> ClientRequest {
    let mut body = json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}], "thread": thread});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    dialect(MESSAGES).read_request("/v1/messages", body.to_string().into()).unwrap()
}

fn go_on(id: &str) -> Value {
    json!({"type": "continue", "previous_message_id": id})
}

fn message(id: &str, calls: &[(&str, &str)]) -> String {
    let blocks =
        calls.iter().map(|(id, name)| json!({"type": "tool_use", "id": id, "name": name, "input": {}}));
    let reason = if calls.is_empty() { "end_turn" } else { "tool_use" };
    let text = json!({"type": "text", "text": "x"});
    let blocks: Vec<Value> = std::iter::once(text).chain(blocks).collect();
    json!({"id": id, "type": "message", "role": "assistant", "content": blocks, "stop_reason": reason})
        .to_string()
}

/// A turn of these rounds: the bodies that asked them, and what is kept of it.
fn turn(request: &ClientRequest, rounds: &[String]) -> (Vec<Value>, Option<Keeping>) {
    let dialect = dialect(MESSAGES);
    let mut answer = dialect.answer(request, owned());
    let (mut out, mut bodies) = (Vec::new(), vec![dialect.inject(request, &[tool(OURS)])]);
    for (n, text) in rounds.iter().enumerate() {
        answer.feed(text.as_bytes(), &mut out).unwrap();
        let round = answer.end_round(&mut out).unwrap();
        let ours = results(&round).into_iter().zip(&round.calls).filter(|(_, call)| call.owned);
        let results: Vec<ToolResult> = ours.map(|(result, _)| result).collect();
        let body = bodies.last().unwrap().clone();
        if n + 1 == rounds.len() {
            answer.finish(&Ending::default(), &mut out).unwrap();
            let keeping = dialect.keep(request, &body, &round, &results, &answer.shown());
            let bodies = bodies.iter().map(|body| serde_json::from_slice(body).unwrap()).collect();
            return (bodies, keeping);
        }
        bodies.push(
            dialect.follow_up(request, &body, &round, &results, Ask::Last, &[OURS.to_owned()]).unwrap(),
        );
    }
    panic!("a turn without rounds");
}

#[test]
fn later_rounds_of_a_turn_that_goes_on_name_the_round_before() {
    let request = read(&go_on("msg_0"), &json!({}));
    assert_eq!((request.conversation.as_deref(), request.tool_place), (Some("msg_0"), ToolPlace::Provider));
    let rounds = [message("msg_1", &[("a", OURS)]), message("msg_2", &[("b", OURS)]), message("msg_3", &[])];
    let (bodies, keeping) = turn(&request, &rounds);
    assert_eq!(bodies[0], serde_json::from_slice::<Value>(&request.raw).unwrap());
    for (n, call) in [(1, "a"), (2, "b")] {
        assert_eq!(bodies[n]["thread"], go_on(&format!("msg_{n}")));
        let sent = bodies[n]["messages"].as_array().unwrap();
        assert_eq!((sent.len(), &sent[0]["content"][0]["tool_use_id"]), (1, &json!(call)));
        assert!(bodies[n].get("tools").is_none() && bodies[n].get("tool_choice").is_none());
    }
    let keeping = keeping.unwrap();
    assert_eq!(
        (keeping.keys, keeping.kept.response_id),
        (vec!["response:msg_3".to_owned()], Some("msg_3".to_owned()))
    );
}

#[test]
fn a_turn_that_begins_repeats_everything_and_no_ids() {
    let request = read(&json!({"type": "create"}), &json!({}));
    let (bodies, keeping) = turn(&request, &[message("msg_1", &[("a", OURS)]), message("msg_2", &[])]);
    let sent = bodies[1]["messages"].as_array().unwrap();
    assert_eq!((sent.len(), &bodies[1]["thread"], sent[1].get("id")), (3, &json!({"type": "create"}), None));
    let keeping = keeping.unwrap();
    assert!(keeping.keys.iter().any(|key| key.starts_with("text:")), "{:?}", keeping.keys);
    assert!(keeping.keys.contains(&"response:msg_2".to_owned()));
    assert!(!keeping.kept.instead.unwrap().get().contains("msg_2"));
}

/// The request as it goes up when the answer that it goes on with was kept so.
fn restored(request: &ClientRequest, kept: &Kept) -> Value {
    let found = |anchor: Anchor| (anchor.key == "response:shown").then(|| (anchor, kept.clone()));
    let found: Vec<_> = dialect(MESSAGES).anchors(request).into_iter().filter_map(found).collect();
    serde_json::from_slice(&dialect(MESSAGES).restore(request, &found)).unwrap()
}

#[test]
fn the_id_is_the_providers_and_our_results_stand_in_front() {
    let mixed = [message("msg_1", &[("a", OURS), ("c", "client")])];
    let kept = turn(&read(&json!({"type": "create"}), &json!({})), &mixed).1.unwrap().kept;
    let theirs = json!({"type": "tool_result", "tool_use_id": "c", "content": "theirs"});
    let text = json!({"type": "text", "text": "hi"});
    for (kept, word) in [(kept.clone(), "result of"), (kept.trace(), "expired")] {
        for (messages, rest) in [
            (json!([{"role": "user", "content": [theirs]}]), vec![theirs.clone()]),
            (json!([{"role": "user", "content": "hi"}]), vec![text.clone()]),
            (json!([]), vec![]),
        ] {
            let body = restored(&read(&go_on("shown"), &json!({"messages": messages})), &kept);
            assert_eq!(body["thread"], go_on("msg_1"));
            let content = body["messages"][0]["content"].as_array().unwrap();
            assert_eq!((&content[0]["tool_use_id"], &content[1..]), (&json!("a"), &rest[..]));
            assert!(content[0].to_string().contains(word), "{content:?}");
        }
    }
    let unknown = read(&go_on("other"), &json!({}));
    assert_eq!(restored(&unknown, &kept), serde_json::from_slice::<Value>(&unknown.raw).unwrap());
}

#[test]
fn what_is_noted_is_of_held_conversations_only() {
    let shown = dialects::Shown { id: Some("msg_1".to_owned()), ..dialects::Shown::default() };
    let tools = json!({"tools": [{"name": "Bash", "input_schema": {"type": "object"}}]});
    let noted =
        |thread: &Value| dialect(MESSAGES).issued(&read(thread, &tools), None, &shown, &[OURS.to_owned()]);
    let issued = noted(&json!({"type": "create"})).unwrap();
    assert_eq!((issued.ids, issued.client_tools), (vec!["msg_1".to_owned()], vec!["Bash".to_owned()]));
    assert!(noted(&Value::Null).is_none());
}

proptest! {
    #[test]
    fn odd_threads_never_panic(thread in "[\\[{\"]?(type|continue|:|,|previous_message_id|\"|x|7| ){0,9}[}\\]\"]?") {
        let body = format!("{{\"model\":\"m\",\"messages\":[],\"thread\":{thread}}}");
        if let Ok(request) = dialect(MESSAGES).read_request("/v1/messages", body.into()) {
            let kept = Kept { response_id: Some("y".to_owned()), ..Kept::default() };
            let found: Vec<_> = dialect(MESSAGES).anchors(&request).into_iter().map(|anchor| (anchor, kept.clone())).collect();
            dialect(MESSAGES).restore(&request, &found);
        }
    }
}
