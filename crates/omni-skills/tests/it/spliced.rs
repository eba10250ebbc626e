//! Answers that show calls and results because the client asked for it, and what becomes of them in a history.

use serde_json::{Value, json};
use testkit::fake_upstream::FakeUpstream;
use testkit::gateway::Gateway;
use testkit::script::{Call, Round, Script};

use crate::client::{self, DIALECTS, body, gateway, history};

const CHAT: &str = "openai_chat";
const RESPONSES: &str = "openai_responses";
const GEMINI: &str = "gemini";

fn run(code: &str) -> Call {
    Call::new("eval_code", json!({"language": "javascript", "code": code}))
}

/// A round that thinks where that leaves something that has to come back.
fn thinks(dialect: &str, round: Round, sign: &str) -> Round {
    match dialect {
        RESPONSES => round.reasoning("Hm."),
        GEMINI => round.thinking("Hm.", sign),
        _ => round,
    }
}

async fn send(base: &str, dialect: &str, body: &Value, headers: &[(&str, &str)]) -> (u16, Value) {
    let mut request = client::ask(base, dialect, body);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    (status, serde_json::from_slice(&response.bytes().await.unwrap()).unwrap())
}

async fn ask(gateway: &Gateway, dialect: &str, body: &Value, headers: &[(&str, &str)]) -> (u16, Value) {
    let headers = [&[("x-omni-use", "eval_code")], headers].concat();
    send(&gateway.base, dialect, body, &headers).await
}

/// The member that holds the conversation.
fn list(dialect: &str) -> &'static str {
    match dialect {
        RESPONSES => "input",
        GEMINI => "contents",
        _ => "messages",
    }
}

fn user(dialect: &str, text: &str) -> Value {
    match dialect {
        GEMINI => json!({"role": "user", "parts": [{"text": text}]}),
        _ => json!({"role": "user", "content": text}),
    }
}

/// What the client puts into its history.
fn shown(dialect: &str, answer: &Value) -> Vec<Value> {
    match dialect {
        CHAT => vec![answer["choices"][0]["message"].clone()],
        RESPONSES => answer["output"].as_array().unwrap().clone(),
        GEMINI => vec![answer["candidates"][0]["content"].clone()],
        _ => vec![json!({"role": "assistant", "content": answer["content"]})],
    }
}

/// Kinds of the items, parts or blocks of an answer.
fn kinds(dialect: &str, answer: &Value) -> String {
    let shown = shown(dialect, answer);
    let kind = |one: &Value| match dialect {
        GEMINI => one.as_object().unwrap().keys().find(|key| !key.starts_with("thought")).unwrap().clone(),
        _ => one["type"].as_str().unwrap().to_owned(),
    };
    let all: Vec<String> = match dialect {
        RESPONSES => shown.iter().map(kind).collect(),
        GEMINI => shown[0]["parts"].as_array().unwrap().iter().map(kind).collect(),
        _ => shown[0]["content"].as_array().unwrap().iter().map(kind).collect(),
    };
    all.join(" ")
}

/// A conversation of one question.
fn question(dialect: &str, tools: &[&str]) -> Value {
    let mut first = body(dialect, false, "please", tools);
    first[list(dialect)] = json!([user(dialect, "please")]);
    first
}

/// The conversation after `answer` and more of the client's.
fn goes_on(dialect: &str, first: &Value, answer: &Value, more: &[Value]) -> Value {
    let mut next = first.clone();
    let messages = next[list(dialect)].as_array_mut().unwrap();
    messages.extend(shown(dialect, answer));
    messages.extend_from_slice(more);
    next
}

fn sent(upstream: &FakeUpstream, dialect: &str) -> String {
    upstream.requests().pop().unwrap().body[list(dialect)].to_string()
}

/// How often a result of ours stands in what was sent.
fn outputs(sent: &str, word: &str) -> usize {
    sent.matches(&format!("\\\"stdout\\\":\\\"{word}")).count()
}

