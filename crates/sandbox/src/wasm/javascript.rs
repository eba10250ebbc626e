//! JavaScript: QuickJS as a core module. Each run gets a fresh instance and a fresh context in it.
//!
//! The module is a plain C library: values are addresses inside its memory. This file knows the order of calls that
//! runs one program; `quickjs` knows the calls, and `prelude.js` what the program finds as globals. The module's
//! WASI imports are given nothing but clocks and random numbers.

use wasmtime::{Engine, InstancePre, Linker, Module, Result, Store};
use wasmtime_wasi::WasiCtxBuilder;
use wasmtime_wasi::p1::WasiP1Ctx;

use super::guest::{End, Exit, Streams};
use super::memory::MemoryLimit;
use super::protocol::Job;
use super::quickjs::{self, QuickJs, Value};

const PRELUDE: &str = include_str!("../../../../runtimes/javascript/prelude.js");

/// The exit code of a program that waits for a promise nobody will ever settle.
const NEVER_SETTLED: i32 = 13;

/// The loaded interpreter.
pub(crate) struct JavaScript {
    engine: Engine,
    instance: InstancePre<State>,
}

/// What the host functions of one run need.
pub(crate) struct State {
    pub(crate) wasi: WasiP1Ctx,
    pub(crate) memory: MemoryLimit,
    pub(crate) streams: Streams,
    pub(crate) stdin: String,
    pub(crate) quickjs: Option<QuickJs>,
    /// What the program named that does not exist here.
    pub(crate) missing: Option<String>,
    /// Rejected promises that nobody handles yet, with their reasons.
    pub(crate) rejected: Vec<(Value, Value)>,
}

impl JavaScript {
    /// Prepares the module for many instances.
    pub(crate) fn new(engine: &Engine, module: &Module) -> Result<Self> {
        let mut linker = Linker::<State>::new(engine);
        wasmtime_wasi::p1::add_to_linker_sync(&mut linker, |state| &mut state.wasi)?;
        super::host::add_to_linker(&mut linker)?;
        Ok(Self { engine: engine.clone(), instance: linker.instantiate_pre(module)? })
    }

    /// Runs one program. The engine's epoch must advance at the time limit.
    pub(crate) fn run(&self, job: Job, streams: &Streams) -> End {
        let state = State {
            wasi: WasiCtxBuilder::new().build_p1(),
            memory: MemoryLimit::new(job.memory_bytes),
            streams: streams.clone(),
            stdin: job.stdin,
            quickjs: None,
            missing: None,
            rejected: Vec::new(),
        };
        let mut store = Store::new(&self.engine, state);
        store.limiter(|state| &mut state.memory);
        store.set_epoch_deadline(1);
        let exit = self
            .execute(&mut store, &job.code)
            .map(|code| Exit { code, missing: store.data_mut().missing.take() });
        End { exit, memory_refused: store.data().memory.refused() }
    }

    fn execute(&self, store: &mut Store<State>, code: &str) -> Result<i32> {
        let instance = self.instance.instantiate(&mut *store)?;
        let js = QuickJs::new(&mut *store, &instance)?;
        store.data_mut().quickjs = Some(js.clone());
        let report = prelude(store, &js)?;
        let kind = if is_module(code) { quickjs::EVAL_MODULE } else { quickjs::EVAL_ASYNC };
        let program = js.eval(&mut *store, code, "main.js", kind)?;
        if js.is_exception(&mut *store, program)? {
            let error = js.take_exception(&mut *store)?;
            return fail(store, &js, report, error, "");
        }
        while js.run_job(&mut *store)? {}
        match js.promise(&mut *store, program)? {
            quickjs::Promise::Rejected(error) => fail(store, &js, report, error, ""),
            quickjs::Promise::Pending => {
                let note = "the program waits for a promise that nothing will ever settle\n";
                store.data().streams.stderr.push(note.as_bytes())?;
                Ok(NEVER_SETTLED)
            }
            quickjs::Promise::Fulfilled => match store.data_mut().rejected.pop() {
                Some((_, error)) => fail(store, &js, report, error, "(in promise) "),
                None => Ok(0),
            },
        }
    }
}

/// Evaluates the prelude; returns its function that reports an uncaught error.
fn prelude(store: &mut Store<State>, js: &QuickJs) -> Result<Value> {
    let make = js.eval(&mut *store, PRELUDE, "<host>", quickjs::EVAL_SCRIPT)?;
    let host = js.host_object(&mut *store, super::host::FUNCTIONS)?;
    let report = js.call(&mut *store, make, &[host])?;
    if js.is_exception(&mut *store, report)? {
        wasmtime::bail!("the prelude failed");
    }
    Ok(report)
}

/// Lets the prelude print an uncaught error; the program's exit code is then 1.
fn fail(store: &mut Store<State>, js: &QuickJs, report: Value, error: Value, kind: &str) -> Result<i32> {
    let kind = js.string(&mut *store, kind)?;
    let result = js.call(&mut *store, report, &[error, kind])?;
    if js.is_exception(&mut *store, result)? {
        // The program broke what the prelude uses, or memory is exhausted.
        store.data().streams.stderr.push(b"Uncaught error (it cannot be shown)\n")?;
    }
    Ok(1)
}

/// Whether the text has to be evaluated as a module: some line begins with a static `import` or an `export`.
fn is_module(code: &str) -> bool {
    code.lines().map(str::trim_start).any(|line| {
        let after = |word| line.strip_prefix(word).and_then(|rest: &str| rest.chars().next());
        after("import").is_some_and(|c| c.is_whitespace() || "{*'\"".contains(c))
            || after("export").is_some_and(|c| c.is_whitespace() || "{*".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::is_module;

    #[test]
    fn modules_are_told_by_static_imports_and_exports() {
        for code in
            ["import fs from 'fs'", "  import {a} from 'b'", "x;\nexport default 1", "import'x'", "export{a}"]
        {
            assert!(is_module(code), "{code}");
        }
        for code in ["", "import('fs')", "importance = 1", "exports.a = 1", "const s = 'import x'", "importé"]
        {
            assert!(!is_module(code), "{code}");
        }
    }
}
