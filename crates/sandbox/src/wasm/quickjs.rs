//! The calls of the QuickJS module that are needed here, with Rust types.
//!
//! A [`Value`] is the address of a value inside the guest. They are never freed: the whole instance is thrown away
//! after one run.

use wasmtime::{
    AsContextMut, Instance, Memory, Result, TypedFunc, WasmParams, WasmResults, bail, format_err,
};

/// Address of a JavaScript value in the guest.
pub(crate) type Value = i32;

/// Evaluate as a script.
pub(crate) const EVAL_SCRIPT: i32 = 0;
/// Evaluate as a module; the result is a promise.
pub(crate) const EVAL_MODULE: i32 = 1;
/// Evaluate as a script in which `await` may be used; the result is a promise.
pub(crate) const EVAL_ASYNC: i32 = 1 << 7;

/// Bytes of the interpreter's own stack after which it throws "Maximum call stack size exceeded"; its memory has
/// twice as much.
const STACK_BYTES: i32 = 512 * 1024;

/// State of a promise.
pub(crate) enum Promise {
    Pending,
    Fulfilled,
    Rejected(Value),
}

/// The exports of one instance.
#[derive(Clone)]
pub(crate) struct QuickJs {
    memory: Memory,
    malloc: TypedFunc<i32, i32>,
    eval: TypedFunc<(i32, i32, i32, i32), i32>,
    call: TypedFunc<(i32, i32, i32, i32), i32>,
    is_exception: TypedFunc<i32, i32>,
    get_exception: TypedFunc<(), i32>,
    get_undefined: TypedFunc<(), i32>,
    new_string: TypedFunc<(i32, i32), i32>,
    get_string_len: TypedFunc<(i32, i32), i32>,
    free_cstring: TypedFunc<i32, ()>,
    free: TypedFunc<i32, ()>,
    get_float64: TypedFunc<i32, f64>,
    value_ptr: TypedFunc<i32, i32>,
    execute_pending_job: TypedFunc<(), i32>,
    is_job_pending: TypedFunc<(), i32>,
    promise_state: TypedFunc<i32, i32>,
    promise_result: TypedFunc<i32, i32>,
    throw: TypedFunc<i32, i32>,
    new_error: TypedFunc<(), i32>,
    new_object: TypedFunc<(), i32>,
    set_prop_string: TypedFunc<(i32, i32, i32), i32>,
    new_host_function: TypedFunc<(i32, i32, i32), i32>,
}

impl QuickJs {
    /// Initialises the interpreter of a fresh instance and looks up its functions.
    pub(crate) fn new(mut store: impl AsContextMut, instance: &Instance) -> Result<Self> {
        let store = &mut store;
        function::<(), ()>(store, instance, "_initialize")?.call(&mut *store, ())?;
        if function::<(), i32>(store, instance, "qjs_init")?.call(&mut *store, ())? != 0 {
            bail!("QuickJS cannot be initialised");
        }
        for (name, value) in [
            ("qjs_set_max_stack_size", STACK_BYTES),
            ("qjs_set_promise_rejection_handler", 1),
            ("qjs_set_module_loader", 1),
        ] {
            function::<i32, ()>(store, instance, name)?.call(&mut *store, value)?;
        }
        Ok(Self {
            memory: instance.get_memory(&mut *store, "memory").ok_or_else(|| format_err!("no memory"))?,
            malloc: function(store, instance, "wasm_malloc")?,
            eval: function(store, instance, "qjs_eval")?,
            call: function(store, instance, "qjs_call")?,
            is_exception: function(store, instance, "qjs_is_exception")?,
            get_exception: function(store, instance, "qjs_get_exception")?,
            get_undefined: function(store, instance, "qjs_get_undefined")?,
            new_string: function(store, instance, "qjs_new_string")?,
            get_string_len: function(store, instance, "qjs_get_string_len")?,
            free_cstring: function(store, instance, "qjs_free_cstring")?,
            free: function(store, instance, "wasm_free")?,
            get_float64: function(store, instance, "qjs_get_float64")?,
            value_ptr: function(store, instance, "qjs_get_value_ptr")?,
            execute_pending_job: function(store, instance, "qjs_execute_pending_job")?,
            is_job_pending: function(store, instance, "qjs_is_job_pending")?,
            promise_state: function(store, instance, "qjs_promise_state")?,
            promise_result: function(store, instance, "qjs_promise_result")?,
            throw: function(store, instance, "qjs_throw")?,
            new_error: function(store, instance, "qjs_new_error")?,
            new_object: function(store, instance, "qjs_new_object")?,
            set_prop_string: function(store, instance, "qjs_set_prop_string")?,
            new_host_function: function(store, instance, "qjs_new_host_function")?,
        })
    }

