//! TLS of the listener, certificates that are renewed, and proxies in front.

use std::path::Path;

use rcgen::{CertifiedKey, KeyPair, generate_simple_self_signed};
use reqwest::Certificate;
use testkit::gateway::Gateway;

use crate::client::http;
use crate::program::{ask, program};

/// Writes a new certificate for `localhost` and its key.
fn renew(folder: &Path) -> Certificate {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(vec!["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
    std::fs::write(folder.join("cert.pem"), cert.pem()).unwrap();
    std::fs::write(folder.join("key.pem"), KeyPair::serialize_pem(&signing_key)).unwrap();
    Certificate::from_pem(cert.pem().as_bytes()).unwrap()
}

fn trusting(certificate: Certificate) -> reqwest::Client {
    drop(rustls::crypto::ring::default_provider().install_default());
    reqwest::Client::builder().no_proxy().tls_certs_only([certificate]).build().unwrap()
}

fn gateway(config: &str) -> Gateway {
    Gateway::start(Path::new(env!("CARGO_BIN_EXE_omni-skills")), config)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renewed_certificate_is_for_new_connections() {
    let folder = tempfile::tempdir().unwrap();
    let first = renew(folder.path());
    let (cert, key) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
    let config = format!("[server]\ntls = {{ cert = {cert:?}, key = {key:?} }}\n");
    let gateway = gateway(&config);
    assert!(gateway.base.starts_with("https://"), "{}", gateway.base);
    let health = format!("{}/healthz", gateway.base);
    let old = trusting(first);
    let answer = old.get(&health).send().await.unwrap();
    assert_eq!((answer.status().as_u16(), answer.version()), (200, reqwest::Version::HTTP_2));
    // Plain HTTP gets no answer.
    assert!(http().get(health.replace("https", "http")).send().await.is_err());

    let second = renew(folder.path());
    let ca = cert.to_str().unwrap();
    // The program trusts the new one, which is not in use yet.
    ask(&gateway, &["config", "reload", "--ca-file", ca]).expect(3);
    let reload = format!("{}/api/config/reload", gateway.base);
    let done = old.post(&reload).bearer_auth(&gateway.token).send().await.unwrap();
    assert_eq!(done.status(), 200);
    let new = trusting(second);
    assert_eq!(new.get(&health).send().await.unwrap().status(), 200);
    // A connection that was there goes on.
    assert_eq!(old.get(&health).send().await.unwrap().status(), 200);
    ask(&gateway, &["skills", "list", "--ca-file", ca]).expect(0);

    std::fs::write(&cert, "nonsense").unwrap();
    let refused = new.post(&reload).bearer_auth(&gateway.token).send().await.unwrap();
    assert_eq!(refused.status(), 422);
    assert_eq!(new.get(&health).send().await.unwrap().status(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_of_another_certificate_is_refused_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    renew(folder.path());
    let cert = folder.path().join("first.pem");
    std::fs::rename(folder.path().join("cert.pem"), &cert).unwrap();
    renew(folder.path());
    let file = folder.path().join("c.toml");
    let key = folder.path().join("key.pem");
    std::fs::write(&file, format!("[server]\ntls = {{ cert = {cert:?}, key = {key:?} }}\n")).unwrap();
    let refused = program(&["config", "check", "--config", file.to_str().unwrap()], &[]).expect(1);
    assert!(refused.err.contains("do not go together"), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_in_front_is_believed_only_if_it_is_trusted() {
    let base = "[server]\npublic_url = 'https://skills.example/omni'\nbase_path = '/omni'\n";
    let trusted = gateway(&format!("{base}trusted_proxies = ['127.0.0.0/8']\n"));
    let other = gateway(base);
    for (gateway, host, path, expected) in [
        (&trusted, "skills.example", "/omni/api/skills", 200),
        (&trusted, "skills.example", "/api/skills", 200),
        (&trusted, "evil.example", "/omni/api/skills", 403),
        // Nobody trusts it, so what it says about the host is not read.
        (&other, "evil.example", "/omni/api/skills", 200),
        (&other, "evil.example", "/other/api/skills", 404),
    ] {
        let request = http().get(format!("{}{path}", gateway.base)).bearer_auth(&gateway.token);
        let answer =
            request.header("x-forwarded-host", host).header("x-forwarded-for", "127.0.0.1").send().await;
        assert_eq!(answer.unwrap().status(), expected, "{host} {path}");
    }
    for gateway in [&trusted, &other] {
        // Whatever a proxy says about its client: behind one nobody is the local user.
        let request = http().get(format!("{}/omni/api/skills/executions", gateway.base));
        let answer = request.header("x-forwarded-for", "127.0.0.1").send().await.unwrap();
        assert_eq!(answer.status(), 401);
        let local = http().get(format!("{}/api/skills/executions", gateway.base)).send().await.unwrap();
        assert_eq!(local.status(), 200);
        let named =
            http().get(format!("{}/healthz", gateway.base)).header("host", "skills.example").send().await;
        assert_eq!(named.unwrap().status(), 200, "the host of public_url is allowed");
    }
}
