//! `/api/skills/executions`: the history ([`list`]) and a person's own runs ([`run`]).

pub(crate) mod list;
pub(crate) mod run;
