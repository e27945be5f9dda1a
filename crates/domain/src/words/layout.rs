//! The layout of a home: where each file is, what kind of file it is, and who may touch it. Paths are relative to the home,
//! with `/`. Nothing else spells them.

use crate::words::id::TaskId;
use std::fmt::Display;

use crate::words::id::AgentId;
use policy::path::beneath;

/// The settings of the home.
pub const SETTINGS: &str = "synod.yaml";
/// Settings in the form of another program, for a home without `synod.yaml`.
pub const EVE: &str = "eve.json";
/// The files of settings; the first that is there counts.
pub const SETTINGS_FILES: [&str; 2] = [SETTINGS, EVE];
/// How the agents of the home work together.
pub const RUN_MODE: &str = "run_mode.yaml";
/// Another folder for `run_mode.yaml`.
pub const PROJECT: &str = ".project";
/// `run_mode.yaml` there.
pub const PROJECT_RUN_MODE: &str = ".project/run_mode.yaml";
/// JSON schemas for editors.
pub const SCHEMAS: &str = "schemas";
/// One file for each agent.
pub const AGENTS: &str = "agents";
/// What commands may run unasked.
pub const POLICY: &str = "policy";
/// The policy itself.
pub const COMMANDS: &str = "policy/commands.yaml";
/// Task files.
pub const TASKS: &str = "tasks";
/// The approvals that people are asked for, as a task file.
pub const QUEUE: &str = "tasks/approvals.task.md";
/// One file for each conversation.
pub const SESSIONS: &str = "sessions";
/// One file for each approval, in one of three folders.
pub const APPROVALS: &str = "approvals";
/// Lines that came in from outside, and lines that go out.
pub const INBOX: &str = "inbox";
/// Messages of Slack that came in.
pub const SLACK_MESSAGES: &str = "inbox/slack-messages.jsonl";
/// Messages that go out by Slack.
pub const SLACK_OUTBOX: &str = "inbox/slack-outbox.jsonl";
/// Messages that go out by mail.
pub const EMAIL_OUTBOX: &str = "inbox/email-outbox.jsonl";
/// Shared contexts and their grants.
pub const CONTEXTS: &str = "contexts";
/// What the team keeps.
pub const MEMORY: &str = "memory";
/// One folder for each agent, and one more for each that reviews.
pub const WORKSPACES: &str = "workspaces";
/// Output of commands that was too long to show.
pub const OUTPUT: &str = "artifacts/output";

/// Logs, which only grow.
pub const LOG: &str = "log";
/// The audit log.
pub const AUDIT_LOG: &str = "log/audit.jsonl";
/// Signed checkpoints of the audit log.
pub const AUDIT_CHECKPOINTS: &str = "log/checkpoints";
/// The public keys of those signatures, oldest first.
pub const AUDIT_KEYS: &str = "log/audit.pub";
/// What answers of models cost.
pub const USAGE: &str = "log/usage.jsonl";
/// The labels of files that agents wrote.
pub const LABELS: &str = "log/labels.jsonl";

/// Synod's own folder.
pub const OWN: &str = ".synod";
/// The journal.
pub const JOURNAL: &str = ".synod/journal.db";
/// The lock of the process that runs the home.
pub const LOCK: &str = ".synod/lock";
/// The socket of that process.
pub const SOCKET: &str = ".synod/socket";
/// The key that signs the audit log, unless another is named.
pub const AUDIT_KEY: &str = ".synod/audit.key";
/// How far the audit log was written.
pub const AUDIT_MEMORY: &str = ".synod/audit.json";
/// The search index.
pub const SEARCH: &str = ".synod/search.db";
/// How far the home's history was committed.
pub const HISTORY: &str = ".synod/history";
/// Files whose content a person wants as it is.
pub const MEANT: &str = ".synod/meant.json";
/// What the files were when Synod last stopped.
pub const STAMPS: &str = ".synod/files.json";

/// Git's own folder, at any depth.
pub const GIT: &str = ".git";

