//! Where the files of a caller live: `<DATA_DIR>/skills/workspaces/<first 24 hex of sha256(key id)>/`.
//!
//! A workspace hangs on the key's stable id, so rotating its secret keeps the files. With an end user there is a
//! folder of that user inside, under a name that no accepted path reaches. A caller without a key gets one
//! workspace per session; without a session one per turn; without either none at all, because whatever it wrote
//! there could be read by the next stranger or by nobody.

use std::path::Path;
use std::sync::Arc;

use cap_fs_ext::DirExt;
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use executor::RunContext;

use crate::files::{FileError, Files, open_or_make};
use crate::path_policy::PRIVATE;
use crate::quota::{Book, Books};

/// Hex digits of a hash that name a folder.
const NAME_DIGITS: usize = 24;
/// Owner of runs without a key.
const ANONYMOUS: &str = "anonymous";

/// What one workspace may hold.
#[derive(Clone, Copy, Debug)]
pub struct WorkspaceLimits {
    /// Bytes of one file, also the most that one read returns.
    pub file_bytes: u64,
    /// Bytes of all files together.
    pub total_bytes: u64,
    /// Files and folders together.
    pub entries: u64,
}

impl Default for WorkspaceLimits {
    fn default() -> Self {
        Self {
            file_bytes: domain::limits::FILE_BYTES,
            total_bytes: domain::limits::WORKSPACE_BYTES,
            entries: domain::limits::WORKSPACE_FILES,
        }
    }
}

/// All workspaces of this installation.
pub struct Workspaces {
    root: Dir,
    limits: WorkspaceLimits,
    books: Books,
}

/// Whose files: the folder's name, and that of the user's folder inside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    key: String,
    user: Option<String>,
}

impl Workspaces {
    /// Opens `<data_dir>/skills/workspaces`, made where it is missing. Blocks; call it once, at start.
    pub fn open(data_dir: &Path, limits: WorkspaceLimits) -> std::io::Result<Self> {
        let path = data_dir.join("skills").join("workspaces");
        Dir::create_ambient_dir_all(&path, ambient_authority())?;
        let root = Dir::open_ambient_dir(&path, ambient_authority())?;
        Ok(Self { root, limits, books: Books::default() })
    }

    /// What every workspace may hold.
    pub fn limits(&self) -> WorkspaceLimits {
        self.limits
    }

    /// The files of a place, for reading; nothing is made.
    pub(crate) fn read(&self, place: &Place) -> Result<Option<Files>, FileError> {
        let mut dir = self.root.try_clone()?;
        for name in place.folders() {
            match dir.open_dir_nofollow(name) {
                Ok(inner) => dir = inner,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Some(Files::new(dir, self.limits)))
    }

    /// The files of a place, made where missing, and the book that counts them.
    pub(crate) fn write(&self, place: &Place) -> Result<(Files, Arc<Book>), FileError> {
        let whole = open_or_make(&self.root, &place.key)?;
        let mut dir = whole.try_clone()?;
        for name in place.folders().skip(1) {
            dir = open_or_make(&dir, name)?;
        }
        let book = self.books.of(&place.key, whole, self.limits);
        Ok((Files::new(dir, self.limits), book))
    }
}

impl Place {
    /// The place of a run; `None` for a caller who is nobody, nowhere.
    pub(crate) fn of(ctx: &RunContext) -> Option<Self> {
        let anonymous = ctx.api_key_id.is_empty() || ctx.api_key_id == ANONYMOUS;
        let key = match (&ctx.session_id, &ctx.turn_id) {
            _ if !anonymous => hash(&[&ctx.api_key_id]),
            (Some(session), _) => hash(&[ANONYMOUS, "session", session]),
            (None, Some(turn)) => hash(&[ANONYMOUS, "turn", turn]),
            (None, None) => return None,
        };
        let user = ctx.user.as_deref().filter(|user| !user.is_empty()).map(|user| hash(&[user]));
        Some(Self { key, user })
    }

    fn folders(&self) -> impl Iterator<Item = &str> {
        let user = self.user.iter().flat_map(|user| [PRIVATE, "users", user.as_str()]);
        std::iter::once(self.key.as_str()).chain(user)
    }
}

/// The first digits of the hash of the parts, NUL between them.
fn hash(parts: &[&str]) -> String {
    let mut name = domain::ids::sha256_hex(parts.join("\0"));
    name.truncate(NAME_DIGITS);
    name
}
