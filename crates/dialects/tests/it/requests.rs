//! What is read from a request, and what is said about one that cannot be read.

use bytes::Bytes;
use dialects::{BadRequest, ClientRequest};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{CHAT, MESSAGES, dialect};

fn read(name: &str, body: &str) -> Result<ClientRequest, BadRequest> {
    dialect(name).read_request(dialect(name).routes()[0], Bytes::copy_from_slice(body.as_bytes()))
}

/// A request with these members on top of the least that is needed.
fn with(name: &str, members: Value) -> Result<ClientRequest, BadRequest> {
    let mut body = json!({"model": "m", "messages": []});
    body.as_object_mut().unwrap().extend(members.as_object().cloned().unwrap());
    read(name, &body.to_string())
}

fn inhibit(name: &str, members: Value) -> Option<&'static str> {
    with(name, members).unwrap().inhibit
}

#[test]
fn usage_is_asked_for_where_it_would_not_come() {
    let asked = |dialect: &str, body: &str| {
        let dialect = dialects::by_name(dialect).unwrap();
        let request = dialect.read_request("/", body.to_owned().into()).unwrap();
        String::from_utf8(dialect.with_usage(&request, request.raw.clone()).into()).unwrap()
    };
    let chat = |more: &str| format!(r#"{{"model":"m","messages":[]{more}}}"#);
    let on = r#","stream":true,"stream_options":{"include_usage":true}"#;
    for (more, wanted) in [
        (r#","stream":true"#, on),
        (r#","stream":true,"stream_options":null"#, on),
        (on, on),
        ("", ""),
        (
            r#","stream":true,"stream_options":{"a":1,"include_usage":false}"#,
            r#","stream":true,"stream_options":{"a":1,"include_usage":true}"#,
        ),
    ] {
        assert_eq!(asked("openai_chat", &chat(more)), chat(wanted));
    }
    let messages = chat(r#","stream":true"#);
    assert_eq!(asked("anthropic_messages", &messages), messages);
}

#[test]
fn every_member_of_a_chat_request_is_read() {
    let body = json!({
        "model": "gpt-x", "stream": true, "stream_options": {"include_usage": true}, "user": "u", "n": 1,
        "response_format": {"type": "text"}, "tool_choice": {"type": "function", "function": {"name": "f"}},
        "tools": [
            {"type": "function", "function": {"name": "f"}}, {"type": "omni:eval_code"},
            {"type": "custom", "custom": {"name": "g"}}, {"type": "something_new"}, {"type": "omni:web_search"},
        ],
        "messages": [
            {"role": "system", "content": "s"}, {"role": "user", "content": "one"},
            {"role": "assistant", "content": null, "tool_calls": [{"id": "c"}]},
            {"role": "tool", "tool_call_id": "c", "content": "t"}, {"role": "user", "content": "two"},
            {"role": "new_role", "content": 7},
            {"role": "user", "content": [{"type": "text", "text": "thr"}, {"type": "image_url"}, {"type": "text", "text": "ee"}]},
            {"role": "user", "content": [{"type": "image_url"}]},
            {"role": "user", "content": "four"}, {"role": "user"},
        ],
    })
    .to_string();
    let request = read(CHAT, &body).unwrap();
    assert_eq!(
        request,
        ClientRequest {
            target: "/v1/chat/completions".to_owned(),
            raw: body.into(),
            unrestored: None,
            was_spliced: false,
            model: "gpt-x".to_owned(),
            stream: true,
            user: Some("u".to_owned()),
            recent_user_texts: ["two", "thr\nee", "four"].map(str::to_owned).to_vec(),
            first_user_text: Some("one".to_owned()),
            conversation: None,
            hidden_calls: vec![],
            tool_place: dialects::ToolPlace::Body,
            client_tools: ["f", "g"].map(str::to_owned).to_vec(),
            omni_entries: ["eval_code", "web_search"].map(str::to_owned).to_vec(),
            inhibit: None,
            include_usage: true,
        }
    );
    let both = with(CHAT, json!({"safety_identifier": "s", "user": "u"})).unwrap();
    assert_eq!(both.user.as_deref(), Some("s"));
}

#[test]
fn every_member_of_a_messages_request_is_read() {
    let request = with(MESSAGES, json!({
        "stream": true, "metadata": {"user_id": "u"}, "tool_choice": {"type": "tool", "name": "f"},
        "output_config": {"effort": "high"},
        "tools": [{"name": "f", "input_schema": {}}, {"type": "web_search_20250305", "name": "web_search"}, {"type": "omni:x"}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "one"}]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t"}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "no user text"}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t"}, {"type": "text", "text": "two"}]},
        ],
    }))
    .unwrap();
    assert_eq!((request.stream, request.user.as_deref(), request.inhibit), (true, Some("u"), None));
    assert_eq!(request.recent_user_texts, ["one", "two"]);
    assert_eq!(request.client_tools, ["f", "web_search"]);
    assert_eq!(request.omni_entries, ["x"]);
}

