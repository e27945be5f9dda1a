//! Tools: what an agent can ask for, what each needs, and what kind of effect it has.
//! Nothing here runs anything.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::delegation;
use crate::id::{AgentId, CallId};
use crate::message::Urgency;
use crate::plan;
use crate::review;
use crate::role::Permission;
use crate::spawn;
pub use crate::tools::{
    ApproveWork, Check, ContextGet, ContextPut, CreateDirectory, CreatePlan, CreateTask, Delegate, EmailSend,
    ExecuteCommand, Extract, GitCommit, GitDiff, GitUpdate, Lint, ListDirectory, ListSessions, Lock,
    MemorySearch, MergeBranch, QueryTasks, RaiseBudget, ReadFile, ReadSession, RequestReview, RunTests,
    SearchFiles, SendMessage, SlackRead, SlackSend, SpawnAgent, TerminateAgent, Unlock, UpdateTask,
    WriteFile,
};
use policy::Nature;

/// One tool call that a model asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// Unique in its session.
    pub id: CallId,
    /// The arguments exactly as the model wrote them, for the session file.
    pub arguments: String,
    /// What is asked for.
    pub want: Want,
    /// What the world looked like when it was asked for, if that matters to the act.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<Seen>,
}

/// What an act depends on outside of its words, as it was when the agent asked: an approval is for this.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Seen {
    /// Each thing it depends on: the program, files it names, where it runs.
    pub parts: Vec<Part>,
    /// Reasons to ask a person that lie in the world and not in the words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Whether commands run in a sandbox here.
    pub sandbox: bool,
}

/// One thing that an act depends on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// In words: `program /usr/bin/df`, `file deploy.sh`.
    pub what: String,
    /// The same thing has the same digest.
    pub digest: String,
}

impl Seen {
    /// What differs in `now`, in words; `None` if nothing does.
    pub fn difference(&self, now: &Self) -> Option<String> {
        let missing = |here: &Self, there: &Self| {
            here.parts.iter().find(|part| !there.parts.contains(part)).map(|part| part.what.clone())
        };
        if self.sandbox != now.sandbox {
            return Some("the sandbox".to_owned());
        }
        missing(self, now).or_else(|| missing(now, self))
    }
}

/// What a command may do beyond reading its workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Permit {
    /// Write in its workspace.
    pub writes: bool,
    /// Reach the network.
    pub network: bool,
}

impl Permit {
    /// Neither.
    pub const NONE: Self = Self { writes: false, network: false };

    /// Whether it is the smallest.
    pub fn is_none(&self) -> bool {
        *self == Self::NONE
    }

    /// What both allow.
    pub fn both(self, other: Self) -> Self {
        Self { writes: self.writes && other.writes, network: self.network && other.network }
    }
}

/// What a call asks for, once its arguments were read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Want {
    /// Something Synod can do.
    Act(Act),
    /// Nothing it can do: no such tool, or arguments that do not fit its schema.
    Invalid {
        /// The tool's name as the model wrote it.
        tool: String,
        /// What to do better, for the model.
        error: String,
    },
}

impl Call {
    /// The arguments and the tool as one text, by which calls are compared.
    pub(crate) fn act(&self) -> String {
        format!("{}{}", self.arguments, self.want.tool())
    }

    /// Whether `act` is this call's.
    pub(crate) fn is_act(&self, act: &str) -> bool {
        act.strip_prefix(self.arguments.as_str()) == Some(self.want.tool())
    }
}

impl Want {
    /// The tool's name.
    pub fn tool(&self) -> &str {
        match self {
            Self::Act(act) => act.tool(),
            Self::Invalid { tool, .. } => tool,
        }
    }
}

