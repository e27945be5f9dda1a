//! `synod.yaml` and `policy/commands.yaml` as data: what the owner of the home settled.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::topics::agent::{Spec, bounds};
use crate::topics::caps::{Budgets, Rate};
use crate::topics::claude;
use crate::topics::role;
use crate::topics::role::Role;
use crate::words::id::AgentId;
use crate::words::usage::Price;
use crate::words::usage::Usage;
use policy::command;
use policy::path::Pattern;

/// `synod.yaml`. Every part has a default, so an empty file is a valid one.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Providers by name.
    pub providers: BTreeMap<String, Provider>,
    /// Model aliases.
    pub models: BTreeMap<String, ModelRef>,
    /// What models cost, by alias or by the model's own name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub prices: BTreeMap<String, Price>,
    /// Bounds on what is done.
    pub limits: Limits,
    /// What may be spent.
    #[serde(skip_serializing_if = "Budgets::is_none")]
    pub budgets: Budgets,
    /// Who gets what comes in.
    pub routing: Routing,
    /// What happens to approvals that nobody answers.
    pub approvals: Approvals,
    /// How plans begin.
    #[serde(skip_serializing_if = "crate::topics::plan::Settings::is_default")]
    pub planning: crate::topics::plan::Settings,
    /// How work is reviewed.
    #[serde(skip_serializing_if = "crate::topics::review::Settings::is_default")]
    pub review: crate::topics::review::Settings,
    /// Roles beside the built-in ones.
    pub roles: BTreeMap<String, Role>,
    /// How a conversation that outgrows its model's window is shortened.
    #[serde(skip_serializing_if = "Context::is_default")]
    pub context: Context,
    /// How the home's history is kept.
    #[serde(skip_serializing_if = "Git::is_default")]
    pub git: Git,
    /// What is known of files by where they lie.
    #[serde(skip_serializing_if = "Trust::is_empty")]
    pub trust: Trust,
    /// How files are searched.
    #[serde(skip_serializing_if = "Search::is_default")]
    pub search: Search,
    /// What commands may read beside the system and their workspace, and whether they run without a sandbox.
    #[serde(skip_serializing_if = "Sandbox::is_default")]
    pub sandbox: Sandbox,
    /// How the audit log is signed.
    #[serde(skip_serializing_if = "Audit::is_default")]
    pub audit: Audit,
}

/// `git:`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Git {
    /// Whether Synod commits what changes in the home.
    pub autocommit: bool,
    /// How long changes are collected into one commit.
    pub batch_ms: u64,
}

impl Default for Git {
    fn default() -> Self {
        Self { autocommit: true, batch_ms: 1_000 }
    }
}

impl Git {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// `sandbox:`
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Sandbox {
    /// Folders and files of the system, absolute or from `~/` on.
    pub read: Vec<String>,
    /// Whether commands run also where the system offers no sandbox.
    #[serde(rename = "unsafe", skip_serializing_if = "std::ops::Not::not")]
    pub is_unsafe: bool,
}

/// Folders that no command may read as a whole, whatever it is for.
const TOO_MUCH: [&str; 8] = ["etc", "home", "root", "run", "tmp", "var", "Users", "mnt"];
/// Folders in which the system shows itself.
const SYSTEM_ITSELF: [&str; 3] = ["proc", "sys", "dev"];

impl Sandbox {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// What speaks against a place, by its spelling alone.
    pub fn problem(place: &str) -> Option<&'static str> {
        let (rest, is_own) = match (place.strip_prefix("~/"), place.strip_prefix('/')) {
            (Some(rest), _) => (rest, true),
            (None, Some(rest)) => (rest, false),
            (None, None) if place == "~" => ("", true),
            (None, None) => return Some("is no absolute path; begin it with / or ~/"),
        };
        let parts: Vec<&str> = rest.split('/').filter(|part| !part.is_empty()).collect();
        if parts.iter().any(|part| matches!(*part, "." | "..")) {
            return Some("has a part that is only dots");
        }
        let is_whole = match (parts.as_slice(), is_own) {
            ([], _) => true,
            ([first], false) => TOO_MUCH.contains(first),
            // The folder of a person.
            (["home" | "Users", _], false) => true,
            (_, _) => false,
        };
        if is_whole {
            return Some("is too much: name the folder that is needed");
        }
        if !is_own && SYSTEM_ITSELF.contains(&parts[0]) {
            return Some("is the system itself");
        }
        let is_closed = command::is_closed(place) || command::is_closed(&format!("{place}/x"));
        is_closed.then_some("names credentials or control files")
    }
}

