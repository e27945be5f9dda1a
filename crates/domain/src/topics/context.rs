//! Shared contexts: who may see which, and what of it. What nobody granted, nobody sees.

mod hidden;
mod passing;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::topics::agent;
use crate::words::id::{AgentId, Time};

pub use hidden::{Hidden, REDACTED, Unmergeable, at};
pub use passing::{Link, Pass};

/// The tool by which an agent reads one.
pub const TOOL_GET: &str = "context_get";
/// The longest name of a context.
const NAME_BYTES_MAX: usize = 63;

/// Whether `name` can be a context's. It becomes part of a file name, so it has nothing that leads elsewhere.
pub fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    name.len() <= NAME_BYTES_MAX
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(plain)
}

/// The file with a context's grants.
pub fn acl_path(name: &str) -> String {
    format!("contexts/{name}.acl.yaml")
}

/// Whether a path is that of a file with grants.
pub fn is_acl(path: &str) -> bool {
    path.starts_with("contexts/") && path.ends_with(".acl.yaml")
}

/// The files that can hold what a context says; the first that is there counts.
pub fn places(name: &str) -> [String; 2] {
    [format!("contexts/{name}.json"), format!("contexts/{name}.md")]
}

/// `contexts/<id>.acl.yaml`: all grants of one context.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Acl {
    /// The agent that made it; the owner of the home if nobody is named. It has no rights beyond the grants.
    pub owner: Option<AgentId>,
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// To see it.
    #[default]
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

/// For whom grants are looked through.
#[derive(Debug, Clone, Copy)]
pub struct Asker<'a> {
    /// The agent.
    pub agent: &'a AgentId,
    /// Its role; `None` for one that may see no context at all, whatever is granted.
    pub role: Option<&'a str>,
    /// Those through whose hands its work went, from the first to itself, if contexts went along with it.
    pub line: &'a [Link],
}

impl<'a> Asker<'a> {
    /// As the agent's file says.
    pub fn of(agent: &'a agent::Spec) -> Self {
        Self { agent: &agent.id, role: role_for_grants(agent), line: &[] }
    }
}

/// The role by which grants count for an agent; none if its file closes all contexts to it. Whoever spawns an agent
/// chooses its role, and must not get at a context in that way: to a spawned one, only what names it is granted.
pub fn role_for_grants(agent: &agent::Spec) -> Option<&str> {
    let by_agent = agent.spawned_by.as_ref().is_some_and(|origin| origin.parent().is_some());
    let role = if by_agent { "" } else { agent.role.as_str() };
    (agent.permissions.can_access_context != Some(false)).then_some(role)
}

/// Why an agent does not get what it wants of a context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Denied {
    /// Its own file closes all contexts to it.
    Closed,
    /// No grant is for it.
    NoGrant,
    /// All that were for it have ended, the last one then.
    Ended(Time),
    /// It may look and not change.
    ReadOnly,
    /// It went along with the work, but this one, through whose hands that went, may not see it.
    Above(AgentId),
}

impl Denied {
    /// The rule that decided.
    pub fn rule(&self, agent: &AgentId, name: &str) -> String {
        match self {
            Self::Closed => format!("permissions.can_access_context: false of {agent}"),
            Self::NoGrant => format!("{} grants {agent} nothing", acl_path(name)),
            Self::Ended(_) => format!("the grant of {} to {agent} has ended", acl_path(name)),
            Self::ReadOnly => format!("{} grants {agent} read, not read_write", acl_path(name)),
            Self::Above(above) => {
                format!(
                    "{name} went along with the work of {agent}, but {above}, who had it before, may not see it"
                )
            }
        }
    }

    /// What the agent can do about it.
    pub fn advice(&self, agent: &AgentId, name: &str) -> String {
        let ask = |access: &str| {
            format!(
                "ask the owner of the home for it (`synod context grant {name} {agent}{access}`), or go on without"
            )
        };
        match self {
            Self::Closed => "leave it to an agent that may see shared contexts".to_owned(),
            Self::NoGrant | Self::Ended(_) | Self::Above(_) => ask(""),
            Self::ReadOnly => ask(" --access read_write"),
        }
    }
}

impl Acl {
    /// What an agent may see now by grants alone; `None`: nothing.
    pub fn granted(&self, agent: &agent::Spec, now: Time) -> Option<Granted> {
        self.own(&agent.id, role_for_grants(agent)?, now).ok()
    }

