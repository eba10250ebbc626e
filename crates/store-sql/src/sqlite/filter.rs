//! The filters of the history as a WHERE clause, worded so that a page of a million rows comes from an index. Values
//! are bound, never written into the text.

use domain::{ApprovalState, Door, Status};
use rusqlite::ToSql;
use store::ExecutionFilter;

use super::executions::nanoseconds;
use crate::error::SqlError;

/// A WHERE clause, or nothing, with its positional values.
pub(super) struct Conditions {
    pub(super) sql: String,
    pub(super) values: Vec<Box<dyn ToSql>>,
}

impl Conditions {
    pub(super) fn of(filter: &ExecutionFilter) -> Result<Self, SqlError> {
        let mut all = Self { sql: String::new(), values: Vec::new() };
        all.add("api_key_id = ?", filter.api_key_id.clone());
        all.add("skill_id = ?", filter.skill_id.clone());
        all.add("skill_name = ?", filter.skill_name.clone());
        all.add("session_id = ?", filter.session_id.clone());
        all.add("turn_id = ?", filter.turn_id.clone());
        let asked = "id IN (SELECT execution_id FROM approvals WHERE state = ?)";
        all.add(asked, filter.approval.map(ApprovalState::as_str));
        let success = filter.status.filter(|status| *status == Status::Success);
        let rare = filter.status.filter(|status| *status != Status::Success);
        // The first condition, a consequence of the second, opens the index of what is no success.
        all.add("status <> 'success' AND status = ?", rare.map(Status::as_str));
        // Half of the history has one door. A plus keeps its index from being taken for a narrow one.
        let door = if all.values.is_empty() { "door = ?" } else { "+door = ?" };
        all.add(door, filter.door.map(Door::as_str));
        all.add("status = ?", success.map(Status::as_str));
        all.add("created_ns >= ?", filter.since.as_deref().map(nanoseconds).transpose()?);
        all.add("created_ns < ?", filter.until.as_deref().map(nanoseconds).transpose()?);
        Ok(all)
    }

    fn add<T: ToSql + 'static>(&mut self, condition: &'static str, value: Option<T>) {
        if let Some(value) = value {
            self.sql.push_str(if self.values.is_empty() { " WHERE " } else { " AND " });
            self.sql.push_str(condition);
            self.values.push(Box::new(value));
        }
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::{Connection, params_from_iter};

    use super::*;
    use crate::sqlite::migrate;

    fn plan(filter: &ExecutionFilter) -> String {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate::apply(&mut connection).unwrap();
        let Conditions { sql, values } = Conditions::of(filter).unwrap();
        let ids =
            format!("EXPLAIN QUERY PLAN SELECT id FROM skill_executions{sql} ORDER BY id DESC LIMIT 50");
        let mut statement = connection.prepare(&ids).unwrap();
        let steps =
            statement.query_map(params_from_iter(values.iter()), |row| row.get::<_, String>(3)).unwrap();
        steps.map(Result::unwrap).collect::<Vec<_>>().join("; ")
    }

    fn owner() -> ExecutionFilter {
        ExecutionFilter { api_key_id: Some("x".to_owned()), ..ExecutionFilter::default() }
    }

    #[test]
    fn every_page_comes_from_an_index_in_its_order() {
        let none = ExecutionFilter::default;
        let some = || Some("x".to_owned());
        let cases = [
            (none(), "sqlite_autoindex_skill_executions_1"),
            (owner(), "executions_owner"),
            (ExecutionFilter { skill_id: some(), ..none() }, "executions_skill"),
            (ExecutionFilter { skill_name: some(), ..none() }, "executions_name"),
            (ExecutionFilter { session_id: some(), ..none() }, "executions_session"),
            (ExecutionFilter { turn_id: some(), ..none() }, "executions_turn"),
            (ExecutionFilter { door: Some(Door::Rest), ..none() }, "executions_door"),
            (ExecutionFilter { door: Some(Door::Rest), ..owner() }, "executions_owner"),
            (ExecutionFilter { status: Some(Status::Success), ..owner() }, "executions_owner"),
            (
                ExecutionFilter { status: Some(Status::Success), ..none() },
                "sqlite_autoindex_skill_executions_1",
            ),
        ];
        for (filter, index) in cases {
            let plan = plan(&filter);
            assert!(plan.contains(&format!("INDEX {index} ")) || plan.ends_with(index), "{filter:?}: {plan}");
            assert!(!plan.contains("TEMP B-TREE"), "{filter:?} sorts: {plan}");
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
            let filter = ExecutionFilter { approval: Some(state), ..ExecutionFilter::default() };
            let plan = plan(&filter);
            assert!(plan.contains("approvals_state (state=?)"), "{plan}");
            assert!(!plan.contains("SCAN") && !plan.contains("TEMP B-TREE"), "{plan}");
        }
    }
}
