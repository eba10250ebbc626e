//! `file_read`: a piece of a file of the caller's workspace.

use std::sync::Arc;

use async_trait::async_trait;
use base64::prelude::{BASE64_STANDARD, Engine as _};
use domain::{Annotations, Mode, Policy};
use executor::{Handler, HandlerError, Output, RunContext};
use serde_json::{Map, Value, json};

use crate::definition::{Builtin, Definition};
use crate::file_task::{FileTask, file_failed, path_of};
use crate::files::{FileError, Piece};
use crate::input::{drop_blank, number};
use crate::workspace::Workspaces;

const OPTIONAL: [&str; 3] = ["encoding", "offset", "length"];

/// The skill.
pub(crate) struct FileRead {
    pub(crate) workspaces: Arc<Workspaces>,
}

impl Builtin for FileRead {
    fn definition(&self) -> Definition {
        let max = self.workspaces.limits().file_bytes;
        Definition {
            name: "file_read",
            description: format!(
                "Read a file that file_write stored in the workspace of this caller. Paths are relative, such as \
                 notes/a.txt; folders cannot be read. Returns at most {max} bytes a call: when `truncated` is true, \
                 go on with `offset`. Use encoding base64 for anything that is not UTF-8 text. Cannot see the \
                 files of programs run by eval_code, nor any other file of the machine."
            ),
            summary: "Read a file from the workspace: load, open, show stored text or data",
            input: json!({
                "type": "object",
                "properties": {
                    "path": { "type": "string", "minLength": 1, "description": "Relative path of the file" },
                    "encoding": {
                        "type": ["string", "null"], "enum": ["utf8", "base64", null],
                        "description": "utf8 (default) or base64"
                    },
                    "offset": {
                        "type": ["integer", "null"], "minimum": 0, "description": "First byte, 0 by default"
                    },
                    "length": {
                        "type": ["integer", "null"], "minimum": 1,
                        "description": format!("Bytes to read, at most {max}")
                    }
                },
                "required": ["path"],
                "additionalProperties": false
            }),
            output: json!({
                "type": "object",
                "properties": {
                    "success": { "type": "boolean" },
                    "path": { "type": "string" },
                    "content": { "type": "string" },
                    "bytesRead": { "type": "integer" },
                    "size": { "type": "integer" },
                    "encoding": { "type": "string" },
                    "truncated": { "type": "boolean" }
                },
                "required": ["success", "path", "content", "bytesRead", "size", "encoding", "truncated"]
            }),
            mode: Mode::Auto,
            policy: Policy::Auto,
            annotations: Annotations { read_only: true, idempotent: true, ..Annotations::default() },
            tags: &["file", "workspace"],
            timeout_ms: None,
        }
    }
}

#[async_trait]
impl Handler for FileRead {
    async fn run(&self, input: Map<String, Value>, ctx: &RunContext) -> Result<Output, HandlerError> {
        let path = path_of(&input)?;
        let encoding = input.get("encoding").and_then(Value::as_str).unwrap_or("utf8").to_owned();
        let offset = number(&input, "offset").unwrap_or(0);
        let length = number(&input, "length").unwrap_or(u64::MAX);
        let task = FileTask::new(&self.workspaces, ctx)?;
        let shown = path.to_string();
        let piece = task
            .run(move |workspaces, place| {
                let files = workspaces.read(place)?.ok_or(FileError::NotFound)?;
                files.read(&path, offset, length)
            })
            .await?;
        let more = offset.saturating_add(u64::try_from(piece.bytes.len()).unwrap_or(u64::MAX)) < piece.size;
        let (content, bytes_read) = match encoding.as_str() {
            "base64" => (BASE64_STANDARD.encode(&piece.bytes), piece.bytes.len()),
            _ => text_of(&piece, offset, more)?,
        };
        let truncated = more || bytes_read < piece.bytes.len();
        let mut output = Map::new();
        output.insert("success".into(), true.into());
        output.insert("path".into(), shown.into());
        output.insert("content".into(), content.into());
        output.insert("bytesRead".into(), bytes_read.into());
        output.insert("size".into(), piece.size.into());
        output.insert("encoding".into(), encoding.into());
        output.insert("truncated".into(), truncated.into());
        Ok(output.into())
    }

    fn prepare(&self, input: Map<String, Value>) -> Map<String, Value> {
        drop_blank(input, &OPTIONAL)
    }
}

/// The piece as text. A character that the end of the piece cuts in two is left for the next read.
fn text_of(piece: &Piece, offset: u64, more: bool) -> Result<(String, usize), HandlerError> {
    let not_text =
        || file_failed("not_utf8", "the file is not UTF-8 text there; read it with encoding base64");
    let continues = |byte: &u8| (0x80..0xc0).contains(byte);
    if offset > 0 && piece.bytes.first().is_some_and(continues) {
        return Err(file_failed(
            "not_utf8",
            "`offset` is inside a character or the file is not UTF-8 text there; \
            move it back by up to 3 bytes, or read with encoding base64",
        ));
    }
    match str::from_utf8(&piece.bytes) {
        Ok(text) => Ok((text.to_owned(), text.len())),
        Err(error) => {
            let whole = piece.bytes.get(..error.valid_up_to()).unwrap_or_default();
            let cut_at_end = error.error_len().is_none() && more;
            if cut_at_end && whole.is_empty() {
                return Err(file_failed(
                    "too_short",
                    "`length` is less than one character there; read more bytes",
                ));
            }
            let text = str::from_utf8(whole).map_err(|_| not_text())?;
            if cut_at_end { Ok((text.to_owned(), text.len())) } else { Err(not_text()) }
        }
    }
}
