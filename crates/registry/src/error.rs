//! What a caller can decide on when a change of the registry is refused or fails.

use store::StoreError;

/// A refused or failed change, or a failed load.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// The name belongs to a built-in.
    #[error("`{0}` is the name of a built-in skill; choose another name")]
    Reserved(String),
    /// The same owner has the same `name@version`.
    #[error("{0}; install another version or set `replace`")]
    Conflict(String),
    /// There is no such skill.
    #[error("no skill `{0}`")]
    NotFound(String),
    /// The definition of a built-in is the binary's.
    #[error(
        "`{0}` is a built-in skill: its mode and policy can be changed, it cannot be deleted or rewritten"
    )]
    BuiltinImmutable(String),
    /// The name is not a legal one.
    #[error(transparent)]
    Name(#[from] domain::skill::NameError),
    /// The schema is not one.
    #[error(transparent)]
    Schema(#[from] domain::schema::SchemaError),
    /// The handler is not in the table.
    #[error("handler `{handler}` is unknown; known handlers: {}", known.join(", "))]
    UnknownHandler {
        /// What was asked for.
        handler: String,
        /// What there is, sorted.
        known: Vec<String>,
    },
    /// The change is durable, but reading it back failed; it becomes visible with the next good refresh.
    #[error("the change was stored but could not be read back yet; it becomes visible within a minute")]
    NotVisible(#[source] Box<RegistryError>),
    /// The skills could not be indexed.
    #[error("the skills could not be indexed")]
    Index(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The store failed.
    #[error(transparent)]
    Store(StoreError),
}

impl From<StoreError> for RegistryError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NotFound { id, .. } => Self::NotFound(id),
            StoreError::Conflict { .. } => Self::Conflict(error.to_string()),
            other => Self::Store(other),
        }
    }
}
