//! Random conversations through every dialect: the strict upstream never gets a call without its result and always all
//! that was ever said, the client never gets a call that is not its own.

use proptest::prelude::*;
use serde_json::json;
use testkit::fake_upstream::FakeUpstream;
use testkit::gateway::Gateway;
use testkit::script::{Call, Round, Script};

use crate::client::{DIALECTS, gateway, http};
use crate::ten_turns::Talk;

/// One round before the answer: a text or none, and its calls; ours (true) or the client's.
type Said = (bool, Vec<bool>);

fn question() -> impl Strategy<Value = Vec<Said>> {
    let round = (any::<bool>(), prop::collection::vec(any::<bool>(), 1..4));
    prop::collection::vec(round, 0..3)
}

/// The rounds of one question, and the marks of our calls in them.
fn rounds(name: &str, said: &[Said]) -> (Vec<Round>, Vec<String>) {
    let mut marks = Vec::new();
    let mut rounds = Vec::new();
    for (place, (speaks, calls)) in said.iter().enumerate() {
        let call = |(at, ours): (usize, &bool)| {
            let mark = format!("{name}-{place}-{at};");
            if !ours {
                return Call::new("Bash", json!({"n": mark})).exactly();
            }
            marks.push(mark.clone());
            Call::new("mirror", json!({"n": mark}))
        };
        let round = Round::calls(calls.iter().enumerate().map(call));
        rounds.push(if *speaks { round.saying("Wait.") } else { round });
    }
    rounds.push(Round::text("done"));
    (rounds, marks)
}

async fn install_mirror(gateway: &Gateway) {
    let schema = json!({"input": {"type": "object", "properties": {"n": {"type": "string"}}}});
    let skill = json!({"name": "mirror", "description": "d", "schema": schema, "handlerCode": "echo-handler",
        "mode": "on"});
    let request = http().post(format!("{}/api/skills/install", gateway.base)).bearer_auth(&gateway.token);
    let request = request.header("content-type", "application/json").body(skill.to_string());
    assert_eq!(request.send().await.unwrap().status(), 200);
}

/// Has the conversation, looks at every answer, and at the end at what the upstream was told.
async fn converse(upstream: &FakeUpstream, gateway: &Gateway, dialect: &'static str, case: &Case) {
    let (name, stream, questions) = case;
    let mut script = Script::default();
    let mut marks = Vec::new();
    for (number, said) in questions.iter().enumerate() {
        let question = format!("{name}q{number}");
        let (rounds, more) = rounds(&question, said);
        script = script.when(&format!("{question}."), rounds);
        marks.extend(more);
    }
    upstream.set_script(script.when("goodbye", [Round::text("bye")]));
    let mut talk = Talk::new(dialect, *stream, &["Bash"]);
    for number in 0..questions.len() {
        let (mut seen, mut shown) = talk.ask(gateway, &format!("{name}q{number}.")).await;
        loop {
            assert!(!seen.raw.contains("mirror__"), "{dialect}: the client saw a call of ours: {}", seen.raw);
            assert!(seen.calls.iter().all(|call| call == "Bash"), "{dialect}: {seen:?}");
            assert_eq!(upstream.refusals(), Vec::<String>::new(), "{dialect} {case:?}");
            if seen.calls.is_empty() {
                break;
            }
            (seen, shown) = talk.answer_all(gateway, &shown, "theirs").await;
        }
        assert!(seen.text.ends_with("done"), "{dialect} {case:?}: {seen:?}");
    }
    talk.ask(gateway, "goodbye").await;
    let told = upstream.requests().last().unwrap().body.to_string();
    for mark in marks {
        assert_eq!(told.matches(&mark).count(), 2, "{dialect} {case:?}: call and result of {mark} in {told}");
    }
}

/// A name of its own, whether it streams, and its questions.
type Case = (String, bool, Vec<Vec<Said>>);

fn case() -> impl Strategy<Value = Case> {
    ("[a-z]{12}", any::<bool>(), prop::collection::vec(question(), 1..4))
}

#[test]
fn the_upstream_sees_everything_and_the_client_only_its_own() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    for dialect in DIALECTS {
        let (upstream, gateway) = runtime.block_on(async {
            let upstream = FakeUpstream::start(Script::default()).await;
            let gateway = gateway(&upstream.base_url(), "[selection]\nwith_client_tools = \"all\"\n");
            install_mirror(&gateway).await;
            (upstream, gateway)
        });
        let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
            cases: 24,
            failure_persistence: None,
            ..ProptestConfig::default()
        });
        let run = |case: Case| {
            runtime.block_on(converse(&upstream, &gateway, dialect, &case));
            Ok(())
        };
        runner.run(&case(), run).unwrap();
    }
}

#[test]
fn the_marks_of_a_question_are_those_of_our_calls() {
    let (rounds, marks) = rounds("q", &[(true, vec![true, false]), (false, vec![true])]);
    assert_eq!((rounds.len(), marks), (3, vec!["q-0-0;".to_owned(), "q-1-0;".to_owned()]));
    assert_eq!(rounds[0].calls[1].arguments, json!({"n": "q-0-1;"}));
}
