//! The list for people.

use domain::{Mode, Skill, SourceProvider};
use registry::{SkillFilter, SkillSort, Snapshot};
use store::PageRequest;

use crate::skills::{builtin, on, owned, skill, snapshot};

fn rows() -> Snapshot {
    snapshot(vec![
        Skill {
            description: "Größe messen".into(),
            created_at: "2026-01-03T00:00:00Z".into(),
            ..skill("beta", "1.0.0")
        },
        Skill { install_count: 9, ..skill("alpha", "1.9.0") },
        Skill { tags: vec!["git".into()], ..on("alpha", "1.10.0") },
        owned("alice", Skill { enabled: false, mode: Mode::Off, ..skill("gamma", "1.0.0") }),
        builtin("file_read", Mode::Auto),
    ])
}

fn names(filter: &SkillFilter) -> Vec<String> {
    let page = rows().list(filter, PageRequest { page: 1, limit: 50 });
    assert_eq!(page.total, page.data.len() as u64);
    page.data.iter().map(|entry| entry.skill.identity()).collect()
}

#[test]
fn every_filter_and_order() {
    let all = SkillFilter::default();
    assert_eq!(names(&all), ["alpha@1.10.0", "alpha@1.9.0", "beta@1.0.0", "file_read@1.0.0", "gamma@1.0.0"]);
    assert_eq!(names(&SkillFilter { q: Some("GRÖSSE".into()), ..all.clone() }), ["beta@1.0.0"]);
    assert_eq!(names(&SkillFilter { q: Some("git".into()), ..all.clone() }), ["alpha@1.10.0"]);
    assert_eq!(names(&SkillFilter { q: Some(String::new()), ..all.clone() }).len(), 5);
    assert_eq!(names(&SkillFilter { mode: Some(Mode::On), ..all.clone() }), ["alpha@1.10.0"]);
    assert_eq!(names(&SkillFilter { owner: Some("alice".into()), ..all.clone() }), ["gamma@1.0.0"]);
    assert_eq!(names(&SkillFilter { enabled: Some(false), ..all.clone() }), ["gamma@1.0.0"]);
    let shipped = SkillFilter { source: Some(SourceProvider::Builtin), ..all.clone() };
    assert_eq!(names(&shipped), ["file_read@1.0.0"]);
    assert_eq!(names(&SkillFilter { sort: SkillSort::Created, ..all.clone() })[0], "beta@1.0.0");
    assert_eq!(names(&SkillFilter { sort: SkillSort::Installs, ..all })[0], "alpha@1.9.0");
    assert_eq!(SkillSort::parse("installs"), Some(SkillSort::Installs));
    assert_eq!(SkillSort::parse("size"), None);
}

#[test]
fn pages_cover_the_list_and_end() {
    let page = |number| rows().list(&SkillFilter::default(), PageRequest { page: number, limit: 2 });
    assert_eq!((page(1).data.len(), page(3).data.len(), page(4).data.len()), (2, 1, 0));
    assert_eq!((page(4).total, page(4).total_pages), (5, 3));
    assert_eq!(page(u32::MAX).data.len(), 0);
}
