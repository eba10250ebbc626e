//! `omni-skills config ...`: look at a configuration before it is used, and let a running gateway read its own again.

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand};

use super::say;
use crate::config::{self, Environment};
use crate::reload::Origin;
use crate::wire;

#[derive(Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Read the file and the environment and say what is wrong with them; nothing is started or changed
    Check {
        /// Configuration file (default: ./omni-skills.toml, then the data folder's)
        #[arg(long)]
        config: Option<PathBuf>,
        /// Folder of the database and the workspaces
        #[arg(long)]
        data_dir: Option<PathBuf>,
    },
    /// Print every setting with its default and what it means, as Markdown
    Reference,
}

pub(super) fn run(arguments: Arguments, env: &Environment) -> Result<()> {
    match arguments.command {
        Command::Check { config, data_dir } => {
            super::install_tls();
            let origin =
                Origin { file: config, data_dir: config::data_dir(data_dir, env)?, ..Origin::default() };
            let loaded = origin.load(env)?;
            wire::check(&loaded.config, env)?;
            match &loaded.file {
                Some(file) => say(&format!("{} is good", file.display())),
                None => say("there is no configuration file; the environment and the defaults are good"),
            }
        }
        Command::Reference => say(config::markdown().trim_end()),
    }
    Ok(())
}