#[test]
fn whatever_forbids_our_tools_is_seen() {
    for none in [json!("none"), json!({"type": "none"})] {
        assert_eq!(inhibit(CHAT, json!({"tool_choice": none})), Some("tool_choice is none"));
        assert_eq!(inhibit(MESSAGES, json!({"tool_choice": none})), Some("tool_choice is none"));
    }
    for members in [
        json!({"response_format": {"type": "json_schema", "json_schema": {}}}),
        json!({"response_format": {"type": "json_object"}}),
    ] {
        assert_eq!(inhibit(CHAT, members), Some("structured output"));
    }
    for members in
        [json!({"output_config": {"format": {"type": "json_schema"}}}), json!({"output_format": {}})]
    {
        assert_eq!(inhibit(MESSAGES, members), Some("structured output"));
    }
    assert_eq!(inhibit(CHAT, json!({"n": 2})), Some("several choices"));
    assert_eq!(inhibit(CHAT, json!({"functions": [{"name": "f"}]})), Some("legacy functions"));
    assert_eq!(inhibit(CHAT, json!({"function_call": "auto"})), Some("legacy functions"));
    let allowed =
        json!({"tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": []}}});
    assert!(inhibit(CHAT, allowed).is_some());
    for members in [json!({"tool_choice": "required"}), json!({"tool_choice": "auto"}), json!({"n": null})] {
        assert_eq!(inhibit(CHAT, members), None);
    }
}

#[test]
fn what_is_wrong_is_named() {
    let field = |name: &str, members: Value| match with(name, members).unwrap_err() {
        BadRequest::Field { field, problem } => {
            assert!(!problem.is_empty());
            field
        }
        BadRequest::Json(error) => panic!("{error}"),
    };
    for name in [CHAT, MESSAGES] {
        let bad = |members: Value| field(name, members);
        assert_eq!(bad(json!({"model": null})), "model");
        assert_eq!(bad(json!({"model": ""})), "model");
        assert_eq!(bad(json!({"model": 7})), "model");
        assert_eq!(bad(json!({"messages": {}})), "messages");
        assert_eq!(bad(json!({"messages": null})), "messages");
        assert_eq!(bad(json!({"messages": [{}, 7]})), "messages[1]");
        assert_eq!(bad(json!({"messages": [{"role": 7}]})), "messages[0].role");
        assert_eq!(bad(json!({"messages": [{"role": "user", "content": 7}]})), "messages[0].content");
        assert_eq!(bad(json!({"messages": [{"role": "user", "content": ["x"]}]})), "messages[0].content[0]");
        let no_text = json!({"messages": [{"role": "user", "content": [{"type": "text"}]}]});
        assert_eq!(bad(no_text), "messages[0].content[0].text");
        assert_eq!(bad(json!({"stream": "yes"})), "stream");
        assert_eq!(bad(json!({"tools": {}})), "tools");
        assert_eq!(bad(json!({"tools": [7]})), "tools[0]");
        assert_eq!(bad(json!({"tools": [{"type": "omni:"}]})), "tools[0].type");
        assert_eq!(bad(json!({"tool_choice": 7})), "tool_choice");
    }
    assert_eq!(field(CHAT, json!({"user": 7})), "user");
    assert_eq!(field(MESSAGES, json!({"metadata": {"user_id": 7}})), "metadata.user_id");
}

#[test]
fn bodies_that_are_no_object_or_ambiguous_are_refused() {
    for name in [CHAT, MESSAGES] {
        for text in ["", "{", "{\"model\":\"m\"", "{} {}"] {
            assert!(matches!(read(name, text), Err(BadRequest::Json(_))), "{text}");
        }
        for text in ["[]", "7", "null", "\"x\""] {
            let error = read(name, text).unwrap_err();
            assert_eq!(error.to_string(), "`body` must be a JSON object");
        }
        assert!(matches!(
            dialect(name).read_request(dialect(name).routes()[0], Bytes::from_static(b"{\"a\":\"\xff\"}")),
            Err(BadRequest::Json(_))
        ));
        let twice = read(name, r#"{"model":"m","messages":[],"tools":[],"t\u006fols":[]}"#).unwrap_err();
        assert!(twice.to_string().starts_with("`tools` is given more than once"), "{twice}");
        read(name, r#"{"model":"m","messages":[],"x":1,"x":2}"#).unwrap();
    }
}

#[test]
fn odd_but_legal_json_is_read() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let body = format!(
        r#"{{"model":"m","x":{deep},"messages":[{{"role":"user","content":"a\ud83d","y":{deep}}}]}}"#
    );
    for name in [CHAT, MESSAGES] {
        assert!(read(name, &body).unwrap().first_user_text.unwrap().starts_with('a'));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn no_body_makes_it_panic(
        pieces in prop::collection::vec(prop::sample::select(vec![
            "{", "}", "[", "]", ",", ":", "\"model\"", "\"messages\"", "\"tools\"", "\"role\"", "\"user\"", "\"content\"",
            "\"type\"", "\"text\"", "\"omni:x\"", "7", "null", "\"\\ud83d\"", " ", "é", "\"tool_choice\"", "true",
        ]), 0..25),
    ) {
        for name in [CHAT, MESSAGES] {
            let text = format!("{{\"model\":\"m\",\"messages\":[],{}}}", pieces.concat());
            prop_assert!(read(name, &text).is_ok_and(|request| request.raw == text) || read(name, &text).is_err());
            prop_assert!(read(name, &pieces.concat()).is_err());
        }
    }
}
