//! `synod init --repo`: a team for a repository that is there. What is found in it is shown and confirmed before anything is
//! written.

use std::path::{Path, PathBuf};

use adapters::git::workspace::look::{self, Trouble};
use adapters::sandbox::places::place;
use formats::document::{Document, Scalar, Value};
use serde_json::json;

use super::{Git, begin_history, make, unmade};
use crate::failure::{Exit, fail};
use crate::out::Out;
use crate::project::{self, System};
use crate::prompt;
use crate::site::{self, Occupied};
use crate::templates;

/// The home inside of a repository.
const INSIDE: &str = ".team";
/// Files with rules for agents, which the team is told to read.
const RULES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];
/// Agents that work on the repository.
const WORKERS: [&str; 3] = ["planner-001", "coder-001", "reviewer-001"];
/// What the planner of the example is told of where the repository is.
const EXAMPLE_PLACE: &str = "in repo/ (read it there; it is what is on the main branch now)";
/// The same for a repository elsewhere.
const OWN_PLACE: &str =
    "of which workspaces/planner-001/ is a checkout (each of your tasks begins there with what is merged)";

/// What the command line says.
pub struct Wanted<'a> {
    pub repo: &'a Path,
    /// The home, if it is named.
    pub dir: Option<&'a Path>,
    /// Whether the home is made in the repository.
    pub inside: bool,
    pub test: Option<String>,
    pub lint: Option<String>,
    /// Whether what was found is taken without asking.
    pub yes: bool,
    pub occupied: Occupied,
}

/// A team and the repository that it works on.
struct Binding {
    /// The repository, as the agents' files name it.
    repo: String,
    test: Option<String>,
    lint: Option<String>,
    /// Folders that commands must see, as `sandbox: {read: …}` names them.
    read: Vec<String>,
    /// Files of the repository with rules for agents.
    rules: Vec<&'static str>,
}

pub fn run(wanted: Wanted<'_>, git: Git, out: &Out) -> anyhow::Result<Exit> {
    let repo = real(wanted.repo)?;
    let home = match (wanted.inside, wanted.dir) {
        (true, _) => repo.join(INSIDE),
        (false, Some(dir)) => dir.to_owned(),
        (false, None) => beside(&repo)?,
    };
    if home.join(super::LAST).exists() {
        let message = format!("{} is a home already", home.display());
        return Err(fail(
            Exit::Failed,
            message,
            "go on with `synod up` in it, or name another with --home DIR",
        ));
    }
    site::check(&home, wanted.occupied)?;
    let system = System::this();
    let found = project::look(&repo, &system);
    let (mut notes, mut read) = (found.notes, Vec::new());
    for folder in &found.read {
        let named = spelled(folder, &system.home);
        match place(&named, &home) {
            Ok(Some(_)) => read.push(named),
            Ok(None) => {}
            Err(why) => notes.push(format!("commands cannot see {named}: it {why}")),
        }
    }
    let mut binding = Binding {
        repo: relative(&repo, &home),
        test: wanted.test.or(found.test),
        lint: wanted.lint.or(found.lint),
        read,
        rules: RULES.into_iter().filter(|name| repo.join(name).is_file()).collect(),
    };
    notes.extend(of_other_programs(&repo));
    if !out.json {
        let kind = found.kind.unwrap_or("nothing that is known");
        show(&repo, &home, kind, &binding, &notes, out);
    }
    if !wanted.yes && !confirm(&mut binding)? {
        out.say("nothing was made");
        return Ok(Exit::Failed);
    }
    let files = bound(&binding)?;
    let made = make(&home, &files, || match wanted.inside {
        true => look::exclude(&repo, &format!("/{INSIDE}/")).map_err(|why| {
            fail(Exit::Failed, why, "make it writable and give the command again with --here")
        }),
        false => Ok(()),
    });
    let made = made.map_err(|error| unmade(&home, error))?;
    let kept = begin_history(&home, &made, git, out);
    if out.json {
        out.value(json!({
            "home": home.display().to_string(), "repo": repo.display().to_string(), "kind": found.kind,
            "test": binding.test, "lint": binding.lint, "read": binding.read, "notes": notes,
            "files": made, "git": kept,
        }));
        return Ok(Exit::Ok);
    }
    out.line("");
    out.line(format!(
        "{} is a home now. Name a model in its synod.yaml and give the team a request:",
        home.display()
    ));
    out.line(format!("  cd {}", home.display()));
    out.line("  synod run \"What you want changed\"");
    Ok(Exit::Ok)
}

