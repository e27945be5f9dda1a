//! Programs that only read, each with the arguments it may have. A program that is not here needs an approval.

mod archive;
mod awk;
mod find;
mod git;
mod jq;
mod sed;
mod system;
mod text;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::finding::Finding;
use super::script::Word;
use super::table::blocks;
use super::tool::{Tool, Tools, tools};

/// Judges arguments that no table can describe, with what the table says of the program.
type Own = fn(&Tool, &[Word]) -> Vec<Finding>;

/// Programs with rules of their own.
const OWN: [(&str, Own); 30] = [
    ("[", text::test),
    ("awk", awk::findings),
    ("cd", text::change_folder),
    ("date", system::date),
    ("dpkg", system::dpkg),
    ("echo", text::anything),
    ("expr", text::anything),
    ("false", text::anything),
    ("find", find::findings),
    ("gawk", awk::findings),
    ("git", git::findings),
    ("gzip", archive::gzip),
    ("ip", system::ip),
    ("journalctl", system::journalctl),
    ("jq", jq::findings),
    ("mawk", awk::findings),
    ("mount", system::mount),
    ("netstat", system::netstat),
    ("printf", text::printf),
    ("ps", system::ps),
    ("rpm", system::rpm),
    ("sed", sed::findings),
    ("sleep", system::sleep),
    ("systemctl", system::systemctl),
    ("tar", archive::tar),
    ("test", text::test),
    ("true", text::anything),
    ("unzip", archive::unzip),
    ("xxd", text::xxd),
    ("zipinfo", archive::zipinfo),
];

/// Programs by name, with their options.
static TOOLS: LazyLock<Tools> = LazyLock::new(|| tools(include_str!("../../tables/programs.txt")));

/// What a program without options of its own is given.
static NONE: LazyLock<Tool> = LazyLock::new(Tool::default);

/// Programs that can be asked for their version, and how beside `--version`.
static VERSIONS: LazyLock<BTreeMap<&str, Vec<&str>>> = LazyLock::new(|| {
    let blocks = blocks(include_str!("../../tables/versions.txt"));
    blocks.into_iter().map(|block| (block.head, block.marks)).collect()
});

/// Findings about a program with these arguments; `None` if the tables do not have it.
pub(super) fn findings(program: &str, arguments: &[Word]) -> Option<Vec<Finding>> {
    if only_tells_its_version(program, arguments) {
        return Some(Vec::new());
    }
    let tool = TOOLS.get(program);
    if let Ok(at) = OWN.binary_search_by(|(name, _)| (*name).cmp(program)) {
        return Some(OWN[at].1(tool.map_or(&*NONE, |tool| tool), arguments));
    }
    let is_help = arguments.len() == 1 && ["--help", "--version"].contains(&arguments[0].text.as_str());
    tool.map(|tool| if is_help { Vec::new() } else { tool.findings(arguments) })
}

/// Whether the one argument is a question for the version.
fn only_tells_its_version(program: &str, arguments: &[Word]) -> bool {
    let [only] = arguments else { return false };
    let known = VERSIONS.get(program);
    known.is_some_and(|known| only.text == "--version" || known.contains(&only.text.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_read_and_those_in_the_source_are_sorted() {
        assert!(OWN.is_sorted_by(|one, two| one.0 < two.0));
        assert!(TOOLS.contains_key("ls") && !VERSIONS.is_empty());
        for program in ["awk", "date", "gzip", "journalctl", "ps", "sed", "systemctl", "tar", "zipinfo"] {
            assert!(TOOLS.contains_key(program), "the source needs the options of {program}");
        }
    }
}
