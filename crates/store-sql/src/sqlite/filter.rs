//! The filters of the history, worded so that a page of a million rows comes from one index in its order.

use domain::{ApprovalState, Door, Status};
use store::ExecutionFilter;

use super::conditions::Conditions;
use crate::error::SqlError;

/// Everything but the cursor.
pub(super) fn conditions(filter: &ExecutionFilter) -> Result<Conditions, SqlError> {
    let mut all = Conditions::default();
    // What leads to a few rows is looked up first. A plus keeps a column's index from being taken in its stead.
    let few = filter.turn_id.is_some() || filter.session_id.is_some() || filter.approval.is_some();
    let word = |few_: &'static str, many: &'static str| if few { few_ } else { many };
    all.add("turn_id = ?", filter.turn_id.clone());
    all.add("session_id = ?", filter.session_id.clone());
    let asked = "id IN (SELECT execution_id FROM approvals WHERE state = ?)";
    all.add(asked, filter.approval.map(ApprovalState::as_str));
    all.add(word("+skill_id = ?", "skill_id = ?"), filter.skill_id.clone());
    all.add(word("+skill_name = ?", "skill_name = ?"), filter.skill_name.clone());
    all.add(word("+api_key_id = ?", "api_key_id = ?"), filter.api_key_id.clone());
    let success = filter.status.filter(|status| *status == Status::Success);
    let rare = filter.status.filter(|status| *status != Status::Success);
    // The first condition, a consequence of the second, opens the index of what is no success.
    all.add(word("+status = ?", "status <> 'success' AND status = ?"), rare.map(Status::as_str));
    // Half of the history has one door: its index is for those who ask for nothing else.
    let door = if all.values.is_empty() { "door = ?" } else { "+door = ?" };
    all.add(door, filter.door.map(Door::as_str));
    all.add("status = ?", success.map(Status::as_str));
    all.between(filter.since.as_deref(), filter.until.as_deref())?;
    Ok(all)
}

#[cfg(test)]
mod tests {
    use rusqlite::{Connection, params_from_iter};

    use super::*;
    use crate::sqlite::migrate;

    fn plan(filter: &ExecutionFilter) -> String {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate::apply(&mut connection).unwrap();
        let Conditions { sql, values } = conditions(filter).unwrap();
        let rows = format!(
            "EXPLAIN QUERY PLAN SELECT rowid FROM skill_executions{sql} ORDER BY created_ns DESC, rowid DESC LIMIT 50"
        );
        let mut statement = connection.prepare(&rows).unwrap();
        let steps =
            statement.query_map(params_from_iter(values.iter()), |row| row.get::<_, String>(3)).unwrap();
        steps.map(Result::unwrap).collect::<Vec<_>>().join("; ")
    }

    fn owner() -> ExecutionFilter {
        ExecutionFilter { api_key_id: Some("x".to_owned()), ..ExecutionFilter::default() }
    }

    /// Alone, within a time, and up to a time.
    fn bounded(filter: &ExecutionFilter) -> [ExecutionFilter; 3] {
        let time = || Some("2026-01-01T00:00:00Z".to_owned());
        [
            filter.clone(),
            ExecutionFilter { since: time(), ..filter.clone() },
            ExecutionFilter { until: time(), ..filter.clone() },
        ]
    }

    #[test]
    fn every_page_comes_from_an_index_in_its_order() {
        let none = ExecutionFilter::default;
        let some = || Some("x".to_owned());
        let cases = [
            (none(), "executions_created"),
            (owner(), "executions_owner"),
            (ExecutionFilter { skill_id: some(), ..none() }, "executions_skill"),
            (ExecutionFilter { skill_name: some(), ..none() }, "executions_name"),
            (ExecutionFilter { session_id: some(), ..none() }, "executions_session"),
            (ExecutionFilter { session_id: some(), ..owner() }, "executions_session"),
            (ExecutionFilter { turn_id: some(), ..none() }, "executions_turn"),
            (ExecutionFilter { turn_id: some(), ..owner() }, "executions_turn"),
            (ExecutionFilter { door: Some(Door::Rest), ..none() }, "executions_door"),
            (ExecutionFilter { door: Some(Door::Rest), ..owner() }, "executions_owner"),
            (ExecutionFilter { status: Some(Status::Success), ..owner() }, "executions_owner"),
            (ExecutionFilter { status: Some(Status::Success), ..none() }, "executions_created"),
        ];
        for (filter, index) in cases {
            for filter in bounded(&filter) {
                let plan = plan(&filter);
                assert!(
                    plan.contains(&format!("INDEX {index} ")) || plan.ends_with(index),
                    "{filter:?}: {plan}"
                );
                assert!(!plan.contains("TEMP B-TREE"), "{filter:?} sorts: {plan}");
                let range = filter.since.is_some() || filter.until.is_some();
                assert!(!range || plan.contains("created_ns"), "{filter:?} walks: {plan}");
            }
        }
    }

    #[test]
    fn what_is_rare_is_found_by_its_index() {
        for status in Status::ALL.into_iter().filter(|status| *status != Status::Success) {
            let filter = ExecutionFilter { status: Some(status), ..ExecutionFilter::default() };
            let plan = plan(&filter);
            assert!(plan.contains("executions_rare (status=?)") && !plan.contains("TEMP B-TREE"), "{plan}");
        }
        for state in ApprovalState::ALL {
            let filter = ExecutionFilter { approval: Some(state), ..owner() };
            let plan = plan(&filter);
            assert!(plan.contains("approvals_state (state=?)"), "{plan}");
            assert!(!plan.contains("SCAN") && !plan.contains("executions_owner"), "{plan}");
        }
    }
}
