//! Whatever a body or a query holds, it is never a fault of the gateway.

use proptest::prelude::*;
use serde_json::{Map, Value};
use std::sync::OnceLock;

use crate::harness::{Gateway, TOKEN};

struct Shared {
    runtime: tokio::runtime::Runtime,
    gateway: Gateway,
}

fn shared() -> &'static Shared {
    static SHARED: OnceLock<Shared> = OnceLock::new();
    SHARED.get_or_init(|| {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let gateway = runtime.block_on(async {
            let gateway = Gateway::start().await;
            gateway.install("echo", serde_json::json!({})).await.ok();
            gateway
        });
        Shared { runtime, gateway }
    })
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        prop::sample::select(vec![
            "echo",
            "echo@^1",
            "echo-handler",
            "on",
            "auto",
            "1.0.0",
            "string",
            "object",
            "("
        ])
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let name = prop_oneof![
            ".{0,6}".boxed(),
            prop::sample::select(vec![
                "type",
                "properties",
                "required",
                "$ref",
                "input",
                "output",
                "text",
                "items",
                "pattern"
            ])
            .prop_map(str::to_owned)
            .boxed(),
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((name, inner), 0..4)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// A body with mostly known fields, some of them sensible.
fn any_body(sensible: Value) -> impl Strategy<Value = Value> {
    let Value::Object(sensible) = sensible else { panic!("an object") };
    let names: Vec<String> = sensible.keys().cloned().collect();
    let some = prop::collection::vec((prop::sample::select(names), any_json()), 0..3);
    prop_oneof![
        3 => some.prop_map(move |changes| {
            let mut body = sensible.clone();
            body.extend(changes);
            Value::Object(body)
        }),
        1 => any_json(),
    ]
}

fn check(method: &str, path: &str, body: Option<Value>) -> Result<(), TestCaseError> {
    let shared = shared();
    let told = format!("{method} {path} {body:?}");
    let answer = shared.runtime.block_on(shared.gateway.call(TOKEN, method, path, body));
    prop_assert!(answer.status.as_u16() < 500, "{told} -> {answer:?}");
    prop_assert!(serde_json::from_slice::<Value>(&answer.bytes).is_ok(), "{told} -> {answer:?}");
    if answer.status.is_client_error() {
        answer.code();
    }
    Ok(())
}

/// Every byte percent-encoded.
fn percent(text: &str) -> String {
    text.bytes().fold(String::new(), |out, byte| out + &format!("%{byte:02x}"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn installs(body in any_body(serde_json::json!({
        "name": "fuzz", "version": "1.0.0", "description": "d", "schema": {"input": {"text": "string"}},
        "handlerCode": "echo-handler", "apiKeyId": "a", "replace": true, "mode": "on", "policy": "auto", "tags": ["t"],
        "timeoutMs": 5, "maxRetries": 1, "annotations": {"readOnly": true},
    }))) {
        check("POST", "/api/skills/install", Some(body))?;
    }

    #[test]
    fn executions(body in any_body(serde_json::json!({
        "skillName": "echo", "input": {"text": "x"}, "sessionId": "s", "apiKeyId": "a", "timeoutMs": 1000,
    }))) {
        check("POST", "/api/skills/executions", Some(body))?;
    }

    #[test]
    fn edits(body in any_body(serde_json::json!({"enabled": true, "mode": "on", "tags": ["a"], "timeoutMs": null}))) {
        check("PUT", "/api/skills/018f0000-0000-7000-8000-000000000000", Some(body))?;
    }

    #[test]
    fn keys(body in any_body(serde_json::json!({"name": "k", "scopes": ["proxy"]}))) {
        check("POST", "/api/keys", Some(body))?;
    }

    #[test]
    fn queries(query in "[a-z%=&+0-9.]{0,40}", value in "[ -~]{0,12}") {
        let value = percent(&value);
        for path in ["/api/skills", "/api/skills/executions", "/api/keys"] {
            check("GET", &format!("{path}?{query}"), None)?;
            for name in ["q", "owner", "limit", "page", "since", "skill", "session", "sort"] {
                check("GET", &format!("{path}?{name}={value}"), None)?;
            }
        }
    }

    #[test]
    fn ids(id in "[ -~]{1,12}") {
        let id = percent(&id);
        check("GET", &format!("/api/skills/{id}"), None)?;
        check("GET", &format!("/api/skills/executions/{id}"), None)?;
        check("DELETE", &format!("/api/keys/{id}"), None)?;
    }
}
