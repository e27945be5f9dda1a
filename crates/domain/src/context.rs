//! Shared contexts: who may see which, and what of it. What nobody granted, nobody sees.

use std::collections::BTreeSet;

use crate::agent;
use crate::id::{AgentId, Time};

/// `contexts/<id>.acl.yaml`: all grants of one context.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Acl {
    /// Each on its own; those that fit an agent count together.
    pub grants: Vec<Grant>,
}

/// One grant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// To whom.
    pub to: Grantee,
    /// For what.
    pub access: Access,
    /// Fields that are not shown: `customer.email` is the field `email` of `customer`.
    pub redact: Vec<String>,
    /// When it ends; never if absent.
    pub expires: Option<Time>,
}

/// To whom something is granted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Grantee {
    /// To this agent.
    Agent(AgentId),
    /// To every agent with this role.
    Role(String),
}

/// What a grant is for. A later one is more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// To see it.
    Read,
    /// To change it as well.
    ReadWrite,
}

impl Access {
    /// The word in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::ReadWrite => "read_write",
        }
    }
}

/// What an agent has of a context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Granted {
    /// The most that any grant gives.
    pub access: Access,
    /// All that any grant hides.
    pub redact: BTreeSet<String>,
}

impl Acl {
    /// What an agent may see now; `None`: nothing. Of several grants the widest access counts, and every
    /// redaction: a second grant must not uncover what the first one hides.
    pub fn granted(&self, agent: &agent::Spec, now: Time) -> Option<Granted> {
        if agent.permissions.can_access_context == Some(false) {
            return None;
        }
        let fits = |grant: &&Grant| {
            let is_for = match &grant.to {
                Grantee::Agent(id) => *id == agent.id,
                Grantee::Role(role) => *role == agent.role,
            };
            is_for && grant.expires.is_none_or(|end| now < end)
        };
        let mut granted: Option<Granted> = None;
        for grant in self.grants.iter().filter(fits) {
            let none = || Granted { access: grant.access, redact: BTreeSet::new() };
            let granted = granted.get_or_insert_with(none);
            granted.access = granted.access.max(grant.access);
            granted.redact.extend(grant.redact.iter().cloned());
        }
        granted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(to: Grantee) -> Grant {
        Grant { to, access: Access::Read, redact: Vec::new(), expires: None }
    }

    #[test]
    fn nothing_is_seen_without_a_grant_that_fits_and_still_counts() {
        let mut agent = agent::Spec::new(AgentId::new("coder-1"), "coder", "m");
        let mine = grant(Grantee::Agent(AgentId::new("coder-1")));
        let role = grant(Grantee::Role("coder".to_owned()));
        let over = Grant { expires: Some(Time(10)), ..mine.clone() };
        let all = |grants: &[Grant]| Acl { grants: grants.to_vec() };
        let other = grant(Grantee::Agent(AgentId::new("coder-2")));
        assert_eq!(all(&[]).granted(&agent, Time(5)), None);
        assert_eq!(all(&[other]).granted(&agent, Time(5)), None);
        assert!(all(std::slice::from_ref(&role)).granted(&agent, Time(5)).is_some());
        assert!(all(std::slice::from_ref(&over)).granted(&agent, Time(9)).is_some());
        assert_eq!(all(&[over]).granted(&agent, Time(10)), None);
        agent.permissions.can_access_context = Some(false);
        assert_eq!(all(&[mine, role]).granted(&agent, Time(5)), None);
    }

    #[test]
    fn a_second_grant_widens_the_access_and_uncovers_nothing() {
        let agent = agent::Spec::new(AgentId::new("coder-1"), "coder", "m");
        let mine = Grant { redact: vec!["a.b".to_owned()], ..grant(Grantee::Agent(agent.id.clone())) };
        let role = Grant { access: Access::ReadWrite, ..grant(Grantee::Role("coder".to_owned())) };
        let granted = Granted { access: Access::ReadWrite, redact: BTreeSet::from(["a.b".to_owned()]) };
        for grants in [[mine.clone(), role.clone()], [role, mine]] {
            assert_eq!(Acl { grants: grants.to_vec() }.granted(&agent, Time(0)), Some(granted.clone()));
        }
    }
}
