//! The history: filters, pages, totals, newest first.

use std::sync::Arc;

use domain::{Door, Execution, Status};
use store::{ExecutionFilter, Page, PageRequest, Store};

use super::sample;

const FIRST: PageRequest = PageRequest { page: 1, limit: 50 };

async fn create(store: &Arc<dyn Store>, change: impl FnOnce(&mut Execution)) -> Execution {
    let mut execution = sample::execution();
    change(&mut execution);
    store.create_execution(&execution).await.unwrap();
    execution
}

async fn ids(store: &Arc<dyn Store>, filter: &ExecutionFilter) -> Vec<String> {
    let page = store.executions(filter, FIRST).await.unwrap();
    assert_eq!(page.total, page.data.len() as u64);
    page.data.into_iter().map(|execution| execution.id).collect()
}

/// Whole rows but for their parts, and totals of the filter rather than of the page.
pub async fn newest_first_in_pages(store: Arc<dyn Store>) {
    let mut all = Vec::new();
    for _ in 0..7 {
        all.push(create(&store, |_| {}).await);
    }
    create(&store, |e| e.api_key_id = "other".to_owned()).await;
    all.reverse();
    let filter = ExecutionFilter { api_key_id: Some("key-1".to_owned()), ..ExecutionFilter::default() };
    for (page, rows) in [(1, &all[0..3]), (2, &all[3..6]), (3, &all[6..7]), (4, &all[7..])] {
        let found = store.executions(&filter, PageRequest { page, limit: 3 }).await.unwrap();
        let next_cursor = (page < 3).then(|| rows.last().unwrap().id.clone());
        let expected = Page { data: rows.to_vec(), total: 7, page, limit: 3, total_pages: 3, next_cursor };
        assert_eq!(found, expected);
    }
    let outcome = sample::outcome();
    assert!(!outcome.parts.is_empty());
    store.finish_execution(&all[0].id, outcome.clone()).await.unwrap();
    let found = store.executions(&filter, PageRequest { page: 1, limit: 1 }).await.unwrap();
    let expected = Execution { parts: Vec::new(), ..sample::finished(&all[0], &outcome) };
    assert_eq!(found.data, [expected]);
    let everything = store.executions(&ExecutionFilter::default(), FIRST).await.unwrap();
    assert_eq!((everything.total, everything.total_pages), (8, 1));
}

/// Whatever the ids say; rows of one time are in the order in which they were written.
pub async fn newest_is_by_time(store: Arc<dyn Store>) {
    let mut ids_of = Vec::new();
    for time in
        ["2026-03-01T00:00:00Z", "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z", "2026-02-01T00:00:00Z"]
    {
        ids_of.push(create(&store, |e| e.created_at = time.to_owned()).await.id);
    }
    let expected = [0, 3, 2, 1].map(|n: usize| ids_of[n].clone());
    assert_eq!(ids(&store, &ExecutionFilter::default()).await, expected);
}

/// In pages of any size; what is written meanwhile is newer and does not disturb.
pub async fn a_cursor_goes_through_all_of_it_once(store: Arc<dyn Store>) {
    let mut all = Vec::new();
    for n in 0..23 {
        let time = format!("2026-01-02T03:04:{:02}Z", n / 4);
        all.push(create(&store, |e| e.created_at = time).await.id);
    }
    all.reverse();
    let until = || Some("2026-04-01T00:00:00Z".to_owned());
    for limit in [1, 4, 22, 23, 24] {
        let (mut seen, mut filter) =
            (Vec::new(), ExecutionFilter { until: until(), ..ExecutionFilter::default() });
        loop {
            let page = store.executions(&filter, PageRequest { page: 1, limit }).await.unwrap();
            assert_eq!(page.total, 23, "the total is that of the whole filter");
            seen.extend(page.data.into_iter().map(|execution| execution.id));
            create(&store, |e| e.created_at = "2026-05-01T00:00:00Z".to_owned()).await;
            filter.before = page.next_cursor;
            if filter.before.is_none() {
                break;
            }
        }
        assert_eq!(seen, all, "pages of {limit}");
    }
}

/// Behind a row that the filter does not show, too; behind one that is gone comes nothing.
pub async fn a_cursor_takes_filters_and_ends(store: Arc<dyn Store>) {
    let old = create(&store, |_| {}).await;
    let other = create(&store, |e| e.api_key_id = "key-2".to_owned()).await;
    let new = create(&store, |_| {}).await;
    let mut filter = ExecutionFilter { api_key_id: Some("key-1".to_owned()), ..ExecutionFilter::default() };
    for (before, expected) in [
        (&new.id, vec![old.id.clone()]),
        (&other.id, vec![old.id.clone()]),
        (&old.id, vec![]),
        (&"gone".to_owned(), vec![]),
    ] {
        filter.before = Some(before.clone());
        let page = store.executions(&filter, FIRST).await.unwrap();
        let found: Vec<_> = page.data.into_iter().map(|execution| execution.id).collect();
        assert_eq!((found, page.total, page.next_cursor), (expected, 2, None));
    }
}

