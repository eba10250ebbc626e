//! Answers that the provider stores, named by id: by the key that was given the id, and by no other.

use serde_json::{Value, json};
use testkit::fake_upstream::FakeUpstream;
use testkit::gateway::Gateway;
use testkit::script::{Call, Round, Script};

use crate::client::{Seen, gateway, http, send};

const RESPONSES: &str = "openai_responses";

/// Two rounds that call, after thinking, and one that answers.
fn script() -> Script {
    let run = |code: &str| Call::new("eval_code", json!({"language": "javascript", "code": code}));
    Script::rounds([
        Round::calls([run("console.log('sec'+'ret')"), run("throw 1")]).reasoning("Hm.").saying("First."),
        Round::calls([run("console.log('other')")]).reasoning("So."),
        Round::text("done").reasoning("Ah."),
    ])
    .when("and now?", [Round::text("still here")])
}

/// A client with a key.
struct Client {
    key: String,
}

impl Client {
    async fn new(gateway: &Gateway, scopes: &[&str]) -> Self {
        let body = json!({"name": "k", "scopes": scopes}).to_string();
        let asked = http().post(format!("{}/api/keys", gateway.base)).bearer_auth(&gateway.token);
        let made = asked.header("content-type", "application/json").body(body).send().await.unwrap();
        let made: Value = serde_json::from_slice(&made.bytes().await.unwrap()).unwrap();
        Self { key: format!("Bearer {}", made["key"].as_str().unwrap()) }
    }

    async fn chat(&self, gateway: &Gateway, body: &Value) -> Seen {
        send(&gateway.base, RESPONSES, body, &[("authorization", self.key.as_str())]).await
    }

    async fn call(&self, gateway: &Gateway, method: &str, path: &str) -> (u16, Value) {
        let asked = http().request(method.parse().unwrap(), format!("{}/v1/responses/{path}", gateway.base));
        let answer = asked.header("authorization", &self.key).send().await.unwrap();
        let status = answer.status().as_u16();
        let bytes = answer.bytes().await.unwrap();
        let value = serde_json::from_slice(&bytes);
        (status, value.unwrap_or_else(|e| panic!("{method} {path}: {e} {bytes:?}")))
    }
}

/// The final response of an answer, streamed or not, without what is ours alone.
fn response_of(raw: &str) -> Value {
    let last: Value = serde_json::from_str(raw.rsplit("data: ").next().unwrap()).unwrap();
    let mut response = last.get("response").cloned().unwrap_or(last);
    response.as_object_mut().unwrap().remove("omni");
    response
}