/// `search:`
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Search {
    /// Who turns text into vectors; without it, words alone are searched.
    pub embeddings: Option<Embeddings>,
}

impl Search {
    fn is_default(&self) -> bool {
        self.embeddings.is_none()
    }
}

/// `search: embeddings:`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Embeddings {
    /// A name of `providers`, of the kind `openai`.
    pub provider: String,
    /// The model's name there.
    pub model: String,
}

/// `trust:`
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Trust {
    /// Patterns ([`Pattern`]) of paths whose content anybody may have written.
    pub outside: Vec<String>,
    /// Patterns ([`Pattern`]) of paths whose content only these agents may see.
    pub secret: BTreeMap<String, Vec<AgentId>>,
}

impl Trust {
    /// Whether some agents may not see what stands at `path`.
    pub fn is_secret(&self, path: &str) -> bool {
        self.secret.keys().any(|pattern| Pattern::new(pattern).covers(path))
    }

    /// Whether an agent may see what stands at `path`, as far as the owner's patterns say.
    pub fn may_see(&self, agent: &AgentId, path: &str) -> bool {
        let concerning = self.secret.iter().filter(|(pattern, _)| Pattern::new(pattern).covers(path));
        concerning.into_iter().all(|(_, readers)| readers.contains(agent))
    }

    fn is_empty(&self) -> bool {
        self.outside.is_empty() && self.secret.is_empty()
    }
}

impl Settings {
    /// A role by name: the home's own, else a built-in one.
    pub fn role(&self, name: &str) -> Option<&Role> {
        self.roles.get(name).or_else(|| role::BUILTIN.get(name))
    }

    /// The model that sums up for an agent: the one that the settings name for summaries, else its own.
    pub fn summary_model<'a>(&'a self, spec: &'a Spec) -> &'a String {
        self.context.summary_model.as_ref().unwrap_or(&spec.model.primary)
    }

    /// What an alias stands for. An agent may also name a model as its provider does.
    pub fn target(&self, alias: &str) -> Option<&ModelRef> {
        let named = || self.models.values().find(|target| target.model == alias);
        self.models.get(alias).or_else(named)
    }

    /// Tokens of the longest answer that may be asked of a model, as far as it is known: what the settings say, else the
    /// limit of Anthropic's family, but at most a quarter of the window, so that the conversation has room beside it.
    pub fn answer_max(&self, alias: &str) -> Option<u32> {
        let target = self.target(alias)?;
        let of_family = || match self.providers.get(&target.provider)? {
            Provider::Anthropic(_) => {
                let window = target.context_tokens.unwrap_or(CONTEXT_TOKENS);
                Some(claude::answer_max(&target.model).min(u32::try_from(window / 4).unwrap_or(u32::MAX)))
            }
            Provider::Scripted { .. }
            | Provider::OpenAi(_)
            | Provider::Record { .. }
            | Provider::Replay { .. } => None,
        };
        target.max_tokens.or_else(of_family)
    }

    /// The files with rules that providers name.
    pub fn scripts(&self) -> impl Iterator<Item = &str> {
        self.providers.values().filter_map(|provider| match provider {
            Provider::Scripted { script } => Some(script.as_str()),
            Provider::OpenAi(_)
            | Provider::Anthropic(_)
            | Provider::Record { .. }
            | Provider::Replay { .. } => None,
        })
    }
}

/// A way to reach models.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Provider {
    /// Answers from rules in a file: no key, no network.
    Scripted {
        /// The rules, relative to the home.
        script: String,
    },
    /// OpenAI's chat completions, by whoever speaks them: OpenAI, Ollama, llama.cpp, vLLM, gateways.
    #[serde(rename = "openai")]
    OpenAi(Endpoint),
    /// Anthropic's messages.
    Anthropic(Endpoint),
    /// Asks another provider and keeps what it said on a tape.
    Record {
        /// The file, relative to the home.
        tape: String,
        /// A name of `providers`.
        of: String,
    },
    /// Answers from a tape: no key, no network.
    Replay {
        /// The file, relative to the home.
        tape: String,
        /// Which answer of the tape a request gets.
        #[serde(default)]
        by: TapeOrder,
    },
}

