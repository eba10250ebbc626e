//! Where it is kept: SQL implementations of [`store::Database`]: `SQLite` as [`SqliteStore`], `PostgreSQL` as
//! [`PostgresStore`].
//!
//! Only the program's composition root and tests name this crate; everybody else speaks to `dyn Store`. No rule
//! about skills lives here beyond what the trait's documentation asks for.

mod cells;
mod common;
mod error;
mod migration;
mod postgres;
mod rows;
mod shape;
mod sqlite;
mod totals;

pub use postgres::PostgresStore;
pub use sqlite::{SqliteStore, Synchronous};
