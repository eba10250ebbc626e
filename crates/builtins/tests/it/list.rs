//! What all built-ins have in common: names, texts, schemas, rows.

use domain::limits::DESCRIPTION_CHARS;
use domain::{Mode, Policy, skill::check_name};
use executor::check_schema;

use crate::fixture::standard;

#[test]
fn each_is_described_within_the_limits_and_has_a_handler() {
    let fixture = standard();
    let summaries = fixture.builtins.summaries();
    for skill in fixture.builtins.skills("2026-01-01T00:00:00.000Z") {
        check_name(&skill.name).unwrap();
        assert!(skill.is_builtin() && skill.is_system() && skill.is_active());
        assert!(skill.description.chars().count() <= DESCRIPTION_CHARS, "{}", skill.name);
        assert!(summaries[&skill.name].chars().count() <= 120, "{}", skill.name);
        assert!(fixture.handlers.get(&skill.handler).is_some());
        for side in ["input", "output"] {
            check_schema(&skill.schema[side]).unwrap();
            let normal = domain::schema::normalise(&skill.schema[side]).unwrap();
            assert_eq!(normal, skill.schema[side], "it is normal already");
        }
    }
}

#[test]
fn modes_and_policies_are_those_of_the_specification() {
    let rows: Vec<_> = standard()
        .builtins
        .skills("2026-01-01T00:00:00.000Z")
        .into_iter()
        .map(|skill| (skill.identity(), skill.mode, skill.policy))
        .collect();
    assert_eq!(
        rows,
        [
            ("file_read@1.0.0".to_owned(), Mode::Auto, Policy::Auto),
            ("file_write@1.0.0".to_owned(), Mode::Auto, Policy::Auto),
            ("eval_code@1.0.0".to_owned(), Mode::On, Policy::Hybrid),
        ]
    );
}

#[test]
fn descriptions_state_the_limits_in_force() {
    let limits = builtins::WorkspaceLimits { file_bytes: 12_345, total_bytes: 23_456, entries: 345 };
    let fixture = crate::fixture::fixture(limits, None);
    let text: Vec<String> = fixture.builtins.definitions().into_iter().map(|of| of.description).collect();
    assert!(text[0].contains("12345 bytes"));
    assert!(
        text[1].contains("12345 bytes") && text[1].contains("23456 bytes") && text[1].contains("345 files")
    );
    assert!(
        text[2].contains("10000 ms") && text[2].contains("256 MiB") && text[2].contains("100000 characters")
    );
}
