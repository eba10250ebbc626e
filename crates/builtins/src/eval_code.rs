//! `eval_code`: a program in a sandbox engine. What the engine answers is told whole, whatever it is.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use domain::limits::{SANDBOX_OUTPUT_CHARS, SANDBOX_TIMEOUT_MAX_MS, SANDBOX_TIMEOUT_MS};
use domain::{Annotations, Mode, Policy};
use executor::{Handler, HandlerError, Output, RunContext, Sandboxed};
use sandbox::{Engine, Language, Limits, Outcome, Reason, SandboxError, Spec};
use serde_json::{Map, Value, json};

use crate::definition::{Builtin, Definition};
use crate::input::{drop_blank, number, text};

const OPTIONAL: [&str; 5] = ["stdin", "timeoutMs", "image", "engine", "networkEnabled"];
/// The one engine of this release.
const ENGINE: &str = "wasm";
/// Left of the executor's time for starting the engine and telling the result.
const MARGIN: Duration = Duration::from_millis(500);
/// The executor's time beyond the longest program, for the same.
const OVERHEAD_MS: u64 = 10_000;

/// What a program may use.
#[derive(Clone, Copy, Debug)]
pub struct EvalLimits {
    /// Milliseconds when the call does not say (`SKILLS_SANDBOX_TIMEOUT_MS`).
    pub timeout_ms: u64,
    /// Characters kept of stdout and of stderr, each (`SKILLS_MAX_SANDBOX_OUTPUT_CHARS`).
    pub output_chars: usize,
    /// Bytes of memory, the interpreter's own included.
    pub memory_bytes: u64,
}

impl Default for EvalLimits {
    fn default() -> Self {
        Self {
            timeout_ms: SANDBOX_TIMEOUT_MS,
            output_chars: SANDBOX_OUTPUT_CHARS,
            memory_bytes: Limits::default().memory_bytes,
        }
    }
}

/// The skill.
pub(crate) struct EvalCode {
    engine: Option<Arc<dyn Engine>>,
    limits: EvalLimits,
}

impl EvalCode {
    pub(crate) fn new(engine: Option<Arc<dyn Engine>>, limits: EvalLimits) -> Self {
        Self { engine, limits }
    }

    fn default_timeout_ms(&self) -> u64 {
        self.limits.timeout_ms.clamp(1, SANDBOX_TIMEOUT_MAX_MS)
    }

    fn spec(&self, input: &Map<String, Value>, deadline: Instant) -> Result<Spec, HandlerError> {
        refuse_what_is_not_here(input)?;
        let language = match text(input, "language")? {
            "javascript" | "js" => Language::JavaScript,
            "python" | "py" => Language::Python,
            "node" => {
                return Err(not_here(
                    "language node needs real Node.js, which is not available here; use language javascript \
                     (no modules, no Node APIs)",
                ));
            }
            _ => return Err(HandlerError::failed("invalid_input", "`language` is not one of those offered")),
        };
        let asked = Duration::from_millis(number(input, "timeoutMs").unwrap_or(self.default_timeout_ms()));
        let left = deadline.saturating_duration_since(Instant::now()).saturating_sub(MARGIN);
        let most = left.min(Duration::from_millis(SANDBOX_TIMEOUT_MAX_MS));
        Ok(Spec {
            language,
            code: text(input, "code")?.to_owned(),
            stdin: input.get("stdin").and_then(Value::as_str).unwrap_or_default().to_owned(),
            limits: Limits {
                memory_bytes: self.limits.memory_bytes,
                timeout: asked.min(most).max(Duration::from_millis(1)),
                output_chars: self.limits.output_chars,
            },
        })
    }
}

impl Builtin for EvalCode {
    fn definition(&self) -> Definition {
        let EvalLimits { output_chars, memory_bytes, .. } = self.limits;
        let default_ms = self.default_timeout_ms();
        Definition {
            name: "eval_code",
            description: format!(
                "Run a short JavaScript or Python program and get what it prints: for calculations, text and data \
                 work, checking an algorithm. Print the result (console.log, print). Python has its standard \
                 library and no other packages; JavaScript is plain ECMAScript without Node or browser APIs. No \
                 network, no files, no processes, no environment; files of file_write are not visible, and nothing \
                 stays for the next call. Limits: {default_ms} ms by default and {SANDBOX_TIMEOUT_MAX_MS} ms at \
                 most, {} MiB of memory, {output_chars} characters of each of stdout and stderr.",
                memory_bytes / (1024 * 1024)
            ),
            summary: "Run code: execute a JavaScript or Python program, calculate, compute, process data",
            input: json!({
                "type": "object",
                "properties": {
                    "language": {
                        "type": "string", "enum": ["javascript", "js", "node", "python", "py"],
                        "description": "node means real Node.js, which is not available here"
                    },
                    "code": { "type": "string", "minLength": 1, "description": "The whole program" },
                    "stdin": { "type": ["string", "null"], "description": "What it reads from standard input" },
                    "timeoutMs": {
                        "type": ["integer", "null"], "minimum": 1, "maximum": SANDBOX_TIMEOUT_MAX_MS,
                        "description": format!("Milliseconds, {default_ms} by default")
                    },
                    "image": { "type": ["string", "null"], "description": "Not available here; leave it out" },
                    "engine": { "type": ["string", "null"], "description": "Only wasm here; leave it out" },
                    "networkEnabled": {
                        "type": ["boolean", "null"], "description": "Not available here; leave it out"
                    }
                },
                "required": ["language", "code"],
                "additionalProperties": false
            }),
            output: json!({
                "type": "object",
                "properties": {
                    "success": { "type": "boolean" },
                    "language": { "type": "string" },
                    "engine": { "type": "string" },
                    "isolation": { "type": "string" },
                    "exitCode": { "type": ["integer", "null"] },
                    "signal": { "type": "string" },
                    "stdout": { "type": "string" },
                    "stderr": { "type": "string" },
                    "output": { "type": "string" },
                    "truncated": { "type": "boolean" },
                    "durationMs": { "type": "integer" },
                    "reason": { "type": "string" }
                },
                "required": ["success", "language", "engine", "isolation", "exitCode", "stdout", "stderr", "output",
                    "truncated", "durationMs"]
            }),
            mode: Mode::On,
            policy: Policy::Hybrid,
            annotations: Annotations { read_only: true, ..Annotations::default() },
            tags: &["code", "sandbox"],
            timeout_ms: Some(SANDBOX_TIMEOUT_MAX_MS + OVERHEAD_MS),
        }
    }

