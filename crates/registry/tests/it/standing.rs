//! What a conversation was offered stays in its place, and what an operator set for a key counts.

use std::collections::BTreeMap;

use domain::scoring::Context;
use domain::{Mode, Policy, Skill, SkillRef};
use proptest::prelude::*;
use registry::{SelectRequest, Selection, Snapshot};

use crate::skills::{builtin, on, owned, skill, snapshot};

fn asks(text: &str) -> SelectRequest {
    SelectRequest::new("alice", Context::new(text, "", "openai"))
}

fn after(selection: &Selection, text: &str) -> SelectRequest {
    SelectRequest { offered: ids(selection), ..asks(text) }
}

fn naming(request: SelectRequest, name: &str) -> SelectRequest {
    SelectRequest { named: vec![SkillRef::parse(name).unwrap()], ..request }
}

fn ids(selection: &Selection) -> Vec<String> {
    selection.injected.iter().map(|entry| entry.skill.id.clone()).collect()
}

fn labels(snapshot: &Snapshot, request: &SelectRequest) -> Vec<String> {
    snapshot.select(request).injected.iter().map(|entry| entry.skill.identity()).collect()
}

fn skipped(snapshot: &Snapshot, request: &SelectRequest) -> Vec<String> {
    let left = snapshot.select(request).skipped;
    left.iter().map(|left| format!("{} {}", left.name, left.reason.as_str())).collect()
}

#[test]
fn a_set_stays_and_grows_at_its_end() {
    let snapshot =
        snapshot(vec![on("always", "1.0.0"), skill("reverse-text", "1.0.0"), skill("git-commit", "1.0.0")]);
    let first = snapshot.select(&asks("reverse-text please"));
    assert_eq!(labels(&snapshot, &after(&first, "thanks")), ["always@1.0.0", "reverse-text@1.0.0"]);
    let third = snapshot.select(&after(&first, "now git-commit"));
    assert_eq!(ids(&third)[..2], ids(&first));
    assert_eq!(third.injected[2].skill.name, "git-commit");
}

#[test]
fn what_may_not_be_offered_any_more_goes_at_once() {
    let rows = || {
        vec![
            Skill { id: "a".into(), ..skill("a-a", "1.0.0") },
            Skill { id: "b".into(), ..skill("b-b", "1.0.0") },
            Skill { id: "c".into(), ..owned("bob", skill("c-c", "1.0.0")) },
        ]
    };
    let request =
        SelectRequest { offered: ["c", "b", "gone", "a", "b"].map(str::to_owned).into(), ..asks("") };
    assert_eq!(labels(&snapshot(rows()), &request), ["b-b@1.0.0", "a-a@1.0.0"], "own and shared, once");
    for change in [
        |skill: &mut Skill| skill.mode = Mode::Off,
        |skill: &mut Skill| skill.enabled = false,
        |skill: &mut Skill| skill.policy = Policy::Manual,
        |skill: &mut Skill| skill.handler = "gone".to_owned(),
    ] {
        let mut rows = rows();
        change(&mut rows[0]);
        assert_eq!(labels(&snapshot(rows), &request), ["b-b@1.0.0"]);
    }
    let manual = SelectRequest { policies: [("a-a".to_owned(), Policy::Manual)].into(), ..request.clone() };
    assert_eq!(labels(&snapshot(rows()), &manual), ["b-b@1.0.0"]);
    let builtins_only = SelectRequest { customs_allowed: false, ..request.clone() };
    assert!(labels(&snapshot(rows()), &builtins_only).is_empty());
    let mut hidden = rows();
    hidden.push(owned("alice", Skill { id: "own".into(), ..skill("a-a", "1.0.0") }));
    assert_eq!(labels(&snapshot(hidden), &request), ["b-b@1.0.0"]);
}

#[test]
fn a_new_version_waits_for_the_next_conversation_unless_it_is_named() {
    let old = skill("rev", "1.0.0");
    let request = SelectRequest { offered: vec![old.id.clone()], ..asks("rev") };
    let snapshot = snapshot(vec![on("rev", "2.0.0"), old]);
    assert_eq!(labels(&snapshot, &request), ["rev@1.0.0"]);
    assert_eq!(labels(&snapshot, &naming(request.clone(), "rev")), ["rev@1.0.0"]);
    assert_eq!(labels(&snapshot, &naming(request.clone(), "rev@^2")), ["rev@2.0.0"]);
    let nothing_fits = naming(request, "rev@^3");
    assert_eq!(labels(&snapshot, &nothing_fits), ["rev@1.0.0"]);
    assert_eq!(skipped(&snapshot, &nothing_fits), ["rev no_version"]);
}

