//! The gate: a pipeline of named inspectors that says whether an agent may do something. Allow, ask or deny, always with
//! the inspector and the rule that said so. It decides on data alone; no model and no text of a conversation has a say.
//! Nothing else judges a call.

pub(crate) mod budget;
mod command;
mod evidence;
mod labels;
mod limits;
pub(crate) mod locks;
pub(crate) mod path;
mod permission;
mod reach;
pub mod review;
mod schema;
mod tools;

use std::fmt;

use crate::kernel::chains;
use crate::kernel::state::State;
use crate::kernel::terms::Rights;
use crate::topics::agent;
use crate::topics::role::{Permission, Role};
use crate::topics::session::{Pending, Session};
use crate::topics::tool;
use crate::topics::tool::foreign::{Known, Offer};
use crate::topics::tool::{Act, Check, Listener, Permit, Runs, Seen, Traits, Want};
use crate::words::label::Label;
use policy::command::Judgement;
use policy::{Nature, Policy, Risk};

/// What the gate says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ruling {
    /// Yes, ask, or no.
    pub verdict: Verdict,
    /// The inspector that decided.
    pub inspector: Inspector,
    /// Its rule, in words that can be searched for.
    pub rule: String,
    /// What repeating the act would do.
    pub nature: Nature,
    /// What a command would get: of what is allowed nothing beyond reading, of what is asked for what it needs.
    pub permit: Permit,
}

impl Ruling {
    /// A no that depends on nothing else.
    pub(crate) fn deny(inspector: Inspector, rule: impl Into<String>, advice: impl Into<String>) -> Self {
        Self {
            verdict: Verdict::Deny { advice: advice.into() },
            inspector,
            rule: rule.into(),
            nature: Nature::Read,
            permit: Permit::NONE,
        }
    }

    /// What the agent is told, if it is a no.
    pub fn refusal(&self) -> Option<String> {
        let Verdict::Deny { advice } = &self.verdict else { return None };
        Some(match self.inspector {
            Inspector::Limits | Inspector::Schema | Inspector::Locks | Inspector::Budget => advice.clone(),
            Inspector::Permission
            | Inspector::Tools
            | Inspector::Reach
            | Inspector::Command
            | Inspector::Labels
            | Inspector::Evidence
            | Inspector::Review => format!("denied by the rule: {}\n{advice}", self.rule),
        })
    }

    /// The inspector and its rule, as they stand in the audit log.
    pub fn named_rule(&self) -> String {
        [self.inspector.as_str(), ": ", &self.rule].concat()
    }
}

/// Yes, ask, or no.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Do it.
    Allow,
    /// Ask a person first.
    Ask {
        /// How much harm a wrong yes could do.
        risk: Risk,
        /// Why.
        factors: Vec<String>,
    },
    /// Never; the text tells the agent why and what else it can do.
    Deny {
        /// For the agent.
        advice: String,
    },
}

/// A part of the gate, by what it looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Inspector {
    /// How often: `limits.calls_max`, `limits.same_call_max`.
    Limits,
    /// Whether the arguments are what the tool takes.
    Schema,
    /// What the role and the agent's file allow at all.
    Permission,
    /// Which tools the agent has.
    Tools,
    /// Which paths, contexts and people outside the home an act reaches.
    Reach,
    /// What the command policy says of a command.
    Command,
    /// What was read in the conversation: where it came from, and who may see it.
    Labels,
    /// What the task requires: an approval for every effect, and what shows that it is done.
    Evidence,
    /// Whether work was looked at, and by whom.
    Review,
    /// Whether a lock can be waited for.
    Locks,
    /// Whether there is money and tokens for it.
    Budget,
}

impl Inspector {
    /// The name in the audit log.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Limits => "limits",
            Self::Schema => "schema",
            Self::Permission => "permission",
            Self::Tools => "tools",
            Self::Reach => "reach",
            Self::Command => "command policy",
            Self::Labels => "labels",
            Self::Evidence => "evidence",
            Self::Review => "review",
            Self::Locks => "locks",
            Self::Budget => "budget",
        }
    }
}

impl fmt::Display for Inspector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Who wants it, and what is known of them.
#[derive(Debug, Clone, Copy)]
pub struct Asker<'a> {
    /// The agent.
    pub spec: &'a agent::Spec,
    /// Its role; `None` if there is no such role.
    pub role: Option<&'a Role>,
    /// Whether its task demands a person's yes for every effect.
    pub approval_required: bool,
    /// The worst of what was read in the conversation.
    pub label: &'a Label,
    /// What its file and its role say now, where that differs from what they said when the conversation began: what was
    /// taken from the agent since is taken from the conversation too.
    pub now: Option<Rights<'a>>,
}

impl<'a> Asker<'a> {
    /// An agent as its file is now, that has read nothing and works on nothing.
    pub fn at_rest(spec: &'a agent::Spec, role: Option<&'a Role>, label: &'a Label) -> Self {
        Self { spec, role, approval_required: false, label, now: None }
    }
}

