//! tmp
use sandbox::*;
#[tokio::main]
async fn main() {
    let a: Vec<String> = std::env::args().collect();
    let engine = WasmEngine::new(WasmConfig {
        worker_program: std::env::current_exe().unwrap().with_file_name("wasm_worker"),
        worker_args: Vec::new(),
        runtimes: find_runtimes(None, None, Some(a[1].as_ref())).unwrap(),
        max_workers: 1,
    });
    let language = if a[2] == "js" { Language::JavaScript } else { Language::Python };
    for code in &a[3..] {
        let t = std::time::Instant::now();
        let r = engine.run(Spec { language, code: code.clone(), stdin: "in1\nin2\n".into(), limits: Limits { timeout: std::time::Duration::from_millis(2500), ..Limits::default() } }).await;
        match r { Ok(o) => { println!("--- {:?} exit {:?} {}ms ({:?}) trunc {}\nout[{}]<{}> err<{}>\nhint {:?}", o.reason, o.exit_code, o.duration_ms, t.elapsed(), o.truncated, o.stdout.len(), o.stdout.chars().take(200).collect::<String>(), o.stderr.chars().take(1500).collect::<String>(), o.hint.map(|h| h.chars().take(70).collect::<String>())) } Err(e) => println!("ERR {e}") }
    }
}
