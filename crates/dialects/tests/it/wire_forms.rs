//! Every form that server-sent events may have, cut at every byte: the client and the gateway read the same turn.

use dialects::Ending;
use serde_json::{Value, json};

use crate::responses_wire as wire;
use crate::support::*;

/// A round that says something and calls a tool of ours, and one that ends.
fn rounds(dialect: &str) -> [String; 2] {
    let (said, code) = ("那个🙂", r#"{"v":"é那🙂"}"#);
    match dialect {
        CHAT => {
            let function = json!({"name": "read__1_0_0", "arguments": code});
            let called = call(json!({"index": 0, "id": "call_1", "type": "function", "function": function}));
            let first = [json!({"role": "assistant", "content": said}), called];
            [chat(&first, "tool_calls"), chat(&[json!({"role": "assistant", "content": said})], "stop")]
        }
        RESPONSES => {
            let called = wire::call("fc_1", "call_1", "read__1_0_0", code);
            [
                wire::stream("resp_1", &[wire::message("msg_1", said), called]),
                wire::stream("resp_2", &[wire::message("msg_2", said)]),
            ]
        }
        GEMINI => {
            let event = |parts: Value, finish: Value| {
                let content = json!({"role": "model", "parts": parts});
                json!({"candidates": [{"index": 0, "content": content, "finishReason": finish}], "responseId": "r"})
            };
            let called = json!({"functionCall": {"name": "read__1_0_0", "args": {"v": "é那🙂"}}});
            let text = || event(json!([{"text": said}]), Value::Null);
            [
                sse(&[text(), event(json!([called]), "STOP".into())]),
                sse(&[text(), event(json!([{"text": ""}]), "STOP".into())]),
            ]
        }
        _ => {
            let text =
                || (json!({"type": "text", "text": ""}), vec![json!({"type": "text_delta", "text": said})]);
            let start = json!({"type": "tool_use", "id": "toolu_1", "name": "read__1_0_0", "input": {}});
            let called = (start, vec![json!({"type": "input_json_delta", "partial_json": code})]);
            [messages(&[text(), called], "tool_use"), messages(&[text()], "end_turn")]
        }
    }
}

fn body(dialect: &str) -> Vec<u8> {
    let body = match dialect {
        RESPONSES => json!({"model": "m", "input": "x", "stream": true}),
        GEMINI => json!({"contents": [{"role": "user", "parts": [{"text": "x"}]}]}),
        _ => {
            let messages = [json!({"role": "user", "content": "x"})];
            json!({"model": "m", "max_tokens": 9, "messages": messages, "stream": true})
        }
    };
    body.to_string().into_bytes()
}

/// Each line of a value is a data line of its own.
fn in_lines(body: &str) -> String {
    let line = |line: &str| match line.strip_prefix("data: ").map(serde_json::from_str::<Value>) {
        Some(Ok(value)) => {
            let pretty = serde_json::to_string_pretty(&value).unwrap();
            format!("data: {}\n", pretty.replace('\n', "\ndata: "))
        }
        _ => format!("{line}\n"),
    };
    body.lines().map(line).collect()
}

fn with_comments(body: &str) -> String {
    format!(": 那🙂\n\n{}", body.replace("data: ", ": \ndata: ").replace("\n\n", "\n:\n\n:\n\n"))
}

type Form = fn(&str) -> String;

const FORMS: [(&str, Form); 8] = [
    ("CR LF", |body| body.replace('\n', "\r\n")),
    ("CR", |body| body.replace('\n', "\r")),
    ("no space", |body| body.replace("data: ", "data:").replace("event: ", "event:")),
    ("comments", with_comments),
    ("several data lines", in_lines),
    ("BOM", |body| format!("\u{FEFF}{body}")),
    ("no blank line at the end", |body| body.trim_end().to_owned()),
    ("all", |body| {
        format!("\u{FEFF}{}", with_comments(body).replace("data: ", "data:").trim_end().replace('\n', "\r\n"))
    }),
];

#[test]
fn every_form_and_every_cut_is_the_same_turn() {
    for name in [CHAT, RESPONSES, MESSAGES, GEMINI] {
        let plain = rounds(name);
        let request = dialect(name).read_request(&target(name, true), body(name).into()).unwrap();
        let plain = run(name, &request, &[&plain[0], &plain[1]]).unwrap();
        let seen = plain.lint(name);
        assert_eq!((seen.text.matches("那个🙂").count(), seen.calls.len()), (2, 0), "{name}");
        assert_eq!(plain.calls(0), [r#"*read__1_0_0 {"v":"é那🙂"}"#], "{name}");
        for (form, write) in FORMS {
            let bodies = rounds(name).map(|body| write(&body));
            let whole = run(name, &request, &[&bodies[0], &bodies[1]]).unwrap();
            let read = whole.lint(name);
            assert_eq!(
                (&read.text, &read.finish, &read.id),
                (&seen.text, &seen.finish, &seen.id),
                "{name} {form}"
            );
            // Arguments that are members of the body keep the spaces they came with.
            let calls = |turn: &Turn| [0, 1].map(|n| turn.calls(n).concat().replace([' ', '\n'], ""));
            assert_eq!(calls(&whole), calls(&plain), "{name} {form}");
            let bytes = [bodies[0].as_bytes(), bodies[1].as_bytes()];
            for size in [1, 2, 3, 7] {
                let pieces =
                    run_cut(name, &request, &bytes, &Ending::default(), |body| body.chunks(size).collect());
                assert_eq!(pieces.unwrap(), whole, "{name} {form} in pieces of {size}");
            }
            if form != "all" {
                continue;
            }
            for at in 1..bytes[0].len().max(bytes[1].len()) {
                let pieces = run_cut(name, &request, &bytes, &Ending::default(), |body| {
                    let (a, b) = body.split_at(at.min(body.len()));
                    vec![a, b]
                });
                assert_eq!(pieces.unwrap(), whole, "{name} {form} cut at {at}");
            }
        }
    }
}
