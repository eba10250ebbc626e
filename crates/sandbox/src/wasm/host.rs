//! The functions that the QuickJS module may call: the prelude's channel to the host, and the engine's own hooks.
//!
//! Everything a program can reach from inside goes through here: write to a stream, read standard input, end, and say
//! what is missing. No file, no network, no other module.

use wasmtime::{Caller, Linker, Result, bail, format_err};
use wasmtime_wasi::I32Exit;

use super::javascript::State;
use super::quickjs::{QuickJs, Value};

/// Names of the functions that the prelude gets.
pub(crate) const FUNCTIONS: &[&str] = &["out", "err", "stdin", "missing", "exit"];

/// Defines the module's imports other than WASI.
pub(crate) fn add_to_linker(linker: &mut Linker<State>) -> Result<()> {
    linker.func_wrap("env", "host_call", host_call)?;
    linker.func_wrap("env", "host_interrupt", || 0_i32)?;
    linker.func_wrap("env", "host_get_timezone_offset", |_: i32, _: i32| 0_i32)?;
    linker.func_wrap("env", "host_promise_rejection", promise_rejection)?;
    linker.func_wrap("env", "host_module_normalize", module_normalize)?;
    linker.func_wrap("env", "host_module_load", module_load)?;
    Ok(())
}

fn quickjs(caller: &Caller<'_, State>) -> Result<QuickJs> {
    caller.data().quickjs.clone().ok_or_else(|| format_err!("called before it was initialised"))
}

fn host_call(
    mut caller: Caller<'_, State>,
    name: i32,
    name_len: i32,
    _this: Value,
    count: i32,
    values: i32,
) -> Result<Value> {
    let js = quickjs(&caller)?;
    let name = js.with_bytes(&mut caller, name, name_len, <[u8]>::to_vec)?;
    let first = if count > 0 { js.word(&mut caller, values)? } else { js.undefined(&mut caller)? };
    match name.as_slice() {
        b"out" => {
            let stdout = caller.data().streams.stdout.clone();
            js.with_text(&mut caller, first, |text| stdout.push(text))??;
        }
        b"err" => {
            let stderr = caller.data().streams.stderr.clone();
            js.with_text(&mut caller, first, |text| stderr.push(text))??;
        }
        b"missing" => {
            let missing =
                js.with_text(&mut caller, first, |text| String::from_utf8_lossy(text).into_owned())?;
            caller.data_mut().missing = Some(missing);
        }
        b"stdin" => {
            let stdin = std::mem::take(&mut caller.data_mut().stdin);
            return js.string(&mut caller, &stdin);
        }
        b"exit" => {
            let code = js.number(&mut caller, first)?;
            return Err(I32Exit(low_byte(code)).into());
        }
        _ => bail!("unknown host function"),
    }
    js.undefined(&mut caller)
}

/// An exit code as an operating system keeps it.
#[expect(clippy::cast_possible_truncation, reason = "the prelude hands over a 32-bit integer")]
fn low_byte(code: f64) -> i32 {
    code as i32 & 0xff
}

fn promise_rejection(
    mut caller: Caller<'_, State>,
    promise: Value,
    reason: Value,
    handled: i32,
) -> Result<()> {
    let js = quickjs(&caller)?;
    if handled == 0 {
        caller.data_mut().rejected.push((promise, reason));
        return Ok(());
    }
    let same = js.identity(&mut caller, promise)?;
    let mut left = Vec::new();
    for entry in std::mem::take(&mut caller.data_mut().rejected) {
        if js.identity(&mut caller, entry.0)? != same {
            left.push(entry);
        }
    }
    caller.data_mut().rejected = left;
    Ok(())
}

fn module_normalize(mut caller: Caller<'_, State>, _base: i32, name: i32) -> Result<i32> {
    let js = quickjs(&caller)?;
    let name = js.c_string(&mut caller, name);
    js.copy_in(&mut caller, &String::from_utf8_lossy(&name))
}

fn module_load(mut caller: Caller<'_, State>, name: i32, length: i32) -> Result<i32> {
    let js = quickjs(&caller)?;
    let name = String::from_utf8_lossy(&js.c_string(&mut caller, name)).into_owned();
    let error = js.error(&mut caller, &format!("Cannot find module '{name}'"))?;
    js.set_word(&mut caller, length, 0)?;
    js.throw(&mut caller, error)?;
    Ok(0)
}
