//! Skills with odd schemas: what is wrong with one skill never fails a chat, and what reaches the upstream is legal.

use serde_json::{Value, json};
use testkit::fake_upstream::FakeUpstream;
use testkit::script::{Round, Script};

use crate::client::{DIALECTS, body, gateway, http, send};

async fn install(base: &str, token: &str, name: &str) {
    let skill =
        json!({"name": name, "description": "d", "schema": {"input": {}}, "handlerCode": "echo-handler"});
    let request = http().post(format!("{base}/api/skills/install")).bearer_auth(token);
    let response =
        request.header("content-type", "application/json").body(skill.to_string()).send().await.unwrap();
    assert_eq!(response.status(), 200, "{}", response.text().await.unwrap());
}

/// Rows of an older release or of somebody with a database shell: the API would have refused most of them.
#[tokio::test(flavor = "multi_thread")]
async fn no_schema_in_the_database_poisons_a_request() {
    let schemas = [
        json!({}),
        Value::Null,
        json!([]),
        json!("string"),
        json!({"input": {"type": "string"}}),
        json!({"input": {"text": {"type": "string"}}}),
        json!({"input": {"text": "string"}}),
        json!({"input": {"properties": {"a": "b"}}}),
        json!({"input": {"type": "object", "properties": {"k": {"type": "array"}}}}),
    ];
    let upstream = FakeUpstream::start(Script::rounds([Round::text("done")])).await;
    let mut gateway = gateway(&upstream.base_url(), "");
    for index in 0..schemas.len() {
        install(&gateway.base, &gateway.token, &format!("odd-{index}")).await;
    }
    let database = rusqlite::Connection::open(gateway.data_dir().join("omni-skills.db")).unwrap();
    for (index, schema) in schemas.iter().enumerate() {
        let name = format!("odd-{index}");
        let changed =
            database.execute("UPDATE skills SET schema = ?1 WHERE name = ?2", (schema.to_string(), name));
        assert_eq!(changed.unwrap(), 1);
    }
    gateway.kill_and_restart();
    for dialect in DIALECTS {
        let seen = send(&gateway.base, dialect, &body(dialect, false, "please", &[]), &[]).await;
        assert_eq!((seen.status, seen.text.as_str()), (200, "done"), "{dialect}: {seen:?}");
        assert_eq!(upstream.refusals(), Vec::<String>::new(), "{dialect}");
    }
}

/// Names that are legal for a skill and illegal, too long or alike on the wire.
#[tokio::test(flavor = "multi_thread")]
async fn every_name_reaches_the_upstream_in_a_legal_and_distinct_shape() {
    let long = "a".repeat(64);
    let alike = format!("{}b", "a".repeat(63));
    let names =
        [long.as_str(), &alike, "git commit", "git.commit", "git/commit", "9lives", "naïve", "日本語", "x"];
    let upstream = FakeUpstream::start(Script::rounds([Round::text("done")])).await;
    let gateway = gateway(&upstream.base_url(), "");
    for name in names {
        install(&gateway.base, &gateway.token, name).await;
    }
    for dialect in DIALECTS {
        let seen = send(&gateway.base, dialect, &body(dialect, false, "please", &[]), &[]).await;
        assert_eq!(seen.status, 200, "{dialect}: {seen:?}");
    }
    assert_eq!(upstream.refusals(), Vec::<String>::new());
    let requests = upstream.requests();
    let list =
        |tools: &Value| tools[0].get("functionDeclarations").unwrap_or(tools).as_array().unwrap().len();
    let offered: Vec<_> = requests.iter().map(|r| list(&r.body["tools"])).collect();
    assert_eq!(offered, [names.len() + 1; DIALECTS.len()], "eval_code and each of them, in every dialect");
}
