//! What holds for every turn: streamed and plain say the same, chunking changes nothing, nothing panics.

use dialects::{ClientRequest, Ending};
use proptest::prelude::*;
use serde_json::{Value, json};
use testkit::sse_lint::{Call, Summary};

use crate::script::{ScriptedRound, turn};
use crate::support::*;

/// A plain answer as a client reads it.
fn read_plain(dialect: &str, body: &Value) -> Summary {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut seen = Summary { usage: Some(body["usage"].clone()), ..Summary::default() };
    if dialect == CHAT {
        let choice = &body["choices"][0];
        seen.texts = vec![text(&choice["message"]["content"])];
        seen.finish = choice["finish_reason"].as_str().map(str::to_owned);
        for call in choice["message"]["tool_calls"].as_array().into_iter().flatten() {
            let function = &call["function"];
            let (name, arguments) = (text(&function["name"]), text(&function["arguments"]));
            seen.calls.push(Call { id: text(&call["id"]), name, arguments });
        }
    } else if dialect == RESPONSES {
        seen.finish = body["status"].as_str().map(str::to_owned);
        for item in body["output"].as_array().unwrap() {
            if item["type"] == "message" {
                seen.texts.push(text(&item["content"][0]["text"]));
            } else {
                let (name, arguments) = (text(&item["name"]), text(&item["arguments"]));
                seen.calls.push(Call { id: text(&item["call_id"]), name, arguments });
            }
        }
    } else {
        seen.finish = body["stop_reason"].as_str().map(str::to_owned);
        for block in body["content"].as_array().unwrap() {
            if block["type"] == "text" {
                seen.texts.push(text(&block["text"]));
            } else {
                let (name, arguments) = (text(&block["name"]), block["input"].to_string());
                seen.calls.push(Call { id: text(&block["id"]), name, arguments });
            }
        }
    }
    seen
}

fn check(dialect: &str, rounds: &[ScriptedRound], size: usize) {
    let stream: Vec<String> = rounds.iter().map(|round| round.stream(dialect)).collect();
    let stream: Vec<&[u8]> = stream.iter().map(String::as_bytes).collect();
    let ending = Ending { omni: Some(json!({"turnId": "t"})), input_usage_of_last_round: false };
    let request = streamed(true);
    let streamed = run_cut(dialect, &request, &stream, &ending, |body| body.chunks(size).collect()).unwrap();
    let whole = run_cut(dialect, &request, &stream, &ending, |body| vec![body]).unwrap();
    assert_eq!(streamed, whole);
    let seen = streamed.lint(dialect);

    let bodies: Vec<String> = rounds.iter().map(|round| round.plain(dialect)).collect();
    let bodies: Vec<&str> = bodies.iter().map(String::as_str).collect();
    let plain = run(dialect, &plain(), &bodies).unwrap();
    let expected = read_plain(dialect, &plain.json());
    assert_eq!(
        (&seen.texts, &seen.calls, &seen.finish),
        (&expected.texts, &expected.calls, &expected.finish)
    );
    assert_eq!(seen.omni, ending.omni);
    if dialect != MESSAGES || rounds.len() > 1 {
        assert_eq!(seen.usage, expected.usage);
    }
    for n in 0..rounds.len() {
        assert_eq!(streamed.calls(n), plain.calls(n));
        // A streamed message without text has an empty one where a plain one has null.
        let mut message = streamed.message(n);
        if message["content"] == "" {
            message["content"] = Value::Null;
        }
        assert_eq!(message, plain.message(n));
    }
    assert!(!streamed.text().contains("__1_0_0") && !plain.text().contains("__1_0_0"));
    let said: String =
        rounds.iter().flat_map(|round| round.texts.concat().into_bytes()).map(char::from).collect();
    let kept: String = seen.texts.concat().replace("\n\n", "").bytes().map(char::from).collect();
    assert_eq!(kept, said.replace("\n\n", ""));
}

fn names() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![CHAT, RESPONSES, MESSAGES])
}

fn feed_all(dialect: &str, request: &ClientRequest, pieces: &[Vec<u8>]) {
    let mut answer = self::dialect(dialect).answer(request, owned());
    let mut out = Vec::new();
    for piece in pieces {
        if answer.feed(piece, &mut out).is_err() {
            break;
        }
    }
    // The server stops at the first fault; going on must do no harm either.
    drop(answer.end_round(&mut out));
    drop(answer.feed(b"data: {}\n\n", &mut out));
    drop(answer.finish(&Ending::default(), &mut out));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn a_stream_says_what_the_plain_answer_says(rounds in turn(), size in 1usize..60, name in names()) {
        check(name, &rounds, size);
    }

    #[test]
    fn random_bytes_never_panic(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..30), 0..5)) {
        for name in [CHAT, RESPONSES, MESSAGES] {
            feed_all(name, &streamed(true), &pieces);
            feed_all(name, &plain(), &pieces);
        }
    }

    #[test]
    fn damaged_answers_never_panic(
        rounds in turn(),
        places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        name in names(),
    ) {
        for (request, body) in [(streamed(true), rounds[0].stream(name)), (plain(), rounds[0].plain(name))] {
            let mut bytes = body.into_bytes();
            for (place, byte) in &places {
                let at = place.index(bytes.len());
                bytes[at] = *byte;
            }
            feed_all(name, &request, &[bytes]);
        }
    }

    #[test]
    fn odd_json_in_the_right_places_never_panics(
        deltas in prop::collection::vec(prop::sample::select(vec![
            json!(null), json!(7), json!({}), json!({"tool_calls": 7}), json!({"tool_calls": [{}]}), json!({"content": [7]}),
            json!({"tool_calls": [{"index": -1, "id": 7, "function": 7}]}), json!({"role": 7, "content": {}}),
            json!({"tool_calls": [{"index": 1e300, "function": {"name": "x", "arguments": {"a": 1}}}]}),
            json!({"tool_calls": [{"index": "a", "function": {"name": "x__1_0_0"}}]}), json!({"type": "text_delta", "text": 7}),
            json!({"type": "input_json_delta"}), json!({"type": "citations_delta", "citation": 7}),
        ]), 0..6),
        cut in 1usize..40,
    ) {
        let chat = chat(&deltas, "tool_calls");
        let blocks: Vec<_> = deltas.iter().map(|delta| (delta.clone(), deltas.clone())).collect();
        for (name, body) in [(CHAT, chat), (MESSAGES, messages(&blocks, "tool_use"))] {
            let pieces: Vec<Vec<u8>> = body.as_bytes().chunks(cut).map(<[u8]>::to_vec).collect();
            feed_all(name, &streamed(true), &pieces);
        }
    }
}
