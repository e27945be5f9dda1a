//! Commits that Synod makes for an agent, each with a mark of its effect: after a crash, the mark tells whether the commit
//! was already made.

use domain::id::{AgentId, Seq};
use git2::{Oid, Repository, Signature};
use sha2::{Digest, Sha256};

use super::commit::Words;
use super::{NOWHERE, history, message};

/// How far back a commit with a mark is searched.
const LOOK_BACK_MAX: usize = 256;
/// The trailer with the mark.
const EFFECT: &str = "Synod-Effect";

/// A commit of an agent, by which its effect is found again.
pub(super) fn signed(agent: &AgentId, text: &str, mark: &str) -> Result<Words<'static>, String> {
    let at = git2::Time::new(history::now().0.div_euclid(1000), 0);
    let sign = |name: &str| {
        let address = format!("{}@{NOWHERE}", name.to_lowercase());
        Signature::new(name, &address, &at).map_err(|error| error.message().to_owned())
    };
    let message = format!("{text}\n\n{EFFECT}: {mark}\n");
    Ok(Words { author: sign(agent.as_str())?, committer: sign("Synod")?, message })
}

/// Names an effect for good: its place in the journal begins anew when the journal does, the words do not.
pub(super) fn mark(effect: Seq, agent: &AgentId, text: &str, paths: &[String]) -> String {
    let all = format!("{agent}\0{text}\0{}", paths.join("\0"));
    let digest = Sha256::digest(all.as_bytes());
    let hex: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("{effect}-{hex}")
}

pub(super) fn find_mark(repo: &Repository, tip: Oid, mark: &str) -> Option<Oid> {
    let mut walk = repo.revwalk().ok()?;
    walk.push(tip).ok()?;
    walk.take(LOOK_BACK_MAX).flatten().find(|id| {
        let Ok(commit) = repo.find_commit(*id) else { return false };
        let text = String::from_utf8_lossy(commit.message_bytes()).into_owned();
        message::trailers(&text, EFFECT).contains(&mark)
    })
}
