//! How an execution is told to the model: structured JSON, short. Cutting it to a budget is the loop's work.

use domain::{Execution, Status};
use serde_json::{Map, Value};

/// A member that is for people: it differs from run to run, and would make equal results look new.
const DURATION: &str = "durationMs";

/// The text for the model and whether it is a failure.
///
/// A success is its output as compact JSON. A failure is `{"error": message, ...}` with the members of the output
/// that was kept, if there was one. How long it took stays in the history.
pub fn model_result(execution: &Execution) -> (String, bool) {
    let failed = execution.status != Status::Success;
    let mut told = Map::new();
    if failed {
        let message = execution.error_message.as_deref().unwrap_or("the skill did not finish");
        told.insert("error".to_owned(), message.into());
    }
    match &execution.output {
        Some(Value::Object(output)) => {
            let told_already = |name: &str| name == DURATION || (failed && name == "error");
            for (name, value) in output.iter().filter(|(name, _)| !told_already(name)) {
                told.insert(name.clone(), value.clone());
            }
        }
        Some(output) => {
            told.insert("output".to_owned(), output.clone());
        }
        None => {}
    }
    (Value::Object(told).to_string(), failed)
}
