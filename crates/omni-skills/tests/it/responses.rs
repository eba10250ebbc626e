//! What only the Responses dialect has: answers that the provider stores or does not, and reasoning items.

use serde_json::{Value, json};
use testkit::fake_upstream::FakeUpstream;
use testkit::script::{Call, Round, Script};

use crate::client::{gateway, send};

const RESPONSES: &str = "openai_responses";

/// Two rounds that call, after thinking, and one that answers.
fn script() -> Script {
    let run = |code: &str| Call::new("eval_code", json!({"language": "javascript", "code": code}));
    Script::rounds([
        Round::calls([run("console.log(6*7)"), run("throw 1")]).reasoning("Hm.").saying("First."),
        Round::calls([run("console.log(43)")]).reasoning("So."),
        Round::text("done").reasoning("Ah."),
    ])
}

fn kinds(body: &Value) -> Vec<String> {
    let items = body["input"].as_array().unwrap().iter();
    items.map(|item| item["type"].as_str().unwrap_or("message").to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn stored_answers_are_named_and_others_repeated() {
    for stream in [false, true] {
        for (store, include) in [(true, false), (false, false), (false, true)] {
            let upstream = FakeUpstream::start(script()).await;
            let gateway = gateway(&upstream.base_url(), "");
            let mut body = json!({"model": "m", "input": "please", "stream": stream, "store": store});
            if include {
                body["include"] = json!(["reasoning.encrypted_content"]);
            }
            let seen = send(&gateway.base, RESPONSES, &body, &[]).await;
            let cell = format!("stream={stream} store={store} include={include}");
            assert_eq!(upstream.refusals(), Vec::<String>::new(), "{cell}");
            assert_eq!(
                (seen.text.as_str(), seen.finish.as_deref()),
                ("First.done", Some("completed")),
                "{cell}"
            );
            assert_eq!(seen.raw.contains("encrypted_content"), include, "{cell}: {}", seen.raw);
            let bodies: Vec<Value> = upstream.requests().into_iter().map(|request| request.body).collect();
            assert_eq!(bodies.len(), 3, "{cell}");
            if store {
                assert_eq!(kinds(&bodies[2]), ["function_call_output"], "{cell}");
                assert!(bodies[1]["previous_response_id"] != bodies[2]["previous_response_id"], "{cell}");
            } else {
                let turn = ["message", "reasoning", "message", "function_call", "function_call"];
                let second = ["function_call_output", "function_call_output", "reasoning", "function_call"];
                let all = [&turn[..], &second, &["function_call_output"]].concat();
                assert_eq!(kinds(&bodies[2]), all, "{cell}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_goes_on_by_itself() {
    let upstream = FakeUpstream::start(script()).await;
    let gateway = gateway(&upstream.base_url(), "");
    let body = json!({"model": "m", "input": "please", "conversation": {"id": "c"}});
    // Conversations of the provider are everybody's: whoever may pass everything through may name them.
    let refused = send(&gateway.base, RESPONSES, &body, &[]).await;
    assert_eq!((refused.status, upstream.requests().len()), (404, 0), "{refused:?}");
    let management = [("x-omni-key", gateway.token.as_str())];
    let seen = send(&gateway.base, RESPONSES, &body, &management).await;
    assert_eq!((seen.text.as_str(), upstream.refusals()), ("First.done", Vec::new()));
    assert!(upstream.requests().iter().all(|request| request.body.get("previous_response_id").is_none()));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_demo_model_speaks_it() {
    let gateway = gateway("http://127.0.0.1:9", "");
    let ask = "eval_code {\"language\":\"javascript\",\"code\":\"console.log(6*7)\"}";
    for stream in [false, true] {
        let body = json!({"model": "demo", "input": ask, "stream": stream});
        let seen = send(&gateway.base, RESPONSES, &body, &[]).await;
        assert!(seen.text.contains("eval_code returned") && seen.text.contains("42"), "{seen:?}");
    }
}

/// The final response of an answer, streamed or not.
fn response_of(raw: &str) -> Value {
    let last: Value = serde_json::from_str(raw.rsplit("data: ").next().unwrap()).unwrap();
    last.get("response").cloned().unwrap_or(last)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_question_knows_the_hidden_rounds() {
    for stream in [false, true] {
        for store in [true, false] {
            let cell = format!("stream={stream} store={store}");
            let upstream = FakeUpstream::start(script().when("and now?", [Round::text("still here")])).await;
            let gateway = gateway(&upstream.base_url(), "");
            let include = ["reasoning.encrypted_content"];
            let mut body = json!({"model": "m", "input": "please", "stream": stream, "store": store, "include": include});
            let first = response_of(&send(&gateway.base, RESPONSES, &body, &[]).await.raw);
            if store {
                body["input"] = json!("and now?");
                body["previous_response_id"] = first["id"].clone();
                let seen = send(&gateway.base, RESPONSES, &body, &[]).await;
                assert_eq!((seen.text.as_str(), upstream.refusals()), ("still here", vec![]), "{cell}");
                body.as_object_mut().unwrap().remove("previous_response_id");
            }
            let user = |text: &str| json!({"role": "user", "content": text});
            let output = first["output"].as_array().unwrap().clone();
            body["input"] = [vec![user("please")], output, vec![user("and now?")]].concat().into();
            let seen = send(&gateway.base, RESPONSES, &body, &[]).await;
            assert_eq!((seen.text.as_str(), upstream.refusals()), ("still here", vec![]), "{cell}");
            let calls = kinds(&upstream.requests().last().unwrap().body);
            let calls = calls.iter().filter(|kind| *kind == "function_call").count();
            assert_eq!(calls, 3, "{cell}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mixed_message_is_answered_whole() {
    let ours = Call::new("eval_code", json!({"language": "javascript", "code": "console.log(6*7)"}));
    let mixed = Round::calls([ours, Call::new("Bash", json!({})).exactly()]).reasoning("Both.");
    for stream in [false, true] {
        for store in [true, false] {
            let cell = format!("stream={stream} store={store}");
            let upstream = FakeUpstream::start(Script::rounds([mixed.clone(), Round::text("done")])).await;
            let gateway = gateway(&upstream.base_url(), "[selection]\nwith_client_tools = \"all\"\n");
            let tool = json!({"type": "function", "name": "Bash", "parameters": null, "strict": false});
            let ask = |members: Value| {
                let mut body = json!({"model": "m", "stream": stream, "store": store, "tools": [tool],
                    "include": ["reasoning.encrypted_content"]});
                body.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
                body
            };
            let user = json!({"role": "user", "content": "please"});
            let first = send(&gateway.base, RESPONSES, &ask(json!({"input": [user]})), &[]).await;
            assert_eq!(first.calls, ["Bash"], "{cell}");
            let first = response_of(&first.raw);
            let output = first["output"].as_array().unwrap().clone();
            let id = &output.last().unwrap()["call_id"];
            let result = json!({"type": "function_call_output", "call_id": id, "output": "ok"});
            let history = [vec![user], output.clone(), vec![result.clone()]].concat();
            let mut next = vec![json!({"input": history})];
            if store {
                next.push(json!({"previous_response_id": first["id"], "input": [result]}));
            }
            for members in next {
                let seen = send(&gateway.base, RESPONSES, &ask(members), &[]).await;
                assert_eq!((seen.text.as_str(), upstream.refusals()), ("done", vec![]), "{cell}");
                assert!(upstream.requests().last().unwrap().body.to_string().contains("42"), "{cell}");
            }
        }
    }
}
