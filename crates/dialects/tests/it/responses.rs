//! The Responses dialect: what is read from a request, what is written into it, the request of the next round.

use bytes::Bytes;
use dialects::{Ask, BadRequest, ClientRequest, Round};
use serde_json::{Value, json};

use crate::responses_wire as wire;
use crate::support::*;

fn read(body: &Value) -> Result<ClientRequest, BadRequest> {
    dialect(RESPONSES).read_request("/v1/responses", body.to_string().into())
}

fn with(members: Value) -> Result<ClientRequest, BadRequest> {
    let mut body = json!({"model": "m", "input": "hi"});
    body.as_object_mut().unwrap().extend(members.as_object().cloned().unwrap());
    read(&body)
}

fn injected(members: Value, tools: &[&str]) -> Value {
    let tools: Vec<_> = tools.iter().map(|name| tool(name)).collect();
    serde_json::from_slice(&dialect(RESPONSES).inject(&with(members).unwrap(), &tools)).unwrap()
}

#[test]
fn every_member_is_read() {
    let body = json!({
        "model": "gpt-x", "stream": true, "user": "u", "safety_identifier": "s", "store": false,
        "instructions": "not a user's words", "text": {"format": {"type": "text"}, "verbosity": "low"},
        "tool_choice": {"type": "function", "name": "f"},
        "tools": [
            {"type": "function", "name": "f", "parameters": {}}, {"type": "omni:eval_code"},
            {"type": "custom", "name": "g"}, {"type": "web_search"}, {"type": "mcp", "server_label": "x"},
        ],
        "input": [
            {"role": "developer", "content": "s"}, {"role": "user", "content": "one"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "no"}]},
            {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": "t"},
            {"role": "user", "content": "two"},
            {"type": "message", "role": "user",
             "content": [{"type": "input_text", "text": "thr"}, {"type": "input_image"}, {"type": "input_text", "text": "ee"}]},
            {"type": "something_new", "role": "user", "content": 7},
            {"role": "user", "content": [{"type": "input_image"}]},
            {"role": "user", "content": "four"},
        ],
    });
    let request = read(&body).unwrap();
    let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    assert_eq!(
        request,
        ClientRequest {
            target: "/v1/responses".to_owned(),
            raw: body.to_string().into(),
            unrestored: None,
            was_spliced: false,
            model: "gpt-x".to_owned(),
            stream: true,
            user: Some("s".to_owned()),
            recent_user_texts: texts(&["two", "thr\nee", "four"]),
            first_user_text: Some("one".to_owned()),
            conversation: None,
            hidden_calls: vec![],
            tool_place: dialects::ToolPlace::Body,
            client_tools: texts(&["f", "g"]),
            omni_entries: texts(&["eval_code"]),
            inhibit: None,
            include_usage: false,
        }
    );
    let text = with(json!({})).unwrap();
    assert_eq!(
        (text.first_user_text.as_deref(), text.recent_user_texts),
        (Some("hi"), vec!["hi".to_owned()])
    );
    assert!(read(&json!({"model": "m", "previous_response_id": "r"})).unwrap().first_user_text.is_none());
}

#[test]
fn a_request_says_what_it_goes_on_with() {
    let goes_on = |members| with(members).unwrap().conversation;
    assert_eq!(goes_on(json!({"conversation": "c"})).as_deref(), Some("c"));
    assert_eq!(goes_on(json!({"conversation": {"id": "c"}})).as_deref(), Some("c"));
    assert_eq!(goes_on(json!({"previous_response_id": "r"})).as_deref(), Some("r"));
    assert_eq!(goes_on(json!({"previous_response_id": null})), None);
    assert_eq!(with(json!({"previous_response_id": "r"})).unwrap().inhibit, None);
}

