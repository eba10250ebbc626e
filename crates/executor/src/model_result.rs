//! How an execution is told to the model: structured JSON, short. Cutting it to a budget is the loop's work.

use domain::{Execution, Status};
use serde_json::{Map, Value};

/// The text for the model and whether it is a failure.
///
/// A success is its output as compact JSON. A failure is `{"error": message, ...}` with the members of the output
/// that was kept, if there was one.
pub fn model_result(execution: &Execution) -> (String, bool) {
    if execution.status == Status::Success {
        let output = execution.output.clone().unwrap_or_else(|| Value::Object(Map::new()));
        return (output.to_string(), false);
    }
    let message = execution.error_message.as_deref().unwrap_or("the skill did not finish");
    let mut told = Map::new();
    told.insert("error".to_owned(), message.into());
    match &execution.output {
        Some(Value::Object(output)) => {
            for (name, value) in output.iter().filter(|(name, _)| name.as_str() != "error") {
                told.insert(name.clone(), value.clone());
            }
        }
        Some(output) => {
            told.insert("output".to_owned(), output.clone());
        }
        None => {}
    }
    (Value::Object(told).to_string(), true)
}
