//! What is injected, in which order, and why other skills are not.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::scoring::{Context, score};
use domain::{Mode, Policy, Skill, SkillRef};
use proptest::prelude::*;
use registry::{Outcome, SelectRequest, Selection, Snapshot, WithClientTools};

use crate::skills::{builtin, on, owned, skill, snapshot};

fn asks(text: &str) -> SelectRequest {
    SelectRequest::new("alice", Context::new(text, "", "openai"))
}

fn naming(request: SelectRequest, names: &[&str]) -> SelectRequest {
    SelectRequest { named: names.iter().map(|name| SkillRef::parse(name).unwrap()).collect(), ..request }
}

fn injected(selection: &Selection) -> Vec<String> {
    selection.injected.iter().map(|entry| entry.skill.identity()).collect()
}

fn skipped(selection: &Selection) -> Vec<String> {
    selection.skipped.iter().map(|left| format!("{} {}", left.name, left.reason.as_str())).collect()
}

fn both(snapshot: &Snapshot, request: &SelectRequest) -> (Vec<String>, Vec<String>) {
    let selection = snapshot.select(request);
    (injected(&selection), skipped(&selection))
}

#[test]
fn the_six_states_of_enabled_and_mode() {
    for (enabled, mode, offered) in [
        (true, Mode::On, true),
        (true, Mode::Auto, true),
        (true, Mode::Off, false),
        (false, Mode::On, false),
        (false, Mode::Auto, false),
        (false, Mode::Off, false),
    ] {
        let snapshot = snapshot(vec![Skill { enabled, mode, ..skill("reverse-text", "1.0.0") }]);
        let state = format!("{enabled} {mode:?}");
        assert_eq!(snapshot.select(&asks("reverse-text")).injected.len(), usize::from(offered), "{state}");
        let (named, why) = both(&snapshot, &naming(asks(""), &["reverse-text"]));
        assert_eq!(named.len(), usize::from(offered), "{state}");
        assert_eq!(why, if offered { vec![] } else { vec!["reverse-text off".to_owned()] }, "{state}");
        let found = snapshot.resolve("alice", &SkillRef::parse("reverse-text").unwrap()).unwrap();
        assert_eq!(found.skill.is_active(), offered, "{state}");
    }
}

#[test]
fn on_always_and_the_best_autos_by_score_installs_and_name() {
    let auto = |name: &str, installs| Skill {
        install_count: installs,
        tags: vec!["git".into()],
        ..skill(name, "1.0.0")
    };
    let mut rows = vec![on("zeta", "1.0.0"), on("eta", "1.0.0"), skill("other", "1.0.0")];
    rows.extend(
        [("a", 1), ("b", 1), ("c", 5), ("d", 1), ("e", 1), ("f", 1)]
            .map(|(n, i)| auto(&format!("{n}{n}{n}"), i)),
    );
    let snapshot = snapshot(rows);
    let (chosen, left) = both(&snapshot, &asks("some git work with fff"));
    assert_eq!(
        chosen,
        ["eta@1.0.0", "zeta@1.0.0", "aaa@1.0.0", "bbb@1.0.0", "ccc@1.0.0", "ddd@1.0.0", "fff@1.0.0"]
    );
    assert!(left.is_empty(), "being outscored is no news: {left:?}");
    assert_eq!(injected(&snapshot.select(&asks("hello"))), ["eta@1.0.0", "zeta@1.0.0"]);
}

#[test]
fn one_version_a_name_the_highest_that_may_be_offered() {
    let snapshot = snapshot(vec![
        on("rev", "1.9.0"),
        on("rev", "1.10.0"),
        Skill { policy: Policy::Manual, ..on("rev", "2.0.0") },
        Skill { handler: "gone".into(), ..on("rev", "3.0.0") },
    ]);
    assert_eq!(injected(&snapshot.select(&asks(""))), ["rev@1.10.0"]);
    assert_eq!(injected(&snapshot.select(&naming(asks(""), &["rev"]))), ["rev@1.10.0"]);
    assert_eq!(injected(&snapshot.select(&naming(asks(""), &["rev@~1.9"]))), ["rev@1.9.0"]);
}

