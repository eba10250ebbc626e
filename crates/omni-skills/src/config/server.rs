//! `[server]`: where the gateway listens and whom it answers.

use std::net::IpAddr;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use ipnet::IpNet;

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

impl Server {
    /// Hosts that requests may name: the listed ones and that of `public_url`.
    pub(crate) fn hosts(&self) -> Result<Vec<String>> {
        let mut hosts = self.allowed_hosts.clone();
        if let Some(url) = &self.public_url {
            let authority = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
            let authority = authority.map(|rest| rest.split('/').next().unwrap_or_default());
            let legal = |text: &&str| !text.is_empty() && !text.contains(['@', '?', '#', ' ']);
            match authority.filter(legal) {
                Some(authority) => hosts.push(authority.to_owned()),
                None => bail!(
                    "server.public_url has to be an http:// or https:// address, such as https://skills.example"
                ),
            }
        }
        Ok(hosts)
    }

    /// The base path with a slash in front and none behind; empty for none.
    pub(crate) fn base(&self) -> Result<String> {
        let path = self.base_path.trim_matches('/');
        let legal = |c: char| c.is_ascii_alphanumeric() || "-._~/".contains(c);
        ensure!(
            path.chars().all(legal) && !path.contains("//"),
            "server.base_path has to be a path, such as /skills"
        );
        Ok(if path.is_empty() { String::new() } else { format!("/{path}") })
    }

    /// Trusted proxies as networks; an address is a network of one.
    pub(crate) fn proxies(&self) -> Result<Vec<IpNet>> {
        let read = |text: &String| {
            let net = text.parse::<IpNet>().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from));
            net.with_context(|| format!("server.trusted_proxies: `{text}` is no address and no network"))
        };
        self.trusted_proxies.iter().map(read).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_nonsense_is_refused() {
        let server = |public_url: &str, base_path: &str, proxy: &str| Server {
            public_url: Some(public_url.to_owned()),
            base_path: base_path.to_owned(),
            trusted_proxies: vec![proxy.to_owned()],
            ..Server::default()
        };
        let good = server("https://a.example:8443/x", "/skills/", "10.0.0.1");
        assert_eq!(good.hosts().unwrap(), ["a.example:8443"]);
        assert_eq!(good.base().unwrap(), "/skills");
        assert_eq!(good.proxies().unwrap(), ["10.0.0.1/32".parse().unwrap()]);
        assert_eq!(Server::default().base().unwrap(), "");
        let bad = server("a.example", "/a b", "proxy.example");
        assert!(bad.hosts().is_err() && bad.base().is_err() && bad.proxies().is_err());
    }
}
