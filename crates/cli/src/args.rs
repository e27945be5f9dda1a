//! The command line. Each doc comment is the help text.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::out::Color;
use crate::templates::Template;

/// Runs a team of AI agents out of one folder.
///
/// Every agent, conversation, task and approval is a text file that you can read, edit, grep and `git log`.
///
/// Exit codes: 0 ok, 1 failed, 2 usage, 3 waiting for a person, 4 no key or a refused one,
/// 5 limit, 6 denied by policy, 7 daemon unreachable, 124 time-out, 130 interrupted.
#[derive(Debug, Parser)]
#[command(
    name = "synod",
    version,
    max_term_width = 100,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "Begin with: synod demo"
)]
pub struct Args {
    /// The home; else the nearest folder upwards that has a synod.yaml.
    #[arg(long, global = true, env = "SYNOD_HOME", value_name = "DIR")]
    pub home: Option<PathBuf>,
    /// Print for programs: one JSON object, or one a line on streams.
    #[arg(long, global = true)]
    pub json: bool,
    /// When to use colour; `auto` does on a terminal, unless NO_COLOR is set.
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t,
        value_name = "WHEN",
        hide_possible_values = true
    )]
    pub color: Color,
    /// Never ask on the terminal: end with exit code 3 when a person must decide.
    #[arg(long, global = true)]
    pub no_input: bool,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The words of the command line. Clap's own `help` knows no `--help`; `help help` is the same.
