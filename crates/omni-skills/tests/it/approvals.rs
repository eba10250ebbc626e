//! Calls that a person decides about, through every dialect: the strict upstream and the linter look on.

use std::time::{Duration, Instant};

use futures_util::StreamExt;
use serde_json::{Value, json};
use testkit::fake_upstream::FakeUpstream;
use testkit::gateway::Gateway;
use testkit::script::{Call, Round, Script};

use crate::client::{DIALECTS, Seen, body, gateway, history, http, send};

/// Asks the REST API with the management token.
async fn manage(gateway: &Gateway, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
    with_credential(gateway, &gateway.token, method, path, body).await
}

async fn with_credential(
    gateway: &Gateway,
    credential: &str,
    method: &str,
    path: &str,
    body: Option<Value>,
) -> (u16, Value) {
    let url = format!("{}{path}", gateway.base);
    let request = http().request(method.parse().unwrap(), url).bearer_auth(credential);
    let request = match body {
        Some(body) => request.header("content-type", "application/json").body(body.to_string()),
        None => request,
    };
    let answer = request.send().await.unwrap();
    let status = answer.status().as_u16();
    (status, serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap())
}

/// `file_write` asks a person from now on.
async fn make_hybrid(gateway: &Gateway) {
    let (_, page) = manage(gateway, "GET", "/api/skills?q=file_write", None).await;
    let row = page["data"].as_array().unwrap().iter().find(|row| row["name"] == "file_write").unwrap();
    let id = row["id"].as_str().unwrap();
    let (status, _) =
        manage(gateway, "PUT", &format!("/api/skills/{id}"), Some(json!({"policy": "hybrid"}))).await;
    assert_eq!(status, 200);
}

fn write(path: &str) -> Call {
    Call::new("file_write", json!({"path": path, "content": "x"}))
}

fn script() -> Script {
    Script::rounds([Round::calls([write("a.txt")]), Round::text("done")])
}

async fn say(gateway: &Gateway, dialect: &str, stream: bool) -> Seen {
    send(&gateway.base, dialect, &body(dialect, stream, "please", &[]), &[("x-omni-use", "file_write")]).await
}

/// Somebody who may approve, and listens.
struct Approver {
    text: String,
    events: futures_util::stream::BoxStream<'static, reqwest::Result<axum::body::Bytes>>,
}

impl Approver {
    async fn listen(gateway: &Gateway) -> Self {
        let url = format!("{}/api/skills/executions/stream", gateway.base);
        let answer = http().get(url).bearer_auth(&gateway.token).send().await.unwrap();
        assert_eq!(answer.status(), 200);
        Self { text: String::new(), events: answer.bytes_stream().boxed() }
    }

    /// The next event of this kind.
    async fn next(&mut self, kind: &str) -> Value {
        tokio::time::timeout(Duration::from_secs(20), self.wait_for(kind)).await.unwrap()
    }

    async fn wait_for(&mut self, kind: &str) -> Value {
        loop {
            while let Some((event, rest)) = self.text.split_once("\n\n") {
                let data = event.lines().find_map(|line| line.strip_prefix("data: "));
                let found = event.contains(&format!("event: {kind}\n")).then(|| data.unwrap().to_owned());
                let rest = rest.to_owned();
                self.text = rest;
                if let Some(data) = found {
                    return serde_json::from_str(&data).unwrap();
                }
            }
            self.text += std::str::from_utf8(&self.events.next().await.unwrap().unwrap()).unwrap();
        }
    }
}

