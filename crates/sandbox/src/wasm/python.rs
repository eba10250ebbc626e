//! Python: CPython as a component. Each run gets a fresh instance of the snapshot taken at build time.
//!
//! The component's WASI imports are given nothing: no folder, no variable, no address, only clocks, random numbers
//! and the three standard streams.

use wasmtime::component::{Component, InstancePre, Linker, ResourceTable};
use wasmtime::{Engine, Result, Store};
use wasmtime_wasi::p2::pipe::MemoryInputPipe;
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};

use super::guest::{End, Exit, Streams};
use super::memory::MemoryLimit;
use super::protocol::Job;

/// The loaded interpreter.
pub(crate) struct Python {
    engine: Engine,
    instance: InstancePre<State>,
}

struct State {
    wasi: WasiCtx,
    table: ResourceTable,
    memory: MemoryLimit,
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl Python {
    /// Prepares the component for many instances.
    pub(crate) fn new(engine: &Engine, component: &Component) -> Result<Self> {
        let mut linker = Linker::<State>::new(engine);
        wasmtime_wasi::p2::add_to_linker_sync(&mut linker)?;
        Ok(Self { engine: engine.clone(), instance: linker.instantiate_pre(component)? })
    }

    /// Runs one program. The engine's epoch must advance at the time limit.
    pub(crate) fn run(&self, job: Job, streams: &Streams) -> End {
        let wasi = WasiCtxBuilder::new()
            .stdin(MemoryInputPipe::new(job.stdin))
            .stdout(streams.stdout.clone())
            .stderr(streams.stderr.clone())
            .allow_tcp(false)
            .allow_udp(false)
            .build();
        let memory = MemoryLimit::new(job.memory_bytes);
        let mut store = Store::new(&self.engine, State { wasi, table: ResourceTable::new(), memory });
        store.limiter(|state| &mut state.memory);
        store.set_epoch_deadline(1);
        let exit = self.call(&mut store, &job.code);
        End { exit, memory_refused: store.data().memory.refused() }
    }

    fn call(&self, store: &mut Store<State>, code: &str) -> Result<Exit> {
        let instance = self.instance.instantiate(&mut *store)?;
        let run = instance.get_typed_func::<(&str,), ((i32, Option<String>),)>(&mut *store, "run")?;
        let ((code, missing),) = run.call(&mut *store, (code,))?;
        Ok(Exit { code, missing })
    }
}
