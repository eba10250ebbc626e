//! `apiKeyId`: a caller acts as itself; only management may name somebody else.

use crate::caller::Caller;
use crate::error::{ApiError, Code};

/// The owner that was named, if it may be.
pub(super) fn named(caller: &Caller, api_key_id: Option<String>) -> Result<Option<String>, ApiError> {
    match api_key_id {
        Some(id) if !caller.is_management() && id != caller.owner() => Err(ApiError::field(
            Code::ForeignOwner,
            "apiKeyId",
            "names somebody else; leave it out to act as yourself",
        )),
        other => Ok(other),
    }
}
