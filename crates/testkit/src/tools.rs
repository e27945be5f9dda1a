//! Hands that touch nothing: files live in a map, commands answer what a test says, and every order is noted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use domain::evidence::Evidence;
use domain::id::{AgentId, CallId, Seq, Ticket};
use domain::tool::foreign::Offer;
use domain::tool::{
    self, Act, Call, Check, ContextGet, ContextPut, CreateDirectory, ExecuteCommand, Foreign, Lint,
    ListDirectory, MemorySearch, MergeBranch, Permit, ReadFile, RunTests, SearchFiles, Seen, SlackSend, Want,
    WriteFile,
};
use policy::Nature;
use ports::model::{RawCall, Tool};
use ports::tools::{Order, Outcome, Tools};

type Answer = dyn FnMut(&Order) -> Option<Outcome> + Send;

/// Pretended tools of a home. `read` knows the types of arguments only; bounds are the real tools' business.
pub struct Bench {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    answer: Option<Box<Answer>>,
    orders: Vec<Order>,
    files: BTreeMap<String, String>,
    outbox: BTreeMap<Seq, (String, String)>,
    /// Tools of foreign servers that it pretends to reach.
    served: BTreeSet<String>,
}

impl Default for Bench {
    fn default() -> Self {
        Self::new()
    }
}

impl Bench {
    /// A bench with no files.
    pub fn new() -> Self {
        Self { inner: Mutex::default() }
    }

    /// A bench that asks `answer` first; where it has none, the bench does what the tool would.
    pub fn answering(answer: impl FnMut(&Order) -> Option<Outcome> + Send + 'static) -> Self {
        Self { inner: Mutex::new(Inner { answer: Some(Box::new(answer)), ..Inner::default() }) }
    }

    /// The same bench, which also reaches the servers of these foreign tools.
    #[must_use]
    pub fn serving(self, tools: &[&str]) -> Self {
        self.lock().served = tools.iter().map(|name| (*name).to_owned()).collect();
        self
    }

    /// Every order so far, in the order they came.
    pub fn orders(&self) -> Vec<Order> {
        self.lock().orders.clone()
    }

    /// How often each effect ran.
    pub fn runs(&self) -> BTreeMap<Seq, usize> {
        let mut runs = BTreeMap::new();
        for order in &self.lock().orders {
            *runs.entry(order.ticket.effect).or_default() += 1;
        }
        runs
    }

    /// Acts that must not run twice and did, each with its number of runs.
    pub fn doubled(&self) -> Vec<(Seq, Act, usize)> {
        let runs = self.runs();
        let mut doubled: Vec<(Seq, Act, usize)> = Vec::new();
        for order in &self.lock().orders {
            let effect = order.ticket.effect;
            let once = tool::facts(order.act.tool()).is_some_and(|f| f.nature == Nature::Once);
            let times = runs.get(&effect).copied().unwrap_or_default();
            if once && times > 1 && !doubled.iter().any(|(seq, ..)| *seq == effect) {
                doubled.push((effect, order.act.clone(), times));
            }
        }
        doubled
    }

