//! Takes up a changed configuration while the gateway runs: whole, or not at all.
//!
//! Everything that can fail (the file, certificates, upstreams) happens before anything changes.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;
use server::{App, ReloadRequest, Reloaded};
use tokio::signal::unix::Signal;
use tokio::sync::mpsc;

use crate::config::{self, Environment, Loaded};
use crate::wire;

/// Where a configuration comes from: what was said on the command line holds over the file, now and later.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origin {
    pub(crate) file: Option<PathBuf>,
    pub(crate) data_dir: PathBuf,
    pub(crate) host: Option<IpAddr>,
    pub(crate) port: Option<u16>,
    pub(crate) allow: Vec<String>,
}

impl Origin {
    /// Reads the file and the environment.
    pub(crate) fn load(&self, env: &Environment) -> Result<Loaded> {
        let mut loaded = config::load(self.file.as_deref(), &self.data_dir, env)?;
        let config = &mut loaded.config;
        config.server.host = self.host.unwrap_or(config.server.host);
        config.server.port = self.port.unwrap_or(config.server.port);
        config.approval.allow.extend(self.allow.iter().cloned());
        Ok(loaded)
    }
}

/// Reloads on SIGHUP and on request, one after the other, until nobody can ask any more.
pub(crate) async fn serve(
    app: Arc<App>,
    origin: Origin,
    env: Environment,
    mut current: Loaded,
    mut hangup: Signal,
    mut asked: mpsc::Receiver<ReloadRequest>,
) {
    loop {
        let answer = tokio::select! {
            signal = hangup.recv() => match signal {
                Some(()) => None,
                None => return,
            },
            request = asked.recv() => match request {
                Some(answer) => Some(answer),
                None => return,
            },
        };
        let done = reload(&app, &origin, &env, &mut current).await.map_err(|error| format!("{error:#}"));
        match &done {
            Ok(reloaded) => tracing::info!(
                applied = reloaded.applied.join(", "),
                needs_restart = reloaded.needs_restart.join(", "),
                "the configuration was read again"
            ),
            Err(fault) => tracing::error!(fault, "the configuration has a fault; nothing was changed"),
        }
        // Whoever asked may have gone: the log has the outcome.
        drop(answer.map(|answer| answer.send(done)));
    }
}

async fn reload(app: &App, origin: &Origin, env: &Environment, current: &mut Loaded) -> Result<Reloaded> {
    let next = origin.load(env)?;
    let before = app.live.load();
    let fixed = wire::Fixed::of(&before.config);
    let running = wire::running(&next, env, fixed, Some(&before.upstreams))?;
    let (later, now): (Vec<_>, Vec<_>) =
        config::changes(&current.config, &next.config).into_iter().partition(|change| change.needs_restart);
    server::reconfigure(app, wire::pinned(&next), running).await;
    *current = next;
    let paths = |changes: Vec<config::Change>| changes.into_iter().map(|change| change.path).collect();
    Ok(Reloaded { applied: paths(now), needs_restart: paths(later) })
}
