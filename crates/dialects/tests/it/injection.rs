//! Our tools in the client's request: the client's bytes stay where and as they are.

use bytes::Bytes;
use dialects::Dialect;
use domain::ToolDefinition;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{CHAT, MESSAGES, dialect, tool};

fn inject(name: &str, body: &str, tools: &[&str]) -> String {
    let dialect: &dyn Dialect = dialect(name);
    let request = dialect.read_request(dialect.routes()[0], Bytes::copy_from_slice(body.as_bytes())).unwrap();
    let tools: Vec<ToolDefinition> = tools.iter().map(|name| tool(name)).collect();
    String::from_utf8(dialect.inject(&request, &tools).to_vec()).unwrap()
}

fn names(name: &str, body: &str) -> Vec<String> {
    dialect(name)
        .read_request(dialect(name).routes()[0], Bytes::copy_from_slice(body.as_bytes()))
        .unwrap()
        .client_tools
}

#[test]
fn the_definitions_have_the_dialects_shape() {
    let chat: Value = serde_json::from_str(&inject(CHAT, r#"{"model":"m","messages":[]}"#, &["a"])).unwrap();
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    assert_eq!(
        chat["tools"],
        json!([{"type": "function", "function": {
            "name": "a", "description": "Reads a file.", "parameters": schema,
        }}])
    );
    let messages: Value =
        serde_json::from_str(&inject(MESSAGES, r#"{"model":"m","messages":[]}"#, &["a"])).unwrap();
    assert_eq!(
        messages["tools"],
        json!([{"name": "a", "description": "Reads a file.", "input_schema": schema}])
    );
}

#[test]
fn nothing_to_do_gives_back_the_same_bytes() {
    for name in [CHAT, MESSAGES] {
        for body in [
            "{ \"model\":\"m\",\n\"messages\":[ ] }",
            r#"{"model":"m","messages":[],"tools":[],"tool_choice":"auto"}"#,
            r#"{"model":"m","messages":[],"tools":null}"#,
        ] {
            let dialect = dialect(name);
            let raw = Bytes::copy_from_slice(body.as_bytes());
            let request = dialect.read_request(dialect.routes()[0], raw.clone()).unwrap();
            let injected = dialect.inject(&request, &[]);
            assert_eq!(injected.as_ptr(), raw.as_ptr());
            assert_eq!(injected, raw);
        }
    }
}

#[test]
fn no_empty_tools_are_ever_written() {
    let tools = r#""tools": [ {"type":"omni:a"}, {"type":"omni:b"} ]"#;
    let chat =
        format!(r#"{{"model":"m","parallel_tool_calls":true,"messages":[],{tools},"tool_choice":"auto"}}"#);
    assert_eq!(inject(CHAT, &chat, &[]), r#"{"model":"m","messages":[]}"#);
    let messages = format!(r#"{{{tools},"model":"m","tool_choice":{{"type":"auto"}},"messages":[]}}"#);
    assert_eq!(inject(MESSAGES, &messages, &[]), r#"{"model":"m","messages":[]}"#);
}

#[test]
fn empty_and_null_tools_are_filled() {
    for tools in ["[]", "[ ]", "null"] {
        for name in [CHAT, MESSAGES] {
            let body = format!(r#"{{"model":"m","tools":{tools},"messages":[]}}"#);
            let injected = inject(name, &body, &["a", "b"]);
            assert_eq!(names(name, &injected), ["a", "b"], "{injected}");
        }
    }
}

#[test]
fn omni_entries_go_wherever_they_stand() {
    let client = r#"{ "type":"function","function":{"name":"mine","x":1.0} }"#;
    for (before, after) in [("{\"type\":\"omni:a\"},", ""), ("", ", {\"type\" : \"\\u006fmni:a\"}")] {
        let body = format!(r#"{{"model":"m","messages":[],"tools":[{before}{client}{after}]}}"#);
        assert_eq!(inject(CHAT, &body, &[]), format!(r#"{{"model":"m","messages":[],"tools":[{client}]}}"#));
        let injected = inject(CHAT, &body, &["ours"]);
        assert!(injected.contains(client));
        assert_eq!(names(CHAT, &injected), ["mine", "ours"]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn the_clients_bytes_stay(
        gap in "[ \n\t]{0,3}",
        number in "-?[1-9][0-9]{0,3}\\.[0-9]{1,3}e[0-9]",
        theirs in prop::collection::vec("[a-z]{1,6}", 0..4),
        ours in prop::collection::vec("[A-Z]{1,6}", 0..4),
        chat in any::<bool>(),
    ) {
        let name = if chat { CHAT } else { MESSAGES };
        let list: Vec<_> = theirs.iter().map(|t| format!("{gap}{{\"name\":{gap}\"{t}\",\"n\":{number}}}")).collect();
        let prefix = format!("{{{gap}\"model\":\"\\u006d\",\"n\":{number},\"messages\":[{gap}],\"tools\":[{}", list.join(","));
        let suffix = format!("{gap}],{gap}\"z\":[]{gap}}}");
        let tools: Vec<&str> = ours.iter().map(String::as_str).collect();
        let injected = inject(name, &format!("{prefix}{suffix}"), &tools);
        prop_assert!(injected.starts_with(&prefix) && injected.ends_with(&suffix), "{injected}");
        let all: Vec<_> = theirs.iter().chain(&ours).cloned().collect();
        prop_assert_eq!(names(name, &injected), all);
    }
}
