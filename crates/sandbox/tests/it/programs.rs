//! Ordinary programs: output, input, exit codes, errors, state.

use sandbox::{Engine, Language, Reason, Spec};

use crate::support::{JavaScript, Marked, Python, spec};

async fn printed(language: Language, code: &str) -> String {
    let outcome = Marked::new(1).run(language, code).await;
    assert_eq!((outcome.reason, outcome.exit_code), (Reason::Ok, Some(0)), "{}", outcome.stderr);
    outcome.stdout
}

#[tokio::test]
async fn both_languages_print() {
    let marked = Marked::new(1);
    for language in Language::ALL {
        let outcome = marked.run(language, "print(1)").await;
        assert_eq!((outcome.reason, outcome.exit_code), (Reason::Ok, Some(0)));
        assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("1\n", ""));
        assert_eq!((outcome.truncated, outcome.hint, outcome.engine), (false, None, "wasm"));
    }
    assert_eq!(marked.pids().len(), 1, "one worker serves both");
}

#[tokio::test]
async fn the_value_of_the_last_expression_is_not_printed() {
    assert_eq!(printed(Python, "1 + 1").await, "");
    assert_eq!(printed(JavaScript, "1 + 1").await, "");
}

#[tokio::test]
async fn programs_read_standard_input() {
    let marked = Marked::new(1);
    for (language, code) in [
        (Python, "import sys\nfirst = input()\nprint([first, sys.stdin.read()])"),
        (JavaScript, "const text = readStdin(); print(text.split('\\n'), readStdin() === '')"),
    ] {
        let stdin = "grüße\n2".to_owned();
        let outcome = marked.engine.run(Spec { stdin, ..spec(language, code) }).await.unwrap();
        let expected = if language == Python { "['grüße', '2']\n" } else { "[ 'grüße', '2' ] true\n" };
        assert_eq!(outcome.stdout, expected);
    }
}

#[tokio::test]
async fn missing_input_is_an_end_of_file() {
    let outcome = Marked::new(1).run(Python, "input()").await;
    assert!(outcome.stderr.ends_with("EOFError: EOF when reading a line\n"), "{}", outcome.stderr);
}

#[tokio::test]
async fn exit_codes_are_kept() {
    let marked = Marked::new(1);
    for (language, code, exit, stderr) in [
        (Python, "import sys; sys.exit(7)", 7, ""),
        (Python, "import sys; sys.exit('bad')", 1, "bad\n"),
        (Python, "import sys; sys.exit()", 0, ""),
        (Python, "raise SystemExit(260)", 4, ""),
        (Python, "import atexit; atexit.register(print, 'end'); exit(3)", 3, ""),
        (JavaScript, "exit(7)", 7, ""),
        (JavaScript, "exit(); print('not reached')", 0, ""),
    ] {
        let outcome = marked.run(language, code).await;
        assert_eq!((outcome.exit_code, outcome.stderr.as_str()), (Some(exit), stderr), "{code}");
        assert_eq!(outcome.reason, if exit == 0 { Reason::Ok } else { Reason::Nonzero });
        assert!(!outcome.stdout.contains("reached"));
    }
}

#[tokio::test]
async fn a_traceback_shows_the_program_and_nothing_of_ours() {
    let outcome =
        Marked::new(1).run(Python, "def half(x):\n    return x / 0\n\nprint('a', end='')\nhalf(1)").await;
    assert_eq!((outcome.reason, outcome.exit_code, outcome.stdout.as_str()), (Reason::Nonzero, Some(1), "a"));
    assert!(
        outcome
            .stderr
            .starts_with("Traceback (most recent call last):\n  File \"main.py\", line 5, in <module>\n")
    );
    assert!(outcome.stderr.contains("return x / 0"));
    assert!(outcome.stderr.ends_with("ZeroDivisionError: division by zero\n"));
    assert!(!outcome.stderr.contains("app.py"), "{}", outcome.stderr);
}

