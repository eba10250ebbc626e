//! Which paths the file skills accept. Pure text, decided before any I/O.
//!
//! Whatever is accepted is a relative path of plain names that means the same on every system. Links are not this
//! module's matter: `workspace` never follows one.

use unicode_normalization::UnicodeNormalization;

/// Longest path, in bytes.
const PATH_BYTES: usize = 4_096;
/// Longest name, in bytes.
const NAME_BYTES: usize = 255;
/// Most names in one path.
const DEPTH: usize = 32;
/// Rounds of percent-decoding that are looked through; what is still encoded then is refused.
const DECODINGS: usize = 4;
/// Start of the names that `workspace` uses for files being written.
pub(crate) const TEMPORARY: &str = ".omni-tmp-";
/// A folder of ours inside a workspace; no accepted path leads there.
pub(crate) const PRIVATE: &str = ".omniroute";

/// Folded names that no path may contain.
const FORBIDDEN: [&str; 8] =
    [".env", ".git", ".gitmodules", ".gitattributes", ".ssh", PRIVATE, ".codex", "secrets"];
/// What stands before `~1` in the 8.3 forms of those.
const SHORT: [&str; 7] = ["env", "git", "gitmod", "gitatt", "ssh", "omniro", "codex"];
/// Device names of other systems; a workspace can be moved there.
const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "conin$", "conout$"];

/// A path that may be used beneath a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SafePath {
    folders: Vec<String>,
    name: String,
}

/// Why a path was refused. For the model: says what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathRefused {
    /// Nothing, or only `.`.
    #[error("the path names no file; give a relative path such as notes/a.txt")]
    Empty,
    /// Too many bytes.
    #[error("the path is longer than {PATH_BYTES} bytes")]
    TooLong,
    /// Starts at a root, a home folder, a drive or a variable.
    #[error("the path has to be relative to the workspace, such as notes/a.txt; no leading /, ~ or $NAME/")]
    NotRelative,
    /// `..` in any disguise.
    #[error("the path must not contain `..`, also not in a disguise")]
    Parent,
    /// A control, bidi or look-alike character, or one that other systems forbid.
    #[error("the path contains a character that is not allowed in it ({0})")]
    Character(&'static str),
    /// Percent-encoding that hides something.
    #[error(
        "the path contains percent-encoding that hides dots, slashes or control characters; write it plainly"
    )]
    Encoded,
    /// An empty name, or spaces or dots at its ends.
    #[error("every part of the path needs a name without spaces at its ends and without a dot at its end")]
    Shape,
    /// A name longer than file systems take.
    #[error("a name in the path is longer than {NAME_BYTES} bytes")]
    LongName,
    /// Too many folders.
    #[error("the path is deeper than {DEPTH} names")]
    Deep,
    /// A name that is never read or written.
    #[error("the path contains a name that is never read or written here: {0}")]
    Forbidden(&'static str),
}

impl SafePath {
    /// Reads a path of a caller. `.` segments fall away; names are brought to NFC.
    pub fn parse(text: &str) -> Result<Self, PathRefused> {
        whole(text)?;
        let mut names = Vec::new();
        for segment in text.split('/') {
            if segment == "." {
                continue;
            }
            let name: String = segment.nfc().collect();
            check_name(&name)?;
            names.push(name);
        }
        if names.len() > DEPTH {
            return Err(PathRefused::Deep);
        }
        let name = names.pop().ok_or(PathRefused::Empty)?;
        Ok(Self { folders: names, name })
    }

    /// Names of the folders, outermost first.
    pub fn folders(&self) -> &[String] {
        &self.folders
    }

    /// Name of the file.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl std::fmt::Display for SafePath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for folder in &self.folders {
            write!(f, "{folder}/")?;
        }
        f.write_str(&self.name)
    }
}

/// What concerns the path as a whole.
fn whole(text: &str) -> Result<(), PathRefused> {
    if text.is_empty() {
        return Err(PathRefused::Empty);
    }
    if text.len() > PATH_BYTES {
        return Err(PathRefused::TooLong);
    }
    if text.starts_with(['/', '~']) || (text.starts_with('$') && text.contains('/')) {
        return Err(PathRefused::NotRelative);
    }
    if let Some(what) = text.nfc().find_map(bad_character) {
        return Err(PathRefused::Character(what));
    }
    if hides_something(text) {
        return Err(PathRefused::Encoded);
    }
    Ok(())
}

fn bad_character(c: char) -> Option<&'static str> {
    match c {
        _ if c.is_control() => Some("a control character"),
        '\u{2028}' | '\u{2029}' => Some("a line separator"),
        '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            Some("a bidirectional control")
        }
        '\\' => Some("a backslash; use /"),
        // Fraction and division slashes, set minus, reverse solidus operators, strokes laid over a character.
        '\u{2044}' | '\u{2215}' | '\u{2216}' | '\u{29f5}' | '\u{29f8}' | '\u{29f9}' | '\u{0337}'
        | '\u{0338}' | '\u{20e5}' => Some("one that looks like a slash"),
        ':' => Some("a colon, as in drives, schemes and streams"),
        '*' | '?' | '"' | '<' | '>' | '|' => Some("one of * ? \" < > |"),
        _ => None,
    }
}

