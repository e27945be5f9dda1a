//! `synod context`: shared contexts, who may see what of them, and giving and taking grants. The files are a person's,
//! so nothing here needs a daemon, and one that runs looks at the grants anew for every call.

use std::path::Path;

use adapters::contexts::{Grants, Store, Text, Unreadable, view};
use adapters::redact::redact;
use domain::agent::Spec;
use domain::context::{Access, Acl, Asker, Denied, Grant, Grantee, Hidden, TOOL_GET, acl_path, is_name};
use domain::id::{AgentId, Time};
use domain::label::{self, Label};
use domain::{gate, role, tool};
use formats::acl::{self, Unchanged};
use formats::diagnostic::render;
use formats::time;
use serde_json::{Value, json};

use crate::args::ContextCommand;
use crate::failure::{Exit, fail};
use crate::out::Out;
use crate::text;
use crate::view::spent::known as known_state;
use crate::view::{self as home_view, files};

/// What to do about a file that does not read.
const MEND: &str = "`synod check` says more";
/// So often a change of grants is made again because somebody edits the file.
const TRIES_MAX: usize = 5;

/// Does what the command line says.
pub fn run(home: &Path, command: ContextCommand, out: &Out) -> anyhow::Result<Exit> {
    let store = Store::open(home)?;
    match command {
        ContextCommand::List => list(&store, out),
        ContextCommand::Show { context, by } => show(home, &store, &context, by.as_deref(), out),
        ContextCommand::Grant { context, agent, role, access, redact, until } => {
            let to = grantee(home, agent, role)?;
            let access = if access == "read_write" { Access::ReadWrite } else { Access::Read };
            let expires = until.as_deref().map(end).transpose()?;
            let grant = Grant { to, access, redact, expires };
            give(&store, &context, &grant, out)
        }
        ContextCommand::Revoke { context, agent, role } => {
            let to = match (agent, role) {
                (_, Some(role)) => Grantee::Role(role),
                (agent, None) => Grantee::Agent(AgentId::new(agent.unwrap_or_default())),
            };
            take(home, &store, &context, &to, out)
        }
    }
}

fn list(store: &Store, out: &Out) -> anyhow::Result<Exit> {
    let found: Vec<_> = store
        .names()
        .into_iter()
        .map(|name| (name.clone(), store.grants(&name), store.content(&name)))
        .collect();
    let now = home_view::now();
    if out.json {
        let contexts = found.iter().map(|(name, grants, content)| {
            let error = grants.as_ref().err().or(content.as_ref().err()).map(ToString::to_string);
            let error = error.or_else(|| torn(content.as_ref().ok()?.as_ref()?));
            let acl = grants.as_ref().ok().and_then(Option::as_ref).map(|g| &g.acl);
            let content = content.as_ref().ok().and_then(Option::as_ref);
            let grants_json: Vec<Value> =
                acl.into_iter().flat_map(|acl| &acl.grants).map(|g| grant_json(g, now)).collect();
            json!({
                "context": name,
                "path": content.map(|c| &c.path),
                "bytes": content.map(|c| c.text.len()),
                "owner": acl.and_then(|acl| acl.owner.as_ref()),
                "grants": grants_json,
                "error": error,
            })
        });
        out.value(json!({ "contexts": contexts.collect::<Vec<_>>() }));
        return Ok(Exit::Ok);
    }
    if found.is_empty() {
        out.line(
            "No shared contexts; write contexts/<name>.json or .md, and grant it with `synod context grant`.",
        );
        return Ok(Exit::Ok);
    }
    let mut rows = Vec::new();
    for (name, grants, content) in &found {
        let size = match content {
            Ok(Some(content)) => {
                let more = torn(content).map_or("", |_| ", not JSON");
                format!("{}{more}", content.text.len())
            }
            Ok(None) => "nothing".to_owned(),
            Err(_) => "?".to_owned(),
        };
        let (owner, mut who) = match grants {
            Ok(Some(Grants { acl, .. })) => {
                (owner(acl), acl.grants.iter().map(|g| grant_line(g, now)).collect())
            }
            Ok(None) => (owner(&Acl::default()), Vec::new()),
            Err(error) => ("?".to_owned(), vec![format!("nobody: {error}")]),
        };
        if who.is_empty() {
            who.push("nobody".to_owned());
        }
        for (number, who) in who.iter().enumerate() {
            let first = |cell: &str| if number == 0 { cell.to_owned() } else { String::new() };
            rows.push(vec![first(name), first(&owner), first(&size), text::line(who)]);
        }
    }
    for (number, line) in text::table(&["CONTEXT", "OWNER", "BYTES", "WHO MAY WHAT"], rows).iter().enumerate()
    {
        out.line(if number == 0 { out.dim(line) } else { line.clone() });
    }
    Ok(Exit::Ok)
}

