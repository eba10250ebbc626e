//! Asks a running gateway over its REST API. Nothing on this side decides anything.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use reqwest::{Method, Response};
use serde_json::Value;

use super::failure::Failure;
use crate::config::Environment;

/// Where a gateway listens when nothing else is said.
const DEFAULT_URL: &str = "http://127.0.0.1:20128";

#[derive(Args)]
pub(super) struct Gateway {
    /// Address of the gateway; by default the one in the environment, else that of a local one
    #[arg(long, global = true, value_name = "URL")]
    url: Option<String>,
    /// PEM file with the certificate of the authority that vouches for the gateway
    #[arg(long, global = true, value_name = "FILE")]
    ca_file: Option<PathBuf>,
    /// Print JSON, as the REST API gives it
    #[arg(long, global = true)]
    pub(super) json: bool,
}

/// A gateway and who asks it.
pub(super) struct Remote {
    base: String,
    credential: Option<String>,
    client: reqwest::Client,
}

impl Remote {
    /// The credential comes from the environment alone: a command line is for every user of the machine to read.
    pub(super) fn new(gateway: &Gateway, env: &Environment) -> Result<Self> {
        let url = gateway.url.clone().or_else(|| env.get("OMNI_SKILLS_URL").map(str::to_owned));
        let base = url.unwrap_or_else(|| DEFAULT_URL.to_owned()).trim_end_matches('/').to_owned();
        let credential = env.get("OMNI_SKILLS_MGMT_TOKEN").or_else(|| env.get("OMNI_SKILLS_KEY"));
        super::install_tls();
        let mut client = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
        if let Some(file) = &gateway.ca_file {
            let wrong = || format!("{} holds no certificate in PEM", file.display());
            let certificate =
                std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
            client =
                client.tls_certs_merge([reqwest::Certificate::from_pem(&certificate).with_context(wrong)?]);
        }
        Ok(Self { base, credential: credential.map(str::to_owned), client: client.build()? })
    }

    /// The answer, if it is a good one; else the gateway's own sentence as the error.
    pub(super) async fn open(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Response> {
        let mut request = self.client.request(method, format!("{}{path}", self.base));
        if let Some(credential) = &self.credential {
            request = request.bearer_auth(credential);
        }
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        let answer = request.send().await.map_err(|error| Failure::Unreachable {
            address: self.base.clone(),
            source: error.without_url(),
        })?;
        if answer.status().is_success() {
            return Ok(answer);
        }
        let status = answer.status();
        let said: Value = serde_json::from_slice(&answer.bytes().await?).unwrap_or_default();
        let message = said.get("error").and_then(Value::as_str).unwrap_or("it gave no reason");
        match status.as_u16() {
            401 => bail!(
                "{message}. Set OMNI_SKILLS_MGMT_TOKEN, or OMNI_SKILLS_KEY to a key with the right scope"
            ),
            _ => bail!("{message} ({status})"),
        }
    }

    /// As [`Remote::open`], read as JSON.
    pub(super) async fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Value> {
        let answer = self.open(method, path, body).await?.bytes().await?;
        serde_json::from_slice(&answer)
            .context("the gateway's answer is not JSON; is it one of another release?")
    }

    /// Where it is asked.
    pub(super) fn address(&self) -> &str {
        &self.base
    }
}

/// As one segment of a path, or one value of a query.
pub(super) fn segment(text: &str) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~".contains(byte);
    text.bytes().map(|b| if plain(&b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}

/// A query of what is given, with its question mark; empty for nothing.
pub(super) fn query(pairs: &[(&str, Option<String>)]) -> String {
    let given =
        pairs.iter().filter_map(|(name, value)| Some(format!("{name}={}", segment(value.as_deref()?))));
    let given: Vec<_> = given.collect();
    if given.is_empty() { String::new() } else { format!("?{}", given.join("&")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_one_segment() {
        assert_eq!(segment("01-a.b~c"), "01-a.b~c");
        assert_eq!(segment("../x?y=é"), "..%2Fx%3Fy%3D%C3%A9");
        assert_eq!(query(&[("a", None), ("b", Some("1 2".to_owned()))]), "?b=1%202");
        assert_eq!(query(&[("a", None)]), "");
    }
}
