//! The built program as somebody at a terminal uses it.

use std::process::{Command, Output, Stdio};

use serde_json::Value;
use testkit::gateway::Gateway;

/// What a command did.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Done {
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:?}");
        self
    }

    /// What it printed, as JSON.
    pub(crate) fn json(self) -> Value {
        let done = self.expect(0);
        serde_json::from_str(&done.out).unwrap_or_else(|e| panic!("{e}: {done:?}"))
    }
}

impl From<Output> for Done {
    fn from(output: Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self { code: output.status.code().unwrap(), out: text(&output.stdout), err: text(&output.stderr) }
    }
}

/// The program with nothing in its environment but what is given.
pub(crate) fn program(arguments: &[&str], environment: &[(&str, &str)]) -> Done {
    let mut command = Command::new(env!("CARGO_BIN_EXE_omni-skills"));
    command.args(arguments).env_clear().envs(environment.iter().copied()).stdin(Stdio::null());
    command.env("HOME", std::env::temp_dir()).output().unwrap().into()
}

/// The program asking this gateway, as management.
pub(crate) fn ask(gateway: &Gateway, arguments: &[&str]) -> Done {
    let environment = [("OMNI_SKILLS_URL", &*gateway.base), ("OMNI_SKILLS_MGMT_TOKEN", &*gateway.token)];
    program(arguments, &environment)
}