/// The repository without links, if a team can work in it.
fn real(repo: &Path) -> anyhow::Result<PathBuf> {
    let named = repo.display();
    let place = repo.canonicalize().map_err(|error| {
        let help = "name the folder of a git repository";
        fail(Exit::Failed, format!("{named} cannot be opened: {error}"), help)
    })?;
    match look::look(&place, ".") {
        Ok(()) => Ok(place),
        Err(Trouble::Unusable(why)) => {
            let top = place.ancestors().skip(1).find(|folder| folder.join(".git").exists());
            let help = match top {
                Some(top) => format!("name its top folder: synod init --repo {}", top.display()),
                None => "`git init`, `git add .` and `git commit` in it make one".to_owned(),
            };
            Err(fail(Exit::Failed, format!("{named} {why}"), help))
        }
        Err(Trouble::Detached) => Err(fail(
            Exit::Failed,
            format!("{named} is on no branch, so nothing could be merged"),
            "check out the branch that work is merged into, such as: git switch main",
        )),
    }
}

/// The folder beside a repository.
fn beside(repo: &Path) -> anyhow::Result<PathBuf> {
    let name = repo.file_name().and_then(|name| name.to_str());
    match (repo.parent(), name) {
        (Some(parent), Some(name)) => Ok(parent.join(format!("{name}-team"))),
        (_, _) => Err(fail(
            Exit::Usage,
            "the repository has no name to make another of",
            "name the home: --home DIR",
        )),
    }
}

/// The repository as the home names it: short where they are neighbours.
fn relative(repo: &Path, home: &Path) -> String {
    let absolute = std::path::absolute(home).unwrap_or_else(|_| home.to_owned());
    let above = absolute.parent().and_then(|parent| parent.canonicalize().ok());
    match (above, repo.file_name().and_then(|name| name.to_str())) {
        (Some(above), _) if above == repo => "..".to_owned(),
        (Some(above), Some(name)) if Some(above.as_path()) == repo.parent() => format!("../{name}"),
        (_, _) => repo.display().to_string(),
    }
}

/// A folder as settings name it.
fn spelled(folder: &Path, person: &Path) -> String {
    match folder.strip_prefix(person) {
        Ok(rest) if !person.as_os_str().is_empty() => format!("~/{}", rest.display()),
        Ok(_) | Err(_) => folder.display().to_string(),
    }
}

/// What other programs for agents keep in the repository, and what becomes of it.
fn of_other_programs(repo: &Path) -> Vec<String> {
    let mut notes = Vec::new();
    let entries = std::fs::read_dir(repo.join(".claude/agents")).into_iter().flatten().flatten();
    let mut agents: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    agents.retain(|name| name.ends_with(".md"));
    agents.sort();
    if !agents.is_empty() {
        notes.push(format!(
            ".claude/agents ({}): not used; to have such an agent, put its text into a file in agents/",
            agents.join(", ")
        ));
    }
    let servers = std::fs::read_to_string(repo.join(".mcp.json")).unwrap_or_default();
    if let Ok(servers) = serde_json::from_str::<serde_json::Value>(&servers) {
        let names = servers["mcpServers"].as_object().into_iter().flatten().map(|(name, _)| name.as_str());
        let names: Vec<&str> = names.collect();
        notes.push(format!(".mcp.json ({}): not used; the team starts no MCP servers", names.join(", ")));
    }
    notes
}

fn show(repo: &Path, home: &Path, kind: &str, binding: &Binding, notes: &[String], out: &Out) {
    let or_none = |command: &Option<String>| command.clone().unwrap_or_else(|| "none found".to_owned());
    out.line(format!("repository  {}", repo.display()));
    out.line(format!("home        {}", home.display()));
    out.line(format!("built with  {kind}"));
    out.line(format!("tests       {}", or_none(&binding.test)));
    out.line(format!("lint        {}", or_none(&binding.lint)));
    out.line(format!(
        "sandbox     commands see the system, their checkout{}",
        binding.read.iter().map(|folder| format!(", {folder}")).collect::<String>()
    ));
    for rules in &binding.rules {
        out.line(format!("note: {rules}: planner, coder and reviewer are told to read it first"));
    }
    for note in notes {
        out.line(format!("note: {note}"));
    }
}

