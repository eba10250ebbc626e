//! From the errors of the crates below to codes. One match each; nobody reads a message to decide.

use domain::text::excerpt;
use executor::Refusal;
use registry::{RegistryError, ResolveError};
use store::StoreError;

use super::{ApiError, Code, Detail};

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NotFound { what, .. } => {
                let code = match what {
                    "skill" => Code::SkillNotFound,
                    "key" => Code::KeyNotFound,
                    "set" => Code::SetNotFound,
                    "token" => Code::TokenNotFound,
                    "execution" => Code::ExecutionNotFound,
                    _ => Code::RouteNotFound,
                };
                Self::new(code, error.to_string())
            }
            StoreError::Conflict { .. } => {
                Self::new(Code::SkillExists, format!("{error}; send `replace: true` to overwrite it"))
            }
            StoreError::Closed => Self::new(Code::ShuttingDown, error.to_string()).with_retry_after(5),
            StoreError::TooNew { .. } | StoreError::Backend(_) => Self::internal(error),
        }
    }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        let message = refusal.to_string();
        match refusal {
            Refusal::SkillsDisabled => Self::new(Code::SkillsDisabled, message),
            Refusal::ShuttingDown => Self::new(Code::ShuttingDown, message).with_retry_after(5),
            Refusal::Inactive { .. } => Self::new(Code::SkillInactive, message),
            Refusal::PolicyViolation { .. } => Self::new(Code::PolicyViolation, message),
            Refusal::ApprovalRequired { .. } => Self::new(Code::ApprovalRequired, message),
            Refusal::ApprovalPending { .. } => Self::new(Code::ApprovalPending, message),
            Refusal::Denied { .. } => Self::new(Code::ApprovalDenied, message),
            Refusal::TooLargeToApprove { .. } => Self::new(Code::TooLargeToApprove, message),
            Refusal::TooManyWaiting => Self::new(Code::TooManyWaiting, message),
            Refusal::NotWaiting { .. } => Self::new(Code::NotWaiting, message),
            Refusal::OwnCall => Self::new(Code::OwnCall, message),
            Refusal::KeyReused => Self::new(Code::IdempotencyKeyReused, message),
            Refusal::StillRunning { retry_after_s } => {
                Self::new(Code::ExecutionRunning, message).with_retry_after(retry_after_s)
            }
            Refusal::CustomDisabled { .. } => Self::new(Code::CustomSkillsDisabled, message),
            Refusal::InvalidInput { violations } => {
                let details = violations.into_iter().map(|v| Detail::new(v.pointer, v.message)).collect();
                Self::new(Code::InvalidInput, message).with_details(details)
            }
            Refusal::InvalidSchema { .. } => Self::new(Code::InvalidSchema, message),
            Refusal::NoHandler { .. } => Self::new(Code::HandlerMissing, message),
            Refusal::Unavailable { retry_after_s, .. } => {
                Self::new(Code::SkillUnavailable, message).with_retry_after(retry_after_s)
            }
            Refusal::Busy { retry_after_s } => Self::new(Code::Busy, message).with_retry_after(retry_after_s),
            Refusal::Store(error) => error.into(),
        }
    }
}

impl From<RegistryError> for ApiError {
    fn from(error: RegistryError) -> Self {
        let message = error.to_string();
        match error {
            RegistryError::Reserved(_) => Self::new(Code::ReservedName, message),
            RegistryError::Conflict(_) => Self::new(Code::SkillExists, message),
            RegistryError::NotFound(_) => Self::new(Code::SkillNotFound, message),
            RegistryError::BuiltinImmutable(_) => Self::new(Code::BuiltinSkill, message),
            RegistryError::Name(_) => Self::field(Code::InvalidField, "name", &message),
            RegistryError::Schema(schema) => {
                Self::field(Code::InvalidField, &schema.pointer, &schema.message)
            }
            RegistryError::UnknownHandler { .. } => {
                Self::field(Code::UnknownHandler, "handlerCode", &message)
            }
            RegistryError::NotVisible(cause) => Self::new(Code::NotReady, message).with_cause(cause),
            RegistryError::Index(_) => Self::internal(error),
            RegistryError::Store(error) => error.into(),
        }
    }
}

impl From<ResolveError> for ApiError {
    fn from(error: ResolveError) -> Self {
        match &error {
            ResolveError::NotFound(name) => {
                let name = excerpt(name, 100);
                Self::new(Code::SkillNotFound, format!("no skill `{name}` that you can see"))
            }
            ResolveError::NoVersion { available, .. } => {
                let available: Vec<_> = available.iter().map(ToString::to_string).collect();
                Self::new(Code::VersionNotFound, format!("{error}; there are {}", available.join(", ")))
            }
        }
    }
}
