//! Where it is kept: SQL implementations of [`store::Store`]. Today `SQLite`, as [`SqliteStore`].
//!
//! Only the program's composition root and tests name this crate; everybody else speaks to `dyn Store`. No rule
//! about skills lives here beyond what the trait's documentation asks for.

mod error;
mod shape;
mod sqlite;
mod totals;

pub use sqlite::{SqliteStore, Synchronous};
