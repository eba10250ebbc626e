//! Prints how long a run through the whole engine takes: `measure RUNTIMES_CACHE_DIR`, in release.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use sandbox::{Engine, Language, Limits, Reason, Spec, WasmConfig, WasmEngine, find_runtimes};

const RUNS: usize = 300;

#[expect(clippy::print_stdout, clippy::unwrap_used, reason = "a measuring program shows its result or fails")]
#[tokio::main]
async fn main() {
    let cache = std::env::args_os().nth(1).map(PathBuf::from).unwrap();
    let engine = WasmEngine::new(WasmConfig {
        worker_program: std::env::current_exe().unwrap().with_file_name("wasm_worker"),
        worker_args: Vec::new(),
        runtimes: find_runtimes(None, None, Some(&cache)).unwrap(),
        max_workers: 1,
    });
    for (language, code) in [(Language::JavaScript, "print(1)"), (Language::Python, "print(1)")] {
        let mut times = Vec::with_capacity(RUNS);
        for _ in 0..RUNS {
            let spec =
                Spec { language, code: code.to_owned(), stdin: String::new(), limits: Limits::default() };
            let start = Instant::now();
            let outcome = engine.run(spec).await.unwrap();
            times.push(start.elapsed());
            assert_eq!((outcome.reason, outcome.stdout.as_str()), (Reason::Ok, "1\n"));
        }
        let first = times.first().copied().unwrap_or_default();
        times.sort_unstable();
        let at = |part: usize| times.get(RUNS * part / 100).copied().unwrap_or_default();
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        println!(
            "{:<10} {code}: first {:.2} ms, median {:.2}, p95 {:.2}, min {:.2}",
            language.display_name(),
            ms(first),
            ms(at(50)),
            ms(at(95)),
            ms(at(0))
        );
    }
}
