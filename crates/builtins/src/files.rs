//! Files of one folder tree, reached one name at a time through directory handles.
//!
//! Never follows a link, be it the last name or one in the middle; opens regular files with one name only; never
//! waits for a FIFO. Since every step starts from a handle, swapping a folder for a link meanwhile wins nothing.

use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};

use cap_fs_ext::{DirExt, FollowSymlinks, MetadataExt, OpenOptionsFollowExt};
use cap_std::fs::{Dir, DirBuilder, DirBuilderExt, File, Metadata, OpenOptions, OpenOptionsExt};
use rustix::fs::OFlags;

use crate::path_policy::{SafePath, TEMPORARY};
use crate::quota::Book;
use crate::workspace::WorkspaceLimits;

/// Why a file was not read or written. For the model: never an absolute path, never an OS message.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError {
    #[error("there is no such file in the workspace")]
    NotFound,
    #[error("a folder in the path is a file; choose another path")]
    NotAFolder,
    #[error("the path is a folder, not a file")]
    IsFolder,
    #[error("the path leads over a link, which is never followed")]
    Link,
    #[error("the path is not a regular file")]
    NotRegular,
    #[error("the file has a second name (a hard link) and is not touched")]
    HardLink,
    #[error("the file already exists; leave out overwrite=false to replace it, or choose another name")]
    Exists,
    #[error("the file would have {bytes} bytes; at most {max} are allowed")]
    TooLarge { bytes: u64, max: u64 },
    #[error("the workspace is full: its files may hold {max} bytes together")]
    QuotaBytes { max: u64 },
    #[error("the workspace is full: it may hold {max} files and folders")]
    QuotaEntries { max: u64 },
    #[error("the file system failed: {}", .0.kind())]
    Io(#[from] io::Error),
}

impl FileError {
    /// Stable word for programs.
    pub(crate) const fn code(&self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::NotAFolder | Self::Link | Self::NotRegular | Self::HardLink => "path_refused",
            Self::IsFolder => "is_folder",
            Self::Exists => "exists",
            Self::TooLarge { .. } => "too_large",
            Self::QuotaBytes { .. } | Self::QuotaEntries { .. } => "quota",
            Self::Io(_) => "io",
        }
    }
}

/// A piece of a file.
#[derive(Debug)]
pub(crate) struct Piece {
    pub(crate) bytes: Vec<u8>,
    /// Bytes of the whole file.
    pub(crate) size: u64,
}

/// What to do with a file that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Existing {
    Replace,
    Append,
    Refuse,
}

/// A folder tree.
pub(crate) struct Files {
    dir: Dir,
    limits: WorkspaceLimits,
}

impl Files {
    pub(crate) fn new(dir: Dir, limits: WorkspaceLimits) -> Self {
        Self { dir, limits }
    }

    /// At most `length` bytes from `offset` on, and never more than one file may have.
    pub(crate) fn read(&self, path: &SafePath, offset: u64, length: u64) -> Result<Piece, FileError> {
        let (dir, missing) = self.walk(path.folders())?;
        if !missing.is_empty() {
            return Err(FileError::NotFound);
        }
        let (mut file, metadata) = open_regular(&dir, path.name())?;
        let mut bytes = Vec::new();
        if offset < metadata.len() {
            file.seek(SeekFrom::Start(offset))?;
            file.take(length.min(self.limits.file_bytes)).read_to_end(&mut bytes)?;
        }
        Ok(Piece { bytes, size: metadata.len() })
    }