/// A turn of three rounds and how its answer looks.
async fn three_rounds(dialect: &str, upstream: &FakeUpstream, gateway: &Gateway, first: &Value) -> Value {
    let failing = Round::calls([run("console.log('A')"), run("throw new Error('B')")]).saying("first");
    let second = Round::calls([run("console.log('C')")]).saying("second");
    let rounds = [
        thinks(dialect, failing, "c2ln"),
        thinks(dialect, second, "c2lo"),
        thinks(dialect, Round::text("done"), "c2lp"),
    ];
    upstream.set_script(Script::rounds(rounds));
    let (status, answer) = ask(gateway, dialect, first, &[("x-omni-transcript", "spliced")]).await;
    assert_eq!(status, 200, "{answer}");
    for result in ["A", "Error: B", "C"] {
        assert!(answer.to_string().contains(result), "{dialect}: no {result} in {answer}");
    }
    let wanted = match dialect {
        CHAT => {
            let message = &answer["choices"][0]["message"];
            let results = message["tool_results"].as_array().unwrap();
            assert_eq!(results.len(), 3);
            assert_eq!(results[0].as_object().unwrap().keys().collect::<Vec<_>>().len(), 3);
            assert_eq!(results[0]["name"], "eval_code__1_0_0");
            assert!(message.get("tool_calls").is_none() && answer["choices"][0]["finish_reason"] == "stop");
            return answer;
        }
        RESPONSES => {
            let items = answer["output"].as_array().unwrap();
            assert_eq!(items[4]["call_id"], items[2]["call_id"]);
            assert_eq!(answer["status"], "completed");
            "reasoning message function_call function_call function_call_output function_call_output \
             reasoning message function_call function_call_output reasoning message"
        }
        GEMINI => {
            let parts = answer["candidates"][0]["content"]["parts"].as_array().unwrap();
            assert_eq!(parts[4]["functionResponse"]["id"], parts[2]["functionCall"]["id"]);
            assert!(parts[5]["functionResponse"]["response"]["error"].is_string());
            assert_eq!(parts[2]["thoughtSignature"], "c2ln");
            "text text functionCall functionCall functionResponse functionResponse text text functionCall \
             functionResponse text text"
        }
        _ => {
            assert_eq!(answer["content"][4]["is_error"], true);
            assert_eq!(answer["stop_reason"], "end_turn");
            "text tool_use tool_use tool_result tool_result text tool_use tool_result text"
        }
    };
    assert_eq!(kinds(dialect, &answer), wanted);
    answer
}

