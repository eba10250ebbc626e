//! `omni-skills serve`: starts the gateway and says how to use it.

use std::net::IpAddr;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use server::Reloader;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

use super::say;
use crate::access::{self, Token};
use crate::config::{self, Environment, Loaded};
use crate::reload::{self, Origin};
use crate::wire::{self, Gateway};

#[derive(Args)]
pub(super) struct Arguments {
    /// Configuration file (default: ./omni-skills.toml, then the data folder's)
    #[arg(long)]
    config: Option<PathBuf>,
    /// Address to listen on
    #[arg(long)]
    host: Option<IpAddr>,
    /// Port to listen on; 0 takes a free one
    #[arg(long)]
    port: Option<u16>,
    /// Folder for the database and the workspaces
    #[arg(long)]
    data_dir: Option<PathBuf>,
    /// Skill that runs without asking a person, whatever its policy says; may be given more than once
    #[arg(long, value_name = "SKILL")]
    allow: Vec<String>,
}

pub(super) fn serve(arguments: Arguments, env: Environment) -> Result<()> {
    let filter = EnvFilter::try_new(env.get("RUST_LOG").unwrap_or("info")).context("RUST_LOG")?;
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    super::install_tls();
    let data_dir = config::data_dir(arguments.data_dir, &env)?;
    let Arguments { config: file, host, port, allow, .. } = arguments;
    let origin = Origin { file, data_dir, host, port, allow };
    let loaded = origin.load(&env)?;
    raise_open_files();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(run(origin, loaded, env))
}

async fn run(origin: Origin, loaded: Loaded, env: Environment) -> Result<()> {
    // Before anything is slow: a SIGHUP that nobody waits for would end the process.
    let hangup = signal(SignalKind::hangup())?;
    let server = &loaded.config.server;
    let address = (server.host, server.port);
    let listener = TcpListener::bind(address).await;
    let listener = listener.with_context(|| {
        format!("cannot listen on {}:{}; is another program there? Try --port 0", address.0, address.1)
    })?;
    let bound = listener.local_addr()?;
    let loopback = bound.ip().is_loopback();

    let (reloader, asked) = Reloader::new();
    let gateway = wire::build(&loaded, &origin.data_dir, &env, loopback, reloader).await?;
    let first_key = if loopback { None } else { access::first_key(gateway.app.store.as_ref()).await? };
    let scheme = if server.tls.is_some() { "https" } else { "http" };
    greet(&format!("{scheme}://{bound}"), &gateway, first_key.as_deref());
    tokio::spawn(reload::serve(gateway.app.clone(), origin, env, loaded, hangup, asked));

    let shutdown = CancellationToken::new();
    stop_on_signal(shutdown.clone())?;
    server::serve(gateway.app.clone(), listener, shutdown).await?;
    gateway.close().await;
    Ok(())
}

/// What a person needs next. The only place where secrets are printed, once.
fn greet(address: &str, gateway: &Gateway, first_key: Option<&str>) {
    say(&format!("omni-skills {} listens on {address}", env!("CARGO_PKG_VERSION")));
    match &gateway.token {
        Token::Made(token) => say(&format!("management token: {token}  (shown this once; keep it)")),
        Token::Given => say("management token: the one in OMNI_SKILLS_MGMT_TOKEN"),
        Token::Known => say("management token: the one shown at the first start"),
    }
    if let Some(key) = first_key {
        say(&format!("API key: {key}  (shown this once; every caller needs a key here)"));
    }
    match &gateway.sandbox {
        Ok(about) => say(&format!("sandbox: {about}")),
        Err(why) => say(&format!("sandbox: none, so eval_code is not offered: {why}")),
    }
    say("\ntry:");
    let key = first_key.map(|k| format!("-H 'Authorization: Bearer {k}' ")).unwrap_or_default();
    say(&format!(
        "  curl -s {address}/v1/chat/completions {key}-H 'Content-Type: application/json' -d '{{\"model\":\"demo\",\
         \"messages\":[{{\"role\":\"user\",\"content\":\"eval_code {{\\\"language\\\":\\\"python\\\",\
         \\\"code\\\":\\\"print(6*7)\\\"}}\"}}]}}'"
    ));
}

/// Connections are files: as many as the system lets us have.
fn raise_open_files() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    let most = limit.maximum;
    if limit.current == most {
        return;
    }
    limit.current = most;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        tracing::warn!(%error, "the limit of open files could not be raised");
    }
}

fn stop_on_signal(shutdown: CancellationToken) -> Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tracing::info!("shutting down");
        shutdown.cancel();
    });
    Ok(())
}
