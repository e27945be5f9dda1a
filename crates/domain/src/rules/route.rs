//! Who gets a piece of work: the first rule that fits and has somebody for it. In this order: the assignee it names,
//! `routing.inbox`, `routing.tags` as written, responsibilities, words of the request, `routing.planner` or who is a planner,
//! `routing.fallback`.
//! Between agents that fit a rule alike, the one with the lower `priority` gets it, then the one whose id comes first.

use crate::kernel::state::State;
use crate::topics::agent;
use crate::topics::task;
use crate::words::id::AgentId;
use policy::glob;

/// A kind of work that is known by its words, and the role that does it.
struct Class {
    name: &'static str,
    role: &'static str,
    /// In all their forms: `plan` must not be found in `explain`.
    words: &'static [&'static str],
}

/// Tried in this order, so `review the design` is planning and `fix the test` is coding.
const CLASSES: [Class; 3] = [
    Class {
        name: "planning",
        role: "planner",
        words: &[
            "plan",
            "plans",
            "planned",
            "planning",
            "design",
            "designs",
            "designed",
            "designing",
            "outline",
            "outlines",
            "outlined",
            "outlining",
        ],
    },
    Class {
        name: "coding",
        role: "coder",
        words: &[
            "implement",
            "implements",
            "implemented",
            "implementing",
            "implementation",
            "code",
            "codes",
            "coded",
            "coding",
            "fix",
            "fixes",
            "fixed",
            "fixing",
        ],
    },
    Class {
        name: "review",
        role: "reviewer",
        words: &[
            "review",
            "reviews",
            "reviewed",
            "reviewing",
            "test",
            "tests",
            "tested",
            "testing",
            "validate",
            "validates",
            "validated",
            "validating",
            "validation",
        ],
    },
];

/// One rule that was tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tried {
    /// Which, as `synod.yaml` or an agent's file has it.
    pub rule: String,
    /// Whom it would give the work to, if that is known.
    pub agent: Option<AgentId>,
    /// Whether it decided.
    pub fits: bool,
    /// Why, or why not.
    pub why: String,
}

/// The agent for a task, and the rule that chose it.
pub fn route(state: &State, spec: &task::Spec, inbox: Option<&str>) -> Option<(AgentId, String)> {
    choose(&mut Search { state, spec, inbox, tried: None })
}

/// The same, with every rule that was tried on the way, in order; the last is the one that chose, if any did.
pub fn explain(
    state: &State,
    spec: &task::Spec,
    inbox: Option<&str>,
) -> (Option<(AgentId, String)>, Vec<Tried>) {
    let mut search = Search { state, spec, inbox, tried: Some(Vec::new()) };
    let chosen = choose(&mut search);
    (chosen, search.tried.unwrap_or_default())
}

/// A look for somebody. Words for people are made only if somebody asked for them.
struct Search<'a> {
    state: &'a State,
    spec: &'a task::Spec,
    inbox: Option<&'a str>,
    tried: Option<Vec<Tried>>,
}

type Chosen = Option<(AgentId, String)>;

fn choose(search: &mut Search<'_>) -> Chosen {
    let able = able(search.state);
    by_assignee(search)
        .or_else(|| by_inbox(search))
        .or_else(|| by_tag(search))
        .or_else(|| by_responsibility(search, &able))
        .or_else(|| by_words(search, &able))
        .or_else(|| by_planner(search, &able))
        .or_else(|| by_fallback(search))
}

/// Agents that take new work, who comes first by rank first.
fn able(state: &State) -> Vec<&agent::Spec> {
    // Whom an agent spawned gets work from who names it, and draws none away from others.
    let is_free = |spec: &&agent::Spec| spec.spawned_by.as_ref().is_none_or(|by| by.parent().is_none());
    let mut able: Vec<_> =
        state.team.agents.values().filter(|a| !a.retired).map(|a| &a.spec).filter(is_free).collect();
    able.sort_by(|a, b| (a.priority, &a.id).cmp(&(b.priority, &b.id)));
    able
}

impl<'a> Search<'a> {
    fn pass(
        &mut self,
        rule: impl Fn() -> String,
        agent: Option<&AgentId>,
        why: impl Fn() -> String,
    ) -> Chosen {
        if let Some(tried) = &mut self.tried {
            tried.push(Tried { rule: rule(), agent: agent.cloned(), fits: false, why: why() });
        }
        None
    }

    fn take(&mut self, rule: impl Fn() -> String, agent: &AgentId, why: String) -> Chosen {
        if let Some(tried) = &mut self.tried {
            tried.push(Tried { rule: rule(), agent: Some(agent.clone()), fits: true, why: why.clone() });
        }
        Some((agent.clone(), why))
    }

    fn is_there(&self, agent: &AgentId) -> bool {
        self.state.employed(agent).is_some()
    }