pub fn given(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = words.collect();
    if let [_, help, wanted] = words.as_mut_slice()
        && *help == "help"
        && (*wanted == "--help" || *wanted == "-h")
    {
        *wanted = help.clone();
    }
    words
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make a home with a small team, ready to run without a key.
    #[command(
        after_help = "Example: synod init my-team && cd my-team && synod up\n         synod init --repo ~/src/my-project"
    )]
    Init {
        /// The folder; made if it does not exist. That of --home if left out, or else this one.
        dir: Option<PathBuf>,
        /// The team: one that answers questions, or one that changes code and reviews it.
        #[arg(long, value_enum, default_value = "team", conflicts_with = "repo")]
        template: Template,
        /// Make a team for this git repository, in a folder beside it (PATH-team).
        #[arg(long, value_name = "PATH")]
        repo: Option<PathBuf>,
        /// Make it in the repository, as the folder `.team`, which git ignores.
        #[arg(long, requires = "repo", conflicts_with = "dir")]
        inside: bool,
        /// The command that runs the tests of the repository.
        #[arg(long, requires = "repo", value_name = "COMMAND")]
        test: Option<String>,
        /// The command that checks the repository without running it.
        #[arg(long, requires = "repo", value_name = "COMMAND")]
        lint: Option<String>,
        /// Take what was found without asking.
        #[arg(long, requires = "repo")]
        yes: bool,
        /// Make the home in a folder that is not empty; files in it are kept.
        #[arg(long)]
        here: bool,
        /// Do not make it a git repository: no `synod history`, no `synod undo`.
        #[arg(long)]
        no_git: bool,
    },
    /// Watch four agents answer a question, with scripted models: no key, no network.
    #[command(after_help = "Example: synod demo --yes --home /tmp/my-demo")]
    Demo {
        /// Approve everything without asking.
        #[arg(long)]
        yes: bool,
        /// Do not make the home a git repository.
        #[arg(long)]
        no_git: bool,
    },
    /// Work in the home until you stop it with Ctrl-C; reacts to every edit.
    #[command(after_help = "Example: synod up --home my-team")]
    Up,
    /// Do all that can be done now, then exit: 0 if nothing is left, 3 if a person must decide or do something.
    #[command(after_help = "Example: synod pump; synod approve --all; synod pump")]
    Pump {
        /// Give up after so many seconds, with exit code 124.
        #[arg(long, default_value_t = 600, value_name = "SECONDS")]
        timeout: u64,
    },
    /// Give the team a request and work until it is answered.
    #[command(after_help = "Example: synod run \"Is there enough disk space for the nightly backup?\"")]
    Run {
        /// What you want.
        request: String,
        /// Who shall do it; else routing decides.
        #[arg(long, value_name = "AGENT")]
        to: Option<String>,
        /// Give up after so many seconds, with exit code 124.
        #[arg(long, default_value_t = 600, value_name = "SECONDS")]
        timeout: u64,
    },
    /// Show what is going on: agents, tasks, what waits for you.
    #[command(after_help = "Example: synod status --json | jq .tasks")]
    Status,
    /// Show what waits for you: approvals, plans on hold, tasks for `human`.
    #[command(after_help = "Example: synod inbox")]
    Inbox,
    /// Approve what an agent asked for, or let a plan on hold begin.
    #[command(after_help = "Example: synod approve approval-0001\n         synod approve task-003")]
    Approve {
        /// Which; see `synod inbox`.
        #[arg(required_unless_present = "all", conflicts_with = "all")]
        approval: Option<String>,
        /// Everything that waits.
        #[arg(long)]
        all: bool,
    },
    /// Try again now: a task that failed, or work that waits for a provider.
    ///
    /// A task that failed is opened again and goes on in its conversation.
    #[command(
        after_help = "Example: synod retry task-003\n         synod retry --provider openai\n         synod retry --all"
    )]
    Retry {
        /// A task that failed, or that waits for a provider.
        #[arg(required_unless_present_any = ["all", "provider"], conflicts_with_all = ["all", "provider"])]
        task: Option<String>,
        /// All providers that do not answer, and all tasks that failed.
        #[arg(long, conflicts_with = "provider")]
        all: bool,
        /// This provider.
        #[arg(long, value_name = "NAME")]
        provider: Option<String>,
    },
    /// Reject what an agent asked for, or cancel a plan on hold.
    #[command(after_help = "Example: synod reject approval-0001 --reason \"use the staging database\"")]
    Reject {
        /// Which; see `synod inbox`.
        approval: String,
        /// Why; the agent is told.
        #[arg(long, default_value = "")]
        reason: String,
    },
    /// End a task, a delegation, a session or a run, with all that is below it.
    #[command(after_help = "Example: synod cancel task-001\n         synod cancel run task-001")]
    Cancel {
        /// Its id; see `synod task list`, `synod delegation list` and `synod session list`. Or the word `run`.
        what: String,
        /// After `run`: the task or the session with which it began. All that was made for it ends, whoever made it.
        #[arg(required_if_eq("what", "run"))]
        run: Option<String>,
    },
    /// List, inspect and cancel runs: a request and all that was made for it.
    #[command(subcommand, after_help = "Example: synod runs list")]
    Runs(RunsCommand),
    /// See what agents handed on to each other.
    #[command(subcommand, after_help = "Example: synod delegation list")]
    Delegation(DelegationCommand),
    /// See whose work was looked at by whom, and what came of it.
    #[command(subcommand, after_help = "Example: synod review show review-0001")]
    Review(ReviewCommand),
    /// See who has which lock, and take one away.
    #[command(subcommand, after_help = "Example: synod lock list")]
    Lock(LockCommand),
    /// See and add tasks.
    #[command(subcommand, after_help = "Example: synod task add \"Look at the logs\" --to executor-001")]
    Task(TaskCommand),
    /// See agents.
    #[command(subcommand, after_help = "Example: synod agent show executor-001 --why")]
    Agent(AgentCommand),
    /// See conversations and speak in them.
    #[command(subcommand, after_help = "Example: synod session show planner-001-3f9a2c")]
    Session(SessionCommand),
    /// See what agents and people say to each other, and say something.
    #[command(
        subcommand,
        after_help = "Example: synod message send planner-001 \"Please plan for Monday, too.\""
    )]
    Message(MessageCommand),
    /// Show what changed in the home, who did it and why, newest first.
    #[command(
        after_help = "Example: synod history --task task-003\n         synod history policy/commands.yaml"
    )]
    History {
        /// Only what touched this file or folder, relative to the home.
        path: Option<String>,
        /// Only what this agent did or took part in.
        #[arg(long, value_name = "AGENT")]
        agent: Option<String>,
        /// Only what is about this task.
        #[arg(long, value_name = "TASK")]
        task: Option<String>,
        /// At most so many.
        #[arg(long, default_value_t = 20, value_name = "N")]
        limit: usize,
    },
    /// Take one commit of the home back, with a new commit; a daemon that runs follows.
    #[command(after_help = "Example: synod undo last --dry-run\n         synod undo 3f9a2c1b")]
    Undo {
        /// An id of `synod history`, or `last`.
        commit: String,
        /// Only show what would change.
        #[arg(long)]
        dry_run: bool,
    },
    /// Show open tasks and what each waits for: tasks, people, answers, locks, delegated work, slots, budgets.
    #[command(after_help = "Example: synod graph\n         synod graph --format svg > waits.svg")]
    Graph {
        /// How: a tree for people, a file for Graphviz, a picture, or for programs.
        #[arg(long, value_enum, default_value_t = GraphFormat::Text)]
        format: GraphFormat,
    },
    /// Say who would get a request, before you give it; exit code 1 if nobody takes it.
    #[command(
        after_help = "Example: synod route --explain \"Fix the failing login test\" --tag code:backend"
    )]
    Route {
        /// What you want.
        request: String,
        /// The kind of work; may be given again.
        #[arg(long)]
        tag: Vec<String>,
        /// Who shall do it.
        #[arg(long, value_name = "AGENT")]
        to: Option<String>,
        /// Show every rule that is tried, in order, and why it fits or does not.
        #[arg(long)]
        explain: bool,
    },
    /// See which files are not to be trusted, and vouch for one.
    #[command(subcommand, after_help = "Example: synod trust list")]
    Trust(TrustCommand),
    /// See shared contexts and who may see what of them; grant and revoke.
    #[command(subcommand, after_help = "Example: synod context grant customers coder-001 --until 7d")]
    Context(ContextCommand),
    /// Ask the command policy before anything runs.
    #[command(subcommand, after_help = "Example: synod policy check -- 'git log'")]
    Policy(PolicyCommand),
    /// See what was decided and done, and check that the record is as it was written.
    #[command(subcommand, after_help = "Example: synod audit log --since 24h")]
    Audit(AuditCommand),
    /// Show what was spent.
    #[command(after_help = "Example: synod cost --by model --since 7d")]
    Cost {
        /// What to add it up by.
        #[arg(long, value_enum, default_value_t = CostBy::Agent)]
        by: CostBy,
        /// Not before this day of UTC (2026-01-31), or so long ago (7d).
        #[arg(long, value_name = "TIME")]
        since: Option<String>,
    },
    /// See and set what may be spent.
    #[command(subcommand, after_help = "Example: synod budget set day --money 5")]
    Budget(BudgetCommand),
    /// Read every file of the home and tell what is wrong with it.
    #[command(after_help = "Example: synod check --home my-team")]
    Check,
    /// Tell what this system offers: sandbox, git, file watching, keys; and how the home is.
    ///
    /// Exit code 1 if something is missing that Synod needs.
    #[command(after_help = "Example: synod doctor --json | jq '.findings[] | select(.state != \"good\")'")]
    Doctor,
    /// Print the JSON Schema of a kind of file, for editors.
    #[command(after_help = "Example: synod schema agent > schemas/agent.json")]
    Schema {
        /// Which kind; without it, all kinds are listed.
        kind: Option<String>,
    },
}

