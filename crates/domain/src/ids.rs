//! Identifiers: UUID v7 (ordered by time), written as text.

/// A new identifier for a row: skill, execution, key, turn.
pub fn new_id() -> String {
    uuid::Uuid::now_v7().to_string()
}
