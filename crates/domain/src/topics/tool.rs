//! Tools: what an agent can ask for, what each needs, and what kind of effect it has.
//! Nothing here runs anything.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::topics::closed::Closed;
use crate::topics::context::Pass;
use crate::topics::delegation;
use crate::topics::evidence::Evidence;
use crate::topics::lifecycle::Status;
use crate::topics::message::{Kind, Urgency};
use crate::topics::plan;
use crate::topics::review;
use crate::topics::role::Permission;
use crate::topics::spawn;
use crate::topics::task::{Mark, Priority};
use crate::words::id::{AgentId, CallId, ReviewId, SessionId, TaskId};
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
    /// Where the path that the agent wrote leads by links, if it leads elsewhere. The act has the path behind them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<Resolved>,
    /// Why this system or home does not offer what the act needs; the gate then denies it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// A path and what it stands for, both relative to the home.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resolved {
    /// As the agent wrote it.
    pub named: String,
    /// Without links: what is judged, shown and opened.
    pub real: String,
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
    /// The same call with what was seen. A path that leads elsewhere by links is replaced by the one behind them, so
    /// that nobody judges, locks, labels or opens it by its spelling.
    #[must_use]
    pub fn seeing(self, seen: Option<Seen>) -> Self {
        let real = seen.as_ref().and_then(|seen| seen.path.as_ref());
        let want = match (self.want, real) {
            (Want::Act(act), Some(path)) => Want::Act(act.at(&path.real)),
            (want, _) => want,
        };
        Self { want, seen, ..self }
    }

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
    ReadFile {
        /// Relative to the home.
        path: String,
        /// The first line that is shown, from 1; the first of the file if left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from_line: Option<u64>,
        /// At most so many lines; all that fit if left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lines: Option<u64>,
    },
    /// List a folder beneath the home.
    ListDirectory {
        /// Relative to the home.
        path: String,
    },
    /// Find text in files, the best first.
    SearchFiles {
        /// Words and "quoted phrases"; files that have all of them come first.
        query: String,
        /// Where; `memory` and the agent's own workspace if left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
    },
    /// Let a model without tools answer one question about a text that is not to be trusted.
    Extract {
        /// The text, relative to the home.
        path: String,
        /// What is asked.
        question: String,
        /// All that may be answered.
        answer: Closed,
    },
    /// Write a whole file.
    WriteFile {
        /// Relative to the home.
        path: String,
        /// The whole new text.
        content: String,
    },
    /// Make a folder and those above it.
    CreateDirectory {
        /// Relative to the home.
        path: String,
    },
    /// Run a command in the agent's workspace.
    ExecuteCommand {
        /// As one would type it.
        command: String,
    },
    /// Commit what changed in the agent's workspace.
    GitCommit {
        /// Why it changed.
        message: String,
        /// Only these files and folders, from the top of the workspace; all if left out.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        paths: Vec<String>,
    },
    /// Show what changed in the agent's workspace.
    GitDiff {
        /// Only this file or folder, from the top of the workspace.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
        /// A branch, tag or commit to compare with; the last commit if left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        against: Option<String>,
    },
    /// Bring what others merged meanwhile into the agent's branch, in its workspace.
    GitUpdate {
        /// Instead, undo a merge that is not committed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        take_back: bool,
    },
    /// Run the tests that the owner set for the agent's workspace.
    RunTests {},
    /// Run the checks that the owner set for the agent's workspace.
    Lint {},
    /// Ask another agent to look at what is committed on the caller's branch, and wait for what it says.
    RequestReview {
        /// What changed and why, for who looks at it.
        summary: String,
        /// Whom; somebody who may is found if left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<AgentId>,
    },
    /// Say whether the work that the caller was asked to look at is good.
    ApproveWork {
        /// Whether it is.
        approved: bool,
        /// What is wrong with it, one thing each.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        issues: Vec<String>,
    },
    /// Merge work that was approved, as it was approved.
    MergeBranch {
        /// By which review.
        review: ReviewId,
    },
    /// Split the caller's task into tasks that wait for each other.
    CreatePlan {
        /// In any order.
        tasks: Vec<plan::Step>,
    },
    /// Add a task.
    CreateTask {
        /// One line.
        title: String,
        /// Details.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        description: String,
        /// Who shall do it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        assignee: Option<AgentId>,
        /// Tasks that must end first.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        depends_on: Vec<TaskId>,
        /// The task it is a part of; the caller's own task if left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<TaskId>,
        /// Words for finding it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tags: Vec<String>,
        /// The kind of work, such as `ops:check`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tag: Option<String>,
        /// A to F.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        priority: Option<Priority>,
        /// Ask a person before each act with an effect.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        approval_required: bool,
        /// The evidence that Synod must see before it is done, one piece a line.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        done_when: Option<String>,
    },
    /// Change a task that the caller works on, asked for, or is the parent of.
    UpdateTask {
        /// Which.
        id: TaskId,
        /// `done`, `failed` or `cancelled`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<Mark>,
        /// What came of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<String>,
        /// A new title.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// A new assignee.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        assignee: Option<AgentId>,
        /// A new priority.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        priority: Option<Priority>,
        /// Tasks that must end first, in place of those it waits for now.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        depends_on: Option<Vec<TaskId>>,
    },
    /// Read-only SQL over all task files.
    QueryTasks {
        /// One SELECT.
        sql: String,
    },
    /// Say something to another agent.
    SendMessage {
        /// Whom; `broadcast` is all others, `#ops` those that listen to that channel.
        to: AgentId,
        /// What.
        content: String,
        /// What it wants; an answer if left out.
        #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
        kind: Option<Kind>,
        /// How urgent it is.
        #[serde(default, skip_serializing_if = "Urgency::is_normal")]
        priority: Urgency,
        /// Of a response: the request that it answers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reply_to: Option<String>,
        /// Of a request: stand still so long for the answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wait_ms: Option<u64>,
        /// Of a response about somebody's work: whether it is good.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        approved: Option<bool>,
        /// And what is wrong with it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        issues: Vec<String>,
    },
    /// Make a new agent, with at most the rights of whoever asks.
    SpawnAgent {
        /// Its role.
        role: String,
        /// A name for people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// What it is for.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        goal: String,
        /// Task tags it answers for, as patterns.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        responsibilities: Vec<String>,
    },
    /// End an agent that was spawned, with all that it does.
    TerminateAgent {
        /// Which.
        agent: AgentId,
        /// Why.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reason: String,
    },
    /// Take a lock, and wait for it if somebody has it.
    Lock {
        /// What for: `deploy`, `file:memory/notes.md`.
        name: String,
        /// So long at most; 0 does not wait.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wait_ms: Option<u64>,
    },
    /// Give a lock back.
    Unlock {
        /// Which.
        name: String,
    },
    /// Hand a piece of work to another agent, and wait for what comes of it.
    Delegate {
        /// To whom.
        to: AgentId,
        /// The kind of work, one that the other answers for.
        tag: String,
        /// What is to be done.
        task: String,
        /// What the other needs for it, as data.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        payload: Option<serde_json::Value>,
        /// Whether the call waits for the result; absent: it does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        callback: Option<bool>,
        /// How long it may take by the clock.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deadline_ms: Option<u64>,
        /// Contexts that the other may see meanwhile, as far as whoever asks may.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        contexts: Vec<Pass>,
    },
    /// Find text in memory, the best first.
    MemorySearch {
        /// As of `search_files`.
        query: String,
        /// At most so many files.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<u32>,
    },
    /// Read a shared context, as far as a grant goes.
    ContextGet {
        /// Its name.
        context: String,
        /// Only this field, such as `customer.name`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        field: Option<String>,
    },
    /// Write a shared context, as far as a grant goes. Either `content`, or `field` and `value`.
    ContextPut {
        /// Its name.
        context: String,
        /// All that it shall say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<String>,
        /// Only this field changes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        field: Option<String>,
        /// Into this.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        value: Option<serde_json::Value>,
    },
    /// List conversations, the newest first.
    ListSessions {
        /// Only those of this agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<AgentId>,
        /// Only those that stand so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<Status>,
        /// At most so many.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<u32>,
    },
    /// Read a conversation.
    ReadSession {
        /// Which.
        session: SessionId,
        /// At most so many messages, the newest.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last: Option<u32>,
    },
    /// Read messages that came in from Slack.
    SlackRead {
        /// At most so many, the newest.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<u32>,
    },
    /// Look whether what a task demands is there. Synod's own; no agent has it.
    Check {
        /// Of which task.
        task: TaskId,
        /// What.
        evidence: Evidence,
        /// What the agent says came of the task.
        result: String,
    },
    /// Let a budget that is used up be passed once. Synod asks a person for it; no agent has it.
    RaiseBudget {
        /// The node, as in the settings; a run with its name.
        budget: String,
        /// By so many tokens.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tokens: Option<u64>,
        /// By so much money, in millionths.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        money: Option<u64>,
    },
    /// Post to Slack, through `inbox/slack-outbox.jsonl`.
    SlackSend {
        /// Where.
        channel: String,
        /// What.
        text: String,
    },
    /// Send a mail, through `inbox/email-outbox.jsonl`.
    EmailSend {
        /// Whom: one address.
        to: String,
        /// One line.
        subject: String,
        /// What.
        text: String,
    },
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
        Self::SendMessage {
            to,
            content: content.into(),
            kind: None,
            priority: Urgency::Normal,
            reply_to: None,
            wait_ms: None,
            approved: None,
            issues: Vec::new(),
        }
    }

    /// Reads a whole file.
    pub fn read_file(path: impl Into<String>) -> Self {
        Self::ReadFile { path: path.into(), from_line: None, lines: None }
    }

    /// The path that a file tool names.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::ReadFile { path, .. }
            | Self::ListDirectory { path }
            | Self::SearchFiles { path: Some(path), .. }
            | Self::Extract { path, .. }
            | Self::WriteFile { path, .. }
            | Self::CreateDirectory { path } => Some(path),
            _ => None,
        }
    }

    /// The same act at another path.
    #[must_use]
    pub fn at(mut self, real: &str) -> Self {
        match &mut self {
            Self::ReadFile { path, .. }
            | Self::ListDirectory { path }
            | Self::SearchFiles { path: Some(path), .. }
            | Self::Extract { path, .. }
            | Self::WriteFile { path, .. }
            | Self::CreateDirectory { path } => real.clone_into(path),
            _ => {}
        }
        self
    }

    /// The tool's name.
    pub fn tool(&self) -> &'static str {
        match self {
            Self::ReadFile { .. } => "read_file",
            Self::ListDirectory { .. } => "list_directory",
            Self::SearchFiles { .. } => "search_files",
            Self::WriteFile { .. } => "write_file",
            Self::CreateDirectory { .. } => "create_directory",
            Self::ExecuteCommand { .. } => "execute_command",
            Self::GitCommit { .. } => "git_commit",
            Self::GitDiff { .. } => "git_diff",
            Self::GitUpdate { .. } => "git_update",
            Self::RunTests {} => "run_tests",
            Self::Lint {} => "lint",
            Self::RequestReview { .. } => review::ASK,
            Self::ApproveWork { .. } => review::ANSWER,
            Self::MergeBranch { .. } => review::MERGE,
            Self::CreatePlan { .. } => plan::TOOL,
            Self::CreateTask { .. } => "create_task",
            Self::UpdateTask { .. } => "update_task",
            Self::QueryTasks { .. } => "query_tasks",
            Self::SendMessage { .. } => "send_message",
            Self::Lock { .. } => "lock",
            Self::Unlock { .. } => "unlock",
            Self::Delegate { .. } => delegation::TOOL,
            Self::SpawnAgent { .. } => spawn::SPAWN,
            Self::TerminateAgent { .. } => spawn::TERMINATE,
            Self::MemorySearch { .. } => "memory_search",
            Self::Extract { .. } => "extract",
            Self::ContextGet { .. } => "context_get",
            Self::ContextPut { .. } => "context_put",
            Self::ListSessions { .. } => "list_sessions",
            Self::ReadSession { .. } => "read_session",
            Self::SlackRead { .. } => "slack_read",
            Self::Check { .. } => CHECK,
            Self::RaiseBudget { .. } => "raise_budget",
            Self::SlackSend { .. } => "slack_send",
            Self::EmailSend { .. } => "email_send",
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
        let one = Act::ExecuteCommand { command: "df -h".to_owned() };
        let two = Act::ExecuteCommand { command: "df -h ".to_owned() };
        let digest = |act: &Act| act.digest(None, Permit::NONE);
        assert_eq!(digest(&one), digest(&one.clone()));
        assert_ne!(digest(&one), digest(&two));
        let part = Part { what: "program /usr/bin/df".to_owned(), digest: "00".to_owned() };
        let seen = Seen { parts: vec![part], sandbox: true, ..Seen::default() };
        assert_ne!(digest(&one), one.digest(Some(&seen), Permit::NONE));
        assert_ne!(digest(&one), one.digest(None, Permit { writes: true, network: false }));
    }
}