/// What costs are added up by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum CostBy {
    /// Who spent it.
    Agent,
    /// The task, or the session if it is about none.
    Task,
    /// The request, with all that was made for it.
    Run,
    /// The model's alias.
    Model,
    /// The day of UTC.
    Day,
}

impl CostBy {
    /// The word on the command line and in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Task => "task",
            Self::Run => "run",
            Self::Model => "model",
            Self::Day => "day",
        }
    }
}

/// `synod budget …`
#[derive(Debug, Subcommand)]
pub enum BudgetCommand {
    /// Show every budget: its cap, what is spent and reserved, and what waits for it.
    #[command(after_help = "Example: synod budget show --json | jq .parked")]
    Show,
    /// Set a budget in synod.yaml; all else in the file stays as it is. A daemon that runs follows.
    #[command(
        group = clap::ArgGroup::new("amount").args(["tokens", "money"]).required(true).multiple(true),
        after_help = "Example: synod budget set day --money 5\n         synod budget set month --agent coder-001 --tokens 5000000\n         synod budget set run --money none"
    )]
    Set {
        /// How long it holds.
        #[arg(value_parser = ["day", "month", "run"])]
        window: String,
        /// Only for this agent.
        #[arg(long, value_name = "AGENT")]
        agent: Option<String>,
        /// The most tokens; 0 for none at all, `none` for no cap.
        #[arg(long, value_name = "NUMBER")]
        tokens: Option<String>,
        /// The most money, in the currency of `prices`; 0 for none at all, `none` for no cap.
        #[arg(long, value_name = "AMOUNT")]
        money: Option<String>,
    },
}

