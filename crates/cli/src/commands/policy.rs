//! `synod policy check`: what the command policy says, before anything runs.

use std::path::Path;

use domain::gate::{self, Asker};
use domain::label::Label;
use domain::layout;
use domain::tool;
use policy::command::script::Word;
use policy::command::{self, Judgement, Place};
use policy::{CommandVerdict, Policy};
use serde_json::json;

use crate::failure::{Exit, fail};
use crate::home;
use crate::out::Out;
use crate::{text, view};

/// Judges a command and says so; the exit code is the verdict.
pub fn check(given: Option<&Path>, agent: Option<&str>, words: &[String], out: &Out) -> anyhow::Result<Exit> {
    let text = match words {
        [one] => one.clone(),
        several => quoted(several),
    };
    let home = match (given, agent) {
        (None, None) => home::find(None).ok(),
        (Some(_), _) | (_, Some(_)) => Some(home::find(given)?),
    };
    let policy = match &home {
        Some(home) => policy_of(home)?,
        None => Policy::default(),
    };
    let mut judgement = command::judge(&policy, &Place::default(), &text);
    if let (Some(home), Some(agent)) = (&home, agent)
        && let Err((rule, advice)) = may_run(home, agent)?
    {
        judgement = Judgement { verdict: CommandVerdict::Deny, rule, factors: vec![advice], ..judgement };
    }
    print(&judgement, out);
    Ok(match judgement.verdict {
        CommandVerdict::Allow => Exit::Ok,
        CommandVerdict::Ask => Exit::Waiting,
        CommandVerdict::Deny => Exit::Denied,
    })
}

/// Words as a shell would have to be given them to see the same words.
fn quoted(words: &[String]) -> String {
    let quote = |text: &String| Word { text: text.clone(), is_glob: false }.to_string();
    words.iter().map(quote).collect::<Vec<_>>().join(" ")
}

/// The home's policy. A file that cannot be read may hold a denial, so nothing is said without it.
fn policy_of(home: &Path) -> anyhow::Result<Policy> {
    const PATH: &str = layout::COMMANDS;
    if !home.join(PATH).exists() {
        return Ok(Policy::default());
    }
    let text = view::files::read(home, PATH).ok();
    let policy = text.and_then(|text| formats::policy::read(PATH, &text).value);
    policy.ok_or_else(|| {
        fail(Exit::Failed, format!("{PATH} cannot be read"), "see what is wrong with it with `synod check`")
    })
}

fn may_run(home: &Path, agent: &str) -> anyhow::Result<Result<(), (String, String)>> {
    const TOOL: &str = "execute_command";
    let agents = view::agents(home);
    let Some(spec) = agents.iter().find(|spec| spec.id.as_str() == agent) else {
        let help = "see the agents with `synod agent list`";
        return Err(fail(Exit::Failed, format!("there is no agent {agent}"), help));
    };
    let roles = view::roles(&view::settings(home));
    let (role, label) = (roles.get(&spec.role), Label::owner());
    let asker = Asker::at_rest(spec, role, &label);
    Ok(gate::may_use(&asker, TOOL, tool::facts(TOOL).and_then(|facts| facts.needs)))
}

fn print(judgement: &Judgement, out: &Out) {
    let Judgement { verdict, risk, factors, rule, wants_network, .. } = judgement;
    if out.json {
        return out.value(json!({
            "verdict": verdict.as_str(),
            "risk": risk.as_str(),
            "factors": factors,
            "rule": rule,
            "network": wants_network,
        }));
    }
    out.line(out.bold(&format!("{}, risk {}", verdict.as_str(), risk.as_str())));
    for factor in factors {
        out.line(format!("  {}", text::line(factor)));
    }
    out.line(out.dim(&format!("by: {}", text::line(rule))));
}
