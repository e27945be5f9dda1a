//! `synod undo`: takes one commit of the home back. The files change as if a person had edited them, so whoever
//! works in the home follows.

use std::path::Path;

use adapters::git::undo::{self, Refused, Undone};
use serde_json::json;

use crate::failure::{Exit, fail};
use crate::home::person;
use crate::out::Out;
use crate::text;

pub fn run(home: &Path, commit: &str, dry_run: bool, out: &Out) -> anyhow::Result<Exit> {
    let undone = undo::undo(home, commit, &person(), dry_run).map_err(refused)?;
    if out.json {
        let files: Vec<_> =
            undone.files.iter().map(|(path, how)| json!({ "path": path, "change": how })).collect();
        out.value(json!({
            "undone": undone.of,
            "subject": undone.subject,
            "commit": undone.commit,
            "files": files,
        }));
        return Ok(Exit::Ok);
    }
    tell(&undone, dry_run, out);
    Ok(Exit::Ok)
}

fn tell(undone: &Undone, dry_run: bool, out: &Out) {
    let verb = if dry_run { "Would take back" } else { "Took back" };
    out.line(format!("{verb} {}: {}", &undone.of[..10], text::line(&undone.subject)));
    for (path, how) in &undone.files {
        out.line(format!("  {how} {}", text::line(path)));
    }
    out.say("Only files are taken back. What was done outside them stays done: commands that ran, messages that went");
    out.say("out, model calls that were paid for; the journal and the audit log keep telling of them.");
}

fn refused(why: Refused) -> anyhow::Error {
    let help = match &why {
        Refused::Unkept(_) => "nothing was changed",
        Refused::Commit(_) => "nothing was changed; `synod history` lists the commits",
        Refused::Conflict(_) => {
            "nothing was changed; take back the later change first, or edit the files yourself"
        }
        Refused::Unwritten { .. } => "run it again: what is done already is not done twice",
    };
    fail(Exit::Failed, why.to_string(), help)
}
