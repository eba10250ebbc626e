//! The request of the next round: results in place, forced choices released, budgets that end the turn.

use bytes::Bytes;
use dialects::{Ask, Call, ClientRequest, Finish, Round};
use domain::ToolCall;
use serde_json::{Value, json};

use crate::support::{CHAT, MESSAGES, dialect, results};

fn round(message: &str) -> Round {
    let call = ToolCall { id: "c".to_owned(), name: "ours__1_0_0".to_owned(), arguments: String::new() };
    Round {
        calls: vec![Call { call, owned: true }],
        finish: Finish::Normal,
        message: Bytes::copy_from_slice(message.as_bytes()),
    }
}

fn next(name: &str, body: &Value, ask: Ask) -> Value {
    let message = r#"{"role":"assistant","content":"x"}"#;
    let ours = ["ours__1_0_0".to_owned()];
    let round = round(message);
    let body = Bytes::from(body.to_string());
    let next = dialect(name)
        .follow_up(&ClientRequest::default(), &body, &round, &results(&round), ask, &ours)
        .unwrap();
    serde_json::from_slice(&next).unwrap()
}

fn ours(name: &str) -> Value {
    if name == CHAT {
        json!({"type": "function", "function": {"name": "ours__1_0_0"}})
    } else {
        json!({"name": "ours__1_0_0"})
    }
}

#[test]
fn a_forced_choice_becomes_automatic_and_a_clients_own_stays() {
    let choose = |name: &str, choice: Value| {
        let body = json!({"messages": [], "tools": [ours(name)], "tool_choice": choice});
        next(name, &body, Ask::Again)["tool_choice"].clone()
    };
    assert_eq!(choose(CHAT, json!("required")), "auto");
    assert_eq!(choose(CHAT, json!({"type": "function", "function": {"name": "ours__1_0_0"}})), "auto");
    let named = json!({"type": "function", "function": {"name": "client"}});
    assert_eq!(choose(CHAT, named.clone()), named);
    assert_eq!(choose(CHAT, json!("auto")), "auto");
    let any = json!({"type": "any", "disable_parallel_tool_use": true});
    assert_eq!(choose(MESSAGES, any), json!({"type": "auto", "disable_parallel_tool_use": true}));
    let mine = json!({"type": "tool", "name": "ours__1_0_0", "disable_parallel_tool_use": false});
    assert_eq!(choose(MESSAGES, mine), json!({"type": "auto", "disable_parallel_tool_use": false}));
    let named = json!({"type": "tool", "name": "client"});
    assert_eq!(choose(MESSAGES, named.clone()), named);
    let none = next(CHAT, &json!({"messages": [], "tools": []}), Ask::Again);
    assert_eq!(none.get("tool_choice"), None);
}

#[test]
fn the_last_round_forbids_tools_or_takes_ours_away() {
    for (name, none) in [(CHAT, json!("none")), (MESSAGES, json!({"type": "none"}))] {
        let body = json!({"messages": [], "tools": [ours(name)], "tool_choice": "required"});
        let last = next(name, &body, Ask::Last);
        assert_eq!((&last["tools"], &last["tool_choice"]), (&json!([ours(name)]), &none));
        let without_choice = json!({"messages": [], "tools": [ours(name)]});
        assert_eq!(next(name, &without_choice, Ask::Last)["tool_choice"], none);

        let client = json!({"name": "client", "x": 1});
        let body = json!({"messages": [], "tools": [client, ours(name)], "tool_choice": {"type": "tool", "name": "client"}});
        let last = next(name, &body, Ask::Last);
        assert_eq!(last["tools"], json!([client]));
        assert_eq!(last["tool_choice"], body["tool_choice"]);

        let bare = next(name, &json!({"messages": []}), Ask::Last);
        assert_eq!((bare.get("tools"), bare.get("tool_choice")), (None, None));
    }
}

#[test]
fn the_message_goes_back_as_it_came_and_blank_arguments_become_an_object() {
    let message = r#"{"role":"assistant", "content":null,"refusal":null,"x":1.0,"tool_calls":[{"id":"a","function":{"name":"f","arguments":""}},{"id":"b","function":{"name":"f"}},{"id":"c","function":{"arguments":"{\"x"}},{"id":"d","type":"custom","custom":{"input":""}}]}"#;
    let round = round(message);
    let body = Bytes::from_static(b"{\"messages\":[ 1.0 ] ,\"z\":1e2}");
    let next = dialect(CHAT)
        .follow_up(&ClientRequest::default(), &body, &round, &results(&round), Ask::Again, &[])
        .unwrap();
    let replay = message.replacen(r#""arguments":"""#, r#""arguments":"{}""#, 1).replacen(
        r#"{"name":"f"}"#,
        r#"{"name":"f","arguments":"{}"}"#,
        1,
    );
    let result = r#"{"role":"tool","tool_call_id":"c","content":"result of ours__1_0_0"}"#;
    assert_eq!(next, format!("{{\"messages\":[ 1.0,{replay},{result} ] ,\"z\":1e2}}"));
}

#[test]
fn a_body_that_is_no_request_is_a_fault_and_no_panic() {
    for name in [CHAT, MESSAGES] {
        for body in ["", "[]", "{}", "{\"messages\":7}", "{\"messages\":[],\"tool_choice\":7}"] {
            let round = round("{}");
            let body = Bytes::from_static(body.as_bytes());
            let result =
                dialect(name).follow_up(&ClientRequest::default(), &body, &round, &[], Ask::Again, &[]);
            assert!(result.is_err(), "{body:?}");
        }
    }
}