fn check_name(name: &str) -> Result<(), PathRefused> {
    if name.len() > NAME_BYTES {
        return Err(PathRefused::LongName);
    }
    let folded = fold(name);
    // `..;x` is a parent to some servers.
    let before_parameters = folded.split(';').next().unwrap_or_default();
    if before_parameters == "." || before_parameters == ".." {
        return Err(PathRefused::Parent);
    }
    if folded.contains(['/', '\\']) {
        return Err(PathRefused::Character("one that looks like a slash"));
    }
    let blank_end = name.starts_with(char::is_whitespace) || name.ends_with(char::is_whitespace);
    if folded.is_empty() || blank_end || folded.ends_with(['.', ' ']) {
        return Err(PathRefused::Shape);
    }
    if let Some(forbidden) = FORBIDDEN.into_iter().find(|forbidden| folded == *forbidden) {
        return Err(PathRefused::Forbidden(forbidden));
    }
    if folded.starts_with(".env.") {
        return Err(PathRefused::Forbidden(".env.*"));
    }
    if folded.starts_with(TEMPORARY) {
        return Err(PathRefused::Forbidden("files being written"));
    }
    if is_short_form(&folded) {
        return Err(PathRefused::Forbidden("8.3 short names"));
    }
    let stem = folded.split('.').next().unwrap_or_default().trim_end();
    if is_device(stem) {
        return Err(PathRefused::Forbidden("device names"));
    }
    Ok(())
}

/// A name as careless file systems compare it: compatibility forms and case folded, invisible characters gone.
fn fold(name: &str) -> String {
    name.nfkc().flat_map(char::to_lowercase).filter(|c| !is_ignorable(*c)).nfkc().collect()
}

/// Unicode's default ignorable code points.
fn is_ignorable(c: char) -> bool {
    matches!(c,
        '\u{00ad}' | '\u{034f}' | '\u{061c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// `git~1`, `gitmod~2.x`, and the hashed form `gi7eba~1`.
fn is_short_form(folded: &str) -> bool {
    let Some((left, right)) = folded.split_once('~') else { return false };
    let numbered =
        right.split('.').next().is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
    let hashed = ["en", "gi", "ss", "om", "co"].iter().any(|two| {
        left.strip_prefix(two)
            .is_some_and(|hash| hash.len() == 4 && hash.bytes().all(|b| b.is_ascii_hexdigit()))
    });
    numbered && (SHORT.contains(&left) || hashed)
}

fn is_device(stem: &str) -> bool {
    let numbered = stem.strip_prefix("com").or_else(|| stem.strip_prefix("lpt"));
    DEVICES.contains(&stem) || numbered.is_some_and(|n| n.len() == 1 && n.bytes().all(|b| b.is_ascii_digit()))
}

/// Whether something down the line that decodes (perhaps twice, perhaps wrongly) would see another path.
fn hides_something(text: &str) -> bool {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..DECODINGS {
        match decode(&bytes) {
            Decoded::Plain => return false,
            Decoded::Trouble => return true,
            Decoded::Changed(next) => bytes = next,
        }
    }
    true
}

enum Decoded {
    /// There was nothing to decode.
    Plain,
    /// Something decodes to a dot, a slash, a control or to no character at all.
    Trouble,
    /// What it decodes to.
    Changed(Vec<u8>),
}

/// One round over `%XX` and `%uXXXX`.
fn decode(mut rest: &[u8]) -> Decoded {
    let (mut out, mut run, mut changed) = (Vec::with_capacity(rest.len()), Vec::new(), false);
    while let Some((&first, tail)) = rest.split_first() {
        let mut wide = [0; 4];
        let (decoded, next): (&[u8], &[u8]) = match rest {
            [b'%', b'u' | b'U', a, b, c, d, next @ ..] if hex(&[*a, *b, *c, *d]).is_some() => {
                let scalar = hex(&[*a, *b, *c, *d]).and_then(char::from_u32);
                let Some(scalar) = scalar else { return Decoded::Trouble };
                (scalar.encode_utf8(&mut wide).as_bytes(), next)
            }
            [b'%', a, b, next @ ..] => match hex(&[*a, *b]).and_then(|byte| u8::try_from(byte).ok()) {
                Some(byte) => {
                    wide = [byte, 0, 0, 0];
                    (wide.get(..1).unwrap_or_default(), next)
                }
                None => (&[], tail),
            },
            _ => (&[], tail),
        };
        rest = next;
        if decoded.is_empty() {
            if is_trouble(&run) {
                return Decoded::Trouble;
            }
            run.clear();
            out.push(first);
        } else {
            changed = true;
            run.extend_from_slice(decoded);
            out.extend_from_slice(decoded);
        }
    }
    if is_trouble(&run) {
        Decoded::Trouble
    } else if changed {
        Decoded::Changed(out)
    } else {
        Decoded::Plain
    }
}

/// Whether a run of decoded bytes is something that should have been written plainly, or not at all.
fn is_trouble(run: &[u8]) -> bool {
    let Ok(text) = str::from_utf8(run) else { return true };
    text.nfkc().any(|c| matches!(c, '.' | '/') || bad_character(c).is_some())
}

fn hex(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |value, digit| Some(value * 16 + char::from(*digit).to_digit(16)?))
}