/// Where a call stands.
#[derive(Clone, Copy)]
struct Place<'a> {
    state: &'a State,
    session: &'a Session,
    pending: &'a Pending,
    /// Its number among the calls of its turn, from 0.
    index: usize,
}

/// What an inspector looks at.
struct Case<'a> {
    asker: &'a Asker<'a>,
    policy: &'a Policy,
    act: &'a Act,
    seen: Option<&'a Seen>,
    /// `None` if nobody has called it yet: then only what the files say is judged.
    place: Option<Place<'a>>,
    /// What the policy says of the command, if the act is one.
    command: Option<Judgement>,
}

/// What an inspector says.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Opinion {
    /// Nothing speaks against it; the rule, if one is to be named.
    Fine(Option<String>),
    /// A person is asked first.
    Ask { rule: String, risk: Risk, factors: Vec<String> },
    /// A person is asked first, and the risk is one step higher than it would be without this.
    Raise { rule: String, factors: Vec<String> },
    /// It is not done.
    Deny { rule: String, advice: String },
}

impl Opinion {
    const NONE: Self = Self::Fine(None);

    /// What two of one inspector say together: an ask wins over a yes, and has the factors of both.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (denied @ Self::Deny { .. }, _) | (_, denied @ Self::Deny { .. }) => denied,
            (Self::Ask { rule, risk, factors }, Self::Ask { risk: other, factors: more, .. }) => {
                Self::Ask { rule, risk: risk.max(other), factors: factors.into_iter().chain(more).collect() }
            }
            (Self::Ask { rule, risk, factors }, Self::Raise { factors: more, .. })
            | (Self::Raise { factors, .. }, Self::Ask { rule, risk, factors: more }) => {
                let factors = factors.into_iter().chain(more).collect();
                Self::Ask { rule, risk: risk.raised(), factors }
            }
            (Self::Raise { rule, factors }, Self::Raise { factors: more, .. }) => {
                Self::Raise { rule, factors: factors.into_iter().chain(more).collect() }
            }
            (Self::Fine(rule), Self::Fine(other)) => Self::Fine(rule.or(other)),
            (asks, Self::Fine(_)) | (Self::Fine(_), asks) => asks,
        }
    }

    fn of(checked: Result<(), (String, String)>) -> Self {
        match checked {
            Ok(()) => Self::NONE,
            Err((rule, advice)) => Self::Deny { rule, advice },
        }
    }
}

type Inspect = fn(&Case<'_>) -> Opinion;

/// All inspectors of an act, in the order in which they look at it: of several that deny, the first is named, and of several
/// that ask, too.
const PIPELINE: [(Inspector, Inspect); 8] = [
    (Inspector::Limits, limits::inspect),
    (Inspector::Permission, permission::inspect),
    (Inspector::Tools, tools::inspect),
    (Inspector::Reach, reach::inspect),
    (Inspector::Command, command::inspect),
    (Inspector::Labels, labels::inspect),
    (Inspector::Evidence, evidence::inspect),
    (Inspector::Review, review::inspect),
];

/// Those that look at a command that Synod itself runs for an agent.
const OF_EVIDENCE: [(Inspector, Inspect); 3] = [
    (Inspector::Command, command::inspect),
    (Inspector::Labels, labels::inspect),
    (Inspector::Evidence, evidence::inspect),
];

/// Says whether `asker` may do `act`, as far as files say.
pub fn judge(asker: &Asker<'_>, policy: &Policy, act: &Act, seen: Option<&Seen>) -> Ruling {
    Case::new(asker, policy, act, seen, None).pass(&PIPELINE)
}

/// Says whether a call of a conversation may be carried out.
pub fn judge_call(state: &State, session: &Session, pending: &Pending, index: usize) -> Ruling {
    let act = match &pending.call.want {
        Want::Act(act) => act,
        Want::Invalid { tool, error } => return schema::deny(tool, error),
    };
    let Some(agent) = state.team.agents.get(&session.agent) else {
        let advice = format!("refused: there is no agent {} any more", session.agent);
        return Ruling::deny(Inspector::Permission, "the agent is gone", advice);
    };
    let spec = state.spec_of(session).unwrap_or(&agent.spec);
    let asker = Asker {
        spec,
        role: state.terms(session).role(&spec.role),
        approval_required: chains::above(state, session).approval_required,
        label: &session.label,
        now: state.rights_now(session),
    };
    let place = Place { state, session, pending, index };
    let case = Case::new(&asker, &state.config.policy, act, pending.call.seen.as_ref(), Some(place));
    match act {
        Act::Check(Check { .. }) => match limits::inspect(&case) {
            Opinion::Deny { rule, advice } => Ruling::deny(Inspector::Limits, rule, advice),
            Opinion::Fine(_) | Opinion::Ask { .. } | Opinion::Raise { .. } => evidence::judge(&case),
        },
        _ => case.pass(&PIPELINE),
    }
}

/// Whether the agent has the tool at all. That is what its own file and role say, whoever asked it to work.
pub fn may_use(asker: &Asker<'_>, name: &str, needs: Option<Permission>) -> Result<(), (String, String)> {
    let has = |(spec, role): Rights<'_>| {
        tools::not_denied(spec, name)?;
        let role = permission::check(spec, role, name, needs)?;
        tools::granted(spec, role, name)
    };
    has((asker.spec, asker.role))?;
    asker.now.map_or(Ok(()), has)
}

