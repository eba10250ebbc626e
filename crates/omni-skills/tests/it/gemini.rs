//! What only the Gemini dialect has: two addresses, two forms of a stream, thought signatures.

use serde_json::{Value, json};
use testkit::fake_upstream::FakeUpstream;
use testkit::gateway::Gateway;
use testkit::script::{Call, Round, Script};
use testkit::sse_lint;

use crate::client::{gateway, http, send};

fn script() -> Script {
    let run = |code: &str| Call::new("eval_code", json!({"language": "javascript", "code": code}));
    Script::rounds([
        Round::calls([run("console.log(6*7)"), run("throw 1")]).thinking("Hm.", "c2ln").saying("First. "),
        Round::calls([run("console.log(43)").id("fc-7")]).redacted_thinking("c2lu"),
        Round::text("done"),
    ])
}

/// Status, media type and body of an answer.
async fn post(base: &str, path: &str, body: &Value) -> (u16, String, String) {
    let request = http().post(format!("{base}{path}")).header("content-type", "application/json");
    let response = request.body(body.to_string()).send().await.unwrap();
    let kind = response.headers()["content-type"].to_str().unwrap().to_owned();
    (response.status().as_u16(), kind, response.text().await.unwrap())
}

fn please() -> Value {
    json!({"contents": [{"role": "user", "parts": [{"text": "please"}]}]})
}