    /// Evaluates source text; the result may be an exception.
    pub(crate) fn eval(
        &self,
        mut store: impl AsContextMut,
        code: &str,
        name: &str,
        kind: i32,
    ) -> Result<Value> {
        let code_ptr = self.copy_in(&mut store, code)?;
        let name_ptr = self.copy_in(&mut store, name)?;
        self.eval.call(&mut store, (code_ptr, length(code)?, name_ptr, kind))
    }

    /// Calls a function without `this`; the result may be an exception.
    pub(crate) fn call(
        &self,
        mut store: impl AsContextMut,
        function: Value,
        args: &[Value],
    ) -> Result<Value> {
        let this = self.get_undefined.call(&mut store, ())?;
        let bytes: Vec<u8> = args.iter().flat_map(|arg| arg.to_le_bytes()).collect();
        let list = self.copy_bytes_in(&mut store, &bytes)?;
        self.call.call(&mut store, (function, this, i32::try_from(args.len())?, list))
    }

    /// Whether a result stands for a thrown exception.
    pub(crate) fn is_exception(&self, mut store: impl AsContextMut, value: Value) -> Result<bool> {
        Ok(self.is_exception.call(&mut store, value)? != 0)
    }

    /// Takes the pending exception.
    pub(crate) fn take_exception(&self, mut store: impl AsContextMut) -> Result<Value> {
        self.get_exception.call(&mut store, ())
    }

    /// Runs one job of the promise queue; false when there is none left.
    pub(crate) fn run_job(&self, mut store: impl AsContextMut) -> Result<bool> {
        if self.is_job_pending.call(&mut store, ())? == 0 {
            return Ok(false);
        }
        // A job that throws has rejected its promise already; that is reported from there.
        self.execute_pending_job.call(&mut store, ())?;
        Ok(true)
    }

    /// The state of a promise.
    pub(crate) fn promise(&self, mut store: impl AsContextMut, promise: Value) -> Result<Promise> {
        Ok(match self.promise_state.call(&mut store, promise)? {
            0 => Promise::Pending,
            1 => Promise::Fulfilled,
            _ => Promise::Rejected(self.promise_result.call(&mut store, promise)?),
        })
    }

    /// Makes a string value.
    pub(crate) fn string(&self, mut store: impl AsContextMut, text: &str) -> Result<Value> {
        let ptr = self.copy_in(&mut store, text)?;
        let value = self.new_string.call(&mut store, (ptr, length(text)?))?;
        self.free.call(&mut store, ptr)?;
        Ok(value)
    }

    /// Shows the text of a value (converted if it is no string) to `see`, without copying it out of the guest.
    pub(crate) fn with_text<T>(
        &self,
        store: &mut impl AsContextMut,
        value: Value,
        see: impl FnOnce(&[u8]) -> T,
    ) -> Result<T> {
        let len_ptr = self.malloc(store, 4)?;
        let text_ptr = self.get_string_len.call(&mut *store, (value, len_ptr))?;
        let len = self.word(&mut *store, len_ptr)?;
        // No address: the conversion failed, and there is no text.
        let seen = self.with_bytes(store, text_ptr, if text_ptr == 0 { 0 } else { len }, see)?;
        if text_ptr != 0 {
            self.free_cstring.call(&mut *store, text_ptr)?;
        }
        self.free.call(&mut *store, len_ptr)?;
        Ok(seen)
    }

    /// A number value.
    pub(crate) fn number(&self, mut store: impl AsContextMut, value: Value) -> Result<f64> {
        self.get_float64.call(&mut store, value)
    }