#[tokio::test]
async fn uncaught_javascript_errors_show_message_and_stack() {
    let marked = Marked::new(1);
    for (code, message) in [
        (
            "function f() { throw new TypeError('bad') }\nf()",
            "Uncaught TypeError: bad\n    at f (main.js:1:26)\n",
        ),
        ("throw 5", "Uncaught 5\n"),
        ("Promise.reject(new Error('lost'))", "Uncaught (in promise) Error: lost\n"),
        ("await Promise.reject(new Error('lost'))", "Uncaught Error: lost\n"),
        ("let x = ;", "Uncaught SyntaxError: "),
        ("Error.prototype.toString = () => { throw 1 }; throw new Error('x')", "Uncaught error (it cannot"),
    ] {
        let outcome = marked.run(JavaScript, code).await;
        assert_eq!((outcome.reason, outcome.exit_code), (Reason::Nonzero, Some(1)), "{code}");
        assert!(outcome.stderr.starts_with(message), "{code}: {}", outcome.stderr);
    }
}

#[tokio::test]
async fn promises_run_to_the_end() {
    let code = "
        const later = async (x) => { await null; return x * 2 };
        Promise.resolve(1).then((x) => print('then', x));
        Promise.reject(1).catch(() => print('caught'));
        print(await later(21));
    ";
    assert_eq!(printed(JavaScript, code).await, "then 1\ncaught\n42\n");
    let stuck = Marked::new(1).run(JavaScript, "await new Promise(() => {})").await;
    assert_eq!((stuck.reason, stuck.exit_code), (Reason::Nonzero, Some(13)));
}

#[tokio::test]
async fn the_javascript_console_shows_values() {
    let code = "
        console.log('a', 1, [1, 'b', [null, undefined]], { x: { y: new Map([[1, 2]]) }, 'a-b': -0, f() {} });
        console.info('%s is %d%%', 'half', 50, true);
        class Point { constructor() { this.x = 1n } }
        console.debug(new Point(), new Set([Symbol('s')]), new Date(0), /x/g, class A {});
        const loop = {}; loop.self = loop; print(loop);
        console.error('to stderr');
    ";
    let outcome = Marked::new(1).run(JavaScript, code).await;
    let expected = "\
a 1 [ 1, 'b', [ null, undefined ] ] { x: { y: Map(1) { 1 => 2 } }, 'a-b': -0, f: [Function: f] }
half is 50% true
Point { x: 1n } Set(1) { Symbol(s) } 1970-01-01T00:00:00.000Z /x/g [class A]
{ self: [Circular] }
";
    assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), (expected, "to stderr\n"));
}

#[tokio::test]
async fn python_is_a_real_one() {
    let code = "
import asyncio, dataclasses, decimal, json, re, sqlite3, sys

@dataclasses.dataclass
class Point:
    x: int

async def main():
    return await asyncio.gather(*(asyncio.sleep(0.001 * n, n) for n in range(3)))

print(Point(1), Point.__module__, __name__, sys.argv)
print(decimal.Decimal('0.1') + 1, json.dumps({'a': [1]}), re.sub('a+', 'b', 'caat'))
print(sqlite3.connect(':memory:').execute('select 40 + 2').fetchone(), asyncio.run(main()))
";
    let expected = "Point(x=1) __main__ __main__ ['main.py']\n1.1 {\"a\": [1]} cbt\n(42,) [0, 1, 2]\n";
    assert_eq!(printed(Python, code).await, expected);
}

#[tokio::test]
async fn nothing_is_left_for_the_next_program() {
    let marked = Marked::new(1);
    marked.run(Python, "import builtins, sys; builtins.secret = 1; sys.modules['leak'] = sys").await;
    let outcome = marked.run(Python, "import sys; print('leak' in sys.modules); secret").await;
    assert_eq!(outcome.stdout, "False\n");
    assert!(outcome.stderr.ends_with("NameError: name 'secret' is not defined\n"));
    marked.run(JavaScript, "globalThis.secret = 1; Array.prototype.leak = 1").await;
    let outcome = marked.run(JavaScript, "print(typeof secret, typeof [].leak)").await;
    assert_eq!(outcome.stdout, "undefined undefined\n");
}

#[tokio::test]
async fn random_numbers_differ_between_programs() {
    let marked = Marked::new(1);
    for (language, code) in [
        (Python, "import random; print(random.random())"),
        (Python, "import os, uuid; print(os.urandom(16), uuid.uuid4())"),
        (JavaScript, "print(Math.random())"),
    ] {
        let first = marked.run(language, code).await;
        let second = marked.run(language, code).await;
        assert_eq!(second.reason, Reason::Ok);
        assert_ne!(first.stdout, second.stdout, "{code}");
    }
}