/// Which answer of a tape a request gets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TapeOrder {
    /// The answer to exactly this request.
    #[default]
    Request,
    /// The next answer of this agent, whatever it is asked: for a run whose prompts have changed since.
    Agent,
}

/// Where and how a provider is asked over HTTP.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    /// Everything before `/chat/completions` or `/messages`.
    pub base_url: String,
    /// Where the key is; absent: none is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<KeySource>,
    /// Sent along with every request.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Whether answers come in pieces.
    pub stream: bool,
    /// `anthropic-version`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// `OpenAI-Organization`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub organization: Option<String>,
    /// A proxy; those of the environment are not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy: Option<String>,
    /// How long to wait for what.
    #[serde(default)]
    pub timeouts: Timeouts,
    /// What the account allows, for all agents together.
    #[serde(default, skip_serializing_if = "Rate::is_none")]
    pub limits: Rate,
}

impl Endpoint {
    /// A place to ask, with defaults for all else.
    pub fn new(base_url: impl Into<String>) -> Self {
        Self {
            base_url: base_url.into(),
            key: None,
            headers: BTreeMap::new(),
            stream: true,
            version: None,
            organization: None,
            proxy: None,
            timeouts: Timeouts::default(),
            limits: Rate::default(),
        }
    }
}

/// Where a key is. The key itself is never part of the settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeySource {
    /// In this variable of the environment.
    Env(String),
    /// In this file, which only its owner may read.
    File(String),
    /// In the keyring of the system, under this name.
    Keyring(String),
}

/// How long a provider may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Timeouts {
    /// To be reached.
    pub connect_ms: u64,
    /// To begin its answer, from the question on.
    pub first_byte_ms: u64,
    /// Between two pieces of its answer.
    pub idle_ms: u64,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { connect_ms: 10_000, first_byte_ms: 300_000, idle_ms: 120_000 }
    }
}

/// What an alias stands for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelRef {
    /// A name of `providers`.
    pub provider: String,
    /// The model's name there.
    pub model: String,
    /// Tokens that its window holds, the answer included; absent: [`CONTEXT_TOKENS`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<u64>,
    /// Tokens of its longest answer; absent: what is known of it by its name ([`Settings::answer_max`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
}

/// The window of a model of which the settings do not say how large it is.
pub const CONTEXT_TOKENS: u64 = 128_000;

/// `context:`
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Context {
    /// The model that summarises; absent: the agent's own.
    pub summary_model: Option<String>,
}

impl Context {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// How long a command waits for a provider, unless the settings say so.
const OUTAGE_WAIT_MS: u64 = 120_000;

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_default_outage_wait(ms: &u64) -> bool {
    *ms == OUTAGE_WAIT_MS
}

/// `limits:`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// Turns of one session until somebody new speaks.
    pub turns_max: u32,
    /// Turns of all agents together that one request may cause through their messages.
    #[serde(skip_serializing_if = "is_default_request_turns")]
    pub request_turns_max: u32,
    /// Tool calls of one turn.
    pub calls_max: u32,
    /// The same call in a row; the next is refused.
    pub same_call_max: u32,
    /// Sessions working at the same time, all agents together.
    pub parallel_max: u32,
    /// Tasks that may be open at once.
    pub tasks_max: u32,
    /// How often a failed model call is tried.
    pub model_attempts_max: u32,
    /// How long `synod run` and `synod pump` wait for a provider that does not answer; a daemon waits for ever.
    #[serde(skip_serializing_if = "is_default_outage_wait")]
    pub outage_wait_ms_max: u64,
    /// How long a model may give no sign of an answer. What comes in pieces may take any time.
    pub model_ms_max: u64,
    /// Whether the time in which a model is asked counts as working time of a task.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub count_model_time: bool,
    /// How long one tool call may take.
    pub tool_ms_max: u64,
    /// Bytes of a tool's output that go into the session.
    pub output_bytes_max: u64,
    /// What becomes of work that is delegated to an agent without a free slot.
    #[serde(skip_serializing_if = "WhenFull::is_default")]
    pub delegation_when_full: WhenFull,
    /// Whether delegated work goes on after a crash in the middle of a call that must not be repeated.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub delegation_retry: bool,
    /// How many agents may stand above one that is spawned, each spawned by the one before.
    #[serde(skip_serializing_if = "is_default_spawn_depth")]
    pub spawn_depth_max: u32,
    /// Spawned agents that may be there at once.
    #[serde(skip_serializing_if = "is_default_spawned")]
    pub spawned_max: u32,
    /// Agents that may have work under way at once when work is delegated.
    #[serde(skip_serializing_if = "is_default_total_agents")]
    pub max_total_agents: u32,
    /// Tasks that may be under way at once when work is delegated.
    #[serde(skip_serializing_if = "is_default_total_tasks")]
    pub max_total_tasks: u32,
    /// `max_delegation_depth` of an agent whose file does not say it.
    #[serde(skip_serializing_if = "is_default_delegation_depth")]
    pub default_delegation_depth: u32,
    /// `lock_lease_ms`, `lock_wait_ms`, `lock_queue_max`.
    #[serde(skip_serializing_if = "LockLimits::is_default")]
    pub locks: LockLimits,
}

