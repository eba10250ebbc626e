//! Faults that other gateways shipped, each as a test of its whole kind: dialect x stream x every form of the input.

use std::collections::BTreeSet;

use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use testkit::fake_upstream::FakeUpstream;
use testkit::gateway::Gateway;
use testkit::script::{Call, Fault, Round, Script};

use crate::client::{DIALECTS, ask, body, bytes, gateway, history, http, send};
use crate::ten_turns::{Talk, in_order, list, user, values};

fn run(code: &str) -> Call {
    Call::new("eval_code", json!({"language": "javascript", "code": code}))
}

fn cells() -> impl Iterator<Item = (&'static str, bool, String)> {
    let streams =
        |dialect| [false, true].map(|stream| (dialect, stream, format!("{dialect} stream={stream}")));
    DIALECTS.into_iter().flat_map(streams)
}

/// Installs a skill that takes nothing and answers with its input.
async fn install_echo(gateway: &Gateway, name: &str) {
    let skill =
        json!({"name": name, "description": "d", "schema": {"input": {}}, "handlerCode": "echo-handler"});
    let request = http().post(format!("{}/api/skills/install", gateway.base)).bearer_auth(&gateway.token);
    let request = request.header("content-type", "application/json").body(skill.to_string());
    assert_eq!(request.send().await.unwrap().status(), 200);
}

