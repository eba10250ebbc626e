//! What an entry works out: broken or not, normalised, cut.

use domain::limits::DESCRIPTION_CHARS;
use domain::{Mode, Skill};
use registry::Known;
use serde_json::{Value, json};

use crate::skills::{builtin, skill, snapshot};

#[test]
fn broken_skills_stay_visible_with_their_reason_and_stop_nobody() {
    let bad_schemas = [
        json!([]),
        json!("string"),
        json!({"type": "string"}),
        json!({"input": []}),
        json!({"input": {"a": 5}}),
    ];
    let mut skills: Vec<Skill> = (0..)
        .zip(&bad_schemas)
        .map(|(n, schema)| Skill { schema: schema.clone(), ..skill(&format!("bad-{n}"), "1.0.0") })
        .collect();
    skills.push(Skill { handler: "gone".to_owned(), ..skill("orphan", "1.0.0") });
    skills.push(skill("fine", "1.0.0"));
    let snapshot = snapshot(skills);
    assert_eq!(snapshot.len(), bad_schemas.len() + 2);
    let broken: Vec<_> = snapshot.entries().filter_map(|entry| entry.broken.as_deref()).collect();
    assert_eq!(broken.len(), bad_schemas.len() + 1);
    assert!(broken.iter().any(|reason| reason.contains("`gone`")), "{broken:?}");
    assert!(broken.iter().any(|reason| reason.starts_with("schema.input.a: ")), "{broken:?}");
    assert!(snapshot.versions("alice", "fine")[0].broken.is_none());
}

#[test]
fn every_empty_input_is_offered_as_an_object() {
    for schema in [json!({}), json!(null), json!({"input": {}, "output": {}}), json!({"input": null})] {
        let snapshot = snapshot(vec![Skill { schema, ..skill("ping", "1.0.0") }]);
        let entry = &snapshot.versions("alice", "ping")[0];
        assert_eq!(entry.input(), &json!({"type": "object", "properties": {}}));
        assert_eq!((entry.broken.as_ref(), entry.output.as_ref()), (None, None));
    }
}

#[test]
fn a_long_description_is_cut_and_marked_and_the_row_keeps_it() {
    let exact = "é".repeat(DESCRIPTION_CHARS);
    let long = format!("{exact}é");
    let rows = vec![
        Skill { description: exact.clone(), ..skill("exact", "1.0.0") },
        Skill { description: long.clone(), ..skill("long", "1.0.0") },
    ];
    let snapshot = snapshot(rows);
    assert_eq!(snapshot.versions("a", "exact")[0].definition.description, exact);
    let entry = &snapshot.versions("a", "long")[0];
    assert_eq!(entry.definition.description.chars().count(), DESCRIPTION_CHARS);
    assert!(entry.definition.description.ends_with("[cut]"));
    assert_eq!(entry.skill.description, long);
    assert!(entry.definition_bytes > DESCRIPTION_CHARS);
}

#[test]
fn a_builtin_is_scored_on_its_summary_and_its_name_is_reserved_in_any_case() {
    let row = Skill { description: "x".repeat(5000), ..builtin("file_read", Mode::Auto) };
    let snapshot = snapshot(vec![row, Skill { description: "own words".into(), ..skill("other", "1.0.0") }]);
    assert_eq!(snapshot.versions("a", "file_read")[0].subject().description, "Read a file of the workspace");
    assert_eq!(snapshot.versions("a", "other")[0].subject().description, "own words");
    let known: Known = crate::skills::known();
    assert!(known.is_reserved("File_Read") && !known.is_reserved("file_reader"));
}

#[test]
fn the_schema_as_installed_is_untouched() {
    let schema: Value = json!({"input": {"text": {"type": "string", "required": true}}});
    let snapshot = snapshot(vec![Skill { schema: schema.clone(), ..skill("rev", "1.0.0") }]);
    let entry = &snapshot.versions("a", "rev")[0];
    assert_eq!(entry.skill.schema, schema);
    assert_eq!(entry.input()["required"], json!(["text"]));
}
