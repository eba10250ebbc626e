//! Nothing of the host can be reached.

use sandbox::Reason;

use crate::support::{JavaScript, Marked, Python};

#[tokio::test]
async fn no_files() {
    let marked = Marked::new(1);
    for code in [
        "os.listdir('/')",
        "os.listdir('.')",
        "os.mkdir('/x')",
        "os.stat('/etc/passwd')",
        "open('/dev/null')",
    ] {
        let outcome = marked.run(Python, &format!("import os\n{code}")).await;
        assert_eq!(outcome.exit_code, Some(1), "{code}: {}", outcome.stdout);
        assert!(outcome.stderr.contains("Error: [Errno"), "{code}: {}", outcome.stderr);
    }
}

#[tokio::test]
async fn no_environment_and_no_identity() {
    let code = "import os, sys; print(dict(os.environ), sys.argv, os.getcwd(), sys.flags.isolated)";
    let outcome = Marked::new(1).run(Python, code).await;
    assert!(outcome.stdout.starts_with("{} ['main.py'] / "), "{}", outcome.stdout);
}

#[tokio::test]
async fn no_network() {
    let code = "
import socket
for attempt in (
    lambda: socket.socket().connect(('127.0.0.1', 80)),
    lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 53)),
    lambda: socket.getaddrinfo('localhost', 80),
):
    try:
        attempt()
        print('reached')
    except OSError as error:
        print('refused')
";
    let outcome = Marked::new(1).run(Python, code).await;
    assert_eq!(outcome.stdout, "refused\nrefused\nrefused\n", "{}", outcome.stderr);
}

#[tokio::test]
async fn the_javascript_global_object_holds_nothing_of_the_host() {
    let code = "
        const own = Object.getOwnPropertyNames(globalThis).filter((name) => /^[a-z]/.test(name));
        print(own.sort().join(' '));
        print(Object.getOwnPropertyNames(console).join(' '));
    ";
    let outcome = Marked::new(1).run(JavaScript, code).await;
    assert_eq!(outcome.reason, Reason::Ok);
    let expected = "atob btoa console decodeURI decodeURIComponent encodeURI encodeURIComponent escape eval exit \
                    globalThis isFinite isNaN parseFloat parseInt performance print queueMicrotask readStdin \
                    undefined unescape\nlog info debug warn error\n";
    assert_eq!(outcome.stdout, expected);
}