/// What bounds locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LockLimits {
    /// How long an agent that does nothing keeps a lock.
    pub lease_ms: u64,
    /// How long a call waits for a lock unless it says so itself.
    pub wait_ms: u64,
    /// How many may wait for one lock.
    pub queue_max: u32,
}

impl Default for LockLimits {
    fn default() -> Self {
        Self { lease_ms: 300_000, wait_ms: 60_000, queue_max: 16 }
    }
}

impl LockLimits {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// What becomes of work that is delegated to an agent without a free slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WhenFull {
    /// It waits, as one of at most `max_pending_queue`.
    #[default]
    Queue,
    /// It is not taken.
    Reject,
}

impl WhenFull {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// What `limits.max_total_agents` is unless it is set.
const TOTAL_AGENTS_MAX: u32 = 20;
/// What `limits.max_total_tasks` is unless it is set.
const TOTAL_TASKS_MAX: u32 = 100;

fn is_default_total_agents(most: &u32) -> bool {
    *most == TOTAL_AGENTS_MAX
}

fn is_default_total_tasks(most: &u32) -> bool {
    *most == TOTAL_TASKS_MAX
}

fn is_default_delegation_depth(depth: &u32) -> bool {
    *depth == bounds::DELEGATION_DEPTH.2
}

/// What `limits.spawn_depth_max` is unless it is set.
const SPAWN_DEPTH_MAX: u32 = 3;
/// What `limits.spawned_max` is unless it is set.
const SPAWNED_MAX: u32 = 50;

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_default_spawn_depth(depth: &u32) -> bool {
    *depth == SPAWN_DEPTH_MAX
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_default_spawned(number: &u32) -> bool {
    *number == SPAWNED_MAX
}

/// What `limits.request_turns_max` is unless it is set.
const REQUEST_TURNS_MAX: u32 = 250;

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_default_request_turns(turns: &u32) -> bool {
    *turns == REQUEST_TURNS_MAX
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            turns_max: 25,
            request_turns_max: REQUEST_TURNS_MAX,
            calls_max: 16,
            same_call_max: 3,
            parallel_max: 16,
            tasks_max: 10_000,
            model_attempts_max: 3,
            outage_wait_ms_max: OUTAGE_WAIT_MS,
            model_ms_max: 600_000,
            count_model_time: false,
            tool_ms_max: 60_000,
            output_bytes_max: 32_768,
            delegation_when_full: WhenFull::Queue,
            delegation_retry: false,
            max_total_agents: TOTAL_AGENTS_MAX,
            max_total_tasks: TOTAL_TASKS_MAX,
            default_delegation_depth: bounds::DELEGATION_DEPTH.2,
            spawn_depth_max: SPAWN_DEPTH_MAX,
            spawned_max: SPAWNED_MAX,
            locks: LockLimits::default(),
        }
    }
}