    /// Writes a file as one step: others see the old content or the new one, never a mixture. Missing folders are
    /// made. Returns the bytes of the whole file.
    pub(crate) fn write(
        &self,
        path: &SafePath,
        content: &[u8],
        existing: Existing,
        book: &Book,
    ) -> Result<u64, FileError> {
        let added = u64::try_from(content.len()).unwrap_or(u64::MAX);
        self.check_size(added)?;
        let mut page = book.open();
        let (mut dir, missing) = self.walk(path.folders())?;
        let old = if missing.is_empty() { look(&dir, path.name())? } else { None };
        let before = match (old, existing) {
            (Some(_), Existing::Refuse) => return Err(FileError::Exists),
            (Some(_), Existing::Append) => {
                let (file, _) = open_regular(&dir, path.name())?;
                let mut bytes = Vec::new();
                file.take(self.limits.file_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
                bytes
            }
            _ => Vec::new(),
        };
        let size = added.saturating_add(u64::try_from(before.len()).unwrap_or(u64::MAX));
        self.check_size(size)?;
        let replaced = old.unwrap_or(0);
        let made = u64::try_from(missing.len()).unwrap_or(u64::MAX) + u64::from(old.is_none());
        page.check(made, size, replaced)?;
        for folder in missing {
            dir = open_or_make(&dir, folder)?;
        }
        replace(&dir, path.name(), &[&before, content])?;
        page.note(made, size, replaced);
        Ok(size)
    }

    fn check_size(&self, bytes: u64) -> Result<(), FileError> {
        let max = self.limits.file_bytes;
        if bytes > max { Err(FileError::TooLarge { bytes, max }) } else { Ok(()) }
    }

    /// The deepest folder that is there, and the names that are missing beneath it.
    fn walk<'a>(&self, folders: &'a [String]) -> Result<(Dir, &'a [String]), FileError> {
        let mut dir = self.dir.try_clone()?;
        let mut rest = folders;
        while let Some((name, after)) = rest.split_first() {
            match dir.open_dir_nofollow(name) {
                Ok(inner) => dir = inner,
                Err(error) if error.kind() == ErrorKind::NotFound => break,
                Err(error) => return Err(explain_folder(&dir, name, error)),
            }
            rest = after;
        }
        Ok((dir, rest))
    }
}

/// Opens a folder of this name, made where it is missing. Never through a link.
pub(crate) fn open_or_make(dir: &Dir, name: &str) -> Result<Dir, FileError> {
    let mut builder = DirBuilder::new();
    builder.mode(0o700);
    match dir.create_dir_with(name, &builder) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error.into()),
    }
    dir.open_dir_nofollow(name).map_err(|error| explain_folder(dir, name, error))
}

/// What stood in the way of opening a folder. Only the words depend on it: it was refused already.
fn explain_folder(dir: &Dir, name: &str, error: io::Error) -> FileError {
    match dir.symlink_metadata(name) {
        Ok(metadata) if metadata.is_symlink() => FileError::Link,
        Ok(metadata) if !metadata.is_dir() => FileError::NotAFolder,
        _ => FileError::Io(error),
    }
}

/// Bytes of the file of this name, if there is one; refused unless it is a regular file with one name.
fn look(dir: &Dir, name: &str) -> Result<Option<u64>, FileError> {
    match dir.symlink_metadata(name) {
        Ok(metadata) => judge(&metadata).map(|()| Some(metadata.len())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn judge(metadata: &Metadata) -> Result<(), FileError> {
    if metadata.is_symlink() {
        Err(FileError::Link)
    } else if metadata.is_dir() {
        Err(FileError::IsFolder)
    } else if !metadata.is_file() {
        Err(FileError::NotRegular)
    } else if MetadataExt::nlink(metadata) > 1 {
        // None at all is a file that was replaced after it was opened: its old content is as good.
        Err(FileError::HardLink)
    } else {
        Ok(())
    }
}

/// Opens a file for reading. Looked at before, so that no device is opened; and after, in case it was swapped.
fn open_regular(dir: &Dir, name: &str) -> Result<(File, Metadata), FileError> {
    look(dir, name)?.ok_or(FileError::NotFound)?;
    let mut options = OpenOptions::new();
    options.read(true).follow(FollowSymlinks::No).custom_flags(flags(OFlags::NONBLOCK | OFlags::NOCTTY));
    let file = match dir.open_with(name, &options) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Err(FileError::NotFound),
        Err(error) => return Err(explain_folder(dir, name, error)),
    };
    let metadata = file.metadata()?;
    judge(&metadata)?;
    Ok((file, metadata))
}

fn flags(flags: OFlags) -> i32 {
    flags.bits().cast_signed()
}

/// Writes beside the file, then renames over it. A rename replaces a link, it never follows one.
fn replace(dir: &Dir, name: &str, content: &[&[u8]]) -> Result<(), FileError> {
    let temporary = format!("{TEMPORARY}{}", uuid::Uuid::now_v7().simple());
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600).follow(FollowSymlinks::No);
    let written = dir.open_with(&temporary, &options).and_then(|mut file| {
        content.iter().try_for_each(|piece| file.write_all(piece))?;
        dir.rename(&temporary, dir, name)
    });
    written.map_err(|error| {
        // Whatever failed, nothing may be left behind; if that fails too, the next count sweeps it up.
        dir.remove_file(&temporary).ok();
        match error.kind() {
            ErrorKind::IsADirectory => FileError::IsFolder,
            _ => FileError::Io(error),
        }
    })
}