/// `synod review …`
#[derive(Debug, Subcommand)]
pub enum ReviewCommand {
    /// List reviews with their last round, the newest first.
    #[command(after_help = "Example: synod review list --json")]
    List,
    /// Show a review with all its rounds: commits, checks, issues, and the merge.
    #[command(after_help = "Example: synod review show review-0001")]
    Show {
        /// Which.
        id: String,
    },
}

/// `synod delegation …`
#[derive(Debug, Subcommand)]
pub enum DelegationCommand {
    /// List delegations, the newest first.
    #[command(after_help = "Example: synod delegation list --json")]
    List,
    /// Show a delegation and the chain that it is a part of.
    #[command(after_help = "Example: synod delegation show delegation-0001")]
    Show {
        /// Which.
        id: String,
    },
}

/// `synod runs …`
#[derive(Debug, Subcommand)]
pub enum RunsCommand {
    /// List runs, the newest first: state, who asked, tasks, agents, cost and age.
    #[command(after_help = "Example: synod runs list --json | jq '.runs[] | select(.state == \"waiting\")'")]
    List {
        /// Only runs that are not over.
        #[arg(long)]
        open: bool,
    },
    /// Show a run: its tasks and sessions, counters, budget, deadline, and what it waits for.
    #[command(after_help = "Example: synod runs show task-001")]
    Show {
        /// The task or the session with which it began; see `synod runs list`.
        id: String,
    },
    /// End a run: all that was made for it ends, whoever made it.
    #[command(after_help = "Example: synod runs cancel task-001")]
    Cancel {
        /// The task or the session with which it began; see `synod runs list`.
        id: String,
    },
}

/// `synod lock …`
#[derive(Debug, Subcommand)]
pub enum LockCommand {
    /// List locks: who has each, since when, until when, its fencing number, and who waits.
    #[command(after_help = "Example: synod lock list --json | jq '.locks[] | select(.queue != [])'")]
    List,
    /// Take a lock away from who has it; whoever waits gets it, and what the other still writes under it is refused. A
    /// workspace is not taken away while a call runs in it.
    #[command(after_help = "Example: synod lock free file:memory/notes.md")]
    Free {
        /// Its name; see `synod lock list`.
        name: String,
    },
}

/// How `synod graph` shows what it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum GraphFormat {
    /// A tree.
    Text,
    /// For Graphviz.
    Dot,
    /// A picture.
    Svg,
    /// As `--json`.
    Json,
}