/// Where a context that is called JSON is not, in words.
fn torn(content: &Text) -> Option<String> {
    let (line, column, why) = files::not_json(&content.text).filter(|_| content.is_json())?;
    Some(format!("{}:{line}:{column} is not JSON: {why}", content.path))
}

fn owner(acl: &Acl) -> String {
    acl.owner.as_ref().map_or_else(|| "you".to_owned(), ToString::to_string)
}

fn grant_line(grant: &Grant, now: Time) -> String {
    let hides =
        if grant.redact.is_empty() { String::new() } else { format!(", not {}", grant.redact.join(", ")) };
    let until = match grant.expires {
        None => String::new(),
        Some(end) if end <= now => format!(", ended {}", time::print(end)),
        Some(end) => format!(", until {}", time::print(end)),
    };
    format!("{}: {}{hides}{until}", to_words(&grant.to), grant.access.as_str())
}

fn grant_json(grant: &Grant, now: Time) -> Value {
    let (agent, role) = match &grant.to {
        Grantee::Agent(id) => (Some(id), None),
        Grantee::Role(role) => (None, Some(role)),
    };
    json!({
        "agent": agent,
        "role": role,
        "access": grant.access.as_str(),
        "redact": grant.redact,
        "expires": grant.expires.map(time::print),
        "ended": grant.expires.is_some_and(|end| end <= now),
    })
}

fn to_words(to: &Grantee) -> String {
    match to {
        Grantee::Agent(id) => id.to_string(),
        Grantee::Role(role) => format!("every {role}"),
    }
}

fn show(home: &Path, store: &Store, name: &str, by: Option<&str>, out: &Out) -> anyhow::Result<Exit> {
    known(store, name)?;
    let mend = MEND;
    let grants = store.grants(name).map_err(|e| fail(Exit::Failed, e.to_string(), mend));
    let content = store.content(name).map_err(|e| fail(Exit::Failed, e.to_string(), mend))?;
    let Some(content) = content else {
        return Err(fail(
            Exit::Failed,
            format!("{name} says nothing yet"),
            format!("write contexts/{name}.json"),
        ));
    };
    let shown = match by {
        None => {
            torn(&content).iter().for_each(|torn| out.say(torn));
            content.text.clone()
        }
        Some(agent) => {
            let agent = agent_of(home, agent)?;
            let acl = grants?.map(|grants| grants.acl).unwrap_or_default();
            seen_by(home, &agent, name, &acl, &content)?
        }
    };
    if out.json {
        out.value(json!({ "context": name, "path": content.path, "as": by, "content": shown }));
    } else {
        out.line(text::visible(shown.trim_end_matches('\n')));
    }
    Ok(Exit::Ok)
}