    /// What was posted, one for each effect.
    pub fn outbox(&self) -> BTreeMap<Seq, (String, String)> {
        self.lock().outbox.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Tools for Bench {
    fn describe(&self, names: &[&str]) -> Vec<Tool> {
        let known = names.iter().filter_map(|name| tool::facts(name));
        known
            .map(|facts| Tool {
                name: facts.name.to_owned(),
                description: format!("pretends to {}", facts.name),
                schema: r#"{"type":"object"}"#.to_owned(),
            })
            .collect()
    }

    fn read(&self, raw: RawCall, number: usize) -> Call {
        let id = if raw.id.is_empty() { format!("call-{number}") } else { raw.id };
        let want = want(&raw.name, &raw.arguments)
            .map_or_else(|error| Want::Invalid { tool: raw.name, error }, Want::Act);
        Call { id: CallId::new(id), arguments: raw.arguments, want, seen: None }
    }

    fn read_foreign(&self, raw: RawCall, number: usize, found: &Offer) -> Call {
        let id = if raw.id.is_empty() { format!("call-{number}") } else { raw.id };
        let want = match object(&raw.arguments) {
            Ok(arguments) => Want::Act(Act::Foreign(found.call(arguments))),
            Err(error) => Want::Invalid { tool: raw.name, error },
        };
        Call { id: CallId::new(id), arguments: raw.arguments, want, seen: None }
    }

    async fn look(&self, _agent: &AgentId, act: &Act) -> Option<Seen> {
        match act {
            Act::ExecuteCommand(_) => Some(Seen { sandbox: true, ..Seen::default() }),
            _ => None,
        }
    }

    async fn run(&self, order: Order) -> Outcome {
        let mut inner = self.lock();
        inner.orders.push(order.clone());
        if let Some(outcome) = inner.answer.as_mut().and_then(|answer| answer(&order)) {
            return outcome;
        }
        inner.pretend(order)
    }
}

impl Inner {
    fn pretend(&mut self, order: Order) -> Outcome {
        match order.act {
            Act::ReadFile(ReadFile { path, .. }) => match self.files.get(&path) {
                Some(text) => Outcome::done(text.clone()),
                None => Outcome::failed(format!("{path} does not exist")),
            },
            Act::ListDirectory(ListDirectory { path }) => {
                let names =
                    self.files.keys().filter(|file| path == "." || file.starts_with(&format!("{path}/")));
                Outcome::done(names.cloned().collect::<Vec<_>>().join("\n"))
            }
            Act::SearchFiles(SearchFiles { query, .. }) | Act::MemorySearch(MemorySearch { query, .. }) => {
                let hits =
                    self.files.iter().filter(|(_, text)| query.split_whitespace().all(|w| text.contains(w)));
                Outcome::done(hits.map(|(file, _)| file.as_str()).collect::<Vec<_>>().join("\n"))
            }
            Act::WriteFile(WriteFile { path, content }) => {
                if path.starts_with('/') || path.split('/').any(|part| part == "..") {
                    return Outcome::failed(format!("{path} is outside the home"));
                }
                let text = format!("wrote {} bytes to {path}", content.len());
                self.files.insert(path, content);
                Outcome::done(text)
            }
            Act::CreateDirectory(CreateDirectory { path }) => Outcome::done(format!("made {path}")),
            Act::RunTests(RunTests {}) | Act::Lint(Lint {}) => Outcome::done("exit code: 0\n"),
            Act::ExecuteCommand(ExecuteCommand { command }) => {
                Outcome::done(format!("exit code: 0\nstdout:\n{command}\n"))
            }
            // The real one names the effect in the commit; the fake has no workspace, so it only answers the same.
            Act::GitCommit(_) => Outcome::done(format!("committed {}", order.ticket.effect)),
            Act::GitDiff(_) => Outcome::done("nothing differs"),
            Act::GitUpdate(_) => Outcome::done("nothing is new"),
            Act::ContextGet(ContextGet { context, .. }) => {
                match self.files.get(&format!("contexts/{context}")) {
                    Some(text) => Outcome::done(text.clone()),
                    None => Outcome::failed(format!("contexts/{context}.acl.yaml grants nothing")),
                }
            }
            Act::ContextPut(ContextPut { context, content, field, value }) => {
                let whole =
                    field.zip(value).map(|(field, value)| serde_json::json!({ field: value }).to_string());
                let text = content.or(whole).unwrap_or_default();
                self.files.insert(format!("contexts/{context}"), text);
                Outcome::done(format!("{context} is put"))
            }
            Act::QueryTasks(_) | Act::ListSessions(_) | Act::ReadSession(_) | Act::SlackRead(_) => {
                Outcome::done(String::new())
            }
            Act::SlackSend(SlackSend { channel, text }) => {
                self.outbox.entry(order.ticket.effect).or_insert((channel, text));
                Outcome::done("posted".to_owned())
            }
            Act::Extract(_) | Act::Summarize(_) => Outcome::failed("a model answers this"),
            Act::RaiseBudget(_) => Outcome::failed("a person says this"),
            Act::Check(Check { evidence, .. }) => match evidence {
                Evidence::File(path) if !self.files.contains_key(&path) => {
                    Outcome::failed(format!("not done: {path} does not exist"))
                }
                evidence => Outcome::done(format!("{evidence} is so")),
            },
            Act::Foreign(Foreign { tool, arguments, .. }) if self.served.contains(&tool) => {
                Outcome::done(format!("{tool} got {arguments}"))
            }
            Act::Foreign(Foreign { server, tool, .. }) => Outcome::failed(format!(
                "{tool} was not called: there is no connection to the server {server}"
            )),
            Act::RequestReview(_) => Outcome::failed("nothing is committed"),
            Act::MergeBranch(MergeBranch { review }) => Outcome::failed(format!("there is no {review}")),
            act => match (act.reach().outward, tool::facts(act.tool())) {
                (Some(outward), _) => {
                    let said = (outward.to.to_owned(), act.words().about.unwrap_or_default());
                    self.outbox.entry(order.ticket.effect).or_insert(said);
                    Outcome::done("sent".to_owned())
                }
                (None, Some(facts)) if !facts.inside => Outcome::done(act.words().done),
                (None, _) => Outcome::failed(format!("{} is carried out inside", act.tool())),
            },
        }
    }
}

fn want(name: &str, arguments: &str) -> Result<Act, String> {
    if tool::facts(name).is_none() {
        return Err(format!("there is no tool {name:?}"));
    }
    let arguments = object(arguments)?;
    serde_json::from_value(serde_json::json!({ "tool": name, "arguments": arguments }))
        .map_err(|e| e.to_string())
}

fn object(arguments: &str) -> Result<serde_json::Value, String> {
    let arguments: serde_json::Value = serde_json::from_str(arguments).map_err(|e| e.to_string())?;
    match arguments.is_object() {
        true => Ok(arguments),
        false => Err("the arguments are not a JSON object".to_owned()),
    }
}

/// An order with generous limits, as the first try.
pub fn order(effect: u64, agent: &str, act: Act) -> Order {
    Order {
        ticket: Ticket { effect: Seq(effect), attempt: 1 },
        agent: AgentId::new(agent),
        role: agent.rsplit_once('-').map(|(role, _)| role.to_owned()),
        line: Vec::new(),
        act,
        seen: None,
        permit: Permit { writes: true, network: false },
        approved: false,
        locks: Vec::new(),
        hold: None,
        ms_max: 10_000,
        output_bytes_max: 32_768,
        hidden: Vec::new(),
        review: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract;

    #[tokio::test]
    async fn the_bench_keeps_the_contract() {
        contract::tools::holds(&Bench::new()).await;
    }

    #[tokio::test]
    async fn a_bench_that_reaches_a_server_calls_its_tool_and_no_other() {
        let bench = Bench::new().serving(&["tracker__list"]);
        let call = |tool: &str| {
            let (server, tool) = ("tracker".to_owned(), tool.to_owned());
            Act::Foreign(Foreign { server, tool, arguments: serde_json::json!({}) })
        };
        assert_eq!(
            bench.run(order(1, "a", call("tracker__list"))).await,
            Outcome::done("tracker__list got {}")
        );
        assert!(!bench.run(order(2, "a", call("tracker__add"))).await.ok);
    }

    #[tokio::test]
    async fn a_once_act_that_ran_twice_is_named() {
        let bench = Bench::new();
        let act = Act::ExecuteCommand(ExecuteCommand { command: "date".to_owned() });
        let read = Act::read_file("a");
        bench.run(order(1, "a", act.clone())).await;
        bench.run(order(2, "a", read.clone())).await;
        bench.run(order(2, "a", read)).await;
        assert_eq!(bench.doubled(), []);
        bench.run(order(1, "a", act.clone())).await;
        assert_eq!(bench.doubled(), [(Seq(1), act, 2)]);
        assert_eq!(bench.runs(), BTreeMap::from([(Seq(1), 2), (Seq(2), 2)]));
    }
}
