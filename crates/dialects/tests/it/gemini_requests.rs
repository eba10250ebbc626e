//! What is read from a request of the `gemini` dialect, and what is written into it.

use dialects::{BadRequest, ClientRequest};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{GEMINI, dialect, target, tool};

fn read(target: &str, body: &Value) -> Result<ClientRequest, BadRequest> {
    dialect(GEMINI).read_request(target, body.to_string().into())
}

fn with(members: Value) -> Result<ClientRequest, BadRequest> {
    let mut body = json!({"contents": []});
    body.as_object_mut().unwrap().extend(members.as_object().cloned().unwrap());
    read(&target(GEMINI, false), &body)
}

#[test]
fn the_path_says_model_and_method() {
    let at = |target: &str| read(target, &json!({"contents": []}));
    let request = at("/v1/models/gemini-3-pro%2Dpreview%3AstreamGenerateContent?$alt=sse&x=1").unwrap();
    assert_eq!((request.model.as_str(), request.stream), ("gemini-3-pro-preview", true));
    assert_eq!(request.target, "/v1/models/gemini-3-pro-preview:streamGenerateContent?$alt=sse&x=1");
    let request = at("/v1beta/models/m:generateContent?alt=sse&alt=json").unwrap();
    assert_eq!((request.target.as_str(), request.stream), ("/v1beta/models/m:generateContent", false));
    assert!(at("/v1beta/models/a:b:streamGenerateContent").unwrap().model == "a:b");
    for method in ["countTokens", "embedContent", "", "GenerateContent", "generateContent:x"] {
        let error = at(&format!("/v1beta/models/m:{method}")).unwrap_err();
        assert!(!dialect(GEMINI).is_chat(&format!("/v1beta/models/m:{method}")));
        assert!(error.to_string().contains(":generateContent"), "{error}");
    }
    assert!(at("/v1beta/models/m").is_err());
    assert!(dialect(GEMINI).is_chat("/v1/models/m%3AstreamGenerateContent"));
    for model in ["", ".", "..", "a%2Fb", "..%2Fx", "a%20b", "a%00", "%C3%A9", "%FF", "a%3Fb", "a%23"] {
        let error = at(&format!("/v1beta/models/{model}:generateContent")).unwrap_err();
        assert!(matches!(&error, BadRequest::Field { field, .. } if field == "path"), "{model}: {error}");
    }
    assert!(at("/v1beta/models/m:streamGenerateContent?alt=proto").is_err());
    assert_eq!(dialects::by_path("/v1/models/m:generateContent").unwrap().name(), GEMINI);
}

#[test]
fn every_member_is_read_under_either_name() {
    let contents = json!([
        {"role": "user", "parts": [{"text": "one"}]}, {"role": "model", "parts": [{"text": "m"}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"text": "no"}}}]},
        {"parts": [{"text": "two"}, {"inlineData": {}}, {"text": "more"}]}, {"role": "user", "parts": {"text": "three"}},
        {"role": "user", "parts": []}, {"role": "new", "parts": 7},
    ]);
    for (declarations, instruction) in
        [("functionDeclarations", "systemInstruction"), ("function_declarations", "system_instruction")]
    {
        let tools = json!([{declarations: [{"name": "f"}, {"name": "g"}]}, {"type": "omni:eval_code"}, {declarations: [{"name": "h"}]}]);
        let body = json!({"contents": contents, instruction: {"parts": [{"text": "s"}]}, "tools": tools});
        let request = read(&target(GEMINI, true), &body).unwrap();
        assert_eq!(request.recent_user_texts, ["one", "two\nmore", "three"]);
        assert_eq!(request.first_user_text.as_deref(), Some("one"));
        assert_eq!(request.client_tools, ["f", "g", "h"]);
        assert_eq!(request.omni_entries, ["eval_code"]);
        assert_eq!(request.inhibit, None);
        assert_eq!(request.raw, body.to_string());
    }
    assert_eq!(
        with(json!({"contents": {"parts": {"text": "x"}}})).unwrap().first_user_text.as_deref(),
        Some("x")
    );
}