    fn unavailable(&self) -> Option<String> {
        let Some(engine) = &self.engine else {
            return Some("no sandbox engine is installed".to_owned());
        };
        let probe = engine.probe();
        (!probe.available).then(|| {
            probe.reason.unwrap_or_else(|| format!("the {} engine cannot run programs", engine.name()))
        })
    }
}

#[async_trait]
impl Handler for EvalCode {
    async fn run(&self, input: Map<String, Value>, ctx: &RunContext) -> Result<Output, HandlerError> {
        let spec = self.spec(&input, ctx.deadline)?;
        let engine = self.engine.as_ref().ok_or_else(|| not_here("no sandbox engine is installed"))?;
        let (language, timeout) = (spec.language, spec.limits.timeout);
        match engine.run(spec).await {
            Ok(outcome) => told(language, timeout, outcome),
            Err(SandboxError::Cancelled) => Err(HandlerError::failed("cancelled", "cancelled")),
            Err(error @ SandboxError::Unavailable { .. }) => Err(not_here(&error.to_string())),
            Err(error @ SandboxError::Engine { .. }) => {
                Err(HandlerError::transient(Reason::EngineError.as_str(), error.to_string(), None))
            }
        }
    }

    fn prepare(&self, input: Map<String, Value>) -> Map<String, Value> {
        drop_blank(input, &OPTIONAL)
    }

    /// The engine gives a program neither files nor secrets; the network is the one effect that can be asked for.
    fn effect_free(&self, input: &Map<String, Value>) -> bool {
        !wants_network(input)
    }
}

fn not_here(message: &str) -> HandlerError {
    HandlerError::failed("sandbox_unavailable", message)
}

fn wants_network(input: &Map<String, Value>) -> bool {
    input.get("networkEnabled").and_then(Value::as_bool) == Some(true)
}

/// Never something weaker or other than what was asked for.
fn refuse_what_is_not_here(input: &Map<String, Value>) -> Result<(), HandlerError> {
    if input.contains_key("image") {
        return Err(not_here("container images are not available here; leave `image` out"));
    }
    if input.get("engine").and_then(Value::as_str).is_some_and(|engine| engine != ENGINE) {
        return Err(not_here("only the engine wasm is available here; leave `engine` out"));
    }
    if wants_network(input) {
        return Err(not_here("programs have no network here; leave `networkEnabled` out"));
    }
    Ok(())
}

fn told(language: Language, timeout: Duration, outcome: Outcome) -> Result<Output, HandlerError> {
    let (reason, hint) = (outcome.reason, outcome.hint.clone());
    let exit_code = outcome.exit_code;
    let output = output_of(language, outcome);
    let message = match reason {
        Reason::Ok => return Ok(output),
        Reason::Timeout => {
            let message = format!("Skill execution timed out after {} ms", timeout.as_millis());
            return Err(HandlerError::TimedOut { message, output: Some(Box::new(output)) });
        }
        Reason::Nonzero => match exit_code {
            Some(code) => format!("the program ended with exit code {code}"),
            None => "the program was stopped by a signal".to_owned(),
        },
        Reason::Oom => "the program needed more memory than it may have".to_owned(),
        Reason::OutputLimit => "the program printed far too much and was stopped".to_owned(),
        Reason::Unsupported => "the program needs something that is not available here".to_owned(),
        Reason::EngineError => "the interpreter of the program crashed".to_owned(),
    };
    let message = hint.map_or_else(|| message.clone(), |hint| format!("{message}. {hint}"));
    Err(HandlerError::Failed {
        code: reason.as_str(),
        message,
        output: Some(Box::new(output)),
        transient: false,
        retry_after: None,
    })
}

fn output_of(language: Language, outcome: Outcome) -> Output {
    let mut joined = outcome.stdout.clone();
    if !joined.is_empty() && !joined.ends_with('\n') && !outcome.stderr.is_empty() {
        joined.push('\n');
    }
    joined.push_str(&outcome.stderr);
    let mut value = Map::new();
    value.insert("success".into(), (outcome.reason == Reason::Ok).into());
    value.insert("language".into(), language.as_str().into());
    value.insert("engine".into(), outcome.engine.into());
    value.insert("isolation".into(), outcome.isolation.clone().into());
    value.insert("exitCode".into(), outcome.exit_code.into());
    if let Some(signal) = outcome.signal {
        value.insert("signal".into(), signal.into());
    }
    value.insert("stdout".into(), outcome.stdout.into());
    value.insert("stderr".into(), outcome.stderr.into());
    value.insert("output".into(), joined.into());
    value.insert("truncated".into(), outcome.truncated.into());
    value.insert("durationMs".into(), outcome.duration_ms.into());
    value.insert("reason".into(), outcome.reason.as_str().into());
    let sandboxed = Sandboxed { engine: outcome.engine.to_owned(), isolation: outcome.isolation };
    Output { value, sandboxed: Some(sandboxed), ..Output::default() }
}
