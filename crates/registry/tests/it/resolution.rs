//! From a reference to a version, for every kind of owner.

use domain::{Mode, Skill, SkillRef};
use registry::{ResolveError, Snapshot};

use crate::skills::{owned, skill, snapshot};

fn resolved(snapshot: &Snapshot, owner: &str, reference: &str) -> String {
    match snapshot.resolve(owner, &SkillRef::parse(reference).unwrap()) {
        Ok(entry) => format!("{} {}", entry.skill.api_key_id, entry.skill.identity()),
        Err(ResolveError::NotFound(name)) => format!("no {name}"),
        Err(ResolveError::NoVersion { available, .. }) => format!("{available:?}"),
    }
}

#[test]
fn the_highest_satisfying_version_by_number() {
    let rows = ["1.9.0", "1.10.0", "0.2.5", "0.3.0", "2.0.0"].map(|version| skill("rev", version));
    let snapshot = snapshot(rows.to_vec());
    for (reference, version) in [
        ("rev", "2.0.0"),
        ("rev@^1", "1.10.0"),
        ("rev@~1.9", "1.9.0"),
        ("rev@^0.2.0", "0.2.5"),
        ("rev@<1", "0.3.0"),
    ] {
        assert_eq!(resolved(&snapshot, "alice", reference), format!("system rev@{version}"), "{reference}");
    }
    assert_eq!(resolved(&snapshot, "alice", "nothing"), "no nothing");
    assert_eq!(resolved(&snapshot, "alice", "nothing@^1"), "no nothing");
    let error = snapshot.resolve("alice", &SkillRef::parse("rev@^3").unwrap()).unwrap_err();
    let ResolveError::NoVersion { available, .. } = error else { panic!("{error}") };
    let listed: Vec<String> = available.iter().map(ToString::to_string).collect();
    assert_eq!(listed, ["2.0.0", "1.10.0", "1.9.0", "0.3.0", "0.2.5"]);
}

#[test]
fn own_skills_hide_the_same_version_of_system_and_nobody_elses() {
    let snapshot = snapshot(vec![
        skill("rev", "1.0.0"),
        skill("rev", "1.1.0"),
        owned("alice", Skill { mode: Mode::Off, ..skill("rev", "1.1.0") }),
        owned("alice", skill("mine", "1.0.0")),
        owned("bob", skill("rev", "3.0.0")),
    ]);
    // Hidden even though the own one is off: what may run is the executor's question.
    assert_eq!(resolved(&snapshot, "alice", "rev"), "alice rev@1.1.0");
    assert_eq!(resolved(&snapshot, "alice", "rev@1.0"), "system rev@1.0.0");
    assert_eq!(resolved(&snapshot, "bob", "rev"), "bob rev@3.0.0");
    assert_eq!(resolved(&snapshot, "bob", "rev@^1"), "system rev@1.1.0");
    assert_eq!(resolved(&snapshot, "carol", "rev"), "system rev@1.1.0");
    assert_eq!(resolved(&snapshot, "carol", "mine"), "no mine");
    assert_eq!(resolved(&snapshot, "system", "rev"), "system rev@1.1.0");
    assert_eq!(snapshot.versions("alice", "rev").len(), 2);
}