    /// What two addresses of the same object have in common.
    pub(crate) fn identity(&self, mut store: impl AsContextMut, value: Value) -> Result<i32> {
        self.value_ptr.call(&mut store, value)
    }

    /// `undefined`.
    pub(crate) fn undefined(&self, mut store: impl AsContextMut) -> Result<Value> {
        self.get_undefined.call(&mut store, ())
    }

    /// Makes `value` the pending exception.
    pub(crate) fn throw(&self, mut store: impl AsContextMut, value: Value) -> Result<()> {
        self.throw.call(&mut store, value).map(drop)
    }

    /// An `Error` with this message.
    pub(crate) fn error(&self, mut store: impl AsContextMut, message: &str) -> Result<Value> {
        let error = self.new_error.call(&mut store, ())?;
        let text = self.string(&mut store, message)?;
        let name = self.copy_in(&mut store, "message")?;
        self.set_prop_string.call(&mut store, (error, name, text))?;
        Ok(error)
    }

    /// An object with the host functions of these names.
    pub(crate) fn host_object(&self, mut store: impl AsContextMut, names: &[&str]) -> Result<Value> {
        let object = self.new_object.call(&mut store, ())?;
        for name in names {
            let ptr = self.copy_in(&mut store, name)?;
            let function = self.new_host_function.call(&mut store, (ptr, length(name)?, 0))?;
            self.set_prop_string.call(&mut store, (object, ptr, function))?;
        }
        Ok(object)
    }

    /// A word of guest memory.
    pub(crate) fn word(&self, mut store: impl AsContextMut, at: i32) -> Result<i32> {
        self.with_bytes(&mut store, at, 4, |bytes| {
            bytes.first_chunk::<4>().map_or(0, |word| i32::from_le_bytes(*word))
        })
    }

    /// Writes a word of guest memory.
    pub(crate) fn set_word(&self, mut store: impl AsContextMut, at: i32, value: i32) -> Result<()> {
        Ok(self.memory.write(&mut store, address(at), &value.to_le_bytes())?)
    }

    /// Shows bytes of guest memory to `see`.
    pub(crate) fn with_bytes<T>(
        &self,
        store: &mut impl AsContextMut,
        at: i32,
        len: i32,
        see: impl FnOnce(&[u8]) -> T,
    ) -> Result<T> {
        let context = store.as_context_mut();
        let start = address(at);
        let found = self.memory.data(&context).get(start..start.saturating_add(address(len)));
        found.map(see).ok_or_else(|| format_err!("address outside of memory"))
    }

    /// A text of guest memory that ends with NUL.
    pub(crate) fn c_string(&self, store: &mut impl AsContextMut, at: i32) -> Vec<u8> {
        let context = store.as_context_mut();
        let data = self.memory.data(&context);
        let tail = data.get(address(at)..).unwrap_or_default();
        tail.iter().copied().take_while(|byte| *byte != 0).collect()
    }

    /// Copies a text into the guest, ended with NUL.
    pub(crate) fn copy_in(&self, store: &mut impl AsContextMut, text: &str) -> Result<i32> {
        let mut bytes = text.as_bytes().to_vec();
        bytes.push(0);
        self.copy_bytes_in(store, &bytes)
    }

    fn copy_bytes_in(&self, store: &mut impl AsContextMut, bytes: &[u8]) -> Result<i32> {
        let at = self.malloc(store, i32::try_from(bytes.len())?)?;
        self.memory.write(&mut *store, address(at), bytes)?;
        Ok(at)
    }

    fn malloc(&self, store: &mut impl AsContextMut, bytes: i32) -> Result<i32> {
        match self.malloc.call(&mut *store, bytes)? {
            0 => bail!("out of memory"),
            at => Ok(at),
        }
    }
}

fn function<P: WasmParams, R: WasmResults>(
    store: &mut impl AsContextMut,
    instance: &Instance,
    name: &str,
) -> Result<TypedFunc<P, R>> {
    instance.get_typed_func(&mut *store, name)
}

fn length(text: &str) -> Result<i32> {
    Ok(i32::try_from(text.len())?)
}

/// Guest addresses are unsigned although WebAssembly shows them as `i32`.
fn address(at: i32) -> usize {
    usize::try_from(at.cast_unsigned()).unwrap_or(usize::MAX)
}