/// What `context_get` would give an agent that works for nobody else; or why it would not.
fn seen_by(home: &Path, agent: &Spec, name: &str, acl: &Acl, content: &Text) -> anyhow::Result<String> {
    let (id, path) = (&agent.id, &content.path);
    let granted = acl.judge(Asker::of(agent), name, Access::Read, home_view::now()).map_err(|denied| {
        let help = match &denied {
            Denied::Closed => {
                format!("no grant opens that: take the line out of the file of {id}")
            }
            Denied::NoGrant | Denied::Ended(_) | Denied::ReadOnly | Denied::Above(_) => {
                format!("`synod context grant {name} {id}` lets it see the context")
            }
        };
        fail(Exit::Denied, denied.rule(id, name), help)
    })?;
    let settings = home_view::settings(home);
    let roles = home_view::roles(&settings);
    let (role, label) = (roles.get(&agent.role), Label::owner());
    let asker = gate::Asker::at_rest(agent, role, &label);
    let needs = tool::facts(TOOL_GET).and_then(|facts| facts.needs);
    gate::may_use(&asker, TOOL_GET, needs).map_err(|(rule, why)| fail(Exit::Denied, rule, why))?;
    if !settings.trust.may_see(id, path) {
        let message = format!("trust.secret in synod.yaml leaves {id} out of those who may see {path}");
        return Err(fail(Exit::Denied, message, format!("name {id} there as well, if it shall see it")));
    }
    let mut known = known_state(home);
    known.config.settings = settings;
    let label = label::of_place(&known, path);
    if !label.readers.include(id) {
        let help = "`synod trust list` shows where it comes from";
        return Err(fail(Exit::Denied, format!("{path} is for others to see ({label})"), help));
    }
    if let Some(torn) = torn(content).filter(|_| !granted.redact.is_empty()) {
        let help = "mend it: what is no JSON cannot be shown in part";
        return Err(fail(Exit::Failed, torn, help));
    }
    let shown = view(&granted, content).map_err(|error| fail(Exit::Denied, error, MEND))?;
    Ok(redact(&shown).into_owned())
}

fn give(store: &Store, name: &str, grant: &Grant, out: &Out) -> anyhow::Result<Exit> {
    known(store, name)?;
    if let Some(field) = grant.redact.iter().find(|field| field.split('.').any(str::is_empty)) {
        let help = "write the names of fields with a dot in between, such as customer.email";
        return Err(fail(Exit::Usage, format!("{field:?} names no field"), help));
    }
    let is_text = store.content(name).ok().flatten().is_some_and(|content| !content.is_json());
    if is_text && !grant.redact.is_empty() {
        let message = format!("contexts/{name}.md is text, and fields of a text cannot be hidden");
        return Err(fail(Exit::Usage, message, "leave --redact out, or keep the context as JSON"));
    }
    change(store, name, |path, text| acl::give(path, text, grant), out)?;
    let content = store.content(name).ok().flatten().filter(|content| content.is_json());
    if let Some(value) = content.and_then(|content| serde_json::from_str::<Value>(&content.text).ok()) {
        for field in grant.redact.iter().filter(|field| !Hidden::fits(field, &value)) {
            out.say(format!(
                "warning: {} fits nothing in contexts/{name}.json as it is now, so it hides nothing",
                text::line(field)
            ));
        }
    }
    told(name, &format!("{name} is granted: {}", grant_line(grant, home_view::now())), out);
    Ok(Exit::Ok)
}

fn take(home: &Path, store: &Store, name: &str, to: &Grantee, out: &Out) -> anyhow::Result<Exit> {
    known(store, name)?;
    let is_theirs = |acl: &Acl| acl.grants.iter().any(|grant| grant.to == *to);
    let grants = store.grants(name);
    if grants.is_ok_and(|grants| !grants.is_some_and(|grants| is_theirs(&grants.acl))) {
        let message = format!("{} grants {} nothing", acl_path(name), to_words(to));
        return Err(fail(Exit::Failed, message, "`synod context list` shows who may see what"));
    }
    change(store, name, |path, text| acl::take(path, text, to), out)?;
    let left = store.grants(name).ok().flatten().map(|grants| grants.acl).unwrap_or_default();
    let still = match to {
        Grantee::Agent(id) => home_view::agents(home)
            .iter()
            .find(|agent| agent.id == *id)
            .and_then(|agent| left.granted(agent, home_view::now()).map(|_| agent.role.clone())),
        Grantee::Role(_) => None,
    };
    let still = still.map_or_else(String::new, |role| format!("; as {role} it still sees it"));
    told(name, &format!("{name} is no longer granted to {}{still}", to_words(to)), out);
    Ok(Exit::Ok)
}