/// An action with its arguments. In JSON: `{"tool": "read_file", "arguments": {"path": "…"}}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "tool", content = "arguments", rename_all = "snake_case", deny_unknown_fields)]
pub enum Act {
    /// Read a text file beneath the home.
    ReadFile(ReadFile),
    /// List a folder beneath the home.
    ListDirectory(ListDirectory),
    /// Find text in files, the best first.
    SearchFiles(SearchFiles),
    /// Let a model without tools answer one question about a text that is not to be trusted.
    Extract(Extract),
    /// Write a whole file.
    WriteFile(WriteFile),
    /// Make a folder and those above it.
    CreateDirectory(CreateDirectory),
    /// Run a command in the agent's workspace.
    ExecuteCommand(ExecuteCommand),
    /// Commit what changed in the agent's workspace.
    GitCommit(GitCommit),
    /// Show what changed in the agent's workspace.
    GitDiff(GitDiff),
    /// Bring what others merged meanwhile into the agent's branch, in its workspace.
    GitUpdate(GitUpdate),
    /// Run the tests that the owner set for the agent's workspace.
    RunTests(RunTests),
    /// Run the checks that the owner set for the agent's workspace.
    Lint(Lint),
    /// Ask another agent to look at what is committed on the caller's branch, and wait for what it says.
    RequestReview(RequestReview),
    /// Say whether the work that the caller was asked to look at is good.
    ApproveWork(ApproveWork),
    /// Merge work that was approved, as it was approved.
    MergeBranch(MergeBranch),
    /// Split the caller's task into tasks that wait for each other.
    CreatePlan(CreatePlan),
    /// Add a task.
    CreateTask(CreateTask),
    /// Change a task that the caller works on, asked for, or is the parent of.
    UpdateTask(UpdateTask),
    /// Read-only SQL over all task files.
    QueryTasks(QueryTasks),
    /// Say something to another agent.
    SendMessage(SendMessage),
    /// Make a new agent, with at most the rights of whoever asks.
    SpawnAgent(SpawnAgent),
    /// End an agent that was spawned, with all that it does.
    TerminateAgent(TerminateAgent),
    /// Take a lock, and wait for it if somebody has it.
    Lock(Lock),
    /// Give a lock back.
    Unlock(Unlock),
    /// Hand a piece of work to another agent, and wait for what comes of it.
    Delegate(Delegate),
    /// Find text in memory, the best first.
    MemorySearch(MemorySearch),
    /// Read a shared context, as far as a grant goes.
    ContextGet(ContextGet),
    /// Write a shared context, as far as a grant goes. Either `content`, or `field` and `value`.
    ContextPut(ContextPut),
    /// List conversations, the newest first.
    ListSessions(ListSessions),
    /// Read a conversation.
    ReadSession(ReadSession),
    /// Read messages that came in from Slack.
    SlackRead(SlackRead),
    /// Look whether what a task demands is there. Synod's own; no agent has it.
    Check(Check),
    /// Let a budget that is used up be passed once. Synod asks a person for it; no agent has it.
    RaiseBudget(RaiseBudget),
    /// Post to Slack, through `inbox/slack-outbox.jsonl`.
    SlackSend(SlackSend),
    /// Send a mail, through `inbox/email-outbox.jsonl`.
    EmailSend(EmailSend),
}

/// Facts about one tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// Its name.
    pub name: &'static str,
    /// What a role must have for it.
    pub needs: Option<Permission>,
    /// What repeating it would do, unless the policy says otherwise for a command.
    pub nature: Nature,
    /// Whether the domain itself carries it out, as events.
    pub inside: bool,
}

/// Every tool of this version, in the order of the documentation.
pub const ALL: [Facts; 33] = [
    fact("read_file", Some(Permission::ReadFiles), Nature::Read),
    fact("list_directory", Some(Permission::ReadFiles), Nature::Read),
    fact("search_files", Some(Permission::ReadFiles), Nature::Read),
    fact("write_file", Some(Permission::WriteFiles), Nature::Idempotent),
    fact("create_directory", Some(Permission::WriteFiles), Nature::Idempotent),
    fact("execute_command", Some(Permission::ExecuteTools), Nature::Once),
    // The commit carries the effect's id, and is looked for before it is made again.
    fact("git_commit", Some(Permission::ExecuteTools), Nature::Idempotent),
    fact("git_diff", Some(Permission::ExecuteTools), Nature::Read),
    // A merge that is made, or under way, is found as such.
    fact("git_update", Some(Permission::WriteFiles), Nature::Idempotent),
    fact("run_tests", Some(Permission::ExecuteTools), Nature::Idempotent),
    fact("lint", Some(Permission::ExecuteTools), Nature::Idempotent),
    // It only looks where the branch stands; the rest are events.
    fact(review::ASK, None, Nature::Read),
    Facts { needs: Some(Permission::ApproveWork), ..inside(review::ANSWER) },
    // The merge commit names its review, and is looked for before it is made again.
    fact(review::MERGE, Some(Permission::ApproveWork), Nature::Idempotent),
    inside(plan::TOOL),
    inside("create_task"),
    inside("update_task"),
    fact("query_tasks", None, Nature::Read),
    inside("send_message"),
    inside("lock"),
    inside("unlock"),
    inside(delegation::TOOL),
    Facts { needs: Some(Permission::SpawnAgents), ..inside(spawn::SPAWN) },
    Facts { needs: Some(Permission::SpawnAgents), ..inside(spawn::TERMINATE) },
    fact("memory_search", Some(Permission::ReadFiles), Nature::Read),
    fact("extract", Some(Permission::ReadFiles), Nature::Read),
    // Grants decide, whatever the role.
    fact("context_get", None, Nature::Read),
    fact("context_put", None, Nature::Idempotent),
    fact("list_sessions", Some(Permission::ReadFiles), Nature::Read),
    fact("read_session", Some(Permission::ReadFiles), Nature::Read),
    fact("slack_read", None, Nature::Read),
    // The outbox line carries the effect's id, and is looked for before it is written again.
    fact("slack_send", Some(Permission::ExecuteTools), Nature::Idempotent),
    fact("email_send", Some(Permission::ExecuteTools), Nature::Idempotent),
];