#[tokio::test(flavor = "multi_thread")]
async fn both_addresses_and_both_forms_of_a_stream() {
    for version in ["v1", "v1beta"] {
        for (method, form) in [
            ("streamGenerateContent", "gemini_array"),
            ("streamGenerateContent?alt=sse", "gemini"),
            ("generateContent", ""),
        ] {
            let upstream = FakeUpstream::start(script()).await;
            let gateway = gateway(&upstream.base_url(), "[turn]\nkeep_alive_ms = 1\n");
            let path = format!("/{version}/models/gemini-x:{method}");
            let (status, kind, text) = post(&gateway.base, &path, &please()).await;
            assert_eq!((status, upstream.refusals()), (200, vec![]), "{path}: {text}");
            assert!(!text.contains("eval_code__") && !text.contains("c2l"), "{path}: {text}");
            assert_eq!(kind.starts_with("text/event-stream"), form == "gemini", "{path}: {kind}");
            if form.is_empty() {
                let parts =
                    &serde_json::from_str::<Value>(&text).unwrap()["candidates"][0]["content"]["parts"];
                let said: Vec<_> =
                    parts.as_array().unwrap().iter().map(|part| part["text"].as_str().unwrap()).collect();
                assert_eq!(said, ["Hm.", "First. ", "done"], "{path}");
            } else {
                let seen =
                    sse_lint::lint(form, text.as_bytes()).unwrap_or_else(|e| panic!("{path}: {e}\n{text}"));
                assert_eq!((seen.text.as_str(), seen.thinking.as_str()), ("First. done", "Hm."), "{path}");
                assert_eq!(seen.omni.unwrap()["stop"], "completed", "{path}");
                assert_eq!(seen.usage.unwrap()["totalTokenCount"], 54, "{path}");
            }
            let requests = upstream.requests();
            assert!(
                requests.iter().all(|r| r.path.starts_with(&format!("/{version}/models/gemini-x:"))),
                "{path}"
            );
            let contents = requests[2].body["contents"].as_array().unwrap().clone();
            assert_eq!(contents.len(), 5, "{path}");
            let answers = contents[2]["parts"].as_array().unwrap();
            let words: Vec<_> = answers
                .iter()
                .map(|a| {
                    a["functionResponse"]["response"].as_object().unwrap().keys().next().unwrap().as_str()
                })
                .collect();
            assert_eq!(words, ["result", "error"], "{path}: in call order");
            assert_eq!(contents[4]["parts"][0]["functionResponse"]["id"], "fc-7", "{path}");
            assert!(
                contents[2].to_string().find("\"id\"").is_none(),
                "{path}: no id was given, none is made up"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_demo_model_speaks_it() {
    let gateway = gateway("http://127.0.0.1:9", "");
    let ask = "eval_code {\"language\":\"javascript\",\"code\":\"console.log(6*7)\"}";
    for stream in [false, true] {
        let contents = json!([{"role": "user", "parts": [{"text": ask}]}]);
        let body = json!({"model": "demo", "contents": contents, "stream": stream});
        let seen = send(&gateway.base, "gemini", &body, &[]).await;
        assert!(seen.text.contains("eval_code returned") && seen.text.contains("42"), "{seen:?}");
    }
    let body = json!({"contents": [{"parts": [{"text": ask}]}]});
    let (_, _, text) = post(&gateway.base, "/v1beta/models/demo:streamGenerateContent", &body).await;
    assert!(sse_lint::lint("gemini_array", text.as_bytes()).unwrap().text.contains("42"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_have_its_shape() {
    let gateway = gateway("http://127.0.0.1:9", "");
    for (path, body, code, status) in [
        ("/v1beta/models/m:generateContent", json!({"contents": 7}), 400, "INVALID_ARGUMENT"),
        ("/v1beta/models/a%2Fb:generateContent", please(), 400, "INVALID_ARGUMENT"),
        ("/v1beta/models/m:streamGenerateContent", please(), 502, "UNAVAILABLE"),
    ] {
        let (answered, _, text) = post(&gateway.base, path, &body).await;
        let error = serde_json::from_str::<Value>(&text).unwrap()["error"].clone();
        assert_eq!(
            (answered, &error["code"], &error["status"]),
            (code, &json!(code), &json!(status)),
            "{path}"
        );
        assert!(!error["message"].as_str().unwrap().is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mixed_message_gets_its_hidden_half_back() {
    let ours = Call::new("eval_code", json!({"language": "javascript", "code": "console.log(6*7)"}));
    let mixed = Round::calls([ours, Call::new("Bash", json!({"n": 1})).exactly()]).thinking("Hm.", "c2ln");
    let upstream = FakeUpstream::start(Script::rounds([mixed, Round::text("done")])).await;
    let gateway = gateway(&upstream.base_url(), "[selection]\nwith_client_tools = \"all\"\n");
    let tools = json!([{"functionDeclarations": [{"name": "Bash"}]}]);
    let mut contents = vec![json!({"role": "user", "parts": [{"text": "both"}]})];
    let body = json!({"contents": contents, "tools": tools});
    let path = "/v1beta/models/m:generateContent";
    let (_, _, text) = post(&gateway.base, path, &body).await;
    let content = serde_json::from_str::<Value>(&text).unwrap()["candidates"][0]["content"].clone();
    let call = content["parts"]
        .as_array()
        .unwrap()
        .iter()
        .find_map(|part| part.get("functionCall"))
        .unwrap()
        .clone();
    assert_eq!(call["name"], "Bash", "{text}");
    assert!(!text.contains("eval_code"), "{text}");
    let response = json!({"id": call["id"], "name": "Bash", "response": {"output": "ok"}});
    contents.extend([content, json!({"role": "user", "parts": [{"functionResponse": response}]})]);
    let (status, _, text) = post(&gateway.base, path, &json!({"contents": contents, "tools": tools})).await;
    assert_eq!((status, upstream.refusals()), (200, vec![]), "{text}");
    assert!(text.contains("done"), "{text}");
    let last = upstream.requests().last().unwrap().body.clone();
    let answers = last["contents"][2]["parts"].as_array().unwrap();
    assert_eq!(answers.len(), 2, "{last}");
    assert!(answers[0].to_string().contains("42") && answers[1].to_string().contains("ok"), "{last}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_clients_key_goes_up_in_its_header_and_the_version_is_not_doubled() {
    let upstream = FakeUpstream::start(Script::rounds([Round::text("done")]).requiring_key("AIza-own")).await;
    let entry = format!(
        "[[upstreams]]\nname = 'a'\ndialect = ['gemini']\nbase_url = '{}/v1beta/'\npassthrough = true\n",
        upstream.base_url()
    );
    let gateway = Gateway::start(std::path::Path::new(env!("CARGO_BIN_EXE_omni-skills")), &entry);
    for (query, status) in
        [("?key=AIza-own&alt=sse", 200), ("?alt=sse&key=AIza-own", 200), ("?key=other", 401)]
    {
        let path = format!("/v1beta/models/m:streamGenerateContent{query}");
        let (answered, _, text) = post(&gateway.base, &path, &please()).await;
        assert_eq!(answered, status, "{query}: {text}");
    }
    assert!(
        upstream.requests().iter().all(|request| request.path == "/v1beta/models/m:streamGenerateContent")
    );
}
