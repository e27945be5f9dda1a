//! Repositories whose settings make git run something: with such a one, even `git status` is a program of whoever
//! wrote it. Settings are only read here, never obeyed.

use std::fs;
use std::path::{Path, PathBuf};

use policy::glob;

use crate::sandbox::guard::repository_of;

/// Settings whose value git runs, or reads more settings from.
const RUNS: [&str; 36] = [
    "alias.*",
    "browser.*.cmd",
    "core.alternaterefscommand",
    "core.askpass",
    "core.attributesfile",
    "core.editor",
    "core.fsmonitor",
    "core.gitproxy",
    "core.hookspath",
    "core.pager",
    "core.sshcommand",
    "core.worktree",
    "credential.*",
    "diff.*.command",
    "diff.*.textconv",
    "diff.external",
    "difftool.*",
    "filter.*",
    "gpg.*",
    "guitool.*",
    "include.*",
    "includeif.*",
    "interactive.difffilter",
    "man.*.cmd",
    "merge.*.driver",
    "mergetool.*",
    "pager.*",
    "protocol.*",
    "receive.*",
    "remote.*.receivepack",
    "remote.*.uploadpack",
    "remote.*.vcs",
    "sendemail.*",
    "sequence.editor",
    "uploadpack.*",
    "url.*",
];

/// Values of these that run nothing.
const HARMLESS: [(&str, &str); 2] = [("core.fsmonitor", "false"), ("gpg.format", "openpgp")];

/// So many findings are told of one repository.
const NOTES_MAX: usize = 8;

/// Why git is not trusted in a folder, if it is not.
pub(super) fn notes(folder: &Path, shown: &str) -> Vec<String> {
    let mut notes = Vec::new();
    for file in settings(folder, shown, &mut notes) {
        let config = git2::Config::open(&file).and_then(|mut config| config.snapshot());
        let entries = config.as_ref().ok().and_then(|config| config.entries(None).ok());
        let Some(mut entries) = entries else {
            notes.push(format!("the settings of the repository {shown} cannot be read"));
            continue;
        };
        while let Some(Ok(entry)) = entries.next() {
            let name = entry.name().unwrap_or("[no text]").to_lowercase();
            let is_harmless = HARMLESS.iter().any(|(key, value)| name == *key && entry.value() == Ok(value));
            if !is_harmless && RUNS.iter().any(|pattern| glob(pattern, &name)) {
                notes.push(format!("the repository {shown} sets {name}, which can make git run something"));
            }
        }
    }
    notes.sort_unstable();
    notes.dedup();
    notes.truncate(NOTES_MAX);
    notes
}

/// The files of settings that git would read in a folder.
fn settings(folder: &Path, shown: &str, notes: &mut Vec<String>) -> Vec<PathBuf> {
    let git = folder.join(".git");
    let Ok(kind) = fs::symlink_metadata(&git).map(|stat| stat.file_type()) else {
        // A folder that looks like the inside of a repository is one to git.
        let is_bare = ["HEAD", "objects", "refs"].iter().all(|name| folder.join(name).exists());
        return if is_bare { existing(folder) } else { vec![] };
    };
    if kind.is_dir() {
        if git.join("commondir").exists() {
            notes.push(format!("the repository {shown} takes its settings from another place"));
        }
        return existing(&git);
    }
    match kind.is_file().then(|| repository_of(&git)).flatten() {
        Some((own, common)) => [existing(&common), existing(&own)].concat(),
        None => {
            notes.push(format!("{shown}/.git leads to a repository that does not know this workspace"));
            vec![]
        }
    }
}

fn existing(git: &Path) -> Vec<PathBuf> {
    ["config", "config.worktree"]
        .map(|name| git.join(name))
        .into_iter()
        .filter(|file| file.exists())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repository(config: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(".git")).unwrap();
        fs::write(folder.path().join(".git/config"), config).unwrap();
        folder
    }

    #[test]
    fn every_setting_that_runs_something_is_found() {
        for (config, key) in [
            ("[core]\n\tfsmonitor = ./evil", "core.fsmonitor"),
            ("[core]\nhooksPath = x", "core.hookspath"),
            ("[CORE]\nPager=x", "core.pager"),
            ("[diff]\nexternal = x", "diff.external"),
            ("[diff \"x\"]\ntextconv = y", "diff.x.textconv"),
            ("[filter \"x\"]\nclean = y", "filter.x.clean"),
            ("[alias]\nst = !sh", "alias.st"),
            ("[include]\npath = ../evil", "include.path"),
            ("[includeIf \"gitdir:/\"]\npath = ../evil", "includeif.gitdir:/.path"),
            ("[credential]\nhelper = !sh", "credential.helper"),
            ("[gpg]\nprogram = x", "gpg.program"),
            ("[merge \"x\"]\ndriver = y", "merge.x.driver"),
            ("[pager]\nlog = x", "pager.log"),
            ("[sequence]\neditor = x", "sequence.editor"),
            ("[uploadpack]\npackObjectsHook = x", "uploadpack.packobjectshook"),
        ] {
            let folder = repository(config);
            let expected = format!("the repository . sets {key}, which can make git run something");
            assert!(
                notes(folder.path(), ".").contains(&expected),
                "{config}: {:?}",
                notes(folder.path(), ".")
            );
        }
    }

    #[test]
    fn an_ordinary_repository_is_trusted() {
        let folder = repository(
            "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tfsmonitor = false\n\
             [remote \"origin\"]\n\turl = x\n\tfetch = y\n[branch \"main\"]\n\tremote = origin\n[user]\n\tname = a\n",
        );
        assert_eq!(notes(folder.path(), "."), Vec::<String>::new());
    }

    #[test]
    fn settings_that_cannot_be_read_or_lie_elsewhere_are_not_trusted() {
        let folder = repository("[core");
        assert_eq!(notes(folder.path(), "."), ["the settings of the repository . cannot be read"]);
        let folder = repository("");
        fs::write(folder.path().join(".git/commondir"), "../x").unwrap();
        assert_eq!(notes(folder.path(), "."), ["the repository . takes its settings from another place"]);
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(".git"), "gitdir: /tmp").unwrap();
        assert_eq!(
            notes(folder.path(), "."),
            ["./.git leads to a repository that does not know this workspace"]
        );
    }
}
