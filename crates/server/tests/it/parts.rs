//! A skill that returns an image: what the model gets of it in each dialect, at once and in the next turn.

use axum::body::Body;
use axum::http::header;
use serde_json::{Value, json};
use server::UpstreamConfig;
use testkit::fake_upstream::FakeUpstream;
use testkit::script::{Call, Fault, Round, Script};

use crate::harness::{Gateway, Setup, request};

const ALL: [&str; 4] = ["openai_chat", "openai_responses", "anthropic_messages", "gemini"];
const SMALL: &str = "xx";

fn model(dialect: &str) -> &'static str {
    match dialect {
        "anthropic_messages" => "claude-sonnet-5",
        "gemini" => "gemini-3-flash",
        _ => "gpt-5.2",
    }
}

struct World {
    gateway: Gateway,
    fake: FakeUpstream,
    key: String,
}

impl World {
    /// A model that draws first, then says what it is told to.
    async fn new(text: &str, last: Round) -> Self {
        // Fails when another test of this process was first: then it is installed.
        drop(rustls::crypto::ring::default_provider().install_default());
        let script = Script::rounds([Round::calls([Call::new("draw", json!({"text": text}))]), last]);
        let fake = FakeUpstream::start(script).await;
        let upstream = UpstreamConfig::new("a", &ALL, &fake.base_url(), Some("sk".to_owned()));
        let gateway = Gateway::with(Setup { upstreams: vec![upstream], ..Setup::default() }).await;
        let more = json!({"handlerCode": "picture-handler", "mode": "on"});
        gateway.install("draw", more).await.ok();
        let (_, key) = gateway.key("k", &["proxy", "read:skills"]).await;
        Self { gateway, fake, key }
    }

    /// Asks with this history; gives the answer.
    async fn ask(&self, dialect: &str, model: &str, history: Value) -> Value {
        let (path, body) = match dialect {
            "openai_chat" => {
                ("/v1/chat/completions".to_owned(), json!({"model": model, "messages": history}))
            }
            "openai_responses" => {
                ("/v1/responses".to_owned(), json!({"model": model, "store": false, "input": history}))
            }
            "anthropic_messages" => {
                let body = json!({"model": model, "max_tokens": 99, "messages": history});
                ("/v1/messages".to_owned(), body)
            }
            _ => (format!("/v1beta/models/{model}:generateContent"), json!({"contents": history})),
        };
        let asks = request("POST", &path).header(header::CONTENT_TYPE, "application/json");
        let asks = asks.header("anthropic-version", "2023-06-01").header("x-omni-user", "ann");
        let asks = asks.header(header::AUTHORIZATION, format!("Bearer {}", self.key));
        self.gateway.send(asks.body(Body::from(body.to_string())).unwrap()).await.ok()
    }

    /// The bodies that the upstream has seen.
    fn bodies(&self) -> Vec<String> {
        self.fake.requests().iter().map(|request| request.body.to_string()).collect()
    }
}

fn says(dialect: &str, role: &str, text: &str) -> Value {
    match dialect {
        "gemini" => {
            let role = if role == "assistant" { "model" } else { role };
            json!({"role": role, "parts": [{"text": text}]})
        }
        _ => json!({"role": role, "content": text}),
    }
}

fn question(dialect: &str) -> Value {
    json!([says(dialect, "user", "draw something")])
}

/// The image as the dialect writes it.
fn image(dialect: &str, letters: usize) -> String {
    let data = "AAAA".repeat(letters);
    match dialect {
        "openai_responses" => format!("data:image/png;base64,{data}"),
        "anthropic_messages" => format!("\"media_type\":\"image/png\",\"data\":\"{data}\""),
        _ => format!("\"mimeType\":\"image/png\",\"data\":\"{data}\""),
    }
}

