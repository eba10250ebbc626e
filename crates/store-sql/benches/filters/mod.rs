//! What the benchmarks of the history ask for: the same on every database.

use domain::{ApprovalState, Door, Status};
use store::ExecutionFilter;

/// A word for each thing that is asked for.
pub(crate) const FILTERS: [&str; 25] = [
    "all",
    "large_owner",
    "small_owner",
    "small_owner_skill",
    "skill",
    "name",
    "session",
    "turn",
    "door",
    "success",
    "timeout",
    "waiting",
    "approved",
    "since",
    "until",
    "until_long_ago",
    "owner_skill",
    "owner_door",
    "owner_success",
    "owner_timeout",
    "owner_session",
    "owner_since",
    "owner_until_long_ago",
    "skill_timeout",
    "cursor_deep",
];

/// What such a name asks for, among so many rows of one second each.
pub(crate) fn filter(name: &str, rows: u32) -> ExecutionFilter {
    let some = |text: &str| Some(text.to_owned());
    let at = |part: u32| {
        let second = i64::from(rows / 100 * part) + 1_767_225_600;
        Some(jiff::Timestamp::from_second(second).unwrap().to_string())
    };
    let mut filter = ExecutionFilter::default();
    for word in name.split('_') {
        match word {
            "large" => filter.api_key_id = some("key-0"),
            "small" => filter.api_key_id = some("key-3"),
            "owner" => filter.api_key_id = filter.api_key_id.or(some("key-0")),
            "skill" => filter.skill_id = some("skill-7"),
            "name" => filter.skill_name = some("name-7"),
            "session" => filter.session_id = some("session-777"),
            "turn" => filter.turn_id = some("turn-777"),
            "door" => filter.door = Some(Door::Rest),
            "success" => filter.status = Some(Status::Success),
            "timeout" => filter.status = Some(Status::Timeout),
            "waiting" => filter.approval = Some(ApprovalState::Waiting),
            "approved" => filter.approval = Some(ApprovalState::Approved),
            "since" => filter.since = at(50),
            "until" => filter.until = at(50),
            "long" => filter.until = at(5),
            "cursor" => filter.before = Some(format!("01a00000-0000-7000-8000-{:012x}", rows / 10)),
            "all" | "deep" | "ago" => {}
            other => unreachable!("{other}"),
        }
    }
    filter
}
