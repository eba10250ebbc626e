//! The filters of the history, worded so that a page of a million rows comes from one index in its order.

use domain::{ApprovalState, Door, Status};
use rusqlite::ToSql;
use store::ExecutionFilter;

use super::conditions::Conditions;
use crate::error::SqlError;

/// A filter in SQL.
pub(super) struct Filter {
    /// The tables.
    pub(super) from: &'static str,
    /// The column of time that gives the order; rows of one time come in that of `skill_executions.rowid`.
    pub(super) time: &'static str,
    pub(super) conditions: Conditions,
}

impl Filter {
    /// Everything but the cursor.
    pub(super) fn of(filter: &ExecutionFilter) -> Result<Self, SqlError> {
        // Those that asked a person are found by their approvals, which are fewer. CROSS keeps this order of the two.
        let (from, time, bounds) = match filter.approval {
            Some(_) => (
                "approvals CROSS JOIN skill_executions ON id = execution_id",
                "asked_ns",
                ["asked_ns >= ?", "asked_ns < ?"],
            ),
            None => ("skill_executions", "created_ns", ["created_ns >= ?", "created_ns < ?"]),
        };
        let mut all = Conditions::default();
        // The first of these that is asked for opens its index; a plus keeps the others from being taken in its stead.
        all.add("state = ?", filter.approval.map(ApprovalState::as_str));
        all.first(["turn_id = ?", "+turn_id = ?"], filter.turn_id.clone());
        all.first(["session_id = ?", "+session_id = ?"], filter.session_id.clone());
        let success = filter.status.filter(|status| *status == Status::Success);
        let rare = filter.status.filter(|status| *status != Status::Success);
        // The first condition, a consequence of the second, opens the index of what is no success.
        all.first(["status <> 'success' AND status = ?", "+status = ?"], rare.map(Status::as_str));
        all.first(["skill_id = ?", "+skill_id = ?"], filter.skill_id.clone());
        all.first(["skill_name = ?", "+skill_name = ?"], filter.skill_name.clone());
        all.first(["api_key_id = ?", "+api_key_id = ?"], filter.api_key_id.clone());
        all.first(["door = ?", "+door = ?"], filter.door.map(Door::as_str));
        // Most are: no index would help.
        all.add("+status = ?", success.map(Status::as_str));
        all.bounds(bounds, filter.since.as_deref(), filter.until.as_deref())?;
        Ok(Self { from, time, conditions: all })
    }

    /// Only what comes behind this place.
    pub(super) fn behind(&mut self, created_ns: i64, rowid: i64) {
        let behind = match self.time {
            "asked_ns" => "asked_ns <= ? AND (asked_ns < ? OR skill_executions.rowid < ?)",
            _ => "created_ns <= ? AND (created_ns < ? OR skill_executions.rowid < ?)",
        };
        let values = [created_ns, created_ns, rowid].map(|number| Box::new(number) as Box<dyn ToSql>);
        self.conditions.both(behind, values);
    }

    /// Selects the places of the rows, the newest first; its last two values are a limit and an offset.
    pub(super) fn places(&self) -> String {
        let Self { from, time, conditions: Conditions { sql, .. } } = self;
        format!(
            "SELECT skill_executions.rowid FROM {from}{sql}
            ORDER BY {time} DESC, skill_executions.rowid DESC LIMIT ? OFFSET ?"
        )
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
        let mut filter = Filter::of(filter).unwrap();
        let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {}", filter.places())).unwrap();
        filter.conditions.values.extend([50, 0].map(|n: i64| Box::new(n) as Box<dyn ToSql>));
        let values = params_from_iter(filter.conditions.values.iter());
        let steps = statement.query_map(values, |row| row.get::<_, String>(3)).unwrap();
        steps.map(Result::unwrap).collect::<Vec<_>>().join("; ")
    }

    fn owner() -> ExecutionFilter {
        ExecutionFilter { api_key_id: Some("x".to_owned()), ..ExecutionFilter::default() }
    }

    /// Whether more than the rows of one moment is sorted.
    fn sorts(plan: &str) -> bool {
        plan.contains("TEMP B-TREE") && !plan.contains("TEMP B-TREE FOR LAST TERM")
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
            (ExecutionFilter { skill_id: some(), ..owner() }, "executions_skill"),
            (ExecutionFilter { skill_name: some(), ..owner() }, "executions_name"),
            (ExecutionFilter { status: Some(Status::Error), ..owner() }, "executions_rare"),
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
                assert!(!sorts(&plan), "{filter:?} sorts: {plan}");
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
            assert!(plan.contains("executions_rare (status=?)") && !sorts(&plan), "{plan}");
        }
        for state in ApprovalState::ALL {
            for filter in bounded(&ExecutionFilter { approval: Some(state), ..owner() }) {
                let plan = plan(&filter);
                assert!(plan.contains("approvals_state (state=?"), "{plan}");
                assert!(plan.contains("executions_1 (id=?)") && !plan.contains("SCAN"), "{plan}");
                assert!(!sorts(&plan), "{plan}");
            }
        }
    }
}