/// Each alone: the one row that differs is found, and only it.
pub async fn every_filter_restricts(store: Arc<dyn Store>) {
    let other = create(&store, |e| {
        e.api_key_id = "key-2".to_owned();
        e.skill_id = "skill-2".to_owned();
        e.skill_name = "other-skill".to_owned();
        e.status = Status::Running;
        e.door = Door::Rest;
        e.session_id = Some("session-2".to_owned());
        e.turn_id = Some("turn-2".to_owned());
        e.created_at = "2026-06-01T00:00:00Z".to_owned();
    })
    .await;
    let bare = create(&store, |e| {
        e.session_id = None;
        e.turn_id = None;
    })
    .await;
    let common = create(&store, |_| {}).await;
    let any = ExecutionFilter::default;
    let text = |text: &str| Some(text.to_owned());
    let filters = [
        ExecutionFilter { api_key_id: text("key-2"), ..any() },
        ExecutionFilter { skill_id: text("skill-2"), ..any() },
        ExecutionFilter { skill_name: text("other-skill"), ..any() },
        ExecutionFilter { status: Some(Status::Running), ..any() },
        ExecutionFilter { door: Some(Door::Rest), ..any() },
        ExecutionFilter { session_id: text("session-2"), ..any() },
        ExecutionFilter { turn_id: text("turn-2"), ..any() },
        ExecutionFilter { since: text("2026-06-01T00:00:00Z"), ..any() },
    ];
    for filter in filters {
        assert_eq!(ids(&store, &filter).await, [other.id.as_str()], "{filter:?}");
    }
    let until = ExecutionFilter { until: text("2026-06-01T00:00:00Z"), ..any() };
    assert_eq!(ids(&store, &until).await, [common.id.as_str(), bare.id.as_str()]);
    assert_eq!(ids(&store, &any()).await, [other.id, common.id, bare.id]);
    for nothing in ["other", "OTHER-SKILL", "other-skill%", "' OR 1=1 --"] {
        let filter = ExecutionFilter { skill_name: text(nothing), ..any() };
        assert_eq!(ids(&store, &filter).await, Vec::<String>::new(), "names match exactly: {nothing}");
    }
}

/// All of them must hold.
pub async fn filters_combine(store: Arc<dyn Store>) {
    let wanted = create(&store, |e| e.status = Status::Running).await;
    create(&store, |_| {}).await;
    create(&store, |e| {
        e.status = Status::Running;
        e.skill_id = "skill-2".to_owned();
    })
    .await;
    let mut filter = ExecutionFilter {
        api_key_id: Some(wanted.api_key_id.clone()),
        skill_id: Some(wanted.skill_id.clone()),
        skill_name: Some(wanted.skill_name.clone()),
        status: Some(wanted.status),
        door: Some(wanted.door),
        session_id: wanted.session_id.clone(),
        turn_id: wanted.turn_id.clone(),
        approval: None,
        since: Some(wanted.created_at.clone()),
        until: Some("2027-01-01T00:00:00Z".to_owned()),
        before: None,
    };
    assert_eq!(ids(&store, &filter).await, [wanted.id]);
    filter.door = Some(Door::Rest);
    assert_eq!(ids(&store, &filter).await, Vec::<String>::new());
}

/// With and without a fraction, which do not sort as texts; `since` is included, `until` is not.
pub async fn times_compare_as_times(store: Arc<dyn Store>) {
    let times = ["2026-01-01T00:00:00Z", "2026-01-01T00:00:00.000000001Z", "2026-01-01T00:00:00.5Z"];
    let mut rows = Vec::new();
    for time in times {
        rows.push(create(&store, |e| e.created_at = time.to_owned()).await.id);
    }
    for (n, time) in times.into_iter().enumerate() {
        let since = ExecutionFilter { since: Some(time.to_owned()), ..ExecutionFilter::default() };
        let until = ExecutionFilter { until: Some(time.to_owned()), ..ExecutionFilter::default() };
        let newest_first = |rows: &[String]| rows.iter().rev().cloned().collect::<Vec<_>>();
        assert_eq!(ids(&store, &since).await, newest_first(&rows[n..]), "since {time}");
        assert_eq!(ids(&store, &until).await, newest_first(&rows[..n]), "until {time}");
    }
    let nonsense = ExecutionFilter { since: Some("yesterday".to_owned()), ..ExecutionFilter::default() };
    assert!(store.executions(&nonsense, FIRST).await.is_err());
}

/// No page is an error, and no limit is without bound.
pub async fn pages_out_of_range_are_empty_or_clamped(store: Arc<dyn Store>) {
    let only = create(&store, |_| {}).await;
    let none = ExecutionFilter::default();
    let far = store.executions(&none, PageRequest { page: u32::MAX, limit: 200 }).await.unwrap();
    assert_eq!((far.data.len(), far.total), (0, 1));
    let zero = store.executions(&none, PageRequest { page: 0, limit: 0 }).await.unwrap();
    assert_eq!((zero.page, zero.limit, zero.data), (1, 1, vec![only]));
    let huge = store.executions(&none, PageRequest { page: 1, limit: u32::MAX }).await.unwrap();
    assert_eq!(huge.limit, domain::limits::PAGE_MAX);
}
