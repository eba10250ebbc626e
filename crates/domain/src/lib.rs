//! What a skill is: the types and rules that every other crate speaks.
//!
//! Pure and total: nothing here does I/O, blocks, reads a clock behind your back or knows that HTTP exists.
//! Words are those of `GLOSSARY.md`; numbers that bound something live in [`limits`].

pub mod approval;
pub mod constraint;
pub mod execution;
pub mod ids;
pub mod key;
pub mod key_settings;
pub mod limits;
pub mod mode;
pub mod schema;
pub mod scoring;
pub mod skill;
pub mod text;
pub mod tokens;
pub mod tool;
pub mod tool_name;
pub mod version;

pub use approval::{Approval, ApprovalState};
pub use constraint::Constraint;
pub use execution::{Door, Execution, Part, Status, StopReason};
pub use key::{ApiKey, Scope};
pub use key_settings::{KeySettings, OnDisconnect, TurnBudgets};
pub use mode::{Mode, Policy};
pub use skill::{Annotations, Skill, SkillRef, SourceProvider};
pub use tool::{ToolCall, ToolDefinition, ToolResult};
pub use version::Version;

/// The owner that stands for everybody: a skill it owns is visible to every key.
pub const SYSTEM_OWNER: &str = "system";
