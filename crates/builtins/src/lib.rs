//! The skills we ship, one file each, and the list of them: [`Builtins::new`].
//!
//! They are handlers like any other: the executor validates, times and records them. Files are reached only
//! through [`Workspaces`], programs only through a sandbox engine; nothing here touches the host otherwise.

mod definition;
mod eval_code;
mod file_read;
mod file_task;
mod file_write;
mod files;
mod input;
mod path_policy;
mod quota;
mod workspace;

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::Skill;
use executor::{Handler, HandlerTable};

use crate::definition::Builtin;

pub use definition::Definition;
pub use eval_code::EvalLimits;
pub use path_policy::{PathRefused, SafePath};
pub use workspace::{WorkspaceLimits, Workspaces};

/// All built-ins of one configuration.
pub struct Builtins {
    all: Vec<Arc<dyn Builtin>>,
}

impl Builtins {
    /// The one list: a new built-in is a file and a line here. Without an engine, what needs one is unavailable.
    pub fn new(
        workspaces: &Arc<Workspaces>,
        engine: Option<Arc<dyn sandbox::Engine>>,
        limits: EvalLimits,
    ) -> Self {
        Self {
            all: vec![
                Arc::new(file_read::FileRead { workspaces: Arc::clone(workspaces) }),
                Arc::new(file_write::FileWrite { workspaces: Arc::clone(workspaces) }),
                Arc::new(eval_code::EvalCode::new(engine, limits)),
            ],
        }
    }

    /// What each says about itself.
    pub fn definitions(&self) -> Vec<Definition> {
        self.all.iter().map(|builtin| builtin.definition()).collect()
    }

    /// Rows for the store's `sync_builtins`. `now` is RFC 3339 UTC.
    pub fn skills(&self, now: &str) -> Vec<Skill> {
        self.definitions().into_iter().map(|definition| definition.into_skill(now)).collect()
    }

    /// By name, what each is scored on.
    pub fn summaries(&self) -> BTreeMap<String, String> {
        self.definitions().into_iter().map(|of| (of.name.to_owned(), of.summary.to_owned())).collect()
    }

    /// Puts the handlers into the table, under the skills' names.
    pub fn register(&self, handlers: &mut HandlerTable) {
        for builtin in &self.all {
            let handler: Arc<dyn Handler> = Arc::clone(builtin) as _;
            handlers.register(builtin.definition().name, handler);
        }
    }

    /// Names of those that cannot run here, with the reason. They keep their rows and are not offered.
    pub fn unavailable(&self) -> Vec<(String, String)> {
        let reason = |builtin: &Arc<dyn Builtin>| {
            builtin.unavailable().map(|reason| (builtin.definition().name.to_owned(), reason))
        };
        self.all.iter().filter_map(reason).collect()
    }
}