/// `synod trust …`
#[derive(Debug, Subcommand)]
pub enum TrustCommand {
    /// List files that agents wrote from what came from outside, or that not all may see.
    #[command(after_help = "Example: synod trust list")]
    List,
    /// Say that you read a file and stand for it, exactly as it is now.
    #[command(after_help = "Example: synod trust vouch memory/notes.md")]
    Vouch {
        /// Relative to the home.
        path: String,
    },
}

/// `synod context …`
#[derive(Debug, Subcommand)]
pub enum ContextCommand {
    /// List contexts: owner, size, who may do what, until when.
    #[command(after_help = "Example: synod context list")]
    List,
    /// Show a context: all of it, or what one agent sees.
    ///
    /// Exit code 6 if the agent sees nothing.
    #[command(after_help = "Example: synod context show customers --as coder-001")]
    Show {
        /// Which.
        context: String,
        /// Only what this agent sees.
        #[arg(long = "as", value_name = "AGENT")]
        by: Option<String>,
    },
    /// Grant a context to an agent or a role; what was granted to them before is replaced.
    #[command(
        after_help = "Example: synod context grant customers coder-001 --redact customer.email --until 7d\n         \
                      synod context grant plan --role planner --access read_write"
    )]
    Grant {
        /// Which.
        context: String,
        /// To this agent.
        #[arg(required_unless_present = "role", conflicts_with = "role")]
        agent: Option<String>,
        /// To every agent with this role.
        #[arg(long)]
        role: Option<String>,
        /// What for.
        #[arg(long, default_value = "read", value_parser = ["read", "read_write"])]
        access: String,
        /// A field that is not shown, such as customer.email, in every item of a list; contacts.0.email is that of the
        /// first item, and contacts.*.email that of any item or field. May be given again.
        #[arg(long, value_name = "FIELD")]
        redact: Vec<String>,
        /// When it ends: with a day (2026-01-31), at a time (2026-01-31T12:00:00Z), or after so long (7d).
        #[arg(long, value_name = "TIME")]
        until: Option<String>,
    },
    /// Take back what was granted to an agent or a role.
    #[command(after_help = "Example: synod context revoke customers coder-001")]
    Revoke {
        /// Which.
        context: String,
        /// From this agent.
        #[arg(required_unless_present = "role", conflicts_with = "role")]
        agent: Option<String>,
        /// From this role.
        #[arg(long)]
        role: Option<String>,
    },
}

/// `synod task …`
#[derive(Debug, Subcommand)]
pub enum TaskCommand {
    /// List tasks, as a tree.
    #[command(after_help = "Example: synod task list --open")]
    List {
        /// Only those that have not ended.
        #[arg(long)]
        open: bool,
    },
    /// Show one task with everything its file says.
    #[command(after_help = "Example: synod task show task-003")]
    Show {
        /// Which.
        id: String,
    },
    /// Add a task.
    #[command(
        after_help = "Example: synod task add \"Check the Redis container\" --to executor-001 --tag ops:check"
    )]
    Add {
        /// One line.
        title: String,
        /// Details.
        #[arg(long, default_value = "")]
        text: String,
        /// Who shall do it; else routing decides.
        #[arg(long, value_name = "AGENT")]
        to: Option<String>,
        /// The kind of work.
        #[arg(long)]
        tag: Option<String>,
        /// A letter from A (first) to F.
        #[arg(long, value_name = "LETTER")]
        priority: Option<char>,
        /// A task that must end first; may be given again.
        #[arg(long, value_name = "TASK")]
        after: Vec<String>,
        /// The task it is a part of.
        #[arg(long, value_name = "TASK")]
        parent: Option<String>,
        /// The task file, below tasks/.
        #[arg(long, default_value = "requests.task.md")]
        file: String,
        /// Ask a person before each act with an effect.
        #[arg(long)]
        approval_required: bool,
    },
    /// Mark a task, as in its file: what is done or cancelled ends, what is opened begins again.
    #[command(after_help = "Example: synod task mark task-005 done --why \"the new key is in the safe\"")]
    Mark {
        /// Which.
        id: String,
        /// done, failed, cancelled or open.
        #[arg(value_parser = ["done", "failed", "cancelled", "open"])]
        mark: String,
        /// Why; whoever waits for it is told.
        #[arg(long, default_value = "", hide_default_value = true)]
        why: String,
    },
    /// Ask with SQL, read-only: tables tasks, properties, depends.
    #[command(after_help = "Example: synod task query \"SELECT id, title FROM tasks WHERE mark = 'open'\"")]
    Query {
        /// One SELECT.
        sql: String,
    },
}

