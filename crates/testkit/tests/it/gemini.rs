//! The Gemini provider of the fake: what it refuses, and that what it says passes the linter in both forms.

use serde_json::{Value, json};
use testkit::fake_upstream::FakeUpstream;
use testkit::script::{Call, Chunking, Fault, Round, Script};
use testkit::sse_lint::lint;

use crate::client::{client, post};

async fn ask(fake: &FakeUpstream, body: &Value) -> (u16, Value) {
    let response = post(fake, "/v1beta/models/m:generateContent", body).await;
    let status = response.status().as_u16();
    (status, serde_json::from_str(&response.text().await.unwrap()).unwrap())
}

/// A whole turn: a question, two calls of one name, their results.
fn legal() -> Value {
    let schema = json!({
        "type": "object", "required": ["a"],
        "properties": {"a": {"type": "ARRAY", "items": {"anyOf": [{"type": "STRING"}, {"type": "NUMBER"}]}}},
    });
    let call = |args: Value| json!({"functionCall": {"name": "f", "args": args}});
    let result = json!({"functionResponse": {"name": "f", "response": {"result": "1"}}});
    json!({
        "contents": [
            {"role": "user", "parts": [{"text": "hi"}]},
            {"role": "model", "parts": [call(json!({"a": ["x"]})), call(json!({}))]},
            {"role": "user", "parts": [result, result]},
        ],
        "tools": [{"functionDeclarations": [{"name": "f", "description": "d", "parameters": schema}]}],
    })
}

fn with(pointer: &str, value: Value) -> Value {
    let mut body = legal();
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    match body.pointer_mut(parent).unwrap() {
        Value::Array(list) => list[key.parse::<usize>().unwrap()] = value,
        parent => parent[key] = value,
    }
    body
}

#[tokio::test]
async fn refuses_what_the_real_one_refuses() {
    let fake = FakeUpstream::start(vec![Round::text("done")]).await;
    assert_eq!(ask(&fake, &legal()).await.0, 200);
    let parameters = "/tools/0/functionDeclarations/0/parameters";
    let schema = |word: &str, value: Value| with(&format!("{parameters}/properties/a/{word}"), value);
    let config = |config: Value| with("/toolConfig", json!({"functionCallingConfig": config}));
    let part = |part: Value| with("/contents/0/parts/0", part);
    let response = |response: Value| with("/contents/2/parts/1", json!({"functionResponse": response}));
    let call = json!({"functionCall": {"name": "f", "args": {}}});
    let result = json!({"functionResponse": {"name": "f", "response": {}}});
    let model = |parts: Value| json!({"role": "model", "parts": parts});
    let user = json!({"role": "user", "parts": [{"text": "hi"}]});
    let spliced = |parts: Value| with("/contents", json!([user, model(parts), user]));
    let table = [
        ("a call and its response in one content", spliced(json!([call, result, {"text": "done"}]))),
        ("a response of the model's", spliced(json!([result]))),
        ("an unknown word", schema("additionalProperties", json!(false))),
        ("another", with(&format!("{parameters}/$schema"), json!("x"))),
        ("no items", with(&format!("{parameters}/properties/a"), json!({"type": "ARRAY"}))),
        (
            "enum of numbers",
            with(&format!("{parameters}/properties/a"), json!({"type": "INTEGER", "enum": ["1"]})),
        ),
        ("a property name", with(&format!("{parameters}/properties/k-ey"), json!({"type": "STRING"}))),
        ("no such property", with(&format!("{parameters}/required"), json!(["b"]))),
        ("a word beside anyOf", schema("items/description", json!("d"))),
        ("a format", with(&format!("{parameters}/properties/a"), json!({"type": "STRING", "format": "uri"}))),
        ("no properties", with(parameters, json!({"type": "OBJECT"}))),
        ("a name with a digit in front", with("/tools/0/functionDeclarations/0/name", json!("9f"))),
        ("a long name", with("/tools/0/functionDeclarations/0/name", json!("f".repeat(64)))),
        ("no tools", with("/tools", json!([]))),
        ("an empty tool", with("/tools/0", json!({}))),
        ("no declarations", with("/tools/0/functionDeclarations", json!([]))),
        ("an unknown tool", with("/tools/0/type", json!("omni:f"))),
        ("a mode without a meaning", config(json!({"mode": "MAYBE"}))),
        ("names without ANY", config(json!({"mode": "AUTO", "allowedFunctionNames": ["f"]}))),
        ("names that are not declared", config(json!({"mode": "ANY", "allowedFunctionNames": ["g"]}))),
        ("no candidate", with("/generationConfig", json!({"candidateCount": 0}))),
        ("a member of the gateway's", with("/omni", json!(1))),
        ("an unknown member", with("/stream", json!(true))),
        ("no contents", with("/contents", json!([]))),
        ("no parts", with("/contents/0/parts", json!([]))),
        ("a part of nothing", part(json!({"thought": true}))),
        ("a part of two things", part(json!({"text": "a", "inlineData": {}}))),
        ("an unknown part", part(json!({"type": "text", "text": "a"}))),
        ("a role", with("/contents/0/role", json!("assistant"))),
        ("ends with the model", with("/contents/2/role", json!("model"))),
        (
            "a response too few",
            with("/contents/2/parts", json!([{"functionResponse": {"name": "f", "response": {}}}])),
        ),
        ("another name", response(json!({"name": "g", "response": {}}))),
        ("an id from nowhere", response(json!({"id": "x", "name": "f", "response": {}}))),
        ("a response of text", response(json!({"name": "f", "response": "1"}))),
        ("arguments of text", with("/contents/1/parts/0/functionCall/args", json!("{}"))),
        ("an id of the gateway's", with("/contents/1/parts/0/functionCall/id", json!("gemini_call_0"))),
        ("a made-up signature", with("/contents/1/parts/0/thoughtSignature", json!("AAAA"))),
    ];
    for (what, body) in &table {
        let (status, answer) = ask(&fake, body).await;
        assert_eq!(status, 400, "{what}");
        assert_eq!(answer["error"]["status"], "INVALID_ARGUMENT", "{what}: {answer}");
    }
    assert_eq!(fake.refusals().len(), table.len());
    let leaked = post(&fake, "/v1/models/m:generateContent?key=k", &legal()).await;
    assert_eq!(leaked.status(), 400, "a credential in the address");
    assert_eq!(post(&fake, "/v1/models/m:countTokens", &legal()).await.status(), 404);
}

