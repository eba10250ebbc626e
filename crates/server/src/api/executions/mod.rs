//! `/api/skills/executions`: the history ([`list`]), a person's own runs ([`run`]), decisions about calls that wait
//! ([`decide`]), and what happens at the moment ([`stream`]).

pub(crate) mod cancel;
pub(crate) mod decide;
pub(crate) mod list;
pub(crate) mod run;
pub(crate) mod stream;