const fn fact(name: &'static str, needs: Option<Permission>, nature: Nature) -> Facts {
    Facts { name, needs, nature, inside: false }
}

const fn inside(name: &'static str) -> Facts {
    Facts { name, needs: None, nature: Nature::Idempotent, inside: true }
}

/// The name of the act that looks at evidence. Not in the list of tools: no model can ask for it.
pub const CHECK: &str = "check";

/// The facts about a tool by name.
pub fn facts(name: &str) -> Option<&'static Facts> {
    ALL.iter().find(|f| f.name == name)
}

impl Act {
    /// Says something to another agent, and wants an answer some time.
    pub fn send_message(to: AgentId, content: impl Into<String>) -> Self {
        Self::SendMessage(SendMessage {
            to,
            content: content.into(),
            kind: None,
            priority: Urgency::Normal,
            reply_to: None,
            wait_ms: None,
            approved: None,
            issues: Vec::new(),
        })
    }

    /// Reads a whole file.
    pub fn read_file(path: impl Into<String>) -> Self {
        Self::ReadFile(ReadFile { path: path.into(), from_line: None, lines: None })
    }

    /// The tool's name.
    pub fn tool(&self) -> &'static str {
        match self {
            Self::ReadFile(_) => "read_file",
            Self::ListDirectory(_) => "list_directory",
            Self::SearchFiles(_) => "search_files",
            Self::WriteFile(_) => "write_file",
            Self::CreateDirectory(_) => "create_directory",
            Self::ExecuteCommand(_) => "execute_command",
            Self::GitCommit(_) => "git_commit",
            Self::GitDiff(_) => "git_diff",
            Self::GitUpdate(_) => "git_update",
            Self::RunTests(_) => "run_tests",
            Self::Lint(_) => "lint",
            Self::RequestReview(_) => review::ASK,
            Self::ApproveWork(_) => review::ANSWER,
            Self::MergeBranch(_) => review::MERGE,
            Self::CreatePlan(_) => plan::TOOL,
            Self::CreateTask(_) => "create_task",
            Self::UpdateTask(_) => "update_task",
            Self::QueryTasks(_) => "query_tasks",
            Self::SendMessage(_) => "send_message",
            Self::Lock(_) => "lock",
            Self::Unlock(_) => "unlock",
            Self::Delegate(_) => delegation::TOOL,
            Self::SpawnAgent(_) => spawn::SPAWN,
            Self::TerminateAgent(_) => spawn::TERMINATE,
            Self::MemorySearch(_) => "memory_search",
            Self::Extract(_) => "extract",
            Self::ContextGet(_) => "context_get",
            Self::ContextPut(_) => "context_put",
            Self::ListSessions(_) => "list_sessions",
            Self::ReadSession(_) => "read_session",
            Self::SlackRead(_) => "slack_read",
            Self::Check(_) => CHECK,
            Self::RaiseBudget(_) => "raise_budget",
            Self::SlackSend(_) => "slack_send",
            Self::EmailSend(_) => "email_send",
        }
    }

    /// The SHA-256 of the act in its journal form, with what it depends on and what it may do: the same act in the
    /// same world has the same digest, any other differs.
    pub fn digest(&self, seen: Option<&Seen>, permit: Permit) -> String {
        // An act that depends on nothing has the digest of its words alone, as in journals of the first version.
        let bytes = match (seen, permit) {
            (None, Permit::NONE) => serde_json::to_vec(self),
            more => serde_json::to_vec(&(self, more)),
        };
        let bytes = bytes.unwrap_or_default();
        Sha256::digest(&bytes).iter().map(|b| format!("{b:02x}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_act_reads_from_the_json_a_model_writes() {
        let act: Act = serde_json::from_str(
            r#"{"tool":"create_task","arguments":{"title":"Look","assignee":"retriever-001","depends_on":["task-001"]}}"#,
        )
        .unwrap();
        assert_eq!(act.tool(), "create_task");
        assert!(facts(act.tool()).unwrap().inside);
    }

    #[test]
    fn a_digest_tells_acts_apart() {
        let one = Act::ExecuteCommand(ExecuteCommand { command: "df -h".to_owned() });
        let two = Act::ExecuteCommand(ExecuteCommand { command: "df -h ".to_owned() });
        let digest = |act: &Act| act.digest(None, Permit::NONE);
        assert_eq!(digest(&one), digest(&one.clone()));
        assert_ne!(digest(&one), digest(&two));
        let part = Part { what: "program /usr/bin/df".to_owned(), digest: "00".to_owned() };
        let seen = Seen { parts: vec![part], notes: Vec::new(), sandbox: true };
        assert_ne!(digest(&one), one.digest(Some(&seen), Permit::NONE));
        assert_ne!(digest(&one), one.digest(None, Permit { writes: true, network: false }));
    }
}