    /// The first of the task's tags that fits.
    fn tag_for(&self, pattern: &str) -> Option<&'a str> {
        let mut tags = self.spec.tag.iter().chain(&self.spec.tags).map(String::as_str);
        tags.find(|tag| glob(pattern, tag))
    }
}

fn by_assignee(search: &mut Search<'_>) -> Chosen {
    let rule = || "assignee".to_owned();
    match &search.spec.assignee {
        // Also one that is not there: whoever named it is told so, and does not find the work elsewhere.
        Some(assignee) => search.take(rule, assignee, "it names its assignee".to_owned()),
        None => search.pass(rule, None, || "none is named".to_owned()),
    }
}

fn by_inbox(search: &mut Search<'_>) -> Chosen {
    let source = search.inbox?;
    let rule = || format!("routing.inbox: {source}");
    match search.state.config.settings.routing.inbox.get(source) {
        Some(agent) if search.is_there(agent) => {
            search.take(rule, agent, format!("routing.inbox has {source}"))
        }
        Some(agent) => search.pass(rule, Some(agent), || gone(agent)),
        None => search.pass(rule, None, || "nothing is set for it".to_owned()),
    }
}

fn by_tag(search: &mut Search<'_>) -> Chosen {
    for (pattern, agent) in &search.state.config.settings.routing.tags {
        let rule = || format!("routing.tags: {pattern}");
        let chosen = match search.tag_for(pattern) {
            Some(_) if search.is_there(agent) => {
                search.take(rule, agent, format!("routing.tags has {pattern}"))
            }
            Some(_) => search.pass(rule, Some(agent), || gone(agent)),
            None => search.pass(rule, Some(agent), || "no tag fits".to_owned()),
        };
        if chosen.is_some() {
            return chosen;
        }
    }
    None
}

fn by_responsibility(search: &mut Search<'_>, able: &[&agent::Spec]) -> Chosen {
    for agent in able.iter().filter(|agent| !agent.responsibilities.is_empty()) {
        let rule = || format!("responsibilities: {}", agent.responsibilities.join(", "));
        let chosen = match agent.responsibilities.iter().find(|p| search.tag_for(p).is_some()) {
            Some(pattern) => search.take(rule, &agent.id, format!("it is responsible for {pattern}")),
            None => search.pass(rule, Some(&agent.id), || "no tag fits".to_owned()),
        };
        if chosen.is_some() {
            return chosen;
        }
    }
    None
}

fn by_words(search: &mut Search<'_>, able: &[&agent::Spec]) -> Chosen {
    if !search.state.config.settings.routing.keywords {
        let off = || "routing.keywords is false".to_owned();
        return search.pass(|| "words".to_owned(), None, off);
    }
    for class in &CLASSES {
        let rule = || format!("words of {}", class.name);
        let found = word_of(class, search.spec);
        let agent = able.iter().find(|agent| agent.role == class.role);
        let chosen = match (found, agent) {
            (Some(word), Some(agent)) => {
                search.take(rule, &agent.id, format!("`{word}` is a word of {}", class.name))
            }
            (Some(word), None) => {
                search.pass(rule, None, || format!("it has `{word}`, but nobody is a {}", class.role))
            }
            (None, agent) => {
                search.pass(rule, agent.map(|agent| &agent.id), || "it has none of them".to_owned())
            }
        };
        if chosen.is_some() {
            return chosen;
        }
    }
    None
}

/// The first word of the request that the class knows.
fn word_of(class: &Class, spec: &task::Spec) -> Option<&'static str> {
    let words =
        [&spec.title, &spec.text].into_iter().flat_map(|text| text.split(|c: char| !c.is_alphanumeric()));
    let known = |word: &str| class.words.iter().copied().find(|known| word.eq_ignore_ascii_case(known));
    words.filter(|word| !word.is_empty()).find_map(known)
}

fn by_planner(search: &mut Search<'_>, able: &[&agent::Spec]) -> Chosen {
    let named = || "routing.planner".to_owned();
    match &search.state.config.settings.routing.planner {
        Some(agent) if search.is_there(agent) => return search.take(named, agent, named()),
        Some(agent) => _ = search.pass(named, Some(agent), || gone(agent)),
        None => {}
    }
    let rule = || "planner".to_owned();
    match able.iter().find(|agent| agent.role == "planner") {
        Some(planner) => search.take(rule, &planner.id, "the planner gets what nobody else does".to_owned()),
        None => search.pass(rule, None, || "nobody is a planner".to_owned()),
    }
}

fn by_fallback(search: &mut Search<'_>) -> Chosen {
    let rule = || "routing.fallback".to_owned();
    match &search.state.config.settings.routing.fallback {
        Some(agent) if search.is_there(agent) => search.take(rule, agent, "routing.fallback".to_owned()),
        Some(agent) => search.pass(rule, Some(agent), || gone(agent)),
        None => search.pass(rule, None, || "it is not set".to_owned()),
    }
}

fn gone(agent: &AgentId) -> String {
    format!("it fits, but there is no agent {agent}")
}
