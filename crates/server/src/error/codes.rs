//! Every stable error code that a client may meet: the word, its HTTP status, and what it means.
//!
//! The one list: the API reference is made from it. A word never changes its meaning once it is released.

use axum::http::StatusCode;

macro_rules! codes {
    ($($name:ident $word:literal $status:ident $doc:literal;)*) => {
        /// A stable error code.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Code {
            $(#[doc = $doc] $name,)*
        }

        impl Code {
            /// Every code.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The word on the wire.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $word,)* }
            }

            /// The status it is answered with.
            pub const fn status(self) -> StatusCode {
                match self { $(Self::$name => StatusCode::$status,)* }
            }

            /// What it means, for the reference.
            pub const fn doc(self) -> &'static str {
                match self { $(Self::$name => $doc,)* }
            }
        }
    };
}

codes! {
    MalformedJson        "malformed_json"         BAD_REQUEST            "The body is not JSON; the message has line and column.";
    InvalidField         "invalid_field"          BAD_REQUEST            "A field or query parameter is unknown, missing or has a value that is not allowed; `details` name it.";
    InvalidHost          "invalid_host"           BAD_REQUEST            "The request has no usable Host.";
    BadRequest           "bad_request"            BAD_REQUEST            "A body of the LLM proxy cannot be used; the message names the member.";
    BadHeader            "bad_header"             BAD_REQUEST            "An `x-omni-*` header has a value that is not known.";
    MissingUser          "missing_user"           BAD_REQUEST            "Chats of this API key have to name their end user, in `x-omni-user` or in the body.";
    BrokenBody           "broken_body"            BAD_REQUEST            "The request body broke off.";
    MissingCredential    "missing_credential"     UNAUTHORIZED           "The request needs an API key or the management token.";
    InvalidCredential    "invalid_credential"     UNAUTHORIZED           "The API key or token is unknown or revoked.";
    MissingScope         "missing_scope"          FORBIDDEN              "The API key or token lacks the scope that the message names.";
    ForeignOwner         "foreign_owner"          FORBIDDEN              "`apiKeyId` names somebody else; only management may do that.";
    HostRefused          "host_refused"           FORBIDDEN              "The Host is not one that this gateway answers to.";
    OriginRefused        "origin_refused"         FORBIDDEN              "The request comes from a page of another site.";
    PolicyViolation      "policy_violation"       FORBIDDEN              "The policy of the skill forbids this run.";
    ApprovalRequired     "approval_required"      FORBIDDEN              "The run needs the approval of a person.";
    ApprovalPending      "approval_pending"       FORBIDDEN              "The run waits for the approval of a person.";
    ApprovalDenied       "approval_denied"        FORBIDDEN              "A person denied the run.";
    OwnCall              "own_call"               FORBIDDEN              "A key cannot decide about its own calls.";
    CustomSkillsDisabled "custom_skills_disabled" FORBIDDEN              "Only built-in skills run for this caller.";
    RouteNotFound        "route_not_found"        NOT_FOUND              "There is no such path.";
    SkillNotFound        "skill_not_found"        NOT_FOUND              "There is no such skill, or the caller does not see it.";
    VersionNotFound      "version_not_found"      NOT_FOUND              "The skill exists, but no version fits; the message lists the versions.";
    ExecutionNotFound    "execution_not_found"    NOT_FOUND              "There is no such execution, or it is somebody else's.";
    ResponseNotFound     "response_not_found"     NOT_FOUND              "This API key was given no response of that id.";
    TurnNotFound         "turn_not_found"         NOT_FOUND              "There is no such turn, or it is somebody else's.";
    ArtifactNotFound     "artifact_not_found"     NOT_FOUND              "There is no such artifact, it has expired, or it is somebody else's.";
    SetNotFound          "set_not_found"          NOT_FOUND              "There is no such set.";
    TokenNotFound        "token_not_found"        NOT_FOUND              "There is no such management token.";
    KeyNotFound          "key_not_found"          NOT_FOUND              "There is no such API key.";
    ModelNotFound        "model_not_found"        NOT_FOUND              "No upstream answers that model in that dialect.";
    MethodNotAllowed     "method_not_allowed"     METHOD_NOT_ALLOWED     "The path exists, but not with this method; see the Allow header.";
    BodyTimeout          "body_timeout"           REQUEST_TIMEOUT        "The request body did not arrive in time.";
    NotWaiting           "not_waiting"            CONFLICT               "The execution does not wait for a decision (any more).";
    TooManyWaiting       "too_many_waiting"       CONFLICT               "Too many calls of the API key wait for a person already.";
    OwnerRevoked         "owner_revoked"          CONFLICT               "The API key whose call this is has been revoked; deny the call.";
    IdempotencyKeyReused "idempotency_key_reused" CONFLICT               "The `Idempotency-Key` was used for another skill or input.";
    ExecutionRunning     "execution_running"      CONFLICT               "The first run with this `Idempotency-Key` has not ended; see Retry-After.";
    SkillInactive        "skill_inactive"         CONFLICT               "The skill is switched off.";
    SkillBroken          "skill_broken"           CONFLICT               "The skill can neither be offered nor run; the message says why.";
    SkillExists          "skill_exists"           CONFLICT               "The owner has this name and version already; `replace` overwrites it.";
    SettingPinned        "setting_pinned"         CONFLICT               "The file or the environment sets this; the message names it.";
    NameTaken            "name_taken"             CONFLICT               "Something else has this name.";
    ReservedName         "reserved_name"          CONFLICT               "The name belongs to a built-in skill.";
    BuiltinSkill         "builtin_skill"          CONFLICT               "A built-in skill cannot be deleted or rewritten.";
    TooLargeToApprove    "too_large_to_approve"   PAYLOAD_TOO_LARGE      "The input is too large to be put before a person.";
    BodyTooLarge         "body_too_large"         PAYLOAD_TOO_LARGE      "The body is larger than the limit in the message.";
    UnsupportedMediaType "unsupported_media_type" UNSUPPORTED_MEDIA_TYPE "The body has to be sent as application/json.";
    InvalidType          "invalid_type"           UNPROCESSABLE_ENTITY   "A field has a wrong JSON type; `details` name it.";
    InvalidInput         "invalid_input"          UNPROCESSABLE_ENTITY   "The input does not fit the skill's schema; `details` have a JSON pointer each.";
    InvalidSchema        "invalid_schema"         UNPROCESSABLE_ENTITY   "A schema of the skill cannot be used.";
    UnknownHandler       "unknown_handler"        UNPROCESSABLE_ENTITY   "`handlerCode` names no handler; the message lists them.";
    InvalidConfiguration "invalid_configuration"  UNPROCESSABLE_ENTITY   "The configuration has a fault; nothing was changed.";
    Busy                 "busy"                   SERVICE_UNAVAILABLE    "Too many skills run at the moment; see Retry-After.";
    SkillUnavailable     "skill_unavailable"      SERVICE_UNAVAILABLE    "The skill failed several times in a row and is not run for a moment; see Retry-After.";
    SkillsDisabled       "skills_disabled"        SERVICE_UNAVAILABLE    "The master switch `skillsEnabled` is off.";
    ShuttingDown         "shutting_down"          SERVICE_UNAVAILABLE    "The gateway is stopping.";
    HandlerMissing       "handler_missing"        SERVICE_UNAVAILABLE    "The handler of the skill is not available in this process.";
    NotReady             "not_ready"              SERVICE_UNAVAILABLE    "The gateway cannot serve at the moment.";
    UpstreamError        "upstream_error"         BAD_GATEWAY            "The upstream answered with an error; in a stream, or with its own status before one.";
    UpstreamBroken       "upstream_broken"        BAD_GATEWAY            "The upstream's answer cannot be read or broke off.";
    UpstreamUnreachable  "upstream_unreachable"   BAD_GATEWAY            "The upstream cannot be reached.";
    UpstreamUnavailable  "upstream_unavailable"   SERVICE_UNAVAILABLE    "The upstream could not be reached several times in a row and is not asked for a moment; see Retry-After.";
    UpstreamTimeout      "upstream_timeout"       GATEWAY_TIMEOUT        "The upstream did not answer in time.";
    Internal             "internal"               INTERNAL_SERVER_ERROR  "A fault of the gateway; the log has the cause under the request id.";
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn words_are_unique_and_statuses_are_errors() {
        let words: HashSet<_> = Code::ALL.iter().map(|c| c.as_str()).collect();
        assert_eq!(words.len(), Code::ALL.len());
        for code in Code::ALL {
            assert!(code.status().as_u16() >= 400, "{code:?}");
            assert!(code.doc().ends_with('.'), "{code:?}");
        }
    }
}
