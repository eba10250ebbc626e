//! Commands that work on the database itself: `backup`, `restore`, `export`, `import`, `token reset`.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use store::{Database, Table};
use store_sql::SqliteStore;

use super::print;
use super::say;
use crate::access;
use crate::config::{self, Environment};
use crate::database::{self, Opened};
use crate::reload::Origin;

/// First line of an export.
const FORMAT: &str = "omni-skills-export";
/// Its version.
const VERSION: u64 = 1;
/// Rows that are read and written at once.
const BATCH: usize = 500;

#[derive(Args)]
pub(super) struct Where {
    /// Configuration file (default: ./omni-skills.toml, then the data folder's)
    #[arg(long)]
    config: Option<PathBuf>,
    /// Folder of the database and the workspaces
    #[arg(long)]
    data_dir: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub(super) struct OneFile {
    /// The file
    file: PathBuf,
    #[command(flatten)]
    place: Where,
}

#[derive(Args)]
pub(super) struct TokenArguments {
    #[command(subcommand)]
    command: TokenCommand,
}

#[derive(Subcommand)]
enum TokenCommand {
    /// Make a new management token in place of the first one; works without a running gateway
    Reset {
        #[command(flatten)]
        place: Where,
    },
}

/// A configuration, and the folder it is about.
struct Found {
    origin: Origin,
    config: config::Config,
}

impl Where {
    fn find(&self, env: &Environment) -> Result<Found> {
        let data_dir = config::data_dir(self.data_dir.clone(), env)?;
        let origin = Origin { file: self.config.clone(), data_dir, ..Origin::default() };
        let config = origin.load(env)?.config;
        Ok(Found { origin, config })
    }

    fn done(&self, sentence: &str, facts: &Value) {
        if self.json { print::json(facts) } else { say(sentence) }
    }
}

impl Found {
    async fn open(&self, env: &Environment) -> Result<Opened> {
        let dir = &self.origin.data_dir;
        if database::server_address(env).is_none() {
            let file = database::file(dir);
            ensure!(
                file.is_file(),
                "there is no database {}; give its folder with --data-dir",
                file.display()
            );
        }
        database::open(&self.config, dir, env).await
    }
}

/// `backup FILE`: a running gateway goes on meanwhile.
pub(super) async fn backup(arguments: OneFile, env: &Environment) -> Result<()> {
    let opened = arguments.place.find(env)?.open(env).await?;
    let done = opened.database().backup(&arguments.file).await;
    opened.close().await;
    done.with_context(|| format!("no backup was written to {}", arguments.file.display()))?;
    let file = arguments.file.display().to_string();
    arguments
        .place
        .done(&format!("the database is in {file}; it holds no workspaces"), &json!({"file": file}));
    Ok(())
}

/// `restore FILE`: puts a backup in the place of the database. Nothing changes unless the backup is a good one.
pub(super) async fn restore(arguments: OneFile, env: &Environment) -> Result<()> {
    ensure!(
        database::server_address(env).is_none(),
        "DATABASE_URL names a server; restore it with its own tools, or use `omni-skills import`"
    );
    let found = arguments.place.find(env)?;
    let dir = &found.origin.data_dir;
    database::create_private_dir(dir)?;
    let _alone = database::own(dir)?;
    let target = database::file(dir);
    let fresh = dir.join("omni-skills.db.restoring");
    remove_with_log(&fresh)?;
    copy_private(&arguments.file, &fresh)?;
    let checked = check(&fresh).await;
    if checked.is_err() {
        remove_with_log(&fresh)?;
    }
    checked.with_context(|| format!("{} is no database that can be used", arguments.file.display()))?;
    let kept =
        target.exists().then(|| with_suffix(&target, &format!(".before-{}", seconds()))).transpose()?;
    if let Some(kept) = &kept {
        // Its log goes along: what was not yet moved into the file is in there.
        rename_with_log(&target, kept)?;
    }
    std::fs::rename(&fresh, &target).context("the restored database cannot be put into its place")?;
    File::open(dir).and_then(|dir| dir.sync_all()).context("the data folder cannot be synced")?;
    let kept = kept.map(|path| path.display().to_string());
    let before = kept.as_ref().map(|path| format!("; the one before is {path}")).unwrap_or_default();
    arguments.place.done(
        &format!("{} is the database now{before}", arguments.file.display()),
        &json!({"database": target.display().to_string(), "before": kept}),
    );
    Ok(())
}

/// Opens a copy, which brings it up to date, and closes it.
async fn check(path: &Path) -> Result<()> {
    let store = SqliteStore::open(path)?;
    let read = store::Store::load_skills(store.as_ref()).await;
    store.close().await;
    read?;
    Ok(())
}

fn seconds() -> i64 {
    jiff::Timestamp::now().as_second()
}

fn with_suffix(path: &Path, suffix: &str) -> Result<PathBuf> {
    let name = path.file_name().and_then(|name| name.to_str()).context("the data folder has an odd name")?;
    Ok(path.with_file_name(format!("{name}{suffix}")))
}

fn copy_private(from: &Path, to: &Path) -> Result<()> {
    let mut read = File::open(from).with_context(|| format!("cannot read {}", from.display()))?;
    let mut write = create_private(to)?;
    std::io::copy(&mut read, &mut write).context("the backup cannot be copied")?;
    write.sync_all().context("the backup cannot be copied")
}

fn create_private(path: &Path) -> Result<File> {
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    file.with_context(|| format!("cannot create {}", path.display()))
}

/// A database and the files that `SQLite` keeps beside it.
fn with_log(path: &Path) -> Result<Vec<PathBuf>> {
    ["", "-wal", "-shm"].iter().map(|suffix| with_suffix(path, suffix)).collect()
}

fn remove_with_log(path: &Path) -> Result<()> {
    for file in with_log(path)? {
        match std::fs::remove_file(&file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("cannot remove {}", file.display()));
            }
            _ => {}
        }
    }
    Ok(())
}

