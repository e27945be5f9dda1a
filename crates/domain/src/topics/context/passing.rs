//! Contexts that go along with delegated work. Whoever hands work on can let the other see what it sees itself, or less,
//! as long as the work lasts. Nobody gets more in this way than each one had through whose hands the work went.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Access, Acl, Denied, Granted};
use crate::topics::agent;
use crate::words::id::{AgentId, Time};

/// A context that goes along, and how much of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Pass {
    /// Its name
    #[schemars(regex(pattern = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$"))]
    pub context: String,
    /// read if you do not say
    #[serde(default)]
    #[schemars(with = "String", extend("enum" = ["read", "read_write"]))]
    pub access: Access,
    /// Fields that it does not see, such as customer.email
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100), inner(length(min = 1, max = 200)))]
    pub redact: Vec<String>,
    /// It is seen no longer after so many milliseconds
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 2_592_000_000_u64))]
    pub expires_ms: Option<u64>,
    #[schemars(skip)]
    /// When that is; known since the work was handed on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Time>,
}

impl Pass {
    /// All of a context, to read, as long as the work lasts.
    pub fn to_read(context: impl Into<String>) -> Self {
        let context = context.into();
        Self { context, access: Access::Read, redact: Vec::new(), expires_ms: None, expires: None }
    }

    /// As it goes along with work that is handed on now.
    pub(crate) fn begun(&self, at: Time) -> Self {
        Self { expires: self.expires_ms.map(|ms| at.plus_ms(ms)), ..self.clone() }
    }
}

impl std::fmt::Display for Pass {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({}", self.context, self.access.as_str())?;
        if !self.redact.is_empty() {
            write!(f, " without {}", self.redact.join(", "))?;
        }
        if let Some(ms) = self.expires_ms {
            write!(f, " for {ms} ms")?;
        }
        f.write_str(")")
    }
}

/// One through whose hands work went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Who.
    pub agent: AgentId,
    /// The role by which grants count for it; `None` for one that may see no context at all.
    pub role: Option<String>,
    /// What went along when the work was handed to it.
    pub passed: Vec<Pass>,
}

impl Link {
    /// As the agent's file says; of one that is not known, nothing counts.
    pub fn new(agent: &AgentId, spec: Option<&agent::Spec>, passed: Vec<Pass>) -> Self {
        let role = spec.and_then(super::role_for_grants).map(str::to_owned);
        Self { agent: agent.clone(), role, passed }
    }

    /// What goes along of a context; of several words about one, all narrow it.
    fn pass(&self, name: &str, now: Time) -> Option<Granted> {
        let is_over = |pass: &Pass| pass.expires.is_some_and(|expires| expires <= now);
        let passes = self.passed.iter().filter(|pass| pass.context == name);
        if passes.clone().any(is_over) {
            return None;
        }
        let granted =
            |pass: &Pass| Granted { access: pass.access, redact: pass.redact.iter().cloned().collect() };
        passes.map(granted).reduce(Granted::narrowed)
    }
}

impl Granted {
    /// What both give.
    pub fn narrowed(mut self, other: Self) -> Self {
        self.access = self.access.min(other.access);
        self.redact.extend(other.redact);
        self
    }

    /// What either gives; what one hides, the other does not uncover.
    pub fn joined(mut self, other: Self) -> Self {
        self.access = self.access.max(other.access);
        self.redact.extend(other.redact);
        self
    }
}

impl Acl {
    /// What the last of a line has of a context because it went along with the work, and only because of that.
    pub fn passed(&self, name: &str, line: &[Link], now: Time) -> Result<Granted, Denied> {
        let Some((last, above)) = line.split_last() else { return Err(Denied::NoGrant) };
        let Some(pass) = last.pass(name, now) else { return Err(Denied::NoGrant) };
        match self.least(name, above, now)? {
            Some(_) if last.role.is_none() => Err(Denied::Closed),
            Some(least) => Ok(least.narrowed(pass)),
            None => Err(Denied::NoGrant),
        }
    }

