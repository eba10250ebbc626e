//! `[store]`: how durable what is written is.

use serde::{Deserialize, Serialize};

use super::section::section;

section! {
    /// `[store]`
    Store {
        /// `SQLite` only. `normal`: what was written survives a crash of the gateway. `full`: a crash of the machine, too,
        /// at the cost of a disk sync for each group of writes.
        synchronous: Synchronous = Synchronous::Normal, Restart;
    }
}

/// `synchronous`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Synchronous {
    /// Survives a kill -9 of the process.
    Normal,
    /// Survives a power cut.
    Full,
}