#[test]
fn own_skills_hide_those_of_system_and_are_nobody_elses() {
    let snapshot = snapshot(vec![
        on("rev", "1.0.0"),
        on("git-log", "1.0.0"),
        owned("alice", Skill { mode: Mode::Off, ..skill("rev", "1.0.0") }),
        owned("alice", skill("git-log", "2.0.0")),
        owned("bob", on("bobs", "1.0.0")),
    ]);
    // The own 2.0.0 is the highest version and is `auto`: the `on` of 1.0.0 no longer counts.
    assert!(injected(&snapshot.select(&asks("hello"))).is_empty());
    let chosen = snapshot.select(&asks("git-log"));
    assert_eq!(
        (injected(&chosen), chosen.injected[0].skill.api_key_id.as_str()),
        (vec!["git-log@2.0.0".into()], "alice")
    );
    let carol = SelectRequest::new("carol", Context::default());
    assert_eq!(injected(&snapshot.select(&carol)), ["git-log@1.0.0", "rev@1.0.0"]);
}

#[test]
fn named_skills_come_first_and_what_cannot_be_given_is_told() {
    let snapshot = snapshot(vec![
        on("always", "1.0.0"),
        skill("rev", "1.0.0"),
        skill("rev", "2.0.0"),
        Skill { mode: Mode::Off, ..skill("off", "1.0.0") },
        Skill { policy: Policy::Manual, ..skill("manual", "1.0.0") },
        Skill { handler: "gone".into(), ..skill("broken", "1.0.0") },
        skill("down", "1.0.0"),
    ]);
    let mut request = naming(
        asks(""),
        &["rev@^1", "rev@2", "rev@1.0.0", "off", "manual", "broken", "down", "nope", "always@^7"],
    );
    request.unavailable = Arc::new(BTreeMap::from([("down".to_owned(), "no runtime".to_owned())]));
    let (chosen, left) = both(&snapshot, &request);
    assert_eq!(chosen, ["rev@1.0.0"]);
    let expected = [
        "rev already_named",
        "off off",
        "manual manual",
        "broken broken",
        "down unavailable",
        "nope unknown",
        "always no_version",
    ];
    assert_eq!(left, expected);
}

#[test]
fn client_tools_keep_local_builtins_out_unless_named_or_configured() {
    let rows =
        vec![builtin("eval_code", Mode::On), builtin("file_read", Mode::Auto), on("file_custom", "1.0.0")];
    let snapshot = snapshot(rows);
    let request = SelectRequest { client_tools: 1, ..asks("file_read please") };
    let (chosen, left) = both(&snapshot, &request);
    assert_eq!(chosen, ["file_custom@1.0.0"]);
    assert_eq!(left, ["eval_code client_tools", "file_read client_tools"]);
    assert_eq!(
        injected(&snapshot.select(&naming(request.clone(), &["eval_code"]))),
        ["eval_code@1.0.0", "file_custom@1.0.0"]
    );
    let all = SelectRequest { with_client_tools: WithClientTools::All, ..request };
    assert_eq!(snapshot.select(&all).injected.len(), 3);
    assert_eq!(snapshot.select(&asks("file_read please")).injected.len(), 3);
}

#[test]
fn customs_can_be_kept_out() {
    let snapshot = snapshot(vec![builtin("eval_code", Mode::On), on("mine", "1.0.0")]);
    let request = SelectRequest { customs_allowed: false, ..asks("") };
    assert_eq!(both(&snapshot, &request), (vec!["eval_code@1.0.0".into()], vec!["mine customs_off".into()]));
}

