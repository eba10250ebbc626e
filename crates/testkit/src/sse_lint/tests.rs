//! Streams with one fault each. A linter that lets them pass would make every other streaming test worthless.

use super::*;

const CHAT: &str = concat!(
    ": a comment\n\n",
    r#"data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}"#,
    "\n\n",
    r#"data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"hé"},"finish_reason":null}]}"#,
    "\n\n",
    r#"data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"k","type":"function","function":{"name":"f","arguments":""}}]},"finish_reason":null}]}"#,
    "\n\n",
    r#"data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]},"finish_reason":null}]}"#,
    "\n\n",
    r#"data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],"omni":{"rounds":1}}"#,
    "\n\n",
    r#"data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":{"total_tokens":3}}"#,
    "\n\ndata: [DONE]\n\n",
);

const MESSAGE: &str = concat!(
    "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"role\":\"assistant\",\"usage\":{}}}\n\n",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
    "event: ping\ndata: {\"type\": \"ping\"}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"hi\"}}\n\n",
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"tool_use\",\"id\":\"k\",\"name\":\"f\",\"input\":{}}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{}\"}}\n\n",
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":1}\n\n",
    "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_tokens\":2}}\n\n",
    "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
);

/// The linter must refuse `good` with the first `from` turned into `to`, and say `why`.
fn refused(dialect: &str, good: &str, from: &str, to: &str, why: &str) {
    assert!(good.contains(from), "{from}");
    let broken = good.replacen(from, to, 1);
    let problem = lint(dialect, broken.as_bytes()).expect_err(why);
    assert!(problem.contains(why), "{problem}, not {why}");
}

/// The stream without, or with twice, its data frame of that number.
fn frames(good: &str, change: impl Fn(usize, &str) -> String) -> String {
    good.split_inclusive("\n\n").enumerate().map(|(i, frame)| change(i, frame)).collect()
}

fn without(good: &str, number: usize) -> String {
    frames(good, |i, frame| if i == number { String::new() } else { frame.to_owned() })
}

fn twice(good: &str, number: usize) -> String {
    frames(good, |i, frame| if i == number { frame.repeat(2) } else { frame.to_owned() })
}

#[test]
fn good_streams_pass_and_are_read() {
    let call = Call { id: "k".to_owned(), name: "f".to_owned(), arguments: "{}".to_owned() };
    let chat = lint("openai_chat", CHAT.as_bytes()).unwrap();
    assert_eq!((chat.text.as_str(), chat.finish.as_deref()), ("hé", Some("tool_calls")));
    assert_eq!(chat.calls, std::slice::from_ref(&call));
    assert_eq!(chat.omni.unwrap()["rounds"], 1);
    assert_eq!(chat.usage.unwrap()["total_tokens"], 3);
    let message = lint("anthropic_messages", MESSAGE.as_bytes()).unwrap();
    assert_eq!((message.text.as_str(), message.finish.as_deref()), ("hi", Some("tool_use")));
    assert_eq!((message.calls, message.events), (vec![call], 10));
    lint("openai_chat", CHAT.replace("\n\n", "\r\n\r\n").as_bytes()).unwrap();
    assert!(lint("morse", CHAT.as_bytes()).is_err());
}

#[test]
fn broken_chat_streams_are_refused() {
    let bad = |from: &str, to: &str, why: &str| refused("openai_chat", CHAT, from, to, why);
    bad("hé", "\u{FFFD}", "replacement");
    bad("hé", "\\uFFFD", "replacement");
    bad(r#"{"content":"hé"}"#, r#"{"role":"assistant","content":"x"}"#, "a role in a later delta");
    bad(
        r#""id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[]"#,
        r#""id":"d","object":"chat.completion.chunk","created":1,"model":"m","choices":[]"#,
        "differ",
    );
    bad(r#""index":0,"id":"k""#, r#""index":1,"id":"k""#, "gap");
    bad(r#""id":"k","#, "", "without id and name");
    bad(r#""index":0,"function":{"#, r#""index":0,"function":{"name":"g","#, "changes its name");
    bad(r#""finish_reason":"tool_calls""#, r#""finish_reason":null"#, "usage before the finish");
    bad("data: [DONE]\n\n", "", "[DONE] is missing");
    bad("[DONE]\n\n", "[DONE]\n", "blank line");
    bad("[DONE]\n\n", "[DONE]\n\ndata: [DONE]\n\n", "after [DONE]");
    bad("data: {", "{", "a line begins with");
    let problem = lint("openai_chat", twice(CHAT, 5).as_bytes()).unwrap_err();
    assert!(problem.contains("second finish reason"), "{problem}");
    let uncalled = without(&without(CHAT, 3), 3);
    assert!(lint("openai_chat", uncalled.as_bytes()).unwrap_err().contains("not there"));
}

#[test]
fn broken_message_streams_are_refused() {
    let bad = |from: &str, to: &str, why: &str| refused("anthropic_messages", MESSAGE, from, to, why);
    bad("event: message_stop", "event: stop", "not its type");
    bad("\"index\":1,\"content_block\"", "\"index\":2,\"content_block\"", "gap");
    bad("\"index\":1,\"delta\"", "\"index\":0,\"delta\"", "another block");
    bad("\"type\":\"text_delta\"", "\"type\":\"thinking_delta\"", "does not fit");
    bad("\"partial_json\":\"{}\"", "\"partial_json\":\"[\"", "no object");
    bad("\"stop_reason\":\"tool_use\"", "\"stop_reason\":null", "without a reason");
    for number in [0, 1, 4, 5, 7, 8, 9] {
        lint("anthropic_messages", without(MESSAGE, number).as_bytes()).unwrap_err();
    }
    for number in [0, 1, 4, 5, 7, 9] {
        lint("anthropic_messages", twice(MESSAGE, number).as_bytes()).unwrap_err();
    }
}

#[test]
fn an_error_event_may_end_a_stream_and_nothing_may_follow() {
    let chat: String = CHAT.split_inclusive("\n\n").take(3).collect();
    let error = "data: {\"error\":{\"message\":\"gone\",\"type\":\"server_error\"}}\n\n";
    let summary = lint("openai_chat", format!("{chat}{error}").as_bytes()).unwrap();
    assert_eq!(summary.error.unwrap()["message"], "gone");
    lint("openai_chat", format!("{chat}{error}data: [DONE]\n\n").as_bytes()).unwrap_err();

    let message: String = MESSAGE.split_inclusive("\n\n").take(3).collect();
    let error = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"gone\"}}\n\n";
    let summary = lint("anthropic_messages", format!("{message}{error}").as_bytes()).unwrap();
    assert_eq!(summary.finish, None);
    lint("anthropic_messages", format!("{message}{error}{error}").as_bytes()).unwrap_err();
}