/// `routing:`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Routing {
    /// Inbox file (`slack-messages`) to agent.
    pub inbox: BTreeMap<String, AgentId>,
    /// Tag pattern to agent, tried in order.
    pub tags: Vec<(String, AgentId)>,
    /// Whether words of the request (plan, fix, review) say who gets it.
    #[serde(skip_serializing_if = "is_true")]
    pub keywords: bool,
    /// Who splits a request that nobody answers for; the first with the role `planner` if none is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub planner: Option<AgentId>,
    /// Who gets what nobody else gets.
    pub fallback: Option<AgentId>,
}

impl Default for Routing {
    fn default() -> Self {
        Self { inbox: BTreeMap::new(), tags: Vec::new(), keywords: true, planner: None, fallback: None }
    }
}

fn is_true(flag: &bool) -> bool {
    *flag
}

/// `approvals:`
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Approvals {
    /// Milliseconds until an unanswered approval lapses; never if absent.
    pub expire_ms: Option<u64>,
    /// What happens then.
    #[serde(skip_serializing_if = "OnExpiry::is_default")]
    pub on_expiry: OnExpiry,
}

/// What happens to an approval that nobody answered in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnExpiry {
    /// It counts as a no.
    #[default]
    Reject,
    /// It is asked once more, before all others; then it counts as a no.
    Escalate,
}

impl OnExpiry {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// `audit:`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Audit {
    /// Lines after which a checkpoint is signed.
    pub checkpoint_every: u64,
    /// The key that signs; else one that Synod makes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_file: Option<String>,
}

impl Default for Audit {
    fn default() -> Self {
        Self { checkpoint_every: 64, key_file: None }
    }
}

impl Audit {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// What an answer of the model with this alias costs, in millionths; `None` if the price is unknown.
pub fn cost(settings: &Settings, alias: &str, usage: &Usage) -> Option<u64> {
    let target = settings.target(alias);
    match target.and_then(|target| settings.providers.get(&target.provider)) {
        // Rules and tapes cost nothing.
        Some(Provider::Scripted { .. } | Provider::Replay { .. }) => return Some(0),
        Some(Provider::OpenAi(_) | Provider::Anthropic(_) | Provider::Record { .. }) | None => {}
    }
    let own = settings.prices.get(alias);
    let price = own.or_else(|| settings.prices.get(&target?.model))?;
    Some(price.of(usage))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::usage::{Price, Usage};

    #[test]
    fn a_secret_path_is_secret_in_every_spelling_and_at_every_depth() {
        let finance = AgentId::new("finance");
        let secret = BTreeMap::from([("memory/pay/*".to_owned(), vec![finance.clone()])]);
        let trust = Trust { outside: Vec::new(), secret };
        for (path, is_secret) in [
            ("memory/pay/june.md", true),
            ("memory/pay/2026/june.md", true),
            ("memory/pay", true),
            ("Memory/PAY/june.md", true),
            ("memory/payment.md", false),
            ("memory", false),
        ] {
            assert_eq!(trust.is_secret(path), is_secret, "{path}");
            assert_eq!(trust.may_see(&AgentId::new("coder"), path), !is_secret, "{path}");
            assert!(trust.may_see(&finance, path), "{path}");
        }
    }

    #[test]
    fn a_price_is_found_by_alias_then_by_model_and_is_otherwise_unknown() {
        let price = |input| Price { input, ..Price::default() };
        let settings = Settings {
            models: [("big", "large-1"), ("small", "tiny-1"), ("odd", "odd-1"), ("script", "x")]
                .map(|(alias, model)| {
                    let provider = if alias == "script" { "script" } else { "gone" }.to_owned();
                    (
                        alias.to_owned(),
                        ModelRef {
                            provider,
                            model: model.to_owned(),
                            context_tokens: None,
                            max_tokens: None,
                        },
                    )
                })
                .into(),
            providers: [("script".to_owned(), Provider::Scripted { script: "s.yaml".to_owned() })].into(),
            prices: [("big".to_owned(), price(2_000_000)), ("tiny-1".to_owned(), price(1_000_000))].into(),
            ..Settings::default()
        };
        let usage = Usage::of(10, 0);
        assert_eq!(cost(&settings, "big", &usage), Some(20));
        assert_eq!(cost(&settings, "small", &usage), Some(10));
        assert_eq!(cost(&settings, "odd", &usage), None);
        assert_eq!(cost(&settings, "nobody", &usage), None);
        assert_eq!(cost(&settings, "script", &usage), Some(0));
    }
}
