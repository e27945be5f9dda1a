//! Places outside of the folders of the system that commands may read, as `sandbox: read:` names them: toolchains,
//! mostly. What is wrong with a place by its spelling was said when the settings were read; here it is looked at.

use std::fs;
use std::path::{Path, PathBuf};

use domain::settings;

use super::PATH;

/// Programs that look for their own folder in the home of a person, which in a cage is the workspace.
const OWN_FOLDERS: [(&str, &str); 2] = [(".cargo", "CARGO_HOME"), (".rustup", "RUSTUP_HOME")];

/// Places that are there and may be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Places {
    /// In the order of the settings.
    pub read: Vec<PathBuf>,
}

impl Places {
    /// Those of some settings. One that is not on this system is left out; one that must not be read is an error.
    pub fn of(settings: &settings::Sandbox, home: &Path) -> Result<Self, String> {
        let mut read = Vec::new();
        for named in &settings.read {
            read.extend(place(named, home).map_err(|why| format!("sandbox.read: {named} {why}"))?);
        }
        Ok(Self { read })
    }

    /// The variables by which programs find what is there.
    pub fn variables(&self) -> Vec<(String, String)> {
        if self.read.is_empty() {
            return vec![];
        }
        let mut variables = vec![("PATH".to_owned(), self.path())];
        for place in &self.read {
            let own = OWN_FOLDERS.iter().find(|(name, _)| place.ends_with(name));
            variables.extend(own.map(|(_, key)| ((*key).to_owned(), place.to_string_lossy().into_owned())));
        }
        variables
    }

    /// Where programs are looked for: first where the owner said so.
    pub fn path(&self) -> String {
        let programs = self.read.iter().filter_map(|place| {
            let bin = if place.ends_with("bin") { place.clone() } else { place.join("bin") };
            // A colon would make it two.
            bin.to_str().filter(|text| bin.is_dir() && !text.contains(':')).map(str::to_owned)
        });
        programs.chain([PATH.to_owned()]).collect::<Vec<_>>().join(":")
    }
}

/// Where a place is, if it is there, or why it must not be read.
pub fn place(named: &str, home: &Path) -> Result<Option<PathBuf>, String> {
    if let Some(problem) = settings::Sandbox::problem(named) {
        return Err(problem.to_owned());
    }
    let person = std::env::home_dir();
    let at = match (named.strip_prefix("~/"), &person) {
        (Some(rest), Some(person)) => person.join(rest),
        (Some(_), None) => return Err("is in your home folder, of which nothing is known".to_owned()),
        (None, _) => PathBuf::from(named),
    };
    let Ok(real) = fs::canonicalize(&at) else { return Ok(None) };
    if let Some(problem) = real.to_str().and_then(settings::Sandbox::problem) {
        return Err(format!("is {}, which {problem}", real.display()));
    }
    let home = fs::canonicalize(home).unwrap_or_else(|_| home.to_owned());
    if home.starts_with(&real) || real.starts_with(&home) {
        return Err("has the home in it, or lies there".to_owned());
    }
    if person.and_then(|person| person.canonicalize().ok()).is_some_and(|person| person.starts_with(&real)) {
        return Err("has your home folder in it".to_owned());
    }
    Ok(Some(at))
}
