//! What an upstream's entry in the configuration does, and how its refusals reach the client.

use serde_json::{Value, json};
use testkit::fake_upstream::FakeUpstream;
use testkit::gateway::Gateway;
use testkit::script::{Fault, Round, Script};
use testkit::sse_lint;

use crate::client::{self, DIALECTS, body, bytes, gateway};

/// A chat that `eval_code` is offered in.
async fn ask(gateway: &Gateway, dialect: &str, stream: bool, tools: &[&str]) -> reqwest::Response {
    let request = client::ask(&gateway.base, dialect, &body(dialect, stream, "please", tools));
    request.header("x-omni-use", "eval_code").send().await.unwrap()
}

fn header<'r>(response: &'r reqwest::Response, name: &str) -> &'r str {
    response.headers().get(name).map_or("", |v| v.to_str().unwrap())
}

/// A model that takes no tools.
fn without_tools() -> Script {
    Script::choose(|body, _| {
        if body.get("tools").is_some() {
            return Round::http_error(400, json!({"error": {"message": "tools are not supported"}}));
        }
        Round::text("plain words")
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_refuses_tools_is_asked_without_and_remembered() {
    for dialect in DIALECTS {
        for stream in [false, true] {
            let upstream = FakeUpstream::start(without_tools()).await;
            let gateway = gateway(&upstream.base_url(), "");
            for (question, statuses) in [(1, vec![400, 200]), (2, vec![400, 200, 200])] {
                let response = ask(&gateway, dialect, stream, &[]).await;
                let cell = format!("{dialect} stream={stream} question {question}");
                assert_eq!(response.status(), 200, "{cell}");
                let skipped = header(&response, "x-omni-skipped").to_owned();
                assert!(skipped.contains("eval_code (upstream_refused_tools)"), "{cell}: {skipped}");
                assert_eq!(header(&response, "x-omni-injected"), "", "{cell}");
                let answer = response.text().await.unwrap();
                let whole = answer.contains("plain words");
                assert!(
                    whole || sse_lint::lint(dialect, answer.as_bytes()).unwrap().text == "plain words",
                    "{cell}"
                );
                let asked = upstream.requests();
                assert_eq!(asked.iter().map(|r| r.status).collect::<Vec<_>>(), statuses, "{cell}");
                let sent = bytes(dialect, &body(dialect, stream, "please", &[]));
                assert_eq!(asked.last().unwrap().raw, sent, "{cell}: the client's own bytes");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_for_another_reason_is_passed_on_and_not_remembered() {
    let refuse = || {
        let headers = [("retry-after", "7"), ("x-request-id", "req_1"), ("request-id", "req_1")];
        let headers = headers.map(|(n, v)| (n.to_owned(), v.to_owned())).into();
        Round::fails(Fault::Http {
            status: 400,
            headers,
            body: Some(json!({"error": {"message": "no\u{fc}"}})),
        })
    };
    for dialect in DIALECTS {
        let upstream = FakeUpstream::start(Script::rounds([refuse()])).await;
        let gateway = gateway(&upstream.base_url(), "");
        let response = ask(&gateway, dialect, true, &[]).await;
        assert_eq!(response.status(), 400);
        for (name, value) in [
            ("content-type", "application/json"),
            ("retry-after", "7"),
            ("x-request-id", "req_1"),
            ("request-id", "req_1"),
        ] {
            assert_eq!(header(&response, name), value, "{dialect}");
        }
        assert_eq!(response.text().await.unwrap(), json!({"error": {"message": "no\u{fc}"}}).to_string());
        assert_eq!(upstream.requests().len(), 2);
        upstream.set_script(Script::rounds([Round::text("hello")]));
        let again = ask(&gateway, dialect, false, &[]).await;
        assert!(header(&again, "x-omni-injected").contains("eval_code"), "{:?}", again.headers());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn other_refusals_and_those_of_a_client_with_tools_are_never_retried() {
    for dialect in DIALECTS {
        for (status, tools) in [(400, &["Bash"][..]), (401, &[]), (422, &[]), (429, &[]), (503, &[])] {
            let upstream =
                FakeUpstream::start(Script::rounds([Round::http_error(status, json!("no"))])).await;
            let gateway = gateway(&upstream.base_url(), "");
            let response = ask(&gateway, dialect, false, tools).await;
            assert_eq!(
                (response.status().as_u16(), header(&response, "content-type")),
                (status, "text/plain; charset=utf-8")
            );
            assert_eq!(response.text().await.unwrap(), "no");
            assert_eq!(upstream.requests().len(), 1, "{dialect} {status}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_tools_and_headers_of_the_entry_are_obeyed() {
    let upstream = FakeUpstream::start(Script::rounds([Round::text("hello")])).await;
    let dialects: Value = DIALECTS.into();
    let entry = format!(
        "[[upstreams]]\nname = 'a'\ndialect = {dialects}\nbase_url = '{}/v1/'\npassthrough = false\n\
         no_tools = ['m', 'old-*']\nheaders = {{ 'X-Organisation' = 'org', 'user-agent' = 'ours' }}\n",
        upstream.base_url()
    );
    let gateway = Gateway::start(std::path::Path::new(env!("CARGO_BIN_EXE_omni-skills")), &entry);
    for dialect in DIALECTS {
        let response = ask(&gateway, dialect, false, &[]).await;
        assert_eq!(response.status(), 200);
        assert!(header(&response, "x-omni-skipped").contains("eval_code (no_tools)"));
        let asked = upstream.requests().pop().unwrap();
        assert_eq!(asked.raw, bytes(dialect, &body(dialect, false, "please", &[])));
        assert_eq!(
            (&asked.headers["x-organisation"], &asked.headers["user-agent"]),
            (&"org".parse().unwrap(), &"ours".parse().unwrap())
        );
    }
}
