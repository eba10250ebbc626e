//! `[server]`: where the gateway listens and whom it answers.

use std::net::IpAddr;

use serde::Deserialize;

/// `[server]`
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Server {
    /// Address to listen on.
    pub(crate) host: IpAddr,
    /// Port to listen on; 0 takes a free one.
    pub(crate) port: u16,
    /// Host names that requests may name beside the loopback ones.
    pub(crate) allowed_hosts: Vec<String>,
}

impl Default for Server {
    fn default() -> Self {
        Self { host: IpAddr::from([127, 0, 0, 1]), port: 20128, allowed_hosts: Vec::new() }
    }
}
