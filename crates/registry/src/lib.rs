//! Which skill: all skills of all owners in memory, how a name becomes a version, and which skills a request gets.
//!
//! Reads go to an immutable [`Snapshot`] and never block, never touch the database. Writes go through [`Registry`],
//! which returns only when the very next read sees them. Nothing here runs a skill or knows a wire format.

mod entry;
mod error;
mod explain;
mod index;
mod known;
mod list;
mod registry;
mod resolve;
mod select;
mod skip;
mod snapshot;
mod standing;
mod view;

pub use entry::Entry;
pub use error::RegistryError;
pub use explain::{Considered, Outcome};
pub use known::Known;
pub use list::{SkillFilter, SkillSort};
pub use registry::Registry;
pub use resolve::ResolveError;
pub use select::{SelectLimits, SelectRequest, Selection, WithClientTools};
pub use skip::{SkipReason, Skipped};
pub use snapshot::{BrokenRow, Snapshot};