#[test]
fn too_much_is_dropped_in_the_documented_order() {
    let tagged = |name: &str, tags: &[&str]| Skill {
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        description: "x".repeat(900),
        ..skill(name, "1.0.0")
    };
    let mut rows = vec![tagged("weak", &["git"]), tagged("strong", &["git", "log"]), tagged("picked", &[])];
    rows.extend(["on-a", "on-b"].map(|name| Skill { mode: Mode::On, ..tagged(name, &[]) }));
    rows.push(Skill {
        schema: serde_json::json!({"input": {"y".repeat(9000): "string"}}),
        ..on("giant", "1.0.0")
    });
    let snapshot = snapshot(rows);
    let mut request = naming(asks("git log"), &["picked"]);
    let order = ["picked@1.0.0", "on-a@1.0.0", "on-b@1.0.0", "strong@1.0.0"];
    let gone = ["giant bytes", "weak bytes", "strong bytes", "on-b bytes", "on-a bytes", "picked bytes"];
    for (bytes, kept) in [(4800, 4), (3800, 3), (2800, 2), (1800, 1), (900, 0)] {
        request.limits.bytes = bytes;
        let (chosen, left) = both(&snapshot, &request);
        assert_eq!(chosen, order[..kept], "{bytes}");
        assert_eq!(left.len(), 6 - kept, "{bytes}");
        if bytes > 900 {
            assert_eq!(left, gone[..6 - kept], "{bytes}");
        }
    }
    request.limits.bytes = 1_000_000;
    request.limits.tools = 10;
    request.client_tools = 8;
    assert_eq!(injected(&snapshot.select(&request)), ["picked@1.0.0", "giant@1.0.0"]);
    request.client_tools = 11;
    assert!(snapshot.select(&request).injected.is_empty());
}

#[test]
fn two_hundred_large_skills_stay_within_the_budget() {
    let rows =
        (0..200).map(|n| Skill { description: "d".repeat(1024), ..on(&format!("skill-{n:03}"), "1.0.0") });
    let selection = snapshot(rows.collect()).select(&asks(""));
    let bytes: usize = selection.injected.iter().map(|entry| entry.definition_bytes).sum();
    assert!(bytes <= domain::limits::INJECTED_BYTES && !selection.injected.is_empty());
    assert_eq!(selection.injected.len() + selection.skipped.len(), 200);
}

#[test]
fn an_explanation_holds_every_candidate_and_changes_nothing() {
    let rows = vec![
        on("always", "1.0.0"),
        skill("git-log", "1.0.0"),
        skill("log", "1.0.0"),
        skill("other", "1.0.0"),
    ];
    let snapshot = snapshot(rows);
    let mut request = asks("read the git history");
    request.limits.auto_score = 3;
    let plain = snapshot.select(&request);
    assert!(plain.considered.is_empty());
    request.explain = true;
    let explained = snapshot.select(&request);
    assert_eq!(injected(&plain), injected(&explained));
    let lines: Vec<String> = explained
        .considered
        .iter()
        .map(|c| match &c.outcome {
            Outcome::Injected => format!("{} {} injected", c.entry.skill.name, c.score.total),
            Outcome::Skipped(reason) => {
                format!("{} {} {}", c.entry.skill.name, c.score.total, reason.as_str())
            }
        })
        .collect();
    assert_eq!(lines, ["git-log 2 low_score", "always 0 injected"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_choice_equals_scoring_everything(
        names in prop::collection::btree_set("[ab]{1,3}(-[cd]{2,3})?", 1..14),
        texts in prop::collection::vec("([abcd]{1,3} ?){1,4}", 14),
        own in prop::collection::vec(any::<bool>(), 14),
        context in "([abcd]{1,3}[ -]?){1,8}",
        least in -1i32..6,
        most in 0usize..6,
    ) {
        let row = |(n, name): (usize, &String)| {
            let tags = texts[n].split(' ').take(2).map(str::to_owned).collect();
            let row = Skill { description: texts[n].clone(), tags, install_count: n as u64 % 3, ..skill(name, "1.0.0") };
            if own[n] { owned("alice", row) } else { row }
        };
        let snapshot = snapshot(names.iter().enumerate().map(row).collect());
        let mut request = asks(&context);
        request.limits.auto_score = least;
        request.limits.auto_skills = most;
        let mut all: Vec<_> = snapshot
            .entries()
            .map(|entry| (score(&entry.subject(), &request.context).total, entry))
            .filter(|(total, _)| *total >= least)
            .collect();
        all.sort_by_key(|(total, e)| (-total, std::cmp::Reverse(e.skill.install_count), e.skill.name.clone()));
        let mut expected: Vec<String> = all.iter().take(most).map(|(_, e)| e.skill.identity()).collect();
        expected.sort();
        let mut found = injected(&snapshot.select(&request));
        found.sort();
        prop_assert_eq!(found, expected);
    }
}
