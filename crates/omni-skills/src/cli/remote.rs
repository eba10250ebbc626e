//! Asks a running gateway over its REST API. Nothing on this side decides anything.

use anyhow::{Context, Result, bail};
use clap::Args;
use reqwest::{Method, Response};
use serde_json::Value;

use crate::config::Environment;

/// Where a gateway listens when nothing else is said.
const DEFAULT_URL: &str = "http://127.0.0.1:20128";

#[derive(Args)]
pub(super) struct Gateway {
    /// Address of the gateway; by default the one in the environment, else that of a local one
    #[arg(long, global = true, value_name = "URL")]
    url: Option<String>,
}

/// A gateway and who asks it.
pub(super) struct Remote {
    base: String,
    credential: Option<String>,
    client: reqwest::Client,
}

impl Remote {
    /// The credential comes from the environment alone: a command line is for every user of the machine to read.
    pub(super) fn new(gateway: Gateway, env: &Environment) -> Result<Self> {
        let url = gateway.url.or_else(|| env.get("OMNI_SKILLS_URL").map(str::to_owned));
        let base = url.unwrap_or_else(|| DEFAULT_URL.to_owned()).trim_end_matches('/').to_owned();
        let credential = env.get("OMNI_SKILLS_MGMT_TOKEN").or_else(|| env.get("OMNI_SKILLS_KEY"));
        super::install_tls();
        let client = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
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
        let answer = request.send().await.map_err(reqwest::Error::without_url);
        let answer = answer.with_context(|| {
            format!("no gateway answers at {}; is it running? Give its address with --url", self.base)
        })?;
        if answer.status().is_success() {
            return Ok(answer);
        }
        let status = answer.status();
        let said: Value = serde_json::from_slice(&answer.bytes().await?).unwrap_or_default();
        let message = said.get("error").and_then(Value::as_str).unwrap_or("it gave no reason");
        if status.as_u16() == 401 {
            bail!("{message}. Set OMNI_SKILLS_MGMT_TOKEN, or OMNI_SKILLS_KEY to a key with the right scope");
        }
        bail!("{message} ({status})")
    }

    /// As [`Remote::open`], read as JSON.
    pub(super) async fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Value> {
        let answer = self.open(method, path, body).await?.bytes().await?;
        serde_json::from_slice(&answer)
            .context("the gateway's answer is not JSON; is it one of another release?")
    }
}