fn id_of(response: &Value) -> String {
    response["id"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_reached_by_the_key_that_was_given_its_id() {
    for stream in [false, true] {
        let upstream = FakeUpstream::start(script()).await;
        let mut gateway = gateway(&upstream.base_url(), "");
        let (mine, other) =
            (Client::new(&gateway, &["proxy"]).await, Client::new(&gateway, &["proxy"]).await);
        let body = json!({"model": "m", "input": "please", "stream": stream});
        let seen = response_of(&mine.chat(&gateway, &body).await.raw);
        let id = id_of(&seen);
        gateway.kill_and_restart();

        let asked = upstream.requests().len();
        let ways = [("GET", ""), ("DELETE", ""), ("POST", "/cancel"), ("GET", "/input_items")];
        for (method, behind) in ways {
            let (status, answer) = other.call(&gateway, method, &format!("{id}{behind}")).await;
            assert_eq!(
                (status, &answer["error"]["code"]),
                (404, &json!("response_not_found")),
                "{method} {behind}"
            );
            let (status, _) = mine.call(&gateway, method, &format!("resp_guessed{behind}")).await;
            assert_eq!(status, 404, "{method} {behind}");
        }
        assert_eq!(upstream.requests().len(), asked, "nothing went up");

        let (status, answer) = mine.call(&gateway, "GET", &id).await;
        assert_eq!((status, &answer), (200, &seen), "stream={stream}");
        let (_, listed) = mine.call(&gateway, "GET", &format!("{id}/input_items?order=asc")).await;
        assert_eq!(listed["data"].as_array().unwrap().len(), 1, "{listed}");
        assert_eq!(listed["data"][0]["content"], "please");
        let (status, answer) = mine.call(&gateway, "GET", &format!("{id}?stream=true")).await;
        assert_eq!((status, &answer["error"]["code"]), (400, &json!("bad_request")));
        let (status, _) = mine.call(&gateway, "POST", &format!("{id}/cancel")).await;
        assert_eq!(status, 400, "it is no background answer");

        let (status, answer) = mine.call(&gateway, "DELETE", &id).await;
        assert_eq!((status, &answer), (200, &json!({"id": id, "object": "response", "deleted": true})));
        let gone = upstream.requests().iter().filter(|request| request.method == "DELETE").count();
        assert_eq!(gone, 3, "every round of it");
        let (status, answer) = mine.call(&gateway, "GET", &id).await;
        let message = format!("Response with id '{id}' not found.");
        assert_eq!((status, &answer["error"]["message"]), (404, &json!(message)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_passes_unread_is_known_too() {
    for stream in [false, true] {
        let upstream = FakeUpstream::start(Script::rounds([Round::text("hello")])).await;
        let gateway = gateway(&upstream.base_url(), "");
        let mine = Client::new(&gateway, &["proxy"]).await;
        let all =
            [json!({}), json!({"tool_choice": "none"}), json!({"background": true}), json!({"store": false})];
        for members in all {
            let mut body = json!({"model": "m", "input": "please", "stream": stream});
            body.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
            let seen = response_of(&mine.chat(&gateway, &body).await.raw);
            let id = id_of(&seen);
            let (status, answer) = mine.call(&gateway, "GET", &id).await;
            let cell = format!("stream={stream} {members}");
            if members["store"] == false {
                assert_eq!(status, 404, "{cell}");
            } else if members["background"] == true {
                assert_eq!((status, &answer["status"]), (200, &json!("completed")), "{cell}");
                let (status, answer) = mine.call(&gateway, "POST", &format!("{id}/cancel")).await;
                assert_eq!((status, &answer["status"]), (200, &json!("cancelled")), "{cell}");
            } else {
                assert_eq!((status, &answer), (200, &seen), "{cell}");
                assert_eq!(answer["tools"], json!([]), "{cell}");
            }
        }
        assert_eq!(upstream.refusals(), Vec::<String>::new());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn scope_passthrough_reaches_others_and_still_has_its_own_map() {
    let upstream = FakeUpstream::start(script()).await;
    let gateway = gateway(&upstream.base_url(), "");
    let (mine, wide) =
        (Client::new(&gateway, &["proxy"]).await, Client::new(&gateway, &["proxy", "passthrough"]).await);
    let body = json!({"model": "m", "input": "please", "stream": true});
    let seen = response_of(&wide.chat(&gateway, &body).await.raw);
    assert_eq!(wide.call(&gateway, "GET", &id_of(&seen)).await, (200, seen));
    let theirs = response_of(&mine.chat(&gateway, &body).await.raw);
    let (status, answer) = wide.call(&gateway, "GET", &id_of(&theirs)).await;
    assert_eq!((status, &answer["id"]), (200, &theirs["id"]), "as it is stored");
    assert_eq!(wide.call(&gateway, "GET", "resp_guessed").await.0, 404);
    assert_eq!(upstream.requests().last().unwrap().path, "/v1/responses/resp_guessed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chain_of_answers_shows_nothing_hidden() {
    for stream in [false, true] {
        let upstream = FakeUpstream::start(script()).await;
        let mut gateway = gateway(&upstream.base_url(), "");
        let mine = Client::new(&gateway, &["proxy"]).await;
        let mut body = json!({"model": "m", "input": "please", "stream": stream});
        let first = response_of(&mine.chat(&gateway, &body).await.raw);
        gateway.kill_and_restart();
        // Once with tools of ours on offer, once passing unread, once with a history instead of an id.
        for members in [json!({}), json!({"tool_choice": "none"}), json!({"previous_response_id": null})] {
            body["input"] = json!("and now?");
            body["previous_response_id"] = first["id"].clone();
            body.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
            if body["previous_response_id"].is_null() {
                let user = |text: &str| json!({"role": "user", "content": text});
                let output = first["output"].as_array().unwrap().clone();
                body["input"] = [vec![user("please")], output, vec![user("and now?")]].concat().into();
            }
            let second = response_of(&mine.chat(&gateway, &body).await.raw);
            let id = id_of(&second);
            let (status, listed) = mine.call(&gateway, "GET", &format!("{id}/input_items?limit=100")).await;
            let text = listed.to_string();
            assert_eq!(status, 200);
            assert!(text.contains("please") && text.contains("and now?"), "{members}: {text}");
            assert!(!text.contains("secret") && !text.contains("console.log"), "{members}: {text}");
            let (_, again) = mine.call(&gateway, "GET", &id).await;
            assert_eq!(again["previous_response_id"], body["previous_response_id"], "{members}");
            assert_eq!(again["output"], second["output"], "{members}");
        }
        assert_eq!(upstream.refusals(), Vec::<String>::new());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn items_may_be_named_instead_of_sent() {
    for stream in [false, true] {
        let upstream = FakeUpstream::start(script()).await;
        let mut gateway = gateway(&upstream.base_url(), "");
        let (mine, other) =
            (Client::new(&gateway, &["proxy"]).await, Client::new(&gateway, &["proxy"]).await);
        let mut body = json!({"model": "m", "input": "please", "stream": stream});
        let first = response_of(&mine.chat(&gateway, &body).await.raw);
        gateway.kill_and_restart();
        let user = |text: &str| json!({"role": "user", "content": text});
        let output = first["output"].as_array().unwrap();
        let named = output.iter().map(|item| json!({"type": "item_reference", "id": item["id"]}));
        body["input"] = [vec![user("please")], named.collect(), vec![user("and now?")]].concat().into();
        let seen = mine.chat(&gateway, &body).await;
        assert_eq!((seen.text.as_str(), upstream.refusals()), ("still here", vec![]), "stream={stream}");
        let sent = upstream.requests().last().unwrap().body["input"].to_string();
        assert!(
            sent.contains("secret") && sent.contains("other") && !sent.contains("item_reference"),
            "{sent}"
        );
        // Names given to another key mean nothing of ours: they go up as they are, without what led to them.
        let seen = other.chat(&gateway, &body).await;
        let sent = upstream.requests().last().unwrap().body["input"].to_string();
        assert!(
            seen.status == 400 && sent.contains("item_reference") && !sent.contains("secret"),
            "{seen:?} {sent}"
        );
        body["input"] = json!([{"type": "item_reference", "id": "msg_guessed"}]);
        let seen = mine.chat(&gateway, &body).await;
        assert!(seen.status == 404 && seen.error.unwrap().contains("msg_guessed"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_outlive_what_was_hidden() {
    let ours = Call::new("eval_code", json!({"language": "javascript", "code": "console.log('sec'+'ret')"}));
    let mixed = Round::calls([ours.clone(), Call::new("Bash", json!({})).exactly()]);
    let rounds = [Round::calls([ours]), mixed, Round::text("done")];
    for stream in [false, true] {
        let upstream = FakeUpstream::start(Script::rounds(rounds.clone())).await;
        let more = "[selection]\nwith_client_tools = \"all\"\n[turn]\nmemory_ttl_ms = 0\n";
        let gateway = gateway(&upstream.base_url(), more);
        let mine = Client::new(&gateway, &["proxy"]).await;
        let tool = json!({"type": "function", "name": "Bash", "parameters": null, "strict": false});
        let mut body = json!({"model": "m", "stream": stream, "input": "please", "tools": [tool]});
        let first = response_of(&mine.chat(&gateway, &body).await.raw);
        let call = first["output"].as_array().unwrap().last().unwrap()["call_id"].clone();
        body["input"] = json!([{"type": "function_call_output", "call_id": call, "output": "ok"}]);
        body["previous_response_id"] = first["id"].clone();
        let seen = mine.chat(&gateway, &body).await;
        assert_eq!((seen.text.as_str(), upstream.refusals()), ("done", vec![]), "stream={stream}");
        let sent = upstream.requests().last().unwrap().body["input"].to_string();
        assert!(sent.contains("expired") && !sent.contains("secret"), "{sent}");
        let (status, answer) = mine.call(&gateway, "GET", &id_of(&first)).await;
        assert_eq!((status, &answer["id"]), (200, &first["id"]));
        assert!(!answer.to_string().contains("eval_code"), "{answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_goes_on_with_an_answer_that_another_key_was_given() {
    for stream in [false, true] {
        let upstream = FakeUpstream::start(script()).await;
        let gateway = gateway(&upstream.base_url(), "");
        let default = ["proxy", "read:skills", "execute:skills"];
        let (one, two) = (Client::new(&gateway, &default).await, Client::new(&gateway, &default).await);
        let asked = json!({"model": "m", "input": "my secret is 1234", "stream": stream});
        let id = id_of(&response_of(&one.chat(&gateway, &asked).await.raw));
        let before = upstream.requests().len();
        for member in ["previous_response_id", "conversation"] {
            let mut stolen = json!({"model": "m", "input": "and now?", "stream": stream});
            stolen[member] = json!(id);
            let seen = two.chat(&gateway, &stolen).await;
            assert_eq!(seen.status, 404, "{member}: {seen:?}");
            let url = format!("{}/v1/responses/input_tokens", gateway.base);
            let counted = http().post(url).header("authorization", &two.key);
            let counted = counted.header("content-type", "application/json").body(stolen.to_string());
            assert_eq!(counted.send().await.unwrap().status(), 404, "{member}");
        }
        assert_eq!(upstream.requests().len(), before, "the provider was not asked");
        let own = json!({"model": "m", "input": "and now?", "stream": stream, "previous_response_id": id});
        assert_eq!(one.chat(&gateway, &own).await.text, "still here");
    }
}