#[tokio::test]
async fn an_image_reaches_the_model_where_dialect_and_model_take_it() {
    for dialect in ALL {
        let world = World::new(SMALL, Round::text("done")).await;
        world.ask(dialect, model(dialect), question(dialect)).await;
        assert_eq!(world.fake.refusals(), [""; 0], "{dialect}");
        let bodies = world.bodies();
        assert_eq!(bodies.len(), 2, "{dialect}");
        let second = &bodies[1];
        assert_eq!(second.contains(&image(dialect, 2)), dialect != "openai_chat", "{second}");
        // The one that nobody takes is named, and both can be fetched.
        let (_, rest) =
            second.split_once("{\\\"drawn\\\":true}\\na caption\\n[image image/png, 6 bytes: GET ").unwrap();
        let (path, rest) = rest.split_once("]\\n[image image/tiff, 3 bytes: GET ").unwrap();
        assert!(rest.starts_with(path) && !second.contains("\"image/tiff"), "{second}");
        let row = world.gateway.call(&world.key, "GET", path, None).await.ok();
        assert_eq!(row["execution"]["parts"][1]["data"], "AAAA".repeat(2));
        let rows = world.gateway.call(&world.key, "GET", "/api/skills/executions", None).await.ok();
        assert_eq!((&rows["total"], rows["data"][0].get("parts")), (&json!(1), None));
    }
}

#[tokio::test]
async fn a_model_that_does_not_see_gets_the_text_alone() {
    for (dialect, model) in
        [("openai_responses", "gpt-4"), ("anthropic_messages", "other"), ("gemini", "gemini-2.5-pro")]
    {
        let world = World::new(SMALL, Round::text("done")).await;
        world.ask(dialect, model, question(dialect)).await;
        assert_eq!(world.fake.refusals(), [""; 0], "{dialect}");
        let second = &world.bodies()[1];
        assert!(second.contains("[image image/png, 6 bytes") && !second.contains("AAAA"), "{second}");
    }
}

#[tokio::test]
async fn an_upstream_that_refuses_the_image_is_asked_without() {
    for dialect in ["openai_responses", "anthropic_messages", "gemini"] {
        let world = World::new(SMALL, Round::text("done").first([Fault::status(400)])).await;
        world.ask(dialect, model(dialect), question(dialect)).await;
        let bodies = world.bodies();
        let with: Vec<bool> = bodies.iter().map(|body| body.contains(&image(dialect, 2))).collect();
        assert_eq!(with, [false, true, false], "{dialect}");
        assert!(bodies[2].contains("[image image/png, 6 bytes"), "{dialect}");
        // What comes back later is what the upstream has taken.
        let history = json!([
            says(dialect, "user", "draw something"),
            says(dialect, "assistant", "done"),
            says(dialect, "user", "go on"),
        ]);
        world.fake.set_script(Script::rounds([Round::text("well")]));
        world.ask(dialect, model(dialect), history).await;
        let body = &world.bodies()[0];
        assert!(body.contains("[image image/png, 6 bytes") && !body.contains("AAAA"), "{body}");
    }
}

#[tokio::test]
async fn the_next_turn_still_sees_a_small_image_and_knows_of_a_large_one() {
    for dialect in ["openai_responses", "anthropic_messages", "gemini"] {
        let blind = match dialect {
            "openai_responses" => "gpt-4",
            "anthropic_messages" => "other",
            _ => "gemini-2.5-pro",
        };
        let large = 300 * 1024;
        for (letters, model, sees) in
            [(2, model(dialect), true), (2, blind, false), (large, model(dialect), false)]
        {
            let world = World::new(&"x".repeat(letters), Round::text("done")).await;
            world.ask(dialect, self::model(dialect), question(dialect)).await;
            assert!(world.bodies()[1].contains(&image(dialect, letters)), "{dialect}");
            world.fake.set_script(Script::rounds([Round::text("well")]));
            let history = json!([
                says(dialect, "user", "draw something"),
                says(dialect, "assistant", "done"),
                says(dialect, "user", "go on"),
            ]);
            world.ask(dialect, model, history).await;
            assert_eq!(world.fake.refusals(), [""; 0], "{dialect} {model}");
            let body = &world.bodies()[0];
            assert!(body.contains("[image image/png, "), "{dialect}");
            assert_eq!(body.contains(&image(dialect, letters)), sees, "{dialect} {model} {letters}");
        }
    }
}