/// The tools of foreign servers that the agent has.
pub fn may_use_foreign<'a>(asker: &Asker<'_>, known: &'a Known) -> Vec<&'a Offer> {
    known.all().filter(|found| may_use(asker, &found.name, found.needs).is_ok()).collect()
}

/// The rule by which a tool is allowed to all who have it.
pub fn asks_nobody(tool: &str) -> String {
    ["tool ", tool, " asks nobody"].concat()
}

impl<'a> Case<'a> {
    fn new(
        asker: &'a Asker<'a>,
        policy: &'a Policy,
        act: &'a Act,
        seen: Option<&'a Seen>,
        place: Option<Place<'a>>,
    ) -> Self {
        Self { asker, policy, act, seen, place, command: command::judgement(policy, act, seen) }
    }

    /// Lets the inspectors look: a no wins, then an ask with all factors and the highest risk, then a yes.
    fn pass(&self, inspectors: &[(Inspector, Inspect)]) -> Ruling {
        let mut allowed: Option<(Inspector, String)> = None;
        let mut asked: Option<(Inspector, String)> = None;
        let (mut highest, mut asks_itself, mut is_raised, mut all) = (Risk::Low, false, false, Vec::new());
        for (inspector, inspect) in inspectors {
            match inspect(self) {
                Opinion::Fine(None) => {}
                Opinion::Fine(Some(rule)) => allowed = Some((*inspector, rule)),
                Opinion::Ask { rule, risk, factors } => {
                    asked.get_or_insert((*inspector, rule));
                    asks_itself = true;
                    highest = risk.max(highest);
                    all.extend(factors);
                }
                Opinion::Raise { rule, factors } => {
                    asked.get_or_insert((*inspector, rule));
                    is_raised = true;
                    all.extend(factors);
                }
                Opinion::Deny { rule, advice } => return Ruling::deny(*inspector, rule, advice),
            }
        }
        let nature = self.nature();
        match asked {
            Some((inspector, rule)) => {
                // What would be allowed without it has the lowest risk with it.
                let risk = if is_raised && asks_itself { highest.raised() } else { highest };
                let (verdict, permit) = (Verdict::Ask { risk, factors: all }, self.permit(true));
                Ruling { verdict, inspector, rule, nature, permit }
            }
            None => {
                let as_a_tool = || (Inspector::Tools, asks_nobody(self.act.tool()));
                let ((inspector, rule), permit) = (allowed.unwrap_or_else(as_a_tool), self.permit(false));
                Ruling { verdict: Verdict::Allow, inspector, rule, nature, permit }
            }
        }
    }

    /// What is known of the tool; `None` for what is Synod's own, and for a foreign tool whose facts did not come in.
    fn traits(&self) -> Option<Traits> {
        if let Some(found) = self.foreign() {
            return Some(Traits { needs: found.needs, nature: found.nature, inside: false });
        }
        let facts = tool::facts(self.act.tool())?;
        Some(Traits { needs: facts.needs, nature: facts.nature, inside: facts.inside })
    }

    /// The facts about a foreign tool.
    fn foreign(&self) -> Option<&'a Offer> {
        let (Act::Foreign(act), Some(place)) = (self.act, self.place) else { return None };
        place.state.foreign.facts(act)
    }

    /// Whether it speaks to people or systems outside the home, as far as its arguments say.
    fn is_outward(&self) -> bool {
        self.act.reach().outward.is_some() || self.foreign().is_some_and(|found| found.outward)
    }

    /// What repeating the act would do.
    fn nature(&self) -> Nature {
        let usual = || self.traits().map_or(Nature::Once, |traits| traits.nature);
        self.command.as_ref().map_or_else(usual, |command| command.nature)
    }

    fn wants_network(&self) -> bool {
        self.command.as_ref().is_some_and(|command| command.wants_network)
    }

    /// Whether it changes something that people would look at. An agent's file is what the owner trusts, so what is written
    /// there counts, too.
    fn changes(&self) -> bool {
        let is_definition = self.act.reach().listener == Some(Listener::NewAgent);
        let is_inside = self.traits().is_some_and(|traits| traits.inside);
        is_definition || (self.nature() != Nature::Read && !is_inside)
    }

    fn permit(&self, asked: bool) -> Permit {
        match self.act.runs() {
            Runs::Command(_) if asked => Permit { writes: true, network: self.wants_network() },
            Runs::OwnersCommand(_) => Permit { writes: true, network: false },
            Runs::Command(_) | Runs::Nothing => Permit::NONE,
        }
    }
}

#[cfg(test)]
mod tests;