/// Asks on the terminal. Without one, only a flag says yes.
fn confirm(binding: &mut Binding) -> anyhow::Result<bool> {
    if !prompt::is_possible() {
        let help = "add --yes to take this, or --test COMMAND and --lint COMMAND to say other ones";
        return Err(fail(Exit::Usage, "there is no terminal to confirm this on", help));
    }
    loop {
        let answer = prompt::ask("Make this team? [y]es, [n]o, [e]dit the commands: ")?;
        match answer.as_deref().unwrap_or("n").to_lowercase().as_str() {
            "y" | "yes" => return Ok(true),
            "n" | "no" => return Ok(false),
            "e" | "edit" => {
                edit("tests", &mut binding.test)?;
                edit("lint", &mut binding.lint)?;
            }
            _ => {}
        }
    }
}

fn edit(what: &str, command: &mut Option<String>) -> anyhow::Result<()> {
    let now = command.as_deref().unwrap_or("none");
    let answer = prompt::ask(&format!("{what} (empty: {now}; none: no command): "))?;
    match answer.as_deref().unwrap_or_default() {
        "" => {}
        "none" => *command = None,
        other => *command = Some(other.to_owned()),
    }
    Ok(())
}

/// The files of the team, bound to the repository.
fn bound(binding: &Binding) -> anyhow::Result<Vec<(String, String)>> {
    let mut files = templates::for_repository();
    for (name, text) in &mut files {
        let worker = WORKERS.into_iter().find(|id| *name == domain::layout::agent_file(id));
        *text = match worker {
            Some(id) => worker_of(binding, id, name, text)?,
            None if name == super::LAST => settings_of(binding, text)?,
            None => continue,
        };
    }
    Ok(files)
}

fn worker_of(binding: &Binding, id: &str, name: &str, text: &str) -> anyhow::Result<String> {
    let mut file = parsed(name, &text.replace(EXAMPLE_PLACE, OWN_PLACE))?;
    let prompt = file.get(&["system_prompt"]).and_then(|found| found.node.text()).unwrap_or_default();
    if !binding.rules.is_empty() {
        let rules = binding.rules.join(" and ");
        let told = format!(
            "{}\n\nThe repository has rules for agents in {rules}: read them first and keep to them.\n",
            prompt.trim_end()
        );
        file.set(&["system_prompt"], told)?;
    }
    file.set(&["workspace", "repo"], binding.repo.as_str())?;
    for (key, command) in [("test", &binding.test), ("lint", &binding.lint)] {
        match command {
            // A planner runs nothing.
            _ if id == WORKERS[0] => {}
            Some(command) => file.set(&["workspace", key], command.as_str())?,
            None if file.get(&["workspace", key]).is_some() => file.remove(&["workspace", key])?,
            None => {}
        }
    }
    Ok(file.text().to_owned())
}

fn settings_of(binding: &Binding, text: &str) -> anyhow::Result<String> {
    let mut file = parsed(super::LAST, text)?;
    let checks = [("lint", &binding.lint), ("test", &binding.test)];
    let checks = checks.into_iter().filter(|(_, command)| command.is_some());
    let checks = checks.map(|(name, _)| Scalar::from(name)).collect();
    file.set(&["review", "checks"], Value::List(checks))?;
    if !binding.read.is_empty() {
        let read = binding.read.iter().map(|folder| Scalar::from(folder.as_str())).collect();
        file.set(&["sandbox", "read"], Value::List(read))?;
    }
    Ok(file.text().to_owned())
}

fn parsed(name: &str, text: &str) -> anyhow::Result<Document> {
    Document::parse(name, text).0.ok_or_else(|| anyhow::anyhow!("the template {name} does not read"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_planner_is_told_where_its_repository_is() {
        let binding =
            Binding { repo: "../x".to_owned(), test: None, lint: None, read: vec![], rules: vec![RULES[0]] };
        let files = bound(&binding).unwrap();
        let planner = files.iter().find(|(name, _)| name.contains("planner")).unwrap();
        for words in ["workspaces/planner-001/ is a checkout", "AGENTS.md", "repo: '../x'"] {
            assert!(planner.1.contains(words), "{words}: {}", planner.1);
        }
        assert!(!planner.1.contains("repo/"), "{}", planner.1);
    }
}