async fn switch_all_off(gateway: &Gateway) {
    let url = format!("{}/api/skills", gateway.base);
    let listed = http().get(&url).bearer_auth(&gateway.token).send().await.unwrap();
    let listed: Value = serde_json::from_slice(&listed.bytes().await.unwrap()).unwrap();
    for skill in listed["data"].as_array().unwrap() {
        let request =
            http().put(format!("{url}/{}", skill["id"].as_str().unwrap())).bearer_auth(&gateway.token);
        let request = request.header("content-type", "application/json").body(r#"{"mode":"off"}"#);
        assert_eq!(request.send().await.unwrap().status(), 200);
    }
}

/// Where a request says which tools may be called.
fn choice(dialect: &str) -> (&'static str, Value) {
    match dialect {
        "anthropic_messages" => ("tool_choice", json!({"type": "auto"})),
        "gemini" => ("toolConfig", json!({"functionCallingConfig": {"mode": "AUTO"}})),
        _ => ("tool_choice", json!("auto")),
    }
}

/// Some providers refuse an empty list of tools, and a choice between none.
#[tokio::test(flavor = "multi_thread")]
async fn no_empty_list_of_tools_goes_up() {
    for (dialect, stream, cell) in cells() {
        let upstream = FakeUpstream::start(Script::rounds([Round::text("done")])).await;
        let gateway = gateway(&upstream.base_url(), "");
        switch_all_off(&gateway).await;
        // Nothing fits: the client's own bytes. An entry that names no skill takes the choice with it.
        for entries in [json!(null), json!([{"type": "omni:no-such-skill"}])] {
            let mut body = body(dialect, stream, "hm", &[]);
            if !entries.is_null() {
                let (name, value) = choice(dialect);
                body["tools"] = entries;
                body[name] = value;
                if dialect.starts_with("openai") {
                    body["parallel_tool_calls"] = json!(true);
                }
            }
            let seen = send(&gateway.base, dialect, &body, &[]).await;
            assert_eq!((seen.text.as_str(), upstream.refusals()), ("done", vec![]), "{cell}: {seen:?}");
            let sent = upstream.requests().last().unwrap().body.clone();
            for name in ["tools", "tool_choice", "toolConfig", "parallel_tool_calls"] {
                assert!(sent.get(name).is_none(), "{cell}: {name} in {sent}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn off_is_byte_equal_and_runs_nothing_and_nonsense_is_refused() {
    for (dialect, stream, cell) in cells() {
        let call = Call::new("eval_code__1_0_0", json!({"language": "javascript", "code": "1"})).exactly();
        let upstream = FakeUpstream::start(Script::rounds([Round::calls([call])])).await;
        let gateway = gateway(&upstream.base_url(), "");
        let plain = bytes(dialect, &body(dialect, stream, "请 \u{1F642}", &["eval_code__1_0_0"]));
        let members = if dialect == "gemini" { "" } else { "\"x_unknown\" : 1.0e0 ," };
        let odd = format!(" {{\n\t{members} {} \n", plain.strip_prefix('{').unwrap());
        let request = ask(&gateway.base, dialect, &body(dialect, stream, "", &[])).body(odd.clone());
        let request = request.header("x-omni-skills", "off").header("x-omni-use", "eval_code");
        let answer = request.send().await.unwrap();
        assert!(answer.headers().keys().all(|name| name != "x-omni-injected"), "{cell}");
        assert!(answer.text().await.unwrap().contains("eval_code__1_0_0"), "{cell}: the client's matter");
        assert_eq!(upstream.requests().len(), 1, "{cell}");
        assert_eq!(upstream.requests()[0].raw, odd, "{cell}");
        assert!(history(&gateway).await.is_empty(), "{cell}");
        let seen =
            send(&gateway.base, dialect, &body(dialect, stream, "x", &[]), &[("x-omni-skills", "perhaps")])
                .await;
        assert_eq!(seen.status, 400, "{cell}: {seen:?}");
        assert!(seen.raw.contains("x-omni-skills"), "{cell}: {}", seen.raw);
        assert_eq!(upstream.requests().len(), 1, "{cell}: nothing was asked");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_answers_at_concurrency_fifteen_are_usable() {
    let upstream = FakeUpstream::start(Script::s2("noop", json!({}))).await;
    let gateway = gateway(&upstream.base_url(), "");
    install_echo(&gateway, "noop").await;
    let cells: Vec<_> = cells().collect();
    let asked = (0..200).map(|number| {
        let (dialect, stream, cell) = &cells[number % cells.len()];
        let body = body(dialect, *stream, &format!("chat {number}"), &[]);
        let base = &gateway.base;
        async move { (cell, send(base, dialect, &body, &[("x-omni-use", "noop")]).await) }
    });
    let answers: Vec<_> = stream::iter(asked).buffer_unordered(15).collect().await;
    for (cell, seen) in &answers {
        let usable = (seen.status, seen.text.as_str(), seen.calls.len(), seen.stop.as_deref());
        assert_eq!(usable, (200, "done", 0, Some("completed")), "{cell}: {seen:?}");
        assert!(!seen.raw.contains("tool_results"), "{cell}: {}", seen.raw);
    }
    assert_eq!((answers.len(), upstream.requests().len()), (200, 400));
    assert_eq!(upstream.refusals(), Vec::<String>::new());
    let rows = history(&gateway).await;
    assert_eq!(rows.iter().filter(|row| row["status"] == "success").count(), 200);
}

/// Cut off, no object, encoded twice, two at once.
const MALFORMED: [&str; 4] =
    ["{\"path\":\"a", "[1]", "\"{\\\"path\\\":\\\"a\\\"}\"", "{\"path\":\"a\"}{\"path\":\"b\"}"];

#[tokio::test(flavor = "multi_thread")]
async fn malformed_arguments_are_never_run_as_an_empty_object() {
    for (dialect, stream, cell) in cells() {
        let upstream = FakeUpstream::start(Script::default()).await;
        let gateway = gateway(&upstream.base_url(), "");
        install_echo(&gateway, "noop").await;
        // Members of a whole body are JSON, and only what is written as text can be malformed there.
        let is_text = dialect != "anthropic_messages" || stream;
        let is_json = |text: &&str| serde_json::from_str::<Value>(text).is_ok();
        for (done, arguments) in MALFORMED.into_iter().filter(|text| is_text || is_json(text)).enumerate() {
            let again = Round::calls([Call::new("noop", json!({"path": "a"}))]);
            let rounds = [Round::calls([Call::raw("noop", arguments)]), again, Round::text("done")];
            upstream.set_script(Script::rounds(rounds));
            let body = body(dialect, stream, "please", &[]);
            let seen = send(&gateway.base, dialect, &body, &[("x-omni-use", "noop")]).await;
            assert_eq!((seen.text.as_str(), upstream.refusals()), ("done", vec![]), "{cell} {arguments}");
            let rows = history(&gateway).await;
            assert_eq!(rows.len(), 2 * (done + 1), "{cell} {arguments}");
            assert_eq!(
                (&rows[0]["status"], &rows[1]["status"]),
                (&json!("success"), &json!("error")),
                "{cell}"
            );
            assert_eq!(rows[1]["attempts"], 0, "{cell} {arguments}: the handler was not called");
            let kept = rows[1]["input"].to_string();
            assert!(kept.contains("path") || kept.contains('1'), "{cell} {arguments}: as sent in {kept}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_arguments_are_an_empty_object_then_and_in_every_later_turn() {
    for (dialect, stream, cell) in cells() {
        let upstream = FakeUpstream::start(Script::default()).await;
        let gateway = gateway(&upstream.base_url(), "");
        install_echo(&gateway, "noop").await;
        let mut talk = Talk::new(dialect, stream, &[]);
        talk.headers = vec![("x-omni-use", "noop")];
        // Gemini's arguments are members of the body, never text.
        let forms = if dialect == "gemini" { &["null", "{}"][..] } else { &["", "   ", "null", "{}"] };
        for arguments in forms {
            let rounds = [Round::calls([Call::raw("noop", arguments)]), Round::text("done")];
            upstream.set_script(Script::rounds(rounds));
            let (seen, _) = talk.ask(&gateway, "please").await;
            assert_eq!((seen.text.as_str(), upstream.refusals()), ("done", vec![]), "{cell} {arguments:?}");
            let row = history(&gateway).await.swap_remove(0);
            assert_eq!(
                (&row["status"], &row["input"]),
                (&json!("success"), &json!({})),
                "{cell} {arguments:?}"
            );
        }
        upstream.set_script(Script::rounds([Round::text("bye")]));
        let (seen, _) = talk.ask(&gateway, "and now?").await;
        assert_eq!(
            (seen.text.as_str(), upstream.refusals()),
            ("bye", vec![]),
            "{cell}: the history is legal"
        );
    }
}

/// Input and output tokens, as last reported.
fn usage(raw: &str) -> (u64, u64) {
    let mut seen = (0, 0);
    for value in values(raw) {
        for place in ["/usage", "/response/usage", "/message/usage", "/usageMetadata"] {
            let Some(usage) = value.pointer(place) else { continue };
            let read = |names: [&str; 3], before: u64| {
                names.iter().find_map(|name| usage[*name].as_u64()).unwrap_or(before)
            };
            seen.0 = read(["prompt_tokens", "input_tokens", "promptTokenCount"], seen.0);
            seen.1 = read(["completion_tokens", "output_tokens", "candidatesTokenCount"], seen.1);
        }
    }
    seen
}

#[tokio::test(flavor = "multi_thread")]
async fn usage_is_the_sum_of_the_rounds() {
    for (dialect, stream, cell) in cells() {
        let rounds =
            [Round::calls([run("console.log(1)")]).usage(100, 10), Round::text("done").usage(150, 20)];
        let upstream = FakeUpstream::start(Script::rounds(rounds)).await;
        let gateway = gateway(&upstream.base_url(), "");
        let seen = send(&gateway.base, dialect, &body(dialect, stream, "please", &[]), &[]).await;
        assert_eq!(usage(&seen.raw), (250, 30), "{cell}: {}", seen.raw);

        // A turn that fails has room for what it used in one form of answer.
        if dialect == "openai_responses" && stream {
            let first = Round::calls([run("console.log(1)")]).usage(100, 10);
            upstream.set_script(Script::rounds([first, Round::fails(Fault::status(400))]));
            let seen = send(&gateway.base, dialect, &body(dialect, stream, "please", &[]), &[]).await;
            assert!(seen.raw.contains("response.failed"), "{cell}: {}", seen.raw);
            assert_eq!(usage(&seen.raw), (100, 10), "{cell}: {}", seen.raw);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn six_parallel_calls_keep_their_order_and_one_failure_ends_no_other() {
    for (dialect, stream, cell) in cells() {
        let code = |number: usize| match number {
            // The first ends last.
            0 => "const end = Date.now() + 400; while (Date.now() < end); console.log('R-'+0)".to_owned(),
            3 => "throw new Error('R-'+3)".to_owned(),
            _ => format!("console.log('R-'+{number})"),
        };
        let calls = Round::calls((0..6).map(|number| run(&code(number))));
        let upstream = FakeUpstream::start(Script::rounds([calls, Round::text("done")])).await;
        let gateway = gateway(&upstream.base_url(), "");
        let seen = send(&gateway.base, dialect, &body(dialect, stream, "please", &[]), &[]).await;
        assert_eq!((seen.text.as_str(), upstream.refusals()), ("done", vec![]), "{cell}: {seen:?}");
        let sent = upstream.requests()[1].body.to_string();
        in_order(&sent, &["\\\"R-0", "\\\"R-1", "\\\"R-2", "Error: R-3", "\\\"R-4", "\\\"R-5"]);
        let rows = history(&gateway).await;
        let failed: Vec<_> = rows.iter().filter(|row| row["status"] != "success").collect();
        assert_eq!((rows.len(), failed.len()), (6, 1), "{cell}: {rows:?}");
    }
}

/// A call of this name and its result, as an earlier release left them in a client's history.
fn past_pair(dialect: &str, name: &str) -> Vec<Value> {
    let input = json!({"path": "a.txt"});
    match dialect {
        "openai_chat" => vec![
            json!({"role": "assistant", "content": null, "tool_calls": [
                {"id": "call_old1", "type": "function", "function": {"name": name, "arguments": input.to_string()}}]}),
            json!({"role": "tool", "tool_call_id": "call_old1", "content": "long ago"}),
        ],
        "openai_responses" => vec![
            json!({"type": "function_call", "call_id": "call_old1", "name": name, "arguments": input.to_string()}),
            json!({"type": "function_call_output", "call_id": "call_old1", "output": "long ago"}),
        ],
        "gemini" => vec![
            json!({"role": "model", "parts": [{"functionCall": {"name": name, "args": input}}]}),
            json!({"role": "user", "parts": [
                {"functionResponse": {"name": name, "response": {"output": "long ago"}}}]}),
        ],
        _ => vec![
            json!({"role": "assistant", "content": [
                {"type": "tool_use", "id": "toolu_old1", "name": name, "input": input}]}),
            json!({"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "toolu_old1", "content": "long ago"}]}),
        ],
    }
}

/// Names of every scheme so far, of a skill that is there and of one that never was.
const OLD_NAMES: [&str; 5] = [
    "omr_skill_ZmlsZV9yZWFkQDEuMC4w",
    "file_read__1_0_0",
    "file_read__0_9_0",
    "never_was__2_0_0",
    "x--legacy",
];

#[tokio::test(flavor = "multi_thread")]
async fn old_wire_names_in_a_history_run_nothing_and_fail_nothing() {
    for (dialect, stream, cell) in cells() {
        let upstream = FakeUpstream::start(Script::rounds([Round::text("done")])).await;
        let gateway = gateway(&upstream.base_url(), "");
        for name in OLD_NAMES {
            let mut talk = Talk::new(dialect, stream, &[]);
            talk.extend(vec![user(dialect, "earlier")]);
            let pair = past_pair(dialect, name);
            talk.extend(pair.clone());
            let (seen, _) = talk.ask(&gateway, "and now?").await;
            assert_eq!((seen.text.as_str(), upstream.refusals()), ("done", vec![]), "{cell} {name}");
            let sent = upstream.requests().last().unwrap().body[list(dialect)].clone();
            let kept: Vec<_> = sent.as_array().unwrap()[1..3].to_vec();
            assert_eq!(kept, pair, "{cell} {name}: as it was");
        }
        assert!(history(&gateway).await.is_empty(), "{cell}");
    }
}

/// Providers that take only ids of nine letters or digits get their own ids back.
#[tokio::test(flavor = "multi_thread")]
async fn ids_of_calls_are_the_upstreams_own_through_every_kind_of_turn() {
    for stream in [false, true] {
        let bash = Call::new("Bash", json!({})).exactly();
        let hidden = Round::calls([run("console.log(1)"), run("throw 1")]);
        let mixed = Round::calls([run("console.log(2)"), bash]);
        let script = Script::rounds([hidden, mixed, Round::text("done")]).with_mistral_ids();
        let upstream = FakeUpstream::start(script).await;
        let gateway = gateway(&upstream.base_url(), "[selection]\nwith_client_tools = \"all\"\n");
        let mut talk = Talk::new("openai_chat", stream, &["Bash"]);
        for _ in 0..2 {
            let (_, shown) = talk.ask(&gateway, "please").await;
            let seen = talk.answer(&gateway, &shown, "theirs").await;
            assert_eq!((seen.text.as_str(), upstream.refusals()), ("done", vec![]), "stream={stream}");
        }
        let sent = upstream.requests().last().unwrap().body["messages"].clone();
        let calls = sent.as_array().unwrap().iter().filter_map(|message| message["tool_calls"].as_array());
        let ids: Vec<_> = calls.flatten().map(|call| call["id"].as_str().unwrap()).collect();
        assert_eq!(ids.len(), 8, "{sent}");
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), 8, "{sent}");
        assert!(
            ids.iter().all(|id| id.len() == 9 && id.bytes().all(|b| b.is_ascii_alphanumeric())),
            "{ids:?}"
        );
    }
}

/// An upstream's refusal keeps its body in round 1 and its words in round 2, and is never text of the model.
#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_arrives_in_either_round_and_never_as_prose() {
    for (dialect, stream, cell) in cells() {
        let refusal = || Round::http_error(400, json!({"error": {"message": "no such thing", "type": "x"}}));
        let upstream = FakeUpstream::start(Script::rounds([refusal()])).await;
        let gateway = gateway(&upstream.base_url(), "");
        let answer = ask(&gateway.base, dialect, &body(dialect, stream, "please", &[])).send().await.unwrap();
        let header = |name: &str| answer.headers().get(name).map(|v| v.to_str().unwrap().to_owned());
        assert_eq!(
            (answer.status().as_u16(), header("content-type").as_deref()),
            (400, Some("application/json"))
        );
        let length = header("content-length").map(|length| length.parse::<usize>().unwrap());
        let raw = answer.text().await.unwrap();
        assert!(length.is_none_or(|length| length == raw.len()), "{cell}");
        assert_eq!(raw, r#"{"error":{"message":"no such thing","type":"x"}}"#, "{cell}");

        let dropped = || Round::fails(Fault::Drop);
        let error = |message: &str| {
            Round::text("").then(Fault::ErrorEvent { after_events: 0, message: message.to_owned() })
        };
        for (failing, words) in
            [(refusal(), "no such thing"), (dropped(), ""), (error("overloaded"), "overloaded")]
        {
            let first = Round::calls([run("console.log(1)")]).saying("Let me see.");
            upstream.set_script(Script::rounds([first, failing]));
            let seen = send(&gateway.base, dialect, &body(dialect, stream, "please", &[]), &[]).await;
            let said = if stream { "Let me see." } else { "" };
            assert_eq!(seen.text, said, "{cell} {words}: {seen:?}");
            assert!(
                seen.error.as_ref().is_some_and(|error| error.contains(words)),
                "{cell} {words}: {seen:?}"
            );
            assert_eq!(seen.finish, None, "{cell} {words}: {seen:?}");
            assert!(stream || seen.status >= 400, "{cell} {words}: {seen:?}");
        }
    }
}
