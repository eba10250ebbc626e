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

const RESPONSE: &str = concat!(
    "event: response.created\ndata: {\"type\":\"response.created\",\"sequence_number\":0,\"response\":{\"id\":\"r\",\"status\":\"in_progress\",\"output\":[]}}\n\n",
    "event: response.in_progress\ndata: {\"type\":\"response.in_progress\",\"sequence_number\":1,\"response\":{\"id\":\"r\"}}\n\n",
    "event: response.output_item.added\ndata: {\"type\":\"response.output_item.added\",\"sequence_number\":2,\"output_index\":0,\"item\":{\"id\":\"m\",\"type\":\"message\",\"content\":[]}}\n\n",
    "event: response.content_part.added\ndata: {\"type\":\"response.content_part.added\",\"sequence_number\":3,\"item_id\":\"m\",\"output_index\":0,\"content_index\":0,\"part\":{\"type\":\"output_text\",\"text\":\"\"}}\n\n",
    "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"sequence_number\":4,\"item_id\":\"m\",\"output_index\":0,\"content_index\":0,\"delta\":\"hi\"}\n\n",
    "event: response.output_text.done\ndata: {\"type\":\"response.output_text.done\",\"sequence_number\":5,\"item_id\":\"m\",\"output_index\":0,\"content_index\":0,\"text\":\"hi\"}\n\n",
    "event: response.content_part.done\ndata: {\"type\":\"response.content_part.done\",\"sequence_number\":6,\"item_id\":\"m\",\"output_index\":0,\"content_index\":0,\"part\":{\"type\":\"output_text\",\"text\":\"hi\"}}\n\n",
    "event: response.output_item.done\ndata: {\"type\":\"response.output_item.done\",\"sequence_number\":7,\"output_index\":0,\"item\":{\"id\":\"m\",\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"hi\"}]}}\n\n",
    "event: response.output_item.added\ndata: {\"type\":\"response.output_item.added\",\"sequence_number\":8,\"output_index\":1,\"item\":{\"id\":\"c\",\"type\":\"function_call\",\"arguments\":\"\"}}\n\n",
    "event: response.function_call_arguments.delta\ndata: {\"type\":\"response.function_call_arguments.delta\",\"sequence_number\":9,\"item_id\":\"c\",\"output_index\":1,\"delta\":\"{}\"}\n\n",
    "event: response.output_item.done\ndata: {\"type\":\"response.output_item.done\",\"sequence_number\":10,\"output_index\":1,\"item\":{\"id\":\"c\",\"type\":\"function_call\",\"call_id\":\"k\",\"name\":\"f\",\"arguments\":\"{}\"}}\n\n",
    "event: response.completed\ndata: {\"type\":\"response.completed\",\"sequence_number\":11,\"response\":{\"id\":\"r\",\"status\":\"completed\",\"usage\":{\"total_tokens\":3},\"omni\":{\"rounds\":1},\"output\":[{\"id\":\"m\",\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"hi\"}]},{\"id\":\"c\",\"type\":\"function_call\",\"call_id\":\"k\",\"name\":\"f\",\"arguments\":\"{}\"}]}}\n\n",
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
fn broken_response_streams_are_refused() {
    let call = Call { id: "k".to_owned(), name: "f".to_owned(), arguments: "{}".to_owned() };
    let good = lint("openai_responses", RESPONSE.as_bytes()).unwrap();
    assert_eq!(
        (good.text.as_str(), good.finish.as_deref(), good.calls),
        ("hi", Some("completed"), vec![call])
    );
    assert_eq!((good.usage.unwrap()["total_tokens"].as_u64(), good.id.as_str()), (Some(3), "r"));
    let bad = |from: &str, to: &str, why: &str| refused("openai_responses", RESPONSE, from, to, why);
    bad("event: response.created", "event: created", "not its type");
    bad("\"sequence_number\":4", "\"sequence_number\":5", "sequence numbers have a gap");
    bad("\"sequence_number\":4,", "", "no sequence number");
    bad(
        "\"output_index\":1,\"item\":{\"id\":\"c\"",
        "\"output_index\":2,\"item\":{\"id\":\"c\"",
        "output indexes have a gap",
    );
    bad("\"content_index\":0,\"part\"", "\"content_index\":1,\"part\"", "indexes of parts have a gap");
    bad("\"delta\":\"hi\"", "\"delta\":\"ho\"", "not the text that came");
    bad("\"text\":\"hi\"}}", "\"text\":\"ho\"}}", "not the text that came");
    bad("\"text\":\"hi\"}]}}", "\"text\":\"ho\"}]}}", "not the texts that came");
    bad("\"delta\":\"{}\"", "\"delta\":\"[]\"", "not the arguments that came");
    bad("\"text\":\"hi\"}]},", "\"text\":\"ho\"}]},", "the output is not what was streamed");
    bad(
        "\"response\":{\"id\":\"r\",\"status\":\"completed\"",
        "\"response\":{\"id\":\"s\",\"status\":\"completed\"",
        "another response's id",
    );
    bad("\"status\":\"completed\"", "\"status\":\"incomplete\"", "the status is not the event's");
    bad("\"item_id\":\"c\"", "\"item_id\":\"m\"", "another item's id");
    bad("\"call_id\":\"k\",", "", "a call without id and name");
    for number in [0, 2, 3, 4, 6, 7, 8, 9, 10, 11] {
        lint("openai_responses", without(RESPONSE, number).as_bytes()).unwrap_err();
    }
    for number in [0, 1, 2, 3, 7, 8, 10, 11] {
        lint("openai_responses", twice(RESPONSE, number).as_bytes()).unwrap_err();
    }
    let begun: String = RESPONSE.split_inclusive("\n\n").take(5).collect();
    let error = "event: error\ndata: {\"type\":\"error\",\"sequence_number\":5,\"message\":\"gone\"}\n\n";
    let failed = "event: response.failed\ndata: {\"type\":\"response.failed\",\"sequence_number\":6,\"response\":{\"id\":\"r\",\"status\":\"failed\",\"error\":{\"message\":\"gone\"}}}\n\n";
    for end in [error.to_owned(), format!("{error}{failed}"), failed.replace(":6,", ":5,")] {
        let seen = lint("openai_responses", format!("{begun}{end}").as_bytes()).unwrap();
        assert_eq!((seen.error.unwrap()["message"].as_str(), seen.finish), (Some("gone"), None));
    }
    lint("openai_responses", format!("{begun}{error}{error}").as_bytes()).unwrap_err();
    lint("openai_responses", begun.as_bytes()).unwrap_err();
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