#[tokio::test(flavor = "multi_thread")]
async fn a_spliced_transcript_shows_every_round_and_comes_back_legal() {
    for dialect in DIALECTS {
        let upstream = FakeUpstream::start(Script::default()).await;
        let gateway = gateway(&upstream.base_url(), "");
        let first = question(dialect, &[]);
        let answer = three_rounds(dialect, &upstream, &gateway, &first).await;
        upstream.set_script(Script::rounds([Round::text("bye")]));
        let next = goes_on(dialect, &first, &answer, &[user(dialect, "and now?")]);
        for headers in [&[][..], &[("x-omni-skills", "off")]] {
            let (status, answer) = ask(&gateway, dialect, &next, headers).await;
            assert_eq!(status, 200, "{dialect}: {answer}");
            assert_eq!(upstream.refusals(), Vec::<String>::new(), "{dialect}");
            let sent = sent(&upstream, dialect);
            assert!(!sent.contains("tool_results") && !sent.contains("gemini_call_"), "{sent}");
            // Each call once: the memory does not put them back a second time.
            let times = sent.matches("console.log('C')").count();
            assert!(times == 1 || (dialect == CHAT && times == 0), "{sent}");
            assert_eq!(outputs(&sent, "C"), times, "{sent}");
        }
        // The fake would not have taken it as it came; items of Responses are legal where they are.
        if dialect != RESPONSES {
            let (status, answer) = send(&upstream.base_url(), dialect, &next, &[]).await;
            assert_eq!(status, 400, "{dialect}: {answer}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn several_spliced_turns_stay_in_order_beside_a_hidden_one() {
    for dialect in DIALECTS {
        let upstream = FakeUpstream::start(Script::default()).await;
        let gateway = gateway(&upstream.base_url(), "");
        let mut talk = question(dialect, &[]);
        for (number, headers) in
            [&[("x-omni-transcript", "spliced")][..], &[], &[("x-omni-transcript", "spliced")]]
                .into_iter()
                .enumerate()
        {
            let called = Round::calls([run(&format!("console.log('R-{number}')"))]);
            let rounds =
                [thinks(dialect, called, &format!("c2l{number}")), Round::text(&format!("done {number}"))];
            upstream.set_script(Script::rounds(rounds));
            let (status, answer) = ask(&gateway, dialect, &talk, headers).await;
            assert_eq!((status, upstream.refusals()), (200, vec![]), "{dialect} {number}: {answer}");
            assert_eq!(outputs(&answer.to_string(), "R-"), headers.len(), "{dialect} {number}: {answer}");
            talk = goes_on(dialect, &talk, &answer, &[user(dialect, &format!("go on {number}"))]);
        }
        upstream.set_script(Script::rounds([Round::text("bye")]));
        let (status, answer) = ask(&gateway, dialect, &talk, &[]).await;
        assert_eq!((status, upstream.refusals()), (200, vec![]), "{dialect}: {answer}");
        let sent = sent(&upstream, dialect);
        let places: Vec<Option<usize>> =
            (0..3).map(|number| sent.find(&format!("\\\"stdout\\\":\\\"R-{number}"))).collect();
        assert!(places.is_sorted(), "{dialect}: {sent}");
        // What Chat shows beside the answer alone is no part of a history; the hidden turn is put back everywhere.
        assert_eq!(outputs(&sent, "R-"), 3, "{dialect}: {sent}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn splice_only_is_one_round_and_comes_back_legal() {
    for dialect in DIALECTS {
        for tools in [&[][..], &["Bash"]] {
            let cell = format!("{dialect} {tools:?}");
            let mut calls = vec![run("console.log('A')")];
            calls.extend(tools.iter().map(|name| Call::new(name, json!({})).exactly().id("call_bash12")));
            let round = thinks(dialect, Round::calls(calls), "c2ln");
            let upstream = FakeUpstream::start(Script::rounds([round, Round::text("no")])).await;
            let gateway = gateway(&upstream.base_url(), "");
            let first = question(dialect, tools);
            let (status, answer) = ask(&gateway, dialect, &first, &[("x-omni-skills", "splice-only")]).await;
            assert_eq!((status, upstream.requests().len()), (200, 1), "{answer}");
            assert_eq!(history(&gateway).await.len(), 1);
            assert_eq!(outputs(&answer.to_string(), "A"), 1, "{answer}");
            let calls = |word: &str| kinds(dialect, &answer).split(' ').filter(|kind| *kind == word).count();
            let theirs = match dialect {
                CHAT => {
                    let message = &answer["choices"][0]["message"];
                    assert_eq!(message["tool_calls"].as_array().unwrap().len(), 1 + tools.len());
                    assert_eq!(message["tool_results"][0]["tool_call_id"], message["tool_calls"][0]["id"]);
                    assert_eq!(answer["choices"][0]["finish_reason"], "tool_calls");
                    json!({"role": "tool", "tool_call_id": "call_bash12", "content": "ok"})
                }
                RESPONSES => {
                    assert_eq!(calls("function_call"), 1 + tools.len(), "{answer}");
                    json!({"type": "function_call_output", "call_id": "call_bash12", "output": "ok"})
                }
                GEMINI => {
                    assert_eq!(calls("functionCall"), 1 + tools.len(), "{answer}");
                    let response = json!({"id": "call_bash12", "name": "Bash", "response": {"output": "ok"}});
                    json!({"role": "user", "parts": [{"functionResponse": response}]})
                }
                _ => {
                    assert_eq!(calls("tool_use"), 1 + tools.len(), "{answer}");
                    assert_eq!(answer["stop_reason"], "tool_use");
                    json!({"role": "user", "content": [
                        {"type": "tool_result", "tool_use_id": "call_bash12", "content": "ok"}]})
                }
            };
            let more = if tools.is_empty() { user(dialect, "go on") } else { theirs };
            upstream.set_script(Script::rounds([Round::text("bye")]));
            let next = goes_on(dialect, &first, &answer, &[more]);
            let (status, answer) = ask(&gateway, dialect, &next, &[]).await;
            assert_eq!(status, 200, "{cell}: {answer}");
            assert_eq!(upstream.refusals(), Vec::<String>::new(), "{cell}");
            let sent = sent(&upstream, dialect);
            assert_eq!(outputs(&sent, "A"), 1, "the result reached the model: {sent}");
        }
    }
}

/// What the client sends when it names the answer instead of repeating it, and what an upstream that stores answers
/// needs to hear.
#[tokio::test(flavor = "multi_thread")]
async fn a_named_answer_lacks_nothing_and_is_told_nothing_twice() {
    let words = [("x-omni-transcript", "spliced"), ("x-omni-skills", "splice-only")];
    for (word, tools) in words.into_iter().flat_map(|word| [(word, &[][..]), (word, &["Bash"])]) {
        let mut calls = vec![run("console.log('B')")];
        calls.extend(tools.iter().map(|name| Call::new(name, json!({})).exactly().id("call_bash12")));
        let called = Round::calls([run("console.log('A')")]).reasoning("Hm.");
        let rounds = [called, Round::calls(calls).reasoning("So."), Round::text("done")];
        let rounds = if word.1 == "spliced" { &rounds[..] } else { &rounds[1..] };
        for repeats in ["nothing", "results", "all"] {
            let cell = format!("{word:?} {tools:?} repeats {repeats}");
            let upstream = FakeUpstream::start(Script::rounds(rounds.to_vec())).await;
            let gateway = gateway(&upstream.base_url(), "[turn]\nmemory = \"off\"\n");
            let first = question(RESPONSES, tools);
            let (status, answer) = ask(&gateway, RESPONSES, &first, &[word]).await;
            assert_eq!(status, 200, "{cell}: {answer}");
            let mut next = first.clone();
            next["previous_response_id"] = answer["id"].clone();
            let is_repeated = |item: &Value| repeats == "all" || item["type"] == "function_call_output";
            let mut input = shown(RESPONSES, &answer);
            input.retain(|item| repeats != "nothing" && is_repeated(item));
            input.extend(
                tools.iter().map(
                    |_| json!({"type": "function_call_output", "call_id": "call_bash12", "output": "ok"}),
                ),
            );
            input.push(user(RESPONSES, "and now?"));
            next["input"] = json!(input);
            upstream.set_script(Script::rounds([Round::text("bye")]));
            let (status, answer) = ask(&gateway, RESPONSES, &next, &[]).await;
            assert_eq!((status, upstream.refusals()), (200, vec![]), "{cell}: {answer}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn reasoning_comes_back_to_a_provider_that_stores_nothing() {
    let upstream = FakeUpstream::start(Script::default()).await;
    let gateway = gateway(&upstream.base_url(), "");
    let mut first = question(RESPONSES, &[]);
    first["store"] = json!(false);
    let answer = three_rounds(RESPONSES, &upstream, &gateway, &first).await;
    upstream.set_script(Script::rounds([Round::text("bye")]));
    let next = goes_on(RESPONSES, &first, &answer, &[user(RESPONSES, "and now?")]);
    let (status, answer) = ask(&gateway, RESPONSES, &next, &[("x-omni-skills", "off")]).await;
    assert_eq!((status, upstream.refusals()), (200, vec![]), "{answer}");
    assert_eq!(upstream.requests().pop().unwrap().body["input"], next["input"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_spliced_is_refused_with_the_reason() {
    let upstream = FakeUpstream::start(Script::rounds([Round::text("hello")])).await;
    let gateway = gateway(&upstream.base_url(), "");
    for dialect in DIALECTS {
        let streamed = body(dialect, true, "please", &[]);
        let (status, answer) = ask(&gateway, dialect, &streamed, &[("x-omni-skills", "splice-only")]).await;
        assert_eq!(status, 400);
        assert!(answer["error"]["message"].as_str().unwrap().contains("stream"), "{answer}");
        let plain = body(dialect, false, "please", &[]);
        let (status, _) = ask(&gateway, dialect, &plain, &[("x-omni-transcript", "some")]).await;
        assert_eq!(status, 400);
    }
    assert!(upstream.requests().is_empty());
}