async fn until_over(gateway: &Gateway, id: &str) -> Value {
    let start = Instant::now();
    loop {
        let (_, answer) = manage(gateway, "GET", &format!("/api/skills/executions/{id}"), None).await;
        let row = answer["execution"].clone();
        if !["pending", "running"].contains(&row["status"].as_str().unwrap()) {
            return row;
        }
        assert!(start.elapsed() < Duration::from_secs(20), "{row}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_there_the_model_is_told_and_a_late_approval_is_replayed_once() {
    for dialect in DIALECTS {
        for stream in [false, true] {
            let cell = format!("{dialect} stream={stream}");
            let upstream = FakeUpstream::start(script()).await;
            let mut gateway = gateway(&upstream.base_url(), "[turn]\nmemory = \"off\"\n");
            make_hybrid(&gateway).await;
            let seen = say(&gateway, dialect, stream).await;
            assert_eq!(
                (seen.text.as_str(), seen.stop.as_deref()),
                ("done", Some("approval_pending")),
                "{cell}"
            );
            let rows = history(&gateway).await;
            let id = rows[0]["id"].as_str().unwrap().to_owned();
            assert_eq!(
                (&rows[0]["status"], &rows[0]["approval"]["state"]),
                (&json!("pending"), &json!("waiting"))
            );
            let told = upstream.requests()[1].body.to_string();
            assert!(told.contains(&id) && told.contains("approval_pending"), "{cell}: {told}");

            // A restart forgets nothing, and asks nothing twice.
            gateway.kill_and_restart();
            say(&gateway, dialect, stream).await;
            assert_eq!(history(&gateway).await.len(), 1, "{cell}");

            let approve = format!("/api/skills/executions/{id}/approve");
            let (status, answer) = manage(&gateway, "POST", &approve, None).await;
            assert_eq!(
                (status, &answer["execution"]["approval"]["state"]),
                (200, &json!("approved")),
                "{answer}"
            );
            let row = until_over(&gateway, &id).await;
            assert_eq!((&row["status"], &row["attempts"]), (&json!("success"), &json!(1)), "{cell}: {row}");
            assert_eq!(manage(&gateway, "POST", &approve, None).await.0, 409, "{cell}: decided once");

            let seen = say(&gateway, dialect, stream).await;
            assert_eq!(seen.stop.as_deref(), Some("completed"), "{cell}");
            let told = upstream.requests().last().unwrap().body.to_string();
            assert!(told.contains("bytes") && !told.contains("approval_pending"), "{cell}: {told}");
            assert_eq!(history(&gateway).await.len(), 1, "{cell}: it did not run again");
            let seen = say(&gateway, dialect, stream).await;
            assert_eq!(seen.stop.as_deref(), Some("approval_pending"), "{cell}: a new question");
            assert_eq!(upstream.refusals(), Vec::<String>::new(), "{cell}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn somebody_there_the_turn_waits_and_goes_on_with_the_outcome() {
    for dialect in DIALECTS {
        for stream in [false, true] {
            let cell = format!("{dialect} stream={stream}");
            let upstream = FakeUpstream::start(script()).await;
            let gateway = gateway(&upstream.base_url(), "[turn]\nkeep_alive_ms = 50\nwall_ms = 3000\n");
            make_hybrid(&gateway).await;
            let mut approver = Approver::listen(&gateway).await;
            let decide = async {
                let wanted = approver.next("approval_wanted").await;
                assert_eq!(wanted["input"]["path"], "a.txt", "{cell}");
                // Long enough for several keep-alives.
                tokio::time::sleep(Duration::from_millis(300)).await;
                let id = wanted["executionId"].as_str().unwrap();
                let path = format!("/api/skills/executions/{id}/approve");
                let edited = json!({"input": {"path": "b.txt", "content": "y"}});
                assert_eq!(manage(&gateway, "POST", &path, Some(edited)).await.0, 200, "{cell}");
                id.to_owned()
            };
            let (seen, id) = tokio::join!(say(&gateway, dialect, stream), decide);
            assert_eq!((seen.text.as_str(), seen.stop.as_deref()), ("done", Some("completed")), "{cell}");
            let row = until_over(&gateway, &id).await;
            assert_eq!(
                (&row["status"], &row["input"]["path"]),
                (&json!("success"), &json!("b.txt")),
                "{cell}"
            );
            assert_eq!(row["approval"]["originalInput"]["path"], "a.txt", "{cell}");
            assert_eq!(row["approval"]["decidedBy"], "management", "{cell}");
            assert!(
                upstream.requests()[1].body.to_string().contains("b.txt"),
                "{cell}: told what really ran"
            );
            assert_eq!(upstream.refusals(), Vec::<String>::new(), "{cell}");
            assert_eq!(approver.next("finished").await["executionId"], json!(id), "{cell}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denial_ends_the_wait_and_its_reason_reaches_the_model() {
    for dialect in DIALECTS {
        let upstream = FakeUpstream::start(script()).await;
        let gateway = gateway(&upstream.base_url(), "");
        make_hybrid(&gateway).await;
        let mut approver = Approver::listen(&gateway).await;
        let decide = async {
            let wanted = approver.next("approval_wanted").await;
            let path = format!("/api/skills/executions/{}/deny", wanted["executionId"].as_str().unwrap());
            let reason = json!({"reason": "not on a Friday"});
            assert_eq!(manage(&gateway, "POST", &path, Some(reason)).await.0, 200);
        };
        let (seen, ()) = tokio::join!(say(&gateway, dialect, true), decide);
        assert_eq!((seen.text.as_str(), seen.stop.as_deref()), ("done", Some("completed")), "{dialect}");
        assert!(upstream.requests()[1].body.to_string().contains("not on a Friday"), "{dialect}");
        let rows = history(&gateway).await;
        assert_eq!((&rows[0]["status"], &rows[0]["approval"]["state"]), (&json!("error"), &json!("denied")));
        assert_eq!(rows[0]["attempts"], 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_wait_ends_in_time_and_the_call_still_waits() {
    for stream in [false, true] {
        let upstream = FakeUpstream::start(script()).await;
        let waits = "[approval]\ntimeout_ms = 200\nplain_timeout_ms = 200\n";
        let gateway = gateway(&upstream.base_url(), waits);
        make_hybrid(&gateway).await;
        let _approver = Approver::listen(&gateway).await;
        let seen = say(&gateway, "openai_chat", stream).await;
        assert_eq!(seen.stop.as_deref(), Some("approval_pending"), "{seen:?}");
        assert_eq!(history(&gateway).await[0]["approval"]["state"], "waiting");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_never_approves_its_own_calls() {
    let upstream = FakeUpstream::start(script()).await;
    let gateway = gateway(&upstream.base_url(), "");
    make_hybrid(&gateway).await;
    let key = async |name: &str, scopes: Value| {
        let (_, made) =
            manage(&gateway, "POST", "/api/keys", Some(json!({"name": name, "scopes": scopes}))).await;
        made["key"].as_str().unwrap().to_owned()
    };
    let own = key("own", json!(["proxy", "read:skills", "approve:skills"])).await;
    let admin = key("admin", json!(["manage"])).await;
    let other = key("other", json!(["read:skills", "approve:skills"])).await;
    let nobody = key("nobody", json!(["proxy", "read:skills"])).await;
    for caller in [&own, &admin] {
        let headers = [("x-omni-use", "file_write"), ("x-omni-key", caller.as_str())];
        let chat = body("openai_chat", false, "please", &[]);
        let seen = send(&gateway.base, "openai_chat", &chat, &headers).await;
        assert_eq!(seen.stop.as_deref(), Some("approval_pending"), "{seen:?}");
        let id = history(&gateway).await[0]["id"].as_str().unwrap().to_owned();
        let approve = format!("/api/skills/executions/{id}/approve");
        let (status, answer) = with_credential(&gateway, caller, "POST", &approve, None).await;
        assert_eq!((status, answer["code"].as_str()), (403, Some("own_call")), "{answer}");
        assert_eq!(with_credential(&gateway, &nobody, "POST", &approve, None).await.0, 403);
        let show = format!("/api/skills/executions/{id}");
        assert_eq!(with_credential(&gateway, &nobody, "GET", &show, None).await.0, 404);
        assert_eq!(with_credential(&gateway, &other, "GET", &show, None).await.0, 200);
        let (status, answer) = with_credential(&gateway, &other, "POST", &approve, None).await;
        assert_eq!(status, 200, "{answer}");
        until_over(&gateway, &id).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn policies_of_a_key_and_of_the_process_count() {
    let upstream = FakeUpstream::start(script()).await;
    let gateway = gateway(&upstream.base_url(), "[approval]\nallow = [\"file_write\"]\n");
    make_hybrid(&gateway).await;
    let seen = say(&gateway, "openai_chat", false).await;
    assert_eq!(seen.stop.as_deref(), Some("completed"), "allowed in this process");
    let asked = json!({"name": "k", "policies": {"file_write": "hybrid"}});
    let (_, made) = manage(&gateway, "POST", "/api/keys", Some(asked)).await;
    let headers = [("x-omni-use", "file_write"), ("x-omni-key", made["key"].as_str().unwrap())];
    let seen = send(&gateway.base, "openai_chat", &body("openai_chat", false, "please", &[]), &headers).await;
    assert_eq!(seen.stop.as_deref(), Some("approval_pending"), "the key's own policy is closer");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_lists_approves_and_denies() {
    let upstream = FakeUpstream::start(Script::choose(|body, index| {
        let asked = body.to_string();
        if index > 0 {
            Round::text("done")
        } else {
            Round::calls([write(if asked.contains("two") { "2" } else { "1" })])
        }
    }))
    .await;
    let gateway = gateway(&upstream.base_url(), "");
    make_hybrid(&gateway).await;
    let cli = async |arguments: &[&str]| {
        let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_omni-skills"));
        command.arg("executions").args(arguments).args(["--url", &gateway.base]);
        let output = command.env("OMNI_SKILLS_MGMT_TOKEN", &gateway.token).output().await.unwrap();
        let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        (output.status.success(), text.concat())
    };
    for text in ["one", "two"] {
        let chat = body("openai_chat", false, text, &[]);
        send(&gateway.base, "openai_chat", &chat, &[("x-omni-use", "file_write")]).await;
    }
    let (ok, listed) = cli(&["list", "--waiting"]).await;
    assert!(ok && listed.lines().count() == 2 && listed.contains("pending (waiting)"), "{listed}");
    let rows = history(&gateway).await;
    let [two, one] = [0, 1].map(|at| rows[at]["id"].as_str().unwrap());
    let (ok, said) = cli(&["approve", one, "--input", r#"{"path":"3","content":"z"}"#]).await;
    assert!(ok && said.contains("(approved)"), "{said}");
    assert_eq!(until_over(&gateway, one).await["input"]["path"], "3");
    let (ok, said) = cli(&["deny", two, "--reason", "no"]).await;
    assert!(ok && said.contains("(denied)") && said.contains("no"), "{said}");
    let (ok, said) = cli(&["approve", two]).await;
    assert!(!ok && said.contains("does not wait") && said.contains("409"), "{said}");
    let (ok, shown) = cli(&["show", two]).await;
    assert!(ok && shown.contains("\"state\": \"denied\""), "{shown}");
    let (_, empty) = cli(&["list", "--waiting"]).await;
    assert_eq!(empty.trim(), "none");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_whose_rights_change_hears_nothing_more_and_nobody_waits_for_it() {
    let upstream = FakeUpstream::start(script()).await;
    let gateway = gateway(&upstream.base_url(), "");
    make_hybrid(&gateway).await;
    for change in ["DELETE", "PUT", "POST"] {
        let scopes = json!({"name": "k", "scopes": ["read:skills", "approve:skills"]});
        let (_, made) = manage(&gateway, "POST", "/api/keys", Some(scopes)).await;
        let (id, secret) = (made["id"].as_str().unwrap(), made["key"].as_str().unwrap());
        let url = format!("{}/api/skills/executions/stream", gateway.base);
        let listening = http().get(url).bearer_auth(secret).send().await.unwrap();
        let (path, body) = match change {
            "PUT" => (format!("/api/keys/{id}"), Some(json!({"scopes": ["read:skills"]}))),
            "POST" => (format!("/api/keys/{id}/rotate"), Some(json!({}))),
            _ => (format!("/api/keys/{id}"), None),
        };
        assert_eq!(manage(&gateway, change, &path, body).await.0, 200, "{change}");
        // The stream ends; without that the test would not.
        let heard = tokio::time::timeout(Duration::from_secs(20), listening.text()).await.unwrap().unwrap();
        assert!(!heard.contains("\"approval_decided\""), "{heard}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_of_a_revoked_key_cannot_be_approved() {
    let upstream = FakeUpstream::start(script()).await;
    let gateway = gateway(&upstream.base_url(), "");
    make_hybrid(&gateway).await;
    let (_, made) = manage(&gateway, "POST", "/api/keys", Some(json!({"name": "k"}))).await;
    let headers = [("x-omni-use", "file_write"), ("x-omni-key", made["key"].as_str().unwrap())];
    send(&gateway.base, "openai_chat", &body("openai_chat", false, "please", &[]), &headers).await;
    let id = history(&gateway).await[0]["id"].as_str().unwrap().to_owned();
    let key = format!("/api/keys/{}", made["id"].as_str().unwrap());
    assert_eq!(manage(&gateway, "DELETE", &key, None).await.0, 200);
    let (status, answer) =
        manage(&gateway, "POST", &format!("/api/skills/executions/{id}/approve"), None).await;
    assert_eq!((status, answer["code"].as_str()), (409, Some("owner_revoked")), "{answer}");
    assert_eq!(manage(&gateway, "POST", &format!("/api/skills/executions/{id}/deny"), None).await.0, 200);
}
