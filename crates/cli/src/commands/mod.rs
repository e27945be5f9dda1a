//! One file a command.

mod agent;
mod audit;
mod budget;
mod check;
mod context;
mod cost;
mod delegation;
mod demo;
mod doctor;
mod graph;
mod history;
mod inbox;
mod init;
mod lock;
mod mark;
mod message;
mod policy;
mod pump;
mod review;
mod route;
mod run;
mod runs;
mod schema;
mod screen;
mod session;
mod status;
mod story;
mod task;
mod trust;
mod undo;
mod up;

use std::path::Path;

use crate::args::{
    AgentCommand, Args, AuditCommand, BudgetCommand, Command, DelegationCommand, LockCommand, MessageCommand,
    PolicyCommand, ReviewCommand, RunsCommand, SessionCommand, TaskCommand, TrustCommand,
};
use crate::failure::Exit;
use crate::home;
use crate::out::Out;
use crate::site::Occupied;

/// Does what the command line says.
pub fn run(args: Args, out: &Out) -> anyhow::Result<Exit> {
    let given = args.home.as_deref();
    match args.command {
        Command::Init { dir, repo: Some(repo), inside, test, lint, yes, here, no_git, template: _ } => {
            let dir = dir.as_deref().or(given);
            let wanted =
                init::Wanted { repo: &repo, dir, inside, test, lint, yes, occupied: Occupied::of(here) };
            init::run_for_repository(wanted, init::Git::unless(no_git), out)
        }
        Command::Init { dir, template, here, no_git, repo: None, .. } => {
            let dir = dir.as_deref().or(given).unwrap_or(Path::new("."));
            init::run(dir, template, Occupied::of(here), init::Git::unless(no_git), out)
        }
        Command::Demo { yes, no_git } => demo::run(given, yes, init::Git::unless(no_git), out),
        Command::Schema { kind } => schema::run(kind.as_deref(), out),
        Command::Up => up::run(&home::find(given)?, out),
        Command::Pump { timeout } => pump::run(&home::find(given)?, timeout, out),
        Command::Run { request, to, timeout } => {
            run::run(&home::find(given)?, &request, to.as_deref(), timeout, out)
        }
        Command::Status => status::run(&home::find(given)?, out),
        Command::Inbox => inbox::run(&home::find(given)?, out),
        Command::Approve { approval, all: _ } => mark::approve(&home::find(given)?, approval.as_deref(), out),
        Command::Retry { task, all: _, provider } => {
            mark::retry(&home::find(given)?, task.as_deref(), provider.as_deref(), out)
        }
        Command::Reject { approval, reason } => mark::reject(&home::find(given)?, &approval, &reason, out),
        Command::Cancel { what, run } => mark::cancel(&home::find(given)?, &what, run.as_deref(), out),
        Command::Runs(RunsCommand::List { open }) => runs::list(&home::find(given)?, open, out),
        Command::Runs(RunsCommand::Show { id }) => runs::show(&home::find(given)?, &id, out),
        Command::Runs(RunsCommand::Cancel { id }) => mark::cancel_run(&home::find(given)?, &id, out),
        Command::Delegation(DelegationCommand::List) => delegation::list(&home::find(given)?, out),
        Command::Delegation(DelegationCommand::Show { id }) => {
            delegation::show(&home::find(given)?, &id, out)
        }
        Command::Review(ReviewCommand::List) => review::list(&home::find(given)?, out),
        Command::Review(ReviewCommand::Show { id }) => review::show(&home::find(given)?, &id, out),
        Command::Lock(LockCommand::List) => lock::list(&home::find(given)?, out),
        Command::Lock(LockCommand::Free { name }) => lock::free(&home::find(given)?, &name, out),
        Command::Task(TaskCommand::List { open }) => task::list(&home::find(given)?, open, out),
        Command::Task(TaskCommand::Show { id }) => task::show(&home::find(given)?, &id, out),
        Command::Task(TaskCommand::Query { sql }) => task::query(&home::find(given)?, &sql, out),
        Command::Task(TaskCommand::Mark { id, mark, why }) => {
            mark::mark_task(&home::find(given)?, &id, &mark, &why, out)
        }
        Command::Task(add @ TaskCommand::Add { .. }) => mark::add_task(&home::find(given)?, add, out),
        Command::Agent(AgentCommand::List) => agent::list(&home::find(given)?, out),
        Command::Agent(AgentCommand::Show { id, why }) => agent::show(&home::find(given)?, &id, why, out),
        Command::Agent(spawn @ AgentCommand::Spawn { .. }) => mark::spawn(&home::find(given)?, spawn, out),
        Command::Agent(AgentCommand::Terminate { agent, reason }) => {
            mark::terminate(&home::find(given)?, &agent, &reason, out)
        }
        Command::Session(SessionCommand::List) => session::list(&home::find(given)?, out),
        Command::Session(SessionCommand::Show { id }) => session::show(&home::find(given)?, &id, out),
        Command::Session(SessionCommand::Send { to, text }) => {
            mark::say(&home::find(given)?, &to, &text, "normal", out)
        }
        Command::Message(MessageCommand::List(filter)) => message::list(&home::find(given)?, &filter, out),
        Command::Message(MessageCommand::Send { to, text, priority }) => {
            mark::say(&home::find(given)?, &to, &text, &priority, out)
        }
        Command::Message(MessageCommand::Tail { filter, all }) => {
            message::tail(&home::find(given)?, &filter, all, out)
        }
        Command::History { path, agent, task, limit } => {
            let filter = adapters::git::log::Filter { agent, task, path, limit };
            history::run(&home::find(given)?, &filter, out)
        }
        Command::Undo { commit, dry_run } => undo::run(&home::find(given)?, &commit, dry_run, out),
        Command::Graph { format } => graph::run(&home::find(given)?, format, out),
        Command::Route { request, tag, to, explain } => {
            let asked = route::Asked { request: &request, tags: &tag, to: to.as_deref() };
            route::run(&home::find(given)?, &asked, explain, out)
        }
        Command::Trust(TrustCommand::List) => trust::list(&home::find(given)?, out),
        Command::Trust(TrustCommand::Vouch { path }) => trust::vouch(&home::find(given)?, &path, out),
        Command::Policy(PolicyCommand::Check { agent, command }) => {
            policy::check(given, agent.as_deref(), &command, out)
        }
        Command::Context(command) => context::run(&home::find(given)?, command, out),
        Command::Audit(AuditCommand::Log(filter)) => audit::log(&home::find(given)?, &filter, out),
        Command::Audit(AuditCommand::Verify { key, checkpoint, against_git }) => {
            audit::verify(&home::find(given)?, &key, &checkpoint, against_git, out)
        }
        Command::Audit(AuditCommand::Key) => audit::key(&home::find(given)?, out),
        Command::Doctor => doctor::run(home::find(given).ok().as_deref(), out),
        Command::Cost { by, since } => cost::run(&home::find(given)?, by, since.as_deref(), out),
        Command::Budget(BudgetCommand::Show) => budget::show(&home::find(given)?, out),
        Command::Budget(BudgetCommand::Set { window, agent, tokens, money }) => {
            let (agent, tokens, money) = (agent.as_deref(), tokens.as_deref(), money.as_deref());
            let wanted = budget::Wanted { window: &window, agent, tokens, money };
            budget::set(&home::find(given)?, &wanted, out)
        }
        Command::Check => check::run(&home::find(given)?, out),
    }
}
