//! Who may do what: the one place where REST, MCP, A2A and the dashboard ask. Denied unless a rule here lets it.
//!
//! Scopes say what a caller may do, owners to whose things. Nobody else compares owners. What a denial looks like is
//! up to the surface: somebody else's thing is usually not there at all.

use domain::Scope;

use crate::caller::Caller;
use crate::error::{ApiError, Code};

/// What is asked for, beside a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resource<'a> {
    /// Nobody's in particular.
    Common,
    /// An owner's: that owner alone has it, and management.
    Of(&'a str),
    /// An owner's, about which a person is asked: whoever may approve has it, too.
    Asked(&'a str),
}

/// Why not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Denied {
    /// Nobody known, and that is what it takes.
    Stranger,
    /// Somebody known without the scope.
    Lacks(Scope),
    /// It is somebody else's.
    Foreign,
}

/// Whether the caller may. Management may do everything, with everybody's things.
pub(crate) fn authorise(caller: &Caller, scope: Scope, resource: Resource<'_>) -> Result<(), Denied> {
    if !caller.may(scope) {
        return Err(match caller {
            Caller::Anonymous => Denied::Stranger,
            Caller::Management | Caller::Token(_) | Caller::Key(_) => Denied::Lacks(scope),
        });
    }
    let is_own = match resource {
        Resource::Common => true,
        Resource::Of(owner) => owner == caller.owner(),
        Resource::Asked(owner) => owner == caller.owner() || caller.may(Scope::ApproveSkills),
    };
    if is_own || caller.is_management() { Ok(()) } else { Err(Denied::Foreign) }
}

/// The owner whose rows a list shows; none = everybody's. A caller that names somebody else has to be management.
pub(crate) fn owner_of_list(caller: &Caller, named: Option<String>) -> Result<Option<String>, Denied> {
    let named = acting_for(caller, named)?;
    let own = (!caller.is_management()).then(|| caller.owner().to_owned());
    Ok(own.or(named))
}

/// The owner that a request names to act for, if it may: a caller acts as itself, management for anybody.
pub(crate) fn acting_for(caller: &Caller, named: Option<String>) -> Result<Option<String>, Denied> {
    match &named {
        Some(owner) if owner != caller.owner() && !caller.is_management() => Err(Denied::Foreign),
        _ => Ok(named),
    }
}

/// Where a denial is the answer: 401, or 403 with what is missing.
impl From<Denied> for ApiError {
    fn from(denied: Denied) -> Self {
        match denied {
            Denied::Stranger => Self::unauthorized(
                Code::MissingCredential,
                "this needs an API key (`Authorization: Bearer osk_...` or `x-omni-key`) or the management token",
            ),
            Denied::Lacks(scope) => {
                let scope = scope.as_str();
                Self::new(Code::MissingScope, format!("the API key or token lacks the scope `{scope}`"))
            }
            Denied::Foreign => Self::field(
                Code::ForeignOwner,
                "apiKeyId",
                "names somebody else; leave it out to act as yourself",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use domain::{ApiKey, KeySettings, ManagementToken};

    use super::*;

    fn key(id: &str, scopes: &[Scope]) -> Caller {
        Caller::Key(Arc::new(ApiKey {
            id: id.to_owned(),
            name: "k".to_owned(),
            scopes: scopes.to_vec(),
            custom_skill_execution_enabled: true,
            revoked: false,
            settings: KeySettings::default(),
            created_at: String::new(),
            last_used_at: None,
        }))
    }

    fn token(id: &str, scopes: &[Scope]) -> Caller {
        Caller::Token(Arc::new(ManagementToken {
            id: id.to_owned(),
            name: "t".to_owned(),
            scopes: scopes.to_vec(),
            created_at: String::new(),
            last_used_at: None,
        }))
    }

    /// Every kind of caller with every set of up to two scopes.
    fn callers() -> Vec<Caller> {
        let mut callers = vec![Caller::Management, Caller::Anonymous, key("a", &[]), token("t", &[])];
        for one in Scope::ALL {
            for two in Scope::ALL {
                callers.extend([key("a", &[one, two]), token("t", &[one, two])]);
            }
        }
        callers
    }

    #[test]
    fn nothing_goes_without_the_scope_and_nothing_of_others_without_management() {
        for caller in callers() {
            for scope in Scope::ALL {
                let common = authorise(&caller, scope, Resource::Common);
                assert_eq!(common.is_ok(), caller.may(scope), "{caller:?} {scope:?}");
                let own = authorise(&caller, scope, Resource::Of(caller.owner()));
                assert_eq!(own, common, "one's own is no obstacle: {caller:?} {scope:?}");
                let foreign = authorise(&caller, scope, Resource::Of("b"));
                assert_eq!(
                    foreign.is_ok(),
                    caller.may(scope) && caller.may(Scope::Manage),
                    "{caller:?} {scope:?}"
                );
                let asked = authorise(&caller, scope, Resource::Asked("b"));
                assert_eq!(
                    asked.is_ok(),
                    caller.may(scope) && caller.may(Scope::ApproveSkills),
                    "{caller:?}"
                );
            }
        }
    }

    #[test]
    fn a_stranger_is_asked_who_it_is_and_others_are_told_what_they_lack() {
        let denied = |caller| authorise(&caller, Scope::Manage, Resource::Common).unwrap_err();
        assert_eq!(denied(Caller::Anonymous), Denied::Stranger);
        assert_eq!(denied(key("a", &[])), Denied::Lacks(Scope::Manage));
        assert_eq!(denied(token("t", &Scope::DEFAULT)), Denied::Lacks(Scope::Manage));
        assert_eq!(ApiError::from(Denied::Stranger).code.status(), 401);
        let lacks = ApiError::from(Denied::Lacks(Scope::WriteSkills));
        assert_eq!(lacks.code.status(), 403);
        assert!(lacks.message.contains("write:skills"));
    }

    #[test]
    fn a_name_counts_for_management_alone() {
        let named = |name: &str| Some(name.to_owned());
        for caller in callers() {
            let own = caller.owner().to_owned();
            assert_eq!(acting_for(&caller, None), Ok(None));
            assert_eq!(acting_for(&caller, Some(own.clone())), Ok(Some(own.clone())));
            if caller.is_management() {
                assert_eq!(acting_for(&caller, named("b")), Ok(named("b")));
                assert_eq!(owner_of_list(&caller, named("b")), Ok(named("b")));
                assert_eq!(owner_of_list(&caller, None), Ok(None));
            } else {
                assert_eq!(acting_for(&caller, named("b")), Err(Denied::Foreign));
                assert_eq!(owner_of_list(&caller, named("b")), Err(Denied::Foreign));
                assert_eq!(owner_of_list(&caller, None), Ok(Some(own)));
            }
        }
    }
}