/// How the file of an agent ends.
pub const AGENT_END: &str = ".agent.yaml";
/// How a task file ends.
pub const TASK_END: &str = ".task.md";
/// How the file of a conversation ends.
pub const SESSION_END: &str = ".session.yaml";
/// How the file of an approval ends.
pub const APPROVAL_END: &str = ".approval.md";
/// How a file of lines ends.
pub const LINES_END: &str = ".jsonl";
/// How a file of lines ends that go out.
pub const OUTBOX_END: &str = "-outbox.jsonl";
/// How a file of grants ends.
pub const GRANTS_END: &str = ".acl.yaml";
/// How a folder in `workspaces/` ends that has what git leaves out of the work of others.
pub const ASIDE_END: &str = ".ignored";
/// The file of an agent that has a folder.
const AGENT_JSON: &str = "agent.json";

/// Where an approval is, by what became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decided {
    /// Nobody decided yet.
    Pending,
    /// A person said yes.
    Approved,
    /// A person said no, or nobody said anything in time.
    Rejected,
}

impl Decided {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Pending, Self::Approved, Self::Rejected];

    /// The folder.
    pub fn folder(self) -> &'static str {
        match self {
            Self::Pending => "approvals/pending",
            Self::Approved => "approvals/approved",
            Self::Rejected => "approvals/rejected",
        }
    }
}

/// The file that Synod writes for an agent.
pub fn agent_file(agent: impl Display) -> String {
    format!("{AGENTS}/{agent}{AGENT_END}")
}

/// The file of an agent that has a folder.
pub fn agent_json(agent: impl Display) -> String {
    format!("{AGENTS}/{agent}/{AGENT_JSON}")
}

/// The files that may define an agent; the first that is there does.
pub fn agent_files(agent: impl Display) -> [String; 2] {
    [agent_file(&agent), agent_json(&agent)]
}

/// The agent that a file at this path defines.
pub fn agent_of(path: &str) -> Option<&str> {
    let name = inside(path, AGENTS)?;
    let name = name.strip_suffix(AGENT_END).or_else(|| name.strip_suffix(AGENT_JSON)?.strip_suffix('/'))?;
    (!name.contains('/')).then_some(name)
}

/// The file of a conversation.
pub fn session_file(session: impl Display) -> String {
    format!("{SESSIONS}/{session}{SESSION_END}")
}

/// The conversation that a file at this path is.
pub fn session_of(path: &str) -> Option<&str> {
    inside(path, SESSIONS)?.strip_suffix(SESSION_END)
}

/// Whether a path is a conversation that another agent has, or the folder of all. In doubt it is another's.
pub fn is_others_session(path: &str, agent: &AgentId) -> bool {
    let own = |session: &str| session.rsplit_once('-').is_some_and(|(whose, _)| whose == agent.as_str());
    beneath(path, SESSIONS) && !session_of(path).is_some_and(own)
}

/// The file of an approval.
pub fn approval_file(decided: Decided, approval: impl Display) -> String {
    format!("{}/{approval}{APPROVAL_END}", decided.folder())
}

/// A task file, by its name.
pub fn task_file(name: impl Display) -> String {
    format!("{TASKS}/{name}")
}

/// The workspace of an agent.
pub fn workspace(agent: impl Display) -> String {
    format!("{WORKSPACES}/{agent}")
}

/// The rest of a path behind a folder.
pub fn inside<'a>(path: &'a str, folder: &str) -> Option<&'a str> {
    path.strip_prefix(folder)?.strip_prefix('/')
}

/// Whether a path is inside a folder.
pub fn is_inside(path: &str, folder: &str) -> bool {
    inside(path, folder).is_some()
}

