//! Certificate and key for the listener.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::config::Tls;

/// Reads both files. What is wrong with them is said with their names.
pub(crate) fn server_config(tls: &Tls) -> Result<Arc<ServerConfig>> {
    let chain = certificates(&tls.cert)?;
    let key = PrivateKeyDer::from_pem_file(&tls.key)
        .with_context(|| format!("{} holds no private key in PEM", tls.key.display()))?;
    let config = ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key);
    let mut config = config.with_context(|| {
        format!("certificate {} and key {} do not go together", tls.cert.display(), tls.key.display())
    })?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let wrong = || format!("{} holds no certificate in PEM", path.display());
    let read = CertificateDer::pem_file_iter(path).with_context(wrong)?;
    let chain = read.collect::<Result<Vec<_>, _>>().with_context(wrong)?;
    ensure!(!chain.is_empty(), wrong());
    Ok(chain)
}
