//! `echo-handler`: returns its input, so that a first skill can be installed and run without writing code.

use async_trait::async_trait;
use serde_json::{Map, Value};

use crate::handler::{Handler, HandlerError, Output, RunContext};

/// Name of the handler in the table.
pub const ECHO_HANDLER: &str = "echo-handler";

/// Returns its input.
pub struct Echo;

#[async_trait]
impl Handler for Echo {
    async fn run(&self, input: Map<String, Value>, _ctx: &RunContext) -> Result<Output, HandlerError> {
        Ok(input.into())
    }

    fn effect_free(&self, _input: &Map<String, Value>) -> bool {
        true
    }
}