fn rename_with_log(from: &Path, to: &Path) -> Result<()> {
    for (from, to) in with_log(from)?.iter().zip(with_log(to)?) {
        if from.exists() {
            std::fs::rename(from, &to).with_context(|| format!("cannot rename {}", from.display()))?;
        }
    }
    Ok(())
}

/// `export FILE`: everything as JSON lines, to be read by `import` on any kind of database.
pub(super) async fn export(arguments: OneFile, env: &Environment) -> Result<()> {
    let opened = arguments.place.find(env)?.open(env).await?;
    let done = match create_private(&arguments.file) {
        Ok(file) => write_rows(opened.database().as_ref(), file).await,
        Err(error) => Err(error),
    };
    opened.close().await;
    let rows = done?;
    let file = arguments.file.display().to_string();
    arguments.place.done(&format!("{rows} rows are in {file}"), &json!({"file": file, "rows": rows}));
    Ok(())
}

async fn write_rows(database: &dyn Database, file: File) -> Result<u64> {
    let mut out = BufWriter::new(file);
    let mut rows = 0;
    writeln!(out, "{}", json!({"format": FORMAT, "version": VERSION}))?;
    for table in Table::ALL {
        let mut from = None;
        loop {
            let page = database.export_rows(table, from.as_deref(), u32::try_from(BATCH)?).await?;
            for row in page.rows {
                writeln!(out, "{}", json!({"table": table.as_str(), "row": row}))?;
                rows += 1;
            }
            from = page.next;
            if from.is_none() {
                break;
            }
        }
    }
    // Without this line the file is not whole.
    writeln!(out, "{}", json!({"end": true, "rows": rows}))?;
    out.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()?;
    Ok(rows)
}