    /// What each one of a line has.
    fn least(&self, name: &str, line: &[Link], now: Time) -> Result<Option<Granted>, Denied> {
        let mut least: Option<Granted> = None;
        for link in line {
            let own = link.role.as_deref().and_then(|role| self.own(&link.agent, role, now).ok());
            let passed =
                link.role.as_ref().and_then(|_| Some(least.clone()?.narrowed(link.pass(name, now)?)));
            let has = match (own, passed) {
                (Some(own), Some(passed)) => own.joined(passed),
                (Some(has), None) | (None, Some(has)) => has,
                (None, None) => return Err(Denied::Above(link.agent.clone())),
            };
            least = Some(match least {
                Some(least) => least.narrowed(has),
                None => has,
            });
        }
        Ok(least)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::topics::context::{Asker, Grant, Grantee};

    const FIELDS: [&str; 3] = ["pay", "mail", "who.name"];

    fn fields() -> impl Strategy<Value = Vec<String>> {
        proptest::sample::subsequence(FIELDS.map(str::to_owned).to_vec(), 0..=2)
    }

    fn access() -> impl Strategy<Value = Access> {
        prop_oneof![Just(Access::Read), Just(Access::ReadWrite)]
    }

    /// One of a chain: whether it may see contexts, its own grant, and what goes along to it.
    fn member() -> impl Strategy<Value = (bool, Option<Grant>, Vec<Pass>)> {
        let to = Grantee::Agent(AgentId::new("set below"));
        let grant = (access(), fields(), proptest::option::weighted(0.2, Just(Time(5))))
            .prop_map(move |(access, redact, expires)| Grant { to: to.clone(), access, redact, expires });
        let pass = (prop_oneof![4 => Just("plan"), 1 => Just("other")], access(), fields())
            .prop_map(|(context, access, redact)| Pass { access, redact, ..Pass::to_read(context) });
        (
            proptest::bool::weighted(0.9),
            proptest::option::weighted(0.6, grant),
            proptest::collection::vec(pass, 0..3),
        )
    }

    fn has_at_most(granted: &Granted, most: &Granted) -> bool {
        granted.access <= most.access && granted.redact.is_superset(&most.redact)
    }

    proptest! {
        /// Whatever is granted and passed on: who has something only because it went along has no more than each one
        /// above it, nothing that was not named, and nothing at all if its own file closes contexts to it.
        #[test]
        fn by_passing_nobody_sees_more_than_each_one_above(
            members in proptest::collection::vec(member(), 1..6),
        ) {
            let now = Time(10);
            let mut acl = Acl::default();
            let mut line = Vec::new();
            for (number, (open, grant, passed)) in members.into_iter().enumerate() {
                let agent = AgentId::new(format!("agent-{number}"));
                let to = Grantee::Agent(agent.clone());
                acl.grants.extend(grant.map(|grant| Grant { to, ..grant }));
                line.push(Link { agent, role: open.then(|| "coder".to_owned()), passed });
            }
            let seen = |upto: usize, wanted: Access| {
                let link = &line[upto];
                let asker =
                    Asker { agent: &link.agent, role: link.role.as_deref(), line: &line[..=upto] };
                acl.judge(asker, "plan", wanted, now)
            };
            for below in 0..line.len() {
                let Ok(passed) = acl.passed("plan", &line[..=below], now) else { continue };
                prop_assert!(below > 0 && line[below].role.is_some());
                let named = line[below].pass("plan", now);
                prop_assert!(named.is_some_and(|named| has_at_most(&passed, &named)));
                for above in 0..below {
                    let theirs = seen(above, Access::Read);
                    prop_assert!(theirs.is_ok_and(|theirs| has_at_most(&passed, &theirs)));
                }
                // It counts beside what the agent has itself, and uncovers nothing of that.
                let all = seen(below, passed.access);
                prop_assert!(all.is_ok_and(|all| all.redact.is_superset(&passed.redact)));
            }
        }
    }

    #[test]
    fn a_link_that_lost_its_grant_breaks_the_line_and_is_named() {
        let grant = |agent: &str| Grant {
            to: Grantee::Agent(AgentId::new(agent)),
            access: Access::ReadWrite,
            redact: Vec::new(),
            expires: None,
        };
        let pass = Pass::to_read("plan");
        let link = |agent: &str, passed: &[&Pass]| Link {
            agent: AgentId::new(agent),
            role: Some("coder".to_owned()),
            passed: passed.iter().map(|pass| (*pass).clone()).collect(),
        };
        let line = [link("a", &[]), link("b", &[&pass]), link("c", &[&pass])];
        let acl = Acl { owner: None, grants: vec![grant("a")] };
        let read = Granted { access: Access::Read, redact: Default::default() };
        assert_eq!(acl.passed("plan", &line, Time(0)), Ok(read));
        assert_eq!(acl.passed("other", &line, Time(0)), Err(Denied::NoGrant));
        let mut short = line.clone();
        short[2].passed[0].expires = Some(Time(5));
        assert!(acl.passed("plan", &short, Time(4)).is_ok());
        assert_eq!(acl.passed("plan", &short, Time(5)), Err(Denied::NoGrant), "it expired");
        // Who has it by itself cannot pass it to others for one who may not see it.
        let acl = Acl { owner: None, grants: vec![grant("b")] };
        assert_eq!(acl.passed("plan", &line, Time(0)), Err(Denied::Above(AgentId::new("a"))));
        assert_eq!(acl.passed("plan", &line[1..], Time(0)).map(|g| g.access), Ok(Access::Read));
    }
}
