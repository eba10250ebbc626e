//! Time, memory and output: each limit ends the program that reaches it, and only that.

use std::time::Duration;

use sandbox::{Language, Limits, Outcome, Reason};

use crate::support::{JavaScript, Marked, Python, within};

async fn still_works(marked: &Marked, language: Language) {
    let next = marked.run(language, "print('next')").await;
    assert_eq!((next.reason, next.stdout.as_str()), (Reason::Ok, "next\n"));
}

fn assert_timed_out(outcome: &Outcome, limit_ms: u64, code: &str) {
    assert_eq!((outcome.reason, outcome.exit_code), (Reason::Timeout, None), "{code}");
    assert!(outcome.duration_ms >= limit_ms, "{code}: {}", outcome.duration_ms);
    assert!(outcome.hint.is_some());
}

#[tokio::test]
async fn endless_programs_end_at_the_limit() {
    let marked = Marked::new(1);
    for (language, code) in [
        (Python, "print('before')\nwhile True: pass"),
        (Python, "import re; print('before'); re.match('(a+)+$', 'a' * 60 + 'b')"),
        (Python, "print('before')\nwhile True:\n  try:\n    while True: pass\n  except BaseException: pass"),
        (JavaScript, "print('before'); for (;;);"),
        (JavaScript, "print('before'); /(a+)+$/.test('a'.repeat(60) + 'b')"),
        (JavaScript, "print('before'); const f = () => Promise.resolve().then(f); f()"),
    ] {
        let outcome = marked.run_limited(language, code, within(700)).await;
        assert_timed_out(&outcome, 700, code);
        assert_eq!(outcome.stdout, "before\n", "{code}");
        still_works(&marked, language).await;
    }
    assert_eq!(marked.pids().len(), 1, "the worker survives");
}

#[tokio::test]
async fn a_sleeping_program_ends_at_the_limit_with_its_output() {
    let marked = Marked::new(1);
    let code = "import time; print('before'); time.sleep(100)";
    let outcome = marked.run_limited(Python, code, within(500)).await;
    assert_timed_out(&outcome, 500, code);
    assert_eq!(outcome.stdout, "before\n");
    still_works(&marked, Python).await;
}

#[tokio::test]
async fn too_much_memory_is_refused() {
    let marked = Marked::new(1);
    for (language, code) in [
        (Python, "data = bytearray(800 << 20)"),
        (Python, "data = []\nwhile True: data.append(bytearray(16 << 20))"),
        (JavaScript, "const data = new Uint8Array(800 * 1024 * 1024)"),
        (JavaScript, "const data = []; for (;;) data.push(new Uint8Array(16 << 20))"),
        (JavaScript, "try { 'x'.repeat(1 << 29) } catch { print('not reached') }"),
    ] {
        let outcome = marked.run(language, code).await;
        assert_eq!((outcome.reason, outcome.exit_code), (Reason::Oom, Some(1)), "{code}: {}", outcome.stderr);
        assert!(outcome.stdout.is_empty() && outcome.hint.is_some());
        still_works(&marked, language).await;
    }
}

#[tokio::test]
async fn a_program_may_handle_a_refusal() {
    let code = "try:\n    bytearray(800 << 20)\nexcept MemoryError:\n    print('handled')";
    let outcome = Marked::new(1).run(Python, code).await;
    assert_eq!((outcome.reason, outcome.stdout.as_str()), (Reason::Ok, "handled\n"));
}

#[tokio::test]
async fn the_memory_limit_is_the_one_asked_for() {
    let marked = Marked::new(1);
    let code = "data = bytearray(100 << 20); print(len(data))";
    let limits = |megabytes: u64| Limits {
        memory_bytes: megabytes << 20,
        timeout: Duration::from_mins(1),
        ..Limits::default()
    };
    assert_eq!(marked.run_limited(Python, code, limits(256)).await.reason, Reason::Ok);
    assert_eq!(marked.run_limited(Python, code, limits(100)).await.reason, Reason::Oom);
    for language in Language::ALL {
        let outcome =
            marked.run_limited(language, "print(1)", Limits { memory_bytes: 1000, ..limits(0) }).await;
        assert_eq!(
            (outcome.reason, outcome.exit_code),
            (Reason::Oom, None),
            "too little for the interpreter itself"
        );
    }
}

#[tokio::test]
async fn a_flood_of_output_is_cut_and_stopped() {
    let marked = Marked::new(1);
    for (language, code) in [
        (Python, "for _ in range(1 << 20): print('x' * 1023)"),
        (Python, "import sys\nwhile True: sys.stderr.write('x' * 1000)"),
        (JavaScript, "for (let i = 0; i < 1 << 20; i++) print('x'.repeat(1023))"),
        (JavaScript, "for (;;) console.error('x'.repeat(1 << 20))"),
    ] {
        let outcome = marked.run(language, code).await;
        assert_eq!((outcome.reason, outcome.exit_code), (Reason::OutputLimit, None), "{code}");
        assert!(outcome.truncated);
        assert_eq!(outcome.stdout.chars().count() + outcome.stderr.chars().count(), 100_000);
        still_works(&marked, language).await;
    }
}

#[tokio::test]
async fn output_is_cut_between_characters() {
    let marked = Marked::new(1);
    for (language, code) in
        [(Python, "print('é' * 150_000, end='')"), (JavaScript, "print('é'.repeat(150_000))")]
    {
        let outcome = marked.run(language, code).await;
        assert_eq!(
            (outcome.reason, outcome.truncated),
            (Reason::Ok, true),
            "{code}: {}",
            outcome.stdout.chars().count()
        );
        assert_eq!(outcome.stdout.chars().count(), 100_000, "{code}");
        assert!(outcome.stdout == "é".repeat(100_000));
    }
    let exact = marked.run(Python, "import sys; sys.stdout.write('é' * 100_000)").await;
    assert!(!exact.truncated && exact.stdout == "é".repeat(100_000));
}

#[tokio::test]
async fn bytes_that_are_no_text_are_shown_as_such() {
    let code = r"import sys; sys.stdout.buffer.write(b'\x1b[31m\xff\xfe\x00\xc3(\r\n\xf0\x9f\x98\x80')";
    let outcome = Marked::new(1).run(Python, code).await;
    assert_eq!(outcome.stdout, "\u{1b}[31m\u{fffd}\u{fffd}\0\u{fffd}(\r\n😀");
}

#[tokio::test]
async fn deep_recursion_is_an_error_of_the_program() {
    let marked = Marked::new(1);
    for (language, code, message) in [
        (Python, "def f(): return f()\nf()", "RecursionError"),
        (Python, "a = []\nfor _ in range(100_000): a = [a]\nrepr(a)", "recursion"),
        (JavaScript, "const f = () => f() + 1; f()", "RangeError: Maximum call stack size exceeded"),
        (JavaScript, "JSON.parse('['.repeat(1e6))", "its recursion is too deep"),
    ] {
        let outcome = marked.run(language, code).await;
        assert_eq!((outcome.reason, outcome.exit_code), (Reason::Nonzero, Some(1)), "{code}");
        assert!(outcome.stderr.contains(message), "{code}: {}", outcome.stderr);
        still_works(&marked, language).await;
    }
}