/// What a file is. A folder has the kind of what belongs into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `synod.yaml`.
    Settings,
    /// `run_mode.yaml`.
    RunMode,
    /// The policy for commands.
    Policy,
    /// An agent.
    Agent,
    /// A list of tasks.
    Tasks,
    /// The approvals that people are asked for.
    Queue,
    /// A conversation.
    Session,
    /// An approval.
    Approval,
    /// Lines from outside.
    Inbox,
    /// Lines that go out.
    Outbox,
    /// Who may see a shared context.
    Grants,
    /// A shared context.
    Context,
    /// What the team keeps.
    Memory,
    /// Something in a workspace.
    Workspace,
    /// A log.
    Log,
    /// A schema.
    Schema,
    /// Synod's own.
    Own,
    /// Git's own, at any depth.
    Git,
    /// Anything else.
    Other,
}

/// The kind of a file, by its path. A name that does not fit its folder is [`Kind::Other`].
pub fn kind(path: &str) -> Kind {
    if path.split('/').any(|part| part == GIT) {
        return Kind::Git;
    }
    let fits = |fits: bool, kind: Kind| if fits { kind } else { Kind::Other };
    let (top, rest) = path.split_once('/').unwrap_or((path, ""));
    let is_flat = !rest.contains('/');
    match top {
        SETTINGS | EVE => Kind::Settings,
        RUN_MODE => Kind::RunMode,
        PROJECT => fits(path == PROJECT || path == PROJECT_RUN_MODE, Kind::RunMode),
        POLICY => fits(path == POLICY || path == COMMANDS, Kind::Policy),
        AGENTS => fits(rest.is_empty() || agent_of(path).is_some(), Kind::Agent),
        TASKS if path == QUEUE => Kind::Queue,
        TASKS => fits(rest.is_empty() || is_flat && rest.ends_with(TASK_END), Kind::Tasks),
        SESSIONS => fits(rest.is_empty() || is_flat && rest.ends_with(SESSION_END), Kind::Session),
        APPROVALS => {
            let is_folder = Decided::ALL.iter().any(|decided| decided.folder() == path);
            fits(rest.is_empty() || is_folder || rest.ends_with(APPROVAL_END), Kind::Approval)
        }
        INBOX if rest.ends_with(OUTBOX_END) => Kind::Outbox,
        INBOX => fits(rest.is_empty() || rest.ends_with(LINES_END), Kind::Inbox),
        CONTEXTS if rest.ends_with(GRANTS_END) => Kind::Grants,
        CONTEXTS => Kind::Context,
        MEMORY => Kind::Memory,
        WORKSPACES => Kind::Workspace,
        LOG => Kind::Log,
        SCHEMAS => Kind::Schema,
        OWN => Kind::Own,
        _ => Kind::Other,
    }
}

/// Who may change what is at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writer {
    /// People only: this is how they keep control.
    People,
    /// Synod only, where agents may read.
    Synod,
    /// Synod only, where agents do not even see it.
    SynodUnseen,
    /// Synod prints it and people edit it; agents have tools of their own for it.
    Printed,
    /// Agents to whom it is granted, by the tools for contexts.
    Granted,
    /// Agents, by their file tools; commands do not see it.
    FileTools,
    /// The agent whose workspace it is, by file tools and by commands.
    Commands,
}

/// Who may change each folder and file at the top of a home.
pub const TOP: [(&str, Writer); 18] = [
    (SETTINGS, Writer::People),
    (EVE, Writer::People),
    (RUN_MODE, Writer::People),
    (PROJECT, Writer::People),
    (POLICY, Writer::People),
    (AGENTS, Writer::People),
    (APPROVALS, Writer::People),
    (SCHEMAS, Writer::People),
    (GIT, Writer::People),
    (LOG, Writer::Synod),
    (OWN, Writer::SynodUnseen),
    (TASKS, Writer::Printed),
    (SESSIONS, Writer::Printed),
    (INBOX, Writer::Printed),
    (CONTEXTS, Writer::Granted),
    (MEMORY, Writer::FileTools),
    ("artifacts", Writer::FileTools),
    (WORKSPACES, Writer::Commands),
];

/// Who may change what is at a path.
pub fn writer(path: &str) -> Writer {
    if matches!(kind(path), Kind::Git | Kind::Queue | Kind::Grants) {
        return Writer::People;
    }
    let top = path.split('/').next().unwrap_or_default();
    if top == WORKSPACES && path.split('/').nth(1).is_some_and(|name| name.ends_with(ASIDE_END)) {
        return Writer::SynodUnseen;
    }
    TOP.iter().find(|(name, _)| *name == top).map_or(Writer::FileTools, |(_, writer)| *writer)
}

