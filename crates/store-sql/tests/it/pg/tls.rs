//! How much of a server's certificate is looked at.

use std::error::Error as _;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use store::Store as _;
use store_sql::PostgresStore;
use tempfile::TempDir;
use testkit::postgres::Schema;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use super::proxy::Proxy;

/// A server whose certificate is for `name`, and the file of the authority that signed it.
async fn server(schema: &Schema, name: &str) -> (Proxy, TempDir, String) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let certificate =
        CertificateParams::new(vec![name.to_owned()]).unwrap().signed_by(&key, &authority).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("authority.pem");
    std::fs::write(&file, authority.pem()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], PrivateKeyDer::Pkcs8(key.serialize_der().into()))
        .unwrap();
    let proxy = Proxy::start(&schema.server, Some(Arc::new(config))).await;
    let file = file.to_str().unwrap().to_owned();
    (proxy, folder, file)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_mode_checks_what_it_says() {
    let Some(schema) = Schema::new().await else { return };
    let (right, _folder, file) = server(&schema, "localhost").await;
    let (wrong, _other_folder, other) = server(&schema, "elsewhere.example").await;
    let cases = [
        (&right, "sslmode=require".to_owned(), None),
        (&right, "sslmode=prefer".to_owned(), None),
        (&right, String::new(), None),
        (&right, format!("sslmode=verify-ca&sslrootcert={file}"), None),
        (&right, format!("sslmode=verify-full&sslrootcert={file}"), None),
        (&right, format!("sslmode=require&sslrootcert={file}"), None),
        (&right, format!("sslmode=verify-full&sslrootcert={other}"), Some("certificate")),
        (&right, format!("sslmode=verify-ca&sslrootcert={other}"), Some("certificate")),
        (&right, format!("sslmode=require&sslrootcert={other}"), Some("certificate")),
        (&right, "sslmode=verify-full".to_owned(), Some("certificate")),
        (&wrong, format!("sslmode=verify-ca&sslrootcert={other}"), None),
        (&wrong, format!("sslmode=verify-full&sslrootcert={other}"), Some("certificate")),
    ];
    for (proxy, query, refused) in cases {
        let server = format!("postgres://postgres@localhost:{}/postgres?{query}", proxy.port);
        match (PostgresStore::open(&schema.url_at(&server)).await, refused) {
            (Ok(store), None) => {
                store.set_value("a", &query).await.unwrap();
                store.close().await;
            }
            (Err(error), Some(part)) => {
                let reason = error.source().unwrap().to_string();
                assert!(reason.contains(part), "{query}: {reason}");
            }
            (Ok(_), Some(_)) => panic!("{query} was accepted"),
            (Err(error), None) => panic!("{query}: {error:?}"),
        }
    }
}

/// It cannot be talked out of TLS.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_without_tls_is_refused_where_tls_is_asked_for() {
    let Some(schema) = Schema::new().await else { return };
    let plain = Proxy::start(&schema.server, None).await;
    let server = format!("postgres://postgres@localhost:{}/postgres?sslmode=", plain.port);
    for mode in ["require", "verify-ca", "verify-full"] {
        let Err(error) = PostgresStore::open(&schema.url_at(&format!("{server}{mode}"))).await else {
            panic!("{mode} did without TLS")
        };
        let reason = error.source().unwrap().to_string();
        assert!(reason.contains("TLS"), "{mode}: {reason}");
    }
    for mode in ["prefer", "disable", "allow"] {
        PostgresStore::open(&schema.url_at(&format!("{server}{mode}"))).await.unwrap().close().await;
    }
}
