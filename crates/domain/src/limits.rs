//! Every number that bounds something, in one place. Sizes are bytes and times milliseconds unless the name says otherwise.

/// Longest skill name, in characters.
pub const NAME_CHARS: usize = 100;
/// Longest description that reaches the model, in characters; the whole text is stored.
pub const DESCRIPTION_CHARS: usize = 1024;
/// Default time of one execution.
pub const EXECUTION_TIMEOUT_MS: u64 = 30_000;
/// Longest time any caller may ask for one execution.
pub const EXECUTION_TIMEOUT_MAX_MS: u64 = 120_000;
/// Most times that a run is tried again.
pub const MAX_RETRIES: u32 = 3;
/// Passing failures of a skill in a row after which it is refused to its owner for a moment.
pub const BREAKER_FAILURES: u32 = 5;
/// How long that moment is.
pub const BREAKER_PAUSE_MS: u64 = 10_000;
/// Default and longest time of a sandboxed program (`SKILLS_SANDBOX_TIMEOUT_MS`).
pub const SANDBOX_TIMEOUT_MS: u64 = 10_000;
/// Upper bound of `SKILLS_SANDBOX_TIMEOUT_MS`.
pub const SANDBOX_TIMEOUT_MAX_MS: u64 = 60_000;
/// Characters of each of stdout and stderr that are kept (`SKILLS_MAX_SANDBOX_OUTPUT_CHARS`).
pub const SANDBOX_OUTPUT_CHARS: usize = 100_000;
/// Largest file that the file skills read or write (`SKILLS_MAX_FILE_BYTES`).
pub const FILE_BYTES: u64 = 1_048_576;
/// Bytes all files of one workspace may hold together.
pub const WORKSPACE_BYTES: u64 = 256 * 1024 * 1024;
/// Files and folders one workspace may hold.
pub const WORKSPACE_FILES: u64 = 10_000;
/// Best `auto` skills injected into one request.
pub const AUTO_MAX_SKILLS: usize = 5;
/// Least score of an `auto` skill that is injected.
pub const AUTO_MIN_SCORE: i32 = 3;
/// Text of a request that is scored; of more, the first and the last half of this.
pub const CONTEXT_BYTES: usize = 128 * 1024;
/// Bytes all injected definitions of one request may have together.
pub const INJECTED_BYTES: usize = 32 * 1024;
/// Tools in one request, the client's included.
pub const TOOLS_PER_REQUEST: usize = 128;
/// Memory for what conversations were offered, so that it stays offered; the least recently used are forgotten.
pub const STICKY_BYTES: u64 = 32 * 1024 * 1024;
/// Time since its last request after which it is forgotten what a conversation was offered.
pub const STICKY_TTL_MS: u64 = 24 * 60 * 60 * 1000;
/// Rounds of one turn in which our tools may run.
pub const ROUNDS: u32 = 8;
/// Wall time of a turn after which no further round or execution starts.
pub const TURN_MS: u64 = 120_000;
/// Executions of one turn.
pub const EXECUTIONS_PER_TURN: u32 = 32;
/// Bytes of one tool result that reach the model.
pub const RESULT_BYTES: usize = 32 * 1024;
/// Bytes all tool results of one turn that reach the model.
pub const TURN_RESULT_BYTES: usize = 256 * 1024;
/// Base64 of one image or file of a result that reaches the model.
pub const PART_BYTES: usize = 5 * 1024 * 1024;
/// Base64 of all images and files of one turn that reach the model.
pub const TURN_PART_BYTES: usize = 10 * 1024 * 1024;
/// Images and files of one result that are named to the model.
pub const RESULT_PARTS: usize = 20;
/// Silence after which a stream gets a keep-alive while tools run.
pub const KEEP_ALIVE_MS: u64 = 5_000;
/// Longest time a streamed turn waits for a person's word, where somebody is there to give it.
pub const APPROVAL_WAIT_MS: u64 = 60_000;
/// The same for a plain answer, whose client hears nothing meanwhile.
pub const APPROVAL_WAIT_PLAIN_MS: u64 = 30_000;
/// Time after which nobody can decide about a waiting execution any more.
pub const APPROVAL_EXPIRES_MS: u64 = 24 * 60 * 60 * 1000;
/// Largest input that is put before a person, as JSON.
pub const APPROVAL_INPUT_BYTES: usize = 256 * 1024;
/// Calls of one owner that may wait for a person at the same time.
pub const APPROVALS_PER_OWNER: u64 = 100;
/// Time for which an `Idempotency-Key` is remembered.
pub const IDEMPOTENCY_TTL_MS: u64 = 24 * 60 * 60 * 1000;
/// Time since their last use after which hidden rounds of a turn are forgotten.
pub const KEPT_TTL_MS: u64 = 24 * 60 * 60 * 1000;
/// Time since their last use for which it is still known that hidden rounds have been forgotten.
pub const KEPT_TRACE_MS: u64 = 30 * KEPT_TTL_MS;
/// Bytes of the hidden rounds of one turn that are kept.
pub const KEPT_ENTRY_BYTES: usize = 4 * 1024 * 1024;
/// Bytes of the hidden rounds of one turn beyond which they are kept without images and files.
pub const KEPT_MEDIA_BYTES: usize = 1024 * 1024;
/// Bytes of all hidden rounds of one owner that are kept.
pub const KEPT_OWNER_BYTES: u64 = 64 * 1024 * 1024;
/// Largest request body on `/v1*`.
pub const PROXY_BODY_BYTES: usize = 64 * 1024 * 1024;
/// Largest request body elsewhere.
pub const API_BODY_BYTES: usize = 1024 * 1024;
/// Bytes of an input or output that the history keeps.
pub const HISTORY_BYTES: usize = 256 * 1024;
/// Bytes of all parts of one execution that the history keeps.
pub const HISTORY_PART_BYTES: usize = 10 * 1024 * 1024;
/// Days that executions and turns are kept.
pub const HISTORY_DAYS: u64 = 30;
/// Newest executions that are kept, and as many turns.
pub const HISTORY_EXECUTIONS: u64 = 100_000;
/// Bytes of all executions that are kept, the newest.
pub const HISTORY_TOTAL_BYTES: u64 = 1024 * 1024 * 1024;
/// Days that artifacts are kept.
pub const ARTIFACT_DAYS: u64 = 30;
/// Age after which a snapshot of the registry is read again, for writes of other processes.
pub const REGISTRY_TTL_MS: u64 = 60_000;
/// Rows on one page of a list, at most.
pub const PAGE_MAX: u32 = 200;
/// Rows on one page of a list, by default.
pub const PAGE_DEFAULT: u32 = 50;
