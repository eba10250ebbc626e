//! What the engine does not have: the program ends as `unsupported`, and the hint says what to do.

use sandbox::{Language, Reason};

use crate::support::{JavaScript, Marked, Python};

async fn assert_unsupported(language: Language, cases: &[(&str, &str)]) {
    let marked = Marked::new(1);
    for (code, missing) in cases {
        let outcome = marked.run(language, code).await;
        assert_eq!(
            (outcome.reason, outcome.exit_code),
            (Reason::Unsupported, Some(1)),
            "{code}: {}",
            outcome.stderr
        );
        let hint = outcome.hint.unwrap();
        assert!(
            hint.starts_with(&format!("The program needs {missing}, which the wasm engine does not have")),
            "{hint}"
        );
        assert!(hint.contains("container"), "{hint}");
    }
}

#[tokio::test]
async fn javascript_without_node_and_browser() {
    let cases = [
        ("const fs = require('fs')", "require"),
        ("import fs from 'node:fs'\nprint(1)", "the module node:fs"),
        ("await import('lodash')", "the module lodash"),
        ("process.exit(0)", "process"),
        ("await fetch('http://example.com')", "fetch"),
        ("setTimeout(() => print(1), 10)", "setTimeout"),
        ("Buffer.from('a')", "Buffer"),
    ];
    assert_unsupported(JavaScript, &cases).await;
}

#[tokio::test]
async fn python_without_the_machine() {
    let cases = [
        ("import numpy", "the module numpy"),
        ("from PIL import Image", "the module PIL"),
        ("import subprocess\nsubprocess.run(['ls'])", "processes"),
        ("import os\nos.system('ls')", "processes"),
        ("import os\nos.fork()", "processes"),
        ("import threading\nthreading.Thread(target=print).start()", "threads"),
        ("import socket\nsocket.create_connection(('127.0.0.1', 80), 1)", "the network"),
        ("import urllib.request as r\nr.urlopen('http://example.com')", "the network"),
        ("open('/etc/passwd')", "files"),
        ("import tempfile\ntempfile.mkstemp()", "files"),
    ];
    assert_unsupported(Python, &cases).await;
}

#[tokio::test]
async fn what_the_program_handles_or_raises_itself_is_its_own_business() {
    let marked = Marked::new(1);
    for (language, code, reason) in [
        (Python, "try:\n    import numpy\nexcept ImportError:\n    print('without')", Reason::Ok),
        (JavaScript, "await import('fs').catch((e) => print(e instanceof Error))", Reason::Ok),
        (JavaScript, "print(typeof process, typeof require)", Reason::Ok),
        (JavaScript, "await import('fs').catch(() => {}); throw new Error('mine')", Reason::Nonzero),
        (JavaScript, "undefinedName", Reason::Nonzero),
        (Python, "raise FileNotFoundError('mine')", Reason::Nonzero),
    ] {
        let outcome = marked.run(language, code).await;
        assert_eq!((outcome.reason, outcome.hint), (reason, None), "{code}: {}", outcome.stderr);
    }
}
