//! `file_write`: a file of the caller's workspace, written as one step.

use std::sync::Arc;

use async_trait::async_trait;
use base64::prelude::{BASE64_STANDARD, Engine as _};
use domain::{Annotations, Mode, Policy};
use executor::{Handler, HandlerError, Output, RunContext};
use serde_json::{Map, Value, json};

use crate::definition::{Builtin, Definition};
use crate::file_task::{FileTask, file_failed, path_of};
use crate::files::Existing;
use crate::input::{drop_blank, text};
use crate::workspace::Workspaces;

const OPTIONAL: [&str; 3] = ["encoding", "append", "overwrite"];

/// The skill.
pub(crate) struct FileWrite {
    pub(crate) workspaces: Arc<Workspaces>,
}

impl Builtin for FileWrite {
    fn definition(&self) -> Definition {
        let limits = self.workspaces.limits();
        Definition {
            name: "file_write",
            description: format!(
                "Store a file in the workspace of this caller, to be read later with file_read. Paths are relative, \
                 such as notes/a.txt; missing folders are made. Replaces the file unless append is true or \
                 overwrite is false. A file may have {} bytes, the workspace {} bytes and {} files and folders. \
                 Programs run by eval_code cannot see these files, and names such as .env, .git or secrets are \
                 refused.",
                limits.file_bytes, limits.total_bytes, limits.entries
            ),
            summary: "Write a file to the workspace: save, store, create, append text or data",
            input: json!({
                "type": "object",
                "properties": {
                    "path": { "type": "string", "minLength": 1, "description": "Relative path of the file" },
                    "content": { "type": "string", "description": "What to write; may be empty" },
                    "encoding": {
                        "type": ["string", "null"], "enum": ["utf8", "base64", null],
                        "description": "Of content: utf8 (default) or base64"
                    },
                    "append": { "type": ["boolean", "null"], "description": "Add to the end; false by default" },
                    "overwrite": {
                        "type": ["boolean", "null"],
                        "description": "Whether a file that exists is replaced; true by default"
                    }
                },
                "required": ["path", "content"],
                "additionalProperties": false
            }),
            output: json!({
                "type": "object",
                "properties": {
                    "success": { "type": "boolean" },
                    "path": { "type": "string" },
                    "bytesWritten": { "type": "integer" }
                },
                "required": ["success", "path", "bytesWritten"]
            }),
            mode: Mode::Auto,
            policy: Policy::Auto,
            annotations: Annotations { destructive: true, ..Annotations::default() },
            tags: &["file", "workspace"],
            timeout_ms: None,
        }
    }
}

#[async_trait]
impl Handler for FileWrite {
    async fn run(&self, input: Map<String, Value>, ctx: &RunContext) -> Result<Output, HandlerError> {
        let path = path_of(&input)?;
        let content = content_of(&input)?;
        let flag = |name: &str, absent: bool| input.get(name).and_then(Value::as_bool).unwrap_or(absent);
        let existing = match (flag("append", false), flag("overwrite", true)) {
            (true, _) => Existing::Append,
            (false, true) => Existing::Replace,
            (false, false) => Existing::Refuse,
        };
        let task = FileTask::new(&self.workspaces, ctx)?;
        let (shown, bytes) = (path.to_string(), content.len());
        task.run(move |workspaces, place| {
            let (files, book) = workspaces.write(place)?;
            files.write(&path, &content, existing, &book)
        })
        .await?;
        let mut output = Map::new();
        output.insert("success".into(), true.into());
        output.insert("path".into(), shown.into());
        output.insert("bytesWritten".into(), bytes.into());
        Ok(output.into())
    }

    fn prepare(&self, input: Map<String, Value>) -> Map<String, Value> {
        drop_blank(input, &OPTIONAL)
    }
}

fn content_of(input: &Map<String, Value>) -> Result<Vec<u8>, HandlerError> {
    let content = text(input, "content")?;
    if input.get("encoding").and_then(Value::as_str) != Some("base64") {
        return Ok(content.as_bytes().to_vec());
    }
    BASE64_STANDARD
        .decode(content)
        .map_err(|_| file_failed("not_base64", "`content` is not base64 (standard alphabet, with padding)"))
}