    /// Whether an agent may do as much as `wanted` with the context of this name now: by what is granted to it and by
    /// what went along with its work.
    pub fn judge(&self, asker: Asker<'_>, name: &str, wanted: Access, now: Time) -> Result<Granted, Denied> {
        let Some(own_role) = asker.role else { return Err(Denied::Closed) };
        let own = self.own(asker.agent, own_role, now);
        let granted = match (own, self.passed(name, asker.line, now)) {
            (Ok(own), Ok(passed)) => own.joined(passed),
            (Ok(has), Err(_)) | (Err(_), Ok(has)) => has,
            (Err(_), Err(denied @ Denied::Above(_))) => return Err(denied),
            (Err(denied), Err(_)) => return Err(denied),
        };
        if granted.access < wanted { Err(Denied::ReadOnly) } else { Ok(granted) }
    }

    /// What is granted to an agent or to its role. Of several grants the widest access counts, and every redaction: a
    /// second grant must not uncover what the first one hides.
    fn own(&self, agent: &AgentId, own_role: &str, now: Time) -> Result<Granted, Denied> {
        let is_for = |grant: &&Grant| match &grant.to {
            Grantee::Agent(id) => id == agent,
            Grantee::Role(role) => role == own_role,
        };
        let mut granted: Option<Granted> = None;
        let mut ended: Option<Time> = None;
        for grant in self.grants.iter().filter(is_for) {
            if let Some(end) = grant.expires.filter(|end| *end <= now) {
                ended = ended.max(Some(end));
                continue;
            }
            let one = Granted { access: grant.access, redact: grant.redact.iter().cloned().collect() };
            granted = Some(match granted {
                Some(granted) => granted.joined(one),
                None => one,
            });
        }
        granted.ok_or(ended.map_or(Denied::NoGrant, Denied::Ended))
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
        let all = |grants: &[Grant]| Acl { owner: None, grants: grants.to_vec() };
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
            assert_eq!(
                Acl { owner: None, grants: grants.to_vec() }.granted(&agent, Time(0)),
                Some(granted.clone())
            );
        }
    }

    /// Scope, expiry, the agent's own file and redaction, each with each.
    #[test]
    fn every_combination_of_grant_and_agent_has_its_answer() {
        let now = Time(10);
        for access in [None, Some(Access::Read), Some(Access::ReadWrite)] {
            for expires in [None, Some(Time(11)), Some(Time(10)), Some(Time(9))] {
                for can_access in [None, Some(true), Some(false)] {
                    for redact in [vec![], vec!["a.b".to_owned()]] {
                        for wanted in [Access::Read, Access::ReadWrite] {
                            let mut agent = agent::Spec::new(AgentId::new("coder-1"), "coder", "m");
                            agent.permissions.can_access_context = can_access;
                            let to = Grantee::Agent(agent.id.clone());
                            let grant =
                                access.map(|access| Grant { to, access, redact: redact.clone(), expires });
                            let acl = Acl { owner: None, grants: Vec::from_iter(grant) };
                            let expected = match (can_access, access, expires) {
                                (Some(false), _, _) => Err(Denied::Closed),
                                (_, None, _) => Err(Denied::NoGrant),
                                (_, _, Some(end)) if end <= now => Err(Denied::Ended(end)),
                                (_, Some(Access::Read), _) if wanted == Access::ReadWrite => {
                                    Err(Denied::ReadOnly)
                                }
                                (_, Some(access), _) => {
                                    Ok(Granted { access, redact: redact.iter().cloned().collect() })
                                }
                            };
                            let shown =
                                format!("{access:?} {expires:?} {can_access:?} {redact:?} {wanted:?}");
                            assert_eq!(acl.judge(Asker::of(&agent), "any", wanted, now), expected, "{shown}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_name_leads_nowhere_else() {
        for good in ["a", "ctx_job_analysis_123", "Plan-7", &"x".repeat(63)] {
            assert!(is_name(good), "{good}");
        }
        for bad in ["", ".", "..", "../a", "a/b", "a.acl", "-a", "_a", "a b", "ä", "a\0", &"x".repeat(64)] {
            assert!(!is_name(bad), "{bad:?}");
        }
    }
}