impl Writer {
    /// Whether file tools of agents may change it.
    pub fn allows_file_tools(self) -> bool {
        match self {
            Self::FileTools | Self::Commands => true,
            Self::People | Self::Synod | Self::SynodUnseen | Self::Printed | Self::Granted => false,
        }
    }
}

/// The file of a plan for a task, or for an agent that has none.
pub fn plan_file(name: &str) -> String {
    format!("tasks/plan-{name}.task.md")
}

/// The task whose plan stands in a file, by its name.
pub fn task_of_plan(path: &str) -> Option<TaskId> {
    let name = path.strip_prefix("tasks/plan-")?.strip_suffix(".task.md")?;
    Some(TaskId::new(name))
}

/// Whether a plan may stand there.
pub fn is_plan(path: &str) -> bool {
    path.starts_with("tasks/plan-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_leads_back_to_what_it_is_for() {
        for path in agent_files("coder-001") {
            assert_eq!(agent_of(&path), Some("coder-001"));
            assert_eq!(kind(&path), Kind::Agent);
        }
        assert_eq!(agent_of("agents/a/b.agent.yaml"), None);
        assert_eq!(agent_of("agents/agent.json"), None);
        let session = session_file("coder-001-00000a");
        assert_eq!((session_of(&session), kind(&session)), (Some("coder-001-00000a"), Kind::Session));
        let (own, other) = (AgentId::new("coder-001"), AgentId::new("coder"));
        assert!(!is_others_session(&session, &own) && is_others_session(&session, &other));
        assert!(is_others_session("sessions", &own) && is_others_session("Sessions/x", &own));
        assert_eq!(approval_file(Decided::Pending, "apr-0001"), "approvals/pending/apr-0001.approval.md");
    }

    #[test]
    fn each_path_has_one_kind_and_one_writer() {
        for (path, expected, who) in [
            ("synod.yaml", Kind::Settings, Writer::People),
            (".project/run_mode.yaml", Kind::RunMode, Writer::People),
            ("policy/commands.yaml", Kind::Policy, Writer::People),
            ("agents/a.agent.yaml", Kind::Agent, Writer::People),
            ("tasks/a.task.md", Kind::Tasks, Writer::Printed),
            ("tasks/approvals.task.md", Kind::Queue, Writer::People),
            ("tasks/notes.txt", Kind::Other, Writer::Printed),
            ("approvals/pending/apr-0001.approval.md", Kind::Approval, Writer::People),
            ("inbox/mail.jsonl", Kind::Inbox, Writer::Printed),
            ("inbox/slack-outbox.jsonl", Kind::Outbox, Writer::Printed),
            ("contexts/plan.acl.yaml", Kind::Grants, Writer::People),
            ("contexts/plan.json", Kind::Context, Writer::Granted),
            ("memory/a.md", Kind::Memory, Writer::FileTools),
            ("workspaces/coder-001/src/main.rs", Kind::Workspace, Writer::Commands),
            ("workspaces/coder-001/.git/config", Kind::Git, Writer::People),
            ("workspaces/coder-001.ignored/a", Kind::Workspace, Writer::SynodUnseen),
            ("log/audit.jsonl", Kind::Log, Writer::Synod),
            (".synod/journal.db", Kind::Own, Writer::SynodUnseen),
            ("notes.md", Kind::Other, Writer::FileTools),
        ] {
            assert_eq!((kind(path), writer(path)), (expected, who), "{path}");
        }
    }

    #[test]
    fn what_agents_do_not_see_no_file_tool_writes() {
        let writable = |name: &&str| writer(name).allows_file_tools();
        let open: Vec<&str> = TOP.iter().map(|(name, _)| *name).filter(writable).collect();
        assert_eq!(open, ["memory", "artifacts", "workspaces"]);
    }
}