/// `synod agent …`
#[derive(Debug, Subcommand)]
pub enum AgentCommand {
    /// List agents and what they are doing.
    #[command(after_help = "Example: synod agent list")]
    List,
    /// Make an agent while the team works. Its id is its role and eight hex digits; its file says who made it.
    #[command(
        after_help = "Example: synod agent spawn coder --goal 'Fix the login' --responsibility 'code:*'"
    )]
    Spawn {
        /// A role, such as coder.
        role: String,
        /// A name for people.
        #[arg(long)]
        name: Option<String>,
        /// What it is for.
        #[arg(long, default_value = "", hide_default_value = true)]
        goal: String,
        /// Its model; that of another agent of the role if left out.
        #[arg(long)]
        model: Option<String>,
        /// A kind of work that goes to it, as a pattern; may be given several times.
        #[arg(long, value_name = "PATTERN")]
        responsibility: Vec<String>,
    },
    /// End a spawned agent: what it does is given up, whoever waits is told, and its file goes.
    #[command(after_help = "Example: synod agent terminate coder-1a2b3c4d --reason 'no longer needed'")]
    Terminate {
        /// Which.
        agent: String,
        /// Why; those who waited for it are told.
        #[arg(long, default_value = "", hide_default_value = true)]
        reason: String,
    },
    /// Show one agent: what it may do, and by which rule.
    #[command(after_help = "Example: synod agent show executor-001 --why")]
    Show {
        /// Which.
        id: String,
        /// Name the rule for each tool.
        #[arg(long)]
        why: bool,
    },
}

/// `synod policy …`
#[derive(Debug, Subcommand)]
pub enum PolicyCommand {
    /// Say whether agents may run a command: allow (exit code 0), ask (3) or deny (6), with risk and reasons.
    ///
    /// Inside a home its policy/commands.yaml counts; elsewhere the built-in rules alone. Nothing is run.
    #[command(after_help = "Example: synod policy check --json -- 'git log --oneline | head -5'")]
    Check {
        /// Also say whether this agent may run commands at all.
        #[arg(long, value_name = "ID")]
        agent: Option<String>,
        /// The command as one text. Several words are the words of one command, and none of them an operator.
        #[arg(last = true, required = true, value_name = "COMMAND")]
        command: Vec<String>,
    },
}

/// `synod session …`
#[derive(Debug, Subcommand)]
pub enum SessionCommand {
    /// List conversations, newest first.
    #[command(after_help = "Example: synod session list")]
    List,
    /// Show a conversation.
    #[command(after_help = "Example: synod session show planner-001-3f9a2c")]
    Show {
        /// Which.
        id: String,
    },
    /// Say something to an agent, in a conversation or in a new one.
    #[command(after_help = "Example: synod session send planner-001 \"Please also check the memory.\"")]
    Send {
        /// A session or an agent.
        to: String,
        /// What.
        text: String,
    },
}