fn told(name: &str, words: &str, out: &Out) {
    if out.json {
        out.value(json!({ "context": name, "path": acl_path(name), "done": words }));
    } else {
        out.line(words);
    }
}

/// Edits the grants as the file says them now, again if somebody saves it meanwhile. Other commands and the daemon wait
/// until it is done.
fn change(
    store: &Store,
    name: &str,
    edit: impl Fn(&str, &str) -> Result<String, Unchanged>,
    out: &Out,
) -> anyhow::Result<()> {
    let path = acl_path(name);
    let help = "the file is as it was; mend it, or edit it yourself";
    let busy =
        |error: Unreadable| fail(Exit::Failed, error.to_string(), "`synod context list` shows what holds");
    let turn = store.turn().map_err(busy)?;
    for _ in 0..TRIES_MAX {
        let old = match store.text(&path) {
            Ok(old) => old,
            Err(error) => return Err(fail(Exit::Failed, error.to_string(), help)),
        };
        let before = old.clone().unwrap_or_else(|| acl::print(&Acl::default()));
        let new = edit(&path, &before).map_err(|unchanged| match unchanged {
            Unchanged::Broken(told) => {
                let told: Vec<String> = told.iter().map(|d| render(d, Some(&before), out.color())).collect();
                fail(Exit::Failed, format!("{path} does not read\n{}", told.join("\n").trim_end()), help)
            }
            Unchanged::Refused(refused) => fail(Exit::Failed, format!("{path}: {refused}"), help),
        })?;
        let mark = format!("person-{}", std::process::id());
        match store.write(&turn, &path, old.as_deref(), &new, &mark) {
            Ok(true) => return Ok(()),
            Ok(false) => {}
            Err(error) => return Err(fail(Exit::Failed, error.to_string(), "make the folder writable")),
        }
    }
    Err(fail(Exit::Failed, format!("{path} changes all the time"), "try again when nobody edits it"))
}

fn known(store: &Store, name: &str) -> anyhow::Result<()> {
    let names = store.names();
    if is_name(name) && names.iter().any(|known| known == name) {
        return Ok(());
    }
    Err(home_view::unknown("context", name, names.iter().map(String::as_str)))
}

fn agent_of(home: &Path, id: &str) -> anyhow::Result<Spec> {
    home_view::team::read(home).employed(home, id).cloned()
}

/// To whom, if there is such a one.
fn grantee(home: &Path, agent: Option<String>, role: Option<String>) -> anyhow::Result<Grantee> {
    let Some(role) = role else {
        return Ok(Grantee::Agent(agent_of(home, agent.as_deref().unwrap_or_default())?.id));
    };
    let mut roles: Vec<String> = role::builtin().into_keys().collect();
    roles.extend(home_view::settings(home).roles.into_keys());
    if roles.contains(&role) {
        return Ok(Grantee::Role(role));
    }
    let near = formats::did_you_mean(&role, roles.iter().map(String::as_str));
    let help = near
        .map_or_else(|| format!("roles are {}", roles.join(", ")), |near| format!("did you mean {near}?"));
    Err(fail(Exit::Failed, format!("there is no role {}", text::line(&role)), help))
}

fn end(text: &str) -> anyhow::Result<Time> {
    let now = home_view::now();
    let from_now = || Some(Time(now.0.saturating_add(i64::try_from(time::parse_duration(text)?).ok()?)));
    // A day is meant with all of its hours.
    let day = || time::parse(&format!("{}T23:59:59.999Z", Some(text).filter(|text| text.len() == 10)?));
    match time::parse(text).or_else(day).or_else(from_now) {
        Some(end) if end > now => Ok(end),
        Some(_) => Err(fail(Exit::Usage, format!("{text} is over"), "give a time to come")),
        None => {
            let help = "write 2026-01-31, 2026-01-31T12:00:00Z, or how long: 30m, 24h, 7d";
            Err(fail(Exit::Usage, format!("{} is no time", text::line(text)), help))
        }
    }
}