#[test]
fn a_named_builtin_stays_beside_the_clients_tools() {
    let snapshot = snapshot(vec![builtin("file_read", Mode::Auto)]);
    let request = SelectRequest { client_tools: 1, ..asks("") };
    let first = snapshot.select(&naming(request.clone(), "file_read"));
    let second = SelectRequest { offered: ids(&first), ..request };
    assert_eq!(labels(&snapshot, &second), ["file_read@1.0.0"]);
}

#[test]
fn old_ones_are_the_last_to_be_dropped() {
    let snapshot = snapshot(vec![skill("old-a", "1.0.0"), skill("old-b", "1.0.0"), on("fresh", "1.0.0")]);
    let first = snapshot.select(&asks("old-a old-b"));
    let first = Selection {
        injected: first.injected.iter().filter(|e| e.skill.name != "fresh").cloned().collect(),
        ..first
    };
    let mut request = naming(after(&first, ""), "fresh");
    for (tools, kept) in [(3, 3), (2, 2), (1, 1)] {
        request.limits.tools = tools;
        assert_eq!(labels(&snapshot, &request), ["old-a@1.0.0", "old-b@1.0.0", "fresh@1.0.0"][..kept]);
    }
    request.limits.bytes = first.injected[0].definition_bytes;
    request.limits.tools = 128;
    assert_eq!(labels(&snapshot, &request), ["old-a@1.0.0"]);
}

#[test]
fn a_keys_policy_counts_in_place_of_the_skills_own() {
    let manual = |skill: Skill| Skill { policy: Policy::Manual, ..skill };
    let snapshot = snapshot(vec![
        on("loud", "1.0.0"),
        skill("quiet", "1.0.0"),
        manual(on("held-on", "2.0.0")),
        on("held-on", "1.0.0"),
        manual(skill("held-auto", "1.0.0")),
        manual(Skill { mode: Mode::Off, ..skill("held-off", "1.0.0") }),
    ]);
    let with = |policies: &[(&str, Policy)], text: &str| SelectRequest {
        policies: policies
            .iter()
            .map(|(name, policy)| ((*name).to_owned(), *policy))
            .collect::<BTreeMap<_, _>>(),
        ..asks(text)
    };
    let text = "quiet held-auto held-off";
    assert_eq!(labels(&snapshot, &asks(text)), ["held-on@1.0.0", "loud@1.0.0", "quiet@1.0.0"]);
    let fewer = with(&[("loud", Policy::Manual), ("quiet", Policy::Manual)], text);
    assert_eq!(labels(&snapshot, &fewer), ["held-on@1.0.0"]);
    assert_eq!(skipped(&snapshot, &fewer), ["loud manual", "quiet manual"]);
    assert_eq!(skipped(&snapshot, &naming(fewer, "loud")), ["loud manual", "quiet manual"]);
    let freed = ["held-on", "held-auto", "held-off", "unknown"].map(|name| (name, Policy::Hybrid));
    let more = with(&freed, text);
    assert_eq!(labels(&snapshot, &more), ["held-on@2.0.0", "loud@1.0.0", "held-auto@1.0.0", "quiet@1.0.0"]);
    assert_eq!(labels(&snapshot, &with(&freed, "quiet")), ["held-on@2.0.0", "loud@1.0.0", "quiet@1.0.0"]);
    assert_eq!(labels(&snapshot, &naming(with(&freed, ""), "held-auto"))[0], "held-auto@1.0.0");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn each_turns_set_begins_with_the_last_turns(
        turns in prop::collection::vec("([a-e]{2}-x ?){0,4}", 1..6),
        most in 0usize..4,
        tools in 0usize..6,
    ) {
        let rows = ["aa", "bb", "cc", "dd", "ee", "ab", "cd"].map(|name| skill(&format!("{name}-x"), "1.0.0"));
        let snapshot = snapshot(rows.into_iter().chain([on("always", "1.0.0")]).collect());
        let mut before: Vec<String> = Vec::new();
        for text in turns {
            let mut request = SelectRequest { offered: before.clone(), ..asks(&text) };
            request.limits.auto_skills = most;
            request.limits.tools = tools;
            let now = ids(&snapshot.select(&request));
            prop_assert!(now.starts_with(&before), "{now:?} after {before:?}");
            let alone = ids(&snapshot.select(&SelectRequest { offered: Vec::new(), ..request }));
            prop_assert!(now.len() == tools || alone.iter().all(|id| now.contains(id)));
            prop_assert!(now.len() <= tools);
            before = now;
        }
    }
}
