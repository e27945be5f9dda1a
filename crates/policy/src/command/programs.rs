//! Programs that only read, each with what it may be given. What is not here is asked for.

mod archive;
mod awk;
mod files;
mod find;
mod git;
mod jq;
mod search;
mod sed;
mod services;
mod system;
mod text;
mod versions;

use super::finding::Finding;
use super::script::Word;
use super::tool::{NONE, Operands, Tool};

/// Judges arguments that no list can describe.
type Own = fn(&[Word]) -> Vec<Finding>;

/// Programs with rules of their own.
const OWN: [(&str, Own); 32] = [
    ("[", text::test),
    ("awk", awk::findings),
    ("cd", files::change_folder),
    ("date", system::date),
    ("dmesg", services::dmesg),
    ("dpkg", system::dpkg),
    ("echo", text::echo),
    ("expr", text::anything),
    ("false", text::anything),
    ("find", find::findings),
    ("gawk", awk::findings),
    ("git", git::findings),
    ("gzip", archive::gzip),
    ("ip", system::ip),
    ("journalctl", services::journalctl),
    ("jq", jq::findings),
    ("last", services::last),
    ("mawk", awk::findings),
    ("mount", services::mount),
    ("netstat", system::netstat),
    ("printf", text::printf),
    ("ps", system::ps),
    ("rpm", system::rpm),
    ("sed", sed::findings),
    ("sleep", system::sleep),
    ("systemctl", services::systemctl),
    ("tar", archive::tar),
    ("test", text::test),
    ("true", text::anything),
    ("unzip", archive::unzip),
    ("xxd", text::xxd),
    ("zipinfo", archive::zipinfo),
];

/// What speaks against running a program with these arguments; `None` if nothing is known of it.
pub(super) fn findings(program: &str, arguments: &[Word]) -> Option<Vec<Finding>> {
    if versions::only_tells_its_version(program, arguments) {
        return Some(Vec::new());
    }
    if let Ok(at) = OWN.binary_search_by(|(name, _)| (*name).cmp(program)) {
        return Some(OWN[at].1(arguments));
    }
    let tool = tool(program)?;
    let is_help = arguments.len() == 1 && ["--help", "--version"].contains(&arguments[0].text.as_str());
    Some(if is_help { Vec::new() } else { tool.findings(arguments) })
}

fn tool(program: &str) -> Option<&'static Tool> {
    let tables: [&[Tool]; 4] = [&files::TOOLS, &text::TOOLS, &search::TOOLS, &system::TOOLS];
    tables.into_iter().flatten().find(|tool| tool.names.contains(&program))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_own_rules_is_sorted() {
        assert!(OWN.is_sorted_by(|one, two| one.0 < two.0));
    }
}