/// `import FILE`: rows that are there already stay as they are.
pub(super) async fn import(arguments: OneFile, env: &Environment) -> Result<()> {
    let found = arguments.place.find(env)?;
    let whole = count(&arguments.file)?;
    database::create_private_dir(&found.origin.data_dir)?;
    let opened = database::open(&found.config, &found.origin.data_dir, env).await?;
    let done = read_rows(opened.database().as_ref(), &arguments.file).await;
    opened.close().await;
    let written = done?;
    let left = whole - written;
    arguments.place.done(
        &format!("{written} rows were written; {left} were there already"),
        &json!({"written": written, "left": left}),
    );
    Ok(())
}

/// One line of an export.
enum Line {
    Head,
    Row(Table, Value),
    End(u64),
}

fn lines(file: &Path) -> Result<impl Iterator<Item = Result<Line>>> {
    let open = File::open(file).with_context(|| format!("cannot read {}", file.display()))?;
    let name = file.display().to_string();
    Ok(BufReader::new(open).lines().enumerate().map(move |(number, line)| {
        let read = line.map_err(anyhow::Error::from).and_then(|line| read_line(&line));
        read.with_context(|| format!("{name}: line {}", number + 1))
    }))
}

fn read_line(line: &str) -> Result<Line> {
    let mut value: Value = serde_json::from_str(line)?;
    if let Some(format) = value.get("format") {
        ensure!(
            *format == FORMAT && value.get("version") == Some(&VERSION.into()),
            "this is no export, or one of a newer release"
        );
        return Ok(Line::Head);
    }
    if value.get("end").is_some() {
        return Ok(Line::End(value.get("rows").and_then(Value::as_u64).context("`rows` is missing")?));
    }
    let table = value.get("table").and_then(Value::as_str).and_then(Table::parse);
    let table = table.context("`table` is missing or unknown; is the export of a newer release?")?;
    Ok(Line::Row(table, value.get_mut("row").map(Value::take).context("`row` is missing")?))
}

/// Reads the whole file before anything is written: one that was cut is not begun with.
fn count(file: &Path) -> Result<u64> {
    let mut rows = 0;
    let mut lines = lines(file)?;
    ensure!(matches!(lines.next().transpose()?, Some(Line::Head)), "{} is no export", file.display());
    for line in lines {
        match line? {
            Line::Row(..) => rows += 1,
            Line::End(all) if all == rows => return Ok(rows),
            Line::End(_) | Line::Head => break,
        }
    }
    bail!("{} is not whole; export it again", file.display())
}

async fn read_rows(database: &dyn Database, file: &Path) -> Result<u64> {
    let mut written = 0;
    let mut batch: Vec<Value> = Vec::new();
    let mut current = None;
    for line in lines(file)? {
        let Line::Row(table, row) = line? else { continue };
        if current != Some(table) || batch.len() >= BATCH {
            written += write_batch(database, current, &mut batch).await?;
            current = Some(table);
        }
        batch.push(row);
    }
    written += write_batch(database, current, &mut batch).await?;
    Ok(written)
}

async fn write_batch(database: &dyn Database, table: Option<Table>, batch: &mut Vec<Value>) -> Result<u64> {
    match table {
        Some(table) if !batch.is_empty() => Ok(database.import_rows(table, std::mem::take(batch)).await?),
        _ => Ok(0),
    }
}

/// `token reset`
pub(super) async fn token(arguments: TokenArguments, env: &Environment) -> Result<()> {
    let TokenCommand::Reset { place } = arguments.command;
    let opened = place.find(env)?.open(env).await?;
    let made = access::reset_token(opened.database().as_ref()).await;
    opened.close().await;
    let token = made?;
    let hint = match env.get("OMNI_SKILLS_MGMT_TOKEN") {
        Some(_) => "; OMNI_SKILLS_MGMT_TOKEN is set and comes before it",
        None => "",
    };
    place.done(
        &format!("management token: {token}  (shown this once; a running gateway takes it up with its next start{hint})"),
        &json!({"token": token}),
    );
    Ok(())
}