#[test]
fn what_forbids_tools_of_ours() {
    let inhibited = |members: Value| with(members.clone()).unwrap().inhibit.is_some();
    for members in [
        json!({"toolConfig": {"functionCallingConfig": {"mode": "NONE"}}}),
        json!({"tool_config": {"function_calling_config": {"mode": "none"}}}),
        json!({"toolConfig": {"functionCallingConfig": {"mode": 3}}}),
        json!({"toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}}}),
        json!({"generationConfig": {"responseSchema": {}}}),
        json!({"generation_config": {"response_json_schema": {}}}),
        json!({"generationConfig": {"responseMimeType": "application/json"}}),
        json!({"generationConfig": {"responseMimeType": "text/x.enum"}}),
        json!({"generationConfig": {"candidateCount": 2}}),
        json!({"cachedContent": "cachedContents/x"}),
        json!({"tools": [{"googleSearch": {}}]}),
        json!({"tools": [{"functionDeclarations": []}, {"code_execution": {}}]}),
        json!({"tools": {"urlContext": {}}}),
    ] {
        assert!(inhibited(members.clone()), "{members}");
    }
    for members in [
        json!({"toolConfig": {"functionCallingConfig": {"mode": "ANY"}}}),
        json!({"toolConfig": {"functionCallingConfig": {"mode": "AUTO", "allowedFunctionNames": []}}}),
        json!({"generationConfig": {"responseMimeType": "text/plain", "candidateCount": 1, "responseSchema": null}}),
        json!({"tools": [{"functionDeclarations": [{"name": "f"}], "googleSearch": null}]}),
    ] {
        assert!(!inhibited(members.clone()), "{members}");
    }
}

#[test]
fn what_is_wrong_is_named() {
    let field = |members: Value| with(members).unwrap_err().to_string().split('`').nth(1).unwrap().to_owned();
    assert_eq!(field(json!({"contents": null})), "contents");
    assert_eq!(field(json!({"contents": "x"})), "contents");
    assert_eq!(field(json!({"contents": [{}, 7]})), "contents[1]");
    assert_eq!(field(json!({"tools": "x"})), "tools");
    assert_eq!(field(json!({"tools": [7]})), "tools[0]");
    assert_eq!(field(json!({"tools": [{"type": "omni:"}]})), "tools[0].type");
    assert_eq!(field(json!({"toolConfig": {}, "tool_config": {}})), "toolConfig");
    let dialect = dialect(GEMINI);
    for body in ["", "{", "[]"] {
        assert!(dialect.read_request(&target(GEMINI, false), body.into()).is_err());
    }
}

fn inject(body: &Value, tools: &[&str]) -> Value {
    let request = read(&target(GEMINI, false), body).unwrap();
    let tools: Vec<_> = tools.iter().map(|name| tool(name)).collect();
    serde_json::from_slice(&dialect(GEMINI).inject(&request, &tools)).unwrap()
}

#[test]
fn ours_go_into_the_clients_last_list() {
    let parameters = json!({"type": "OBJECT", "properties": {"path": {"type": "STRING"}}});
    let ours = json!({"name": "a__1", "description": "Reads a file.", "parameters": parameters});
    let tools = |tools: Value| inject(&json!({"contents": [], "tools": tools}), &["a__1"])["tools"].clone();
    assert_eq!(
        inject(&json!({"contents": []}), &["a__1"])["tools"],
        json!([{"functionDeclarations": [ours]}])
    );
    let (x, y) = (json!({"name": "x"}), json!({"name": "y"}));
    assert_eq!(
        tools(json!([{"functionDeclarations": [x]}, {"function_declarations": [y]}, {"type": "omni:z"}])),
        json!([{"functionDeclarations": [x]}, {"function_declarations": [y, ours]}])
    );
    assert_eq!(tools(json!([{"functionDeclarations": []}])), json!([{"functionDeclarations": [ours]}]));
    assert_eq!(tools(json!([{"type": "omni:z"}])), json!([{"functionDeclarations": [ours]}]));
    assert_eq!(tools(json!({"functionDeclarations": x})), json!([{"functionDeclarations": [x, ours]}]));
    let lone = json!({"contents": {"parts": [{"text": "x"}]}, "tools": [], "x": 1.0});
    assert_eq!(inject(&lone, &["a__1"])["contents"], json!([{"parts": [{"text": "x"}]}]));
    let gone = inject(&json!({"contents": [], "tools": [{"type": "omni:z"}], "tool_config": {"x": 1}}), &[]);
    assert_eq!(gone, json!({"contents": []}));
}

#[test]
fn nothing_to_do_gives_back_the_same_bytes() {
    for body in [
        "{ \"contents\":[ ],\n\"tools\":[ ] }",
        r#"{"contents":{"parts":{"text":"x"}},"tools":{"functionDeclarations":{"name":"f"}}}"#,
    ] {
        let request = dialect(GEMINI).read_request(&target(GEMINI, false), body.into()).unwrap();
        assert_eq!(dialect(GEMINI).inject(&request, &[]), body);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn no_request_makes_it_panic(
        pieces in prop::collection::vec(prop::sample::select(vec![
            "{", "}", "[", "]", ",", ":", "\"contents\"", "\"parts\"", "\"tools\"", "\"role\"", "\"user\"", "\"functionCall\"",
            "\"type\"", "\"text\"", "\"omni:x\"", "7", "null", "\"\\ud83d\"", " ", "é", "\"function_declarations\"", "\"id\"",
            "\"gemini_call_0123456789abcdef\"", "\"toolConfig\"",
        ]), 0..25),
        path in "[a-zA-Z0-9%:./?=&é-]{0,30}",
    ) {
        let text = format!("{{\"contents\":[],{}}}", pieces.concat());
        let dialect = dialect(GEMINI);
        for body in [text, pieces.concat()] {
            if let Ok(request) = dialect.read_request(&target(GEMINI, true), body.clone().into()) {
                prop_assert_eq!(&request.raw, &body);
                drop(dialect.inject(&request, &[tool("a")]));
                prop_assert_eq!(dialect.restore(&request, &[]), body);
            }
        }
        if let Ok(request) = dialect.read_request(&path, r#"{"contents":[]}"#.into()) {
            let (path, _) = request.target.split_once('?').unwrap_or((&request.target, ""));
            let tail = format!("/{}:{}", request.model, if request.stream { "streamGenerateContent" } else { "generateContent" });
            prop_assert!(path.ends_with(&tail), "{}", path);
        }
    }
}
