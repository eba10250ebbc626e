//! What a skill is: the types and rules that every other crate speaks.
//!
//! Pure and total: nothing here does I/O, blocks, reads a clock behind your back or knows that HTTP exists.
//! Words are those of `GLOSSARY.md`; numbers that bound something live in [`limits`].

pub mod approval;
pub mod artifact;
pub mod audit;
pub mod constraint;
pub mod execution;
pub mod ids;
pub mod key;
pub mod key_settings;
pub mod limits;
pub mod management_token;
pub mod mode;
pub mod schema;
pub mod scoring;
pub mod set;
pub mod skill;
pub mod text;
pub mod tokens;
pub mod tool;
pub mod tool_name;
pub mod turn;
pub mod version;

pub use approval::{Approval, ApprovalState};
pub use artifact::Artifact;
pub use audit::AuditEntry;
pub use constraint::Constraint;
pub use execution::{Door, Execution, Part, Status, StopReason};
pub use key::{ApiKey, Scope};
pub use key_settings::{KeyLimits, KeySettings, OnDisconnect, SkillConfig, TurnBudgets};
pub use management_token::ManagementToken;
pub use mode::{Mode, Policy};
pub use set::{SkillDefault, SkillSet};
pub use skill::{Annotations, Skill, SkillRef, SourceProvider};
pub use tool::{ToolCall, ToolDefinition, ToolResult};
pub use turn::{TurnCandidate, TurnRecord, TurnRound};
pub use version::Version;

/// The owner that stands for everybody: a skill it owns is visible to every key.
pub const SYSTEM_OWNER: &str = "system";