/// `synod message …`
#[derive(Debug, Subcommand)]
pub enum MessageCommand {
    /// Show the newest messages of all conversations, oldest first.
    #[command(after_help = "Example: synod message list --agent planner-001 --channel direct")]
    List(MessageFilter),
    /// Say something to an agent, or to all of them; a sleeping agent is woken.
    #[command(after_help = "Example: synod message send broadcast \"We stop at five.\" --priority high")]
    Send {
        /// An agent, a session, `broadcast`, or a channel that agents listen to, such as `#ops`.
        to: String,
        /// What.
        text: String,
        /// low, normal, high or critical; of several that wait, the most urgent is read first.
        #[arg(long, default_value = "normal", value_name = "PRIORITY")]
        priority: String,
    },
    /// Show messages as they are sent, until so many (--limit) were shown.
    #[command(after_help = "Example: synod message tail --channel state --agent planner-001 --json")]
    Tail {
        /// Which.
        #[command(flatten)]
        filter: MessageFilter,
        /// Begin with the first message of the journal.
        #[arg(long)]
        all: bool,
    },
}

/// Which messages.
#[derive(Debug, clap::Args)]
pub struct MessageFilter {
    /// Only those from or to this agent.
    #[arg(long, value_name = "AGENT")]
    pub agent: Option<String>,
    /// Only those from this agent or person (`person:dana`).
    #[arg(long, value_name = "WHO")]
    pub from: Option<String>,
    /// Only those of this channel: task, direct, dependency, help, control, or one that agents listen to; or state, which is what conversations do, and why.
    #[arg(long, value_name = "CHANNEL")]
    pub channel: Option<String>,
    /// Only this request and its answers.
    #[arg(long, value_name = "ID")]
    pub correlation: Option<String>,
    /// At most so many.
    #[arg(long, default_value_t = 1000, value_name = "N")]
    pub limit: usize,
}

/// `synod audit …`
#[derive(Debug, Subcommand)]
pub enum AuditCommand {
    /// Show decisions of the gate, tool calls, approvals, delegations and changes of configuration, oldest first.
    #[command(after_help = "Example: synod audit log --agent executor-001 --outcome deny --since 24h")]
    Log(AuditFilter),
    /// Check every line and every signed checkpoint; name the first line that is not as it was written.
    ///
    /// Exits with 0 if all is as it was written, and with 1 if anything was changed, removed, reordered, added or cut.
    #[command(
        after_help = "Example: synod audit verify --key \"$(cat audit.pub)\" --checkpoint kept.checkpoint"
    )]
    Verify {
        /// Trust only this key (as `synod audit key` printed it); may be given again.
        #[arg(long, value_name = "VKEY")]
        key: Vec<String>,
        /// Check against checkpoints that you kept elsewhere; may be given again.
        #[arg(long, value_name = "FILE")]
        checkpoint: Vec<PathBuf>,
        /// Fail if the home is no git repository; if it is one, its history is checked anyway.
        #[arg(long)]
        against_git: bool,
    },
    /// Print the public key that checks the signatures, for others to keep.
    #[command(after_help = "Example: synod audit key > audit.pub")]
    Key,
}

/// Which lines of the log to show.
#[derive(Debug, Default, clap::Args)]
pub struct AuditFilter {
    /// Only of this agent.
    #[arg(long)]
    pub agent: Option<String>,
    /// Only of this tool or file; `*` stands for anything.
    #[arg(long, value_name = "PATTERN")]
    pub action: Option<String>,
    /// Only with this outcome: allow, ask, deny, done, failed, unknown, approved, rejected …
    #[arg(long)]
    pub outcome: Option<String>,
    /// Only of this kind: gate, call, approval, delegation, review, config, model, run, log.
    #[arg(long)]
    pub kind: Option<String>,
    /// Only for this task.
    #[arg(long)]
    pub task: Option<String>,
    /// Not before this time (2026-01-31T12:00:00Z), or so long ago (24h).
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// Not after this time, or so long ago.
    #[arg(long, value_name = "TIME")]
    pub until: Option<String>,
    /// Only the last so many.
    #[arg(long, value_name = "NUMBER")]
    pub limit: Option<usize>,
}
