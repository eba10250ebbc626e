//! `[server]`: where the gateway listens and whom it answers.

use std::net::IpAddr;
use std::path::PathBuf;

use super::section::section;

section! {
    /// `[server]`
    Server {
        /// Address to listen on.
        host: IpAddr = IpAddr::from([127, 0, 0, 1]), Restart;
        /// Port to listen on; 0 takes a free one.
        port: u16 = 20128, Restart;
        /// Address under which clients reach the gateway, for links and as an allowed host, such as
        /// `https://skills.example`.
        public_url: Option<String> = None, Live;
        /// Path under which a proxy in front serves the gateway, such as `/skills`. Requests with it and requests
        /// without it (where the proxy takes it away) are answered alike.
        base_path: String = String::new(), Live;
        /// Host names that requests may name beside the loopback ones.
        allowed_hosts: Vec<String> = Vec::new(), Live;
        /// Addresses or networks (`10.0.0.0/8`) of proxies whose `Forwarded`, `X-Forwarded-*` and `X-Real-IP` headers
        /// say who the client is, which host it named and whether it came over TLS.
        trusted_proxies: Vec<String> = Vec::new(), Live;
        /// Certificate and key; the gateway then speaks TLS. A reload reads both files again.
        tls: Option<Tls> = None, Live with Tls::rows;
    }
}

section! {
    /// `tls`
    Tls {
        /// PEM file with the certificate and those between it and its authority.
        cert: PathBuf = PathBuf::new(), Required;
        /// PEM file with the private key.
        key: PathBuf = PathBuf::new(), Required;
    }
}