#[test]
fn whatever_forbids_our_tools_is_seen() {
    let inhibit = |members| with(members).unwrap().inhibit;
    assert_eq!(inhibit(json!({"tool_choice": "none"})), Some("tool_choice is none"));
    let allowed = json!({"type": "allowed_tools", "mode": "auto", "tools": []});
    assert!(inhibit(json!({"tool_choice": allowed})).is_some());
    assert_eq!(inhibit(json!({"background": true})), Some("background"));
    for kind in ["json_schema", "json_object"] {
        assert_eq!(inhibit(json!({"text": {"format": {"type": kind}}})), Some("structured output"));
    }
    for members in [json!({"tool_choice": "required"}), json!({"background": false}), json!({"text": {}})] {
        assert_eq!(inhibit(members), None);
    }
}

#[test]
fn a_wrong_member_is_named() {
    let field = |members: Value| match with(members).unwrap_err() {
        BadRequest::Field { field, problem } => {
            assert!(!problem.is_empty());
            field
        }
        BadRequest::Json(error) => panic!("{error}"),
    };
    assert_eq!(field(json!({"model": ""})), "model");
    assert_eq!(field(json!({"input": 7})), "input");
    assert_eq!(field(json!({"input": [7]})), "input[0]");
    assert_eq!(field(json!({"input": [{"role": "user", "content": 7}]})), "input[0].content");
    assert_eq!(field(json!({"tools": {}})), "tools");
    assert_eq!(field(json!({"stream": 1})), "stream");
    assert_eq!(field(json!({"conversation": 7})), "conversation");
    assert_eq!(field(json!({"user": 7})), "user");
    let twice = Bytes::from_static(br#"{"model":"m","input":"a","input":"b"}"#);
    assert!(dialect(RESPONSES).read_request("/v1/responses", twice).is_err());
}

#[test]
fn definitions_are_flat_and_never_strict() {
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    let ours = json!({"type": "function", "name": "a", "description": "Reads a file.", "parameters": schema, "strict": false});
    assert_eq!(injected(json!({}), &["a"])["tools"], json!([ours]));
    let theirs = json!({"type": "web_search"});
    let tools = json!([{"type": "omni:x"}, theirs, {"type": "omni:y"}]);
    assert_eq!(injected(json!({"tools": tools}), &["a"])["tools"], json!([theirs, ours]));
    let gone = injected(json!({"tools": [{"type": "omni:x"}], "tool_choice": "auto"}), &[]);
    assert_eq!(gone, json!({"model": "m", "input": "hi"}));
}

#[test]
fn what_is_not_stored_is_asked_for_encrypted() {
    let sealed = "reasoning.encrypted_content";
    assert_eq!(injected(json!({"store": false}), &["a"])["include"], json!([sealed]));
    assert_eq!(injected(json!({"store": false, "include": ["x"]}), &["a"])["include"], json!(["x", sealed]));
    assert_eq!(injected(json!({"store": false, "include": [sealed]}), &["a"])["include"], json!([sealed]));
    assert_eq!(injected(json!({"store": false, "include": null}), &["a"])["include"], json!([sealed]));
    assert_eq!(injected(json!({"store": true}), &["a"]).get("include"), None);
    assert_eq!(injected(json!({"store": false, "tools": [{"type": "omni:x"}]}), &[]).get("include"), None);
}

/// A round that thought, spoke and called.
fn round(stored: Option<bool>) -> Round {
    let items = [
        wire::sealed("rs_1", "Hm."),
        wire::message("msg_1", "Let me see."),
        wire::call("fc_1", "call_1", "ours__1_0_0", ""),
        wire::call("fc_2", "call_2", "ours__1_0_0", "{\"a\":"),
    ];
    let mut body = wire::response("resp_1", "completed", &items);
    if let Some(stored) = stored {
        body["store"] = stored.into();
    }
    run(RESPONSES, &plain(), &[&body.to_string()]).unwrap().rounds.remove(0)
}

fn next(members: Value, round: &Round, ask: Ask) -> Value {
    let mut body = json!({"model": "m", "input": "hi", "instructions": "i"});
    body.as_object_mut().unwrap().extend(members.as_object().cloned().unwrap());
    let ours = ["ours__1_0_0".to_owned()];
    let body = Bytes::from(body.to_string());
    let request = ClientRequest { raw: body.clone(), ..ClientRequest::default() };
    let next = dialect(RESPONSES).follow_up(&request, &body, round, &results(round), ask, &ours).unwrap();
    serde_json::from_slice(&next).unwrap()
}

fn outputs() -> Vec<Value> {
    let output =
        |id: &str| json!({"type": "function_call_output", "call_id": id, "output": "result of ours__1_0_0"});
    vec![output("call_1"), output("call_2")]
}

#[test]
fn a_stored_answer_is_named_and_only_the_results_are_sent() {
    for members in [json!({}), json!({"store": true, "previous_response_id": "resp_0"})] {
        let body = next(members, &round(Some(true)), Ask::Again);
        assert_eq!(body["previous_response_id"], "resp_1");
        assert_eq!(body["input"], json!(outputs()));
        assert_eq!(body["instructions"], "i");
    }
    let body = next(json!({"conversation": "c"}), &round(None), Ask::Again);
    assert_eq!((body.get("previous_response_id"), &body["input"]), (None, &json!(outputs())));
}

#[test]
fn what_is_not_stored_goes_back_whole() {
    let items = vec![
        wire::sealed("rs_1", "Hm."),
        wire::message("msg_1", "Let me see."),
        wire::call("fc_1", "call_1", "ours__1_0_0", "{}"),
        wire::call("fc_2", "call_2", "ours__1_0_0", "{\"a\":"),
    ];
    let user = json!({"type": "message", "role": "user", "content": "hi"});
    let all = [vec![user], items.clone(), outputs()].concat();
    let body = next(json!({"store": false, "previous_response_id": "resp_0"}), &round(None), Ask::Again);
    assert_eq!((&body["input"], &body["previous_response_id"]), (&json!(all), &json!("resp_0")));
    // An upstream that does not store, whatever was asked.
    assert_eq!(next(json!({}), &round(Some(false)), Ask::Again)["input"], json!(all));

    let client = json!({"role": "user", "content": [{"type": "input_text", "text": "x"}]});
    let body = next(json!({"store": false, "input": [client]}), &round(None), Ask::Again);
    assert_eq!(body["input"], json!([vec![client], items, outputs()].concat()));
}

#[test]
fn reasoning_that_is_only_a_name_is_not_sent_to_one_that_stores_nothing() {
    let items = [wire::reasoning("rs_1", "Hm."), wire::call("fc_1", "call_1", "ours__1_0_0", "{}")];
    let body = wire::response("resp_1", "completed", &items).to_string();
    let round = run(RESPONSES, &plain(), &[&body]).unwrap().rounds.remove(0);
    let body = next(json!({"store": false}), &round, Ask::Again);
    let kinds: Vec<&str> =
        body["input"].as_array().unwrap().iter().map(|i| i["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["message", "function_call", "function_call_output"]);
}

#[test]
fn forced_choices_become_free_and_the_last_round_takes_no_calls() {
    let ours = json!({"type": "function", "name": "ours__1_0_0"});
    let client = json!({"type": "function", "name": "client"});
    let choose = |choice: Value| {
        next(json!({"tools": [ours, client], "tool_choice": choice}), &round(None), Ask::Again)["tool_choice"]
            .clone()
    };
    assert_eq!(choose(json!("required")), "auto");
    assert_eq!(choose(ours.clone()), "auto");
    assert_eq!(choose(client.clone()), client);
    let last = next(json!({"tools": [ours]}), &round(None), Ask::Last);
    assert_eq!((&last["tools"], &last["tool_choice"]), (&json!([ours]), &json!("none")));
    let last = next(json!({"tools": [client, ours, {"type": "web_search"}]}), &round(None), Ask::Last);
    assert_eq!(last["tools"], json!([client, {"type": "web_search"}]));
    assert_eq!(last.get("tool_choice"), None);
}

#[test]
fn a_body_that_is_no_request_is_a_fault_and_no_panic() {
    for body in ["", "[]", "{\"input\":7,\"store\":false}", "{\"tool_choice\":7}"] {
        let body = Bytes::from_static(body.as_bytes());
        let result = dialect(RESPONSES).follow_up(
            &ClientRequest::default(),
            &body,
            &round(None),
            &[],
            Ask::Again,
            &[],
        );
        assert!(result.is_err(), "{body:?}");
    }
}