#[tokio::test]
async fn a_signature_must_come_back_within_the_turn() {
    let script = vec![Round::calls([Call::new("f", json!({}))]).thinking("hm", "c2ln"), Round::text("ok")];
    let fake = FakeUpstream::start(script).await;
    let user = json!({"role": "user", "parts": [{"text": "hi"}]});
    let tools = json!([{"functionDeclarations": [{"name": "f"}]}]);
    let body = |contents: Value| json!({"contents": contents, "tools": tools});
    let (_, answer) = ask(&fake, &body(json!([user]))).await;
    let said = answer["candidates"][0]["content"].clone();
    assert_eq!(said["parts"][1]["thoughtSignature"], "c2ln");
    let result = json!({"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {}}}]});
    assert_eq!(ask(&fake, &body(json!([user, said, result]))).await.0, 200);
    let mut bare = said.clone();
    bare["parts"][1].as_object_mut().unwrap().remove("thoughtSignature");
    assert_eq!(ask(&fake, &body(json!([user, bare, result]))).await.0, 400);
    assert_eq!(ask(&fake, &body(json!([user, bare, result, user]))).await.0, 200, "not of this turn");
    let mut moved = said;
    moved["parts"][1]["functionCall"]["args"] = json!({"a": 1});
    assert_eq!(ask(&fake, &body(json!([user, moved, result, user]))).await.0, 400);
}

#[tokio::test]
async fn every_streamed_shape_passes_the_linter() {
    let rounds = [
        Round::text("个🙂 done"),
        Round::calls([Call::new("f", json!({"a": "é"})).id("i"), Call::new("g", json!({}))]).saying("first"),
        Round::calls([Call::new("f", json!({}))]).thinking("hm", "c2ln"),
        Round::text("cut").finish("length").chunked(Chunking::Bytes(1)),
        Round::text("ends badly").then(Fault::ErrorEvent { after_events: 2, message: "tired".into() }),
    ];
    for round in rounds {
        for (query, dialect) in [("?alt=sse", "gemini"), ("", "gemini_array")] {
            let fake = FakeUpstream::start(vec![round.clone()]).await;
            let mut body = legal();
            body["contents"].as_array_mut().unwrap().truncate(1);
            let path = format!("/v1/models/m:streamGenerateContent{query}");
            let bytes = post(&fake, &path, &body).await.bytes().await.unwrap();
            let summary =
                lint(dialect, &bytes).unwrap_or_else(|problem| panic!("{dialect} {round:?}: {problem}"));
            assert_eq!(summary.calls.len(), round.calls.len());
            assert_eq!(summary.error.is_some(), round.fault.is_some());
            assert_eq!(fake.requests()[0].body.get("model"), None, "recorded as it came");
        }
    }
}

#[tokio::test]
async fn a_key_has_one_place() {
    let fake = FakeUpstream::start(Script::rounds([Round::text("done")]).requiring_key("k")).await;
    for (name, status) in [("x-goog-api-key", 200), ("authorization", 401)] {
        let request = client().post(format!("{}/v1beta/models/m:generateContent", fake.base_url()));
        let response = request.header(name, "k").body(legal().to_string()).send().await.unwrap();
        assert_eq!(response.status(), status, "{name}");
    }
}

#[test]
fn the_linter_names_what_is_broken() {
    let text =
        r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"a"}]},"index":0}],"responseId":"r"}"#;
    let end = r#"{"candidates":[{"content":{"role":"model","parts":[{"text":""}]},"finishReason":"STOP"}]}"#;
    let other = text.replace("\"r\"", "\"q\"");
    let empty = end.replace(r#"[{"text":""}]"#, "[]");
    let role = end.replace("model", "user");
    let events = |chunks: &[&str]| -> String {
        chunks
            .iter()
            .flat_map(|chunk| {
                [
                    "data: ", chunk, "

",
                ]
            })
            .collect()
    };
    assert_eq!(lint("gemini", events(&[text, end]).as_bytes()).unwrap().text, "a");
    for (chunks, problem) in [
        (vec![text], "no finish reason"),
        (vec![text, end, end], "after the finish reason"),
        (vec![text, &other, end], "differ"),
        (vec![&empty], "without parts"),
        (vec![&role], "role"),
        (vec!["7"], "no object"),
        (vec![r#"{"error":{"message":"x"}}"#], "without code"),
        (vec![r#"{"error":{"code":5,"message":"x","status":"X"}}"#, end], "after the error"),
    ] {
        let said = lint("gemini", events(&chunks).as_bytes()).unwrap_err();
        assert!(said.contains(problem), "{said}");
        let array = format!("[{}]", chunks.join(","));
        assert!(lint("gemini_array", array.as_bytes()).unwrap_err().contains(problem));
    }
    assert!(lint("gemini", b": comment\n\n").unwrap_err().contains("comment"));
    assert!(lint("gemini", format!("event: x\ndata: {end}\n\n").as_bytes()).unwrap_err().contains("name"));
    assert!(lint("gemini_array", b"[{}").unwrap_err().contains("no array"));
}
