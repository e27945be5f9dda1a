//! How agents spell paths. A path is relative to the folder in which its agent works; `home:` names the rest of the home. Any
//! other spelling that names a file beneath the home is read, too. Inside Synod, paths are relative to the home.
//! Nothing here looks at a disk: the caller says what exists.

use policy::path::normal;

use super::layout::{GIT, TOP, inside, is_inside};

/// The prefix of a path that is relative to the home.
pub const HOME: &str = "home:";
/// The home itself, as a path relative to the home.
const TOP_FOLDER: &str = ".";

/// What a path is written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// To find what is there.
    Find,
    /// To make something, or to find what an earlier call of the same answer may have made.
    Make,
}

/// Reads and shows paths for one agent.
#[derive(Clone, Copy)]
pub struct Speller<'a> {
    /// The folder in which it works, relative to the home.
    pub folder: &'a str,
    /// The absolute path of the home.
    pub home: &'a str,
    /// Whether something is at a path relative to the home.
    pub exists: &'a dyn Fn(&str) -> bool,
}

impl Speller<'_> {
    /// The path relative to the home that an agent means; `None` if it is not beneath the home.
    pub fn read(&self, spelled: &str, purpose: Purpose) -> Option<String> {
        let path = match (spelled.strip_prefix(HOME), spelled.starts_with('/')) {
            (Some(rest), _) => normal(rest.trim_start_matches('/'))?,
            (None, true) => self.absolute(spelled)?,
            (None, false) => self.relative(spelled, purpose)?,
        };
        // What begins so is no plain path, however it was spelled.
        if path.starts_with('~') {
            return None;
        }
        Some(match path.as_str() {
            "" => TOP_FOLDER.to_owned(),
            // Who writes a slash at the end means a folder.
            _ if spelled.ends_with('/') => format!("{path}/"),
            _ => path,
        })
    }

    /// A path as this agent spells it, so that it reads as the same path: relative to its folder; else from the home, if its
    /// first name is one of the home's layout and the folder has no such name; else with `home:`.
    pub fn show(&self, path: &str) -> String {
        let Some(plain) = normal(path) else { return path.to_owned() };
        let reads = |short: &str, purpose| self.read(short, purpose).as_deref() == Some(plain.as_str());
        let short = if plain == self.folder { Some(TOP_FOLDER) } else { inside(&plain, self.folder) };
        if let Some(short) = short.filter(|short| reads(short, Purpose::Find)) {
            return short.to_owned();
        }
        let is_plain = is_in_layout(&plain) && reads(&plain, Purpose::Find) && reads(&plain, Purpose::Make);
        if is_plain { plain } else { format!("{HOME}{plain}") }
    }

    fn absolute(&self, spelled: &str) -> Option<String> {
        let plain = normal(spelled.trim_start_matches('/'))?;
        let home = normal(self.home.trim_start_matches('/'))?;
        if plain == home { Some(String::new()) } else { inside(&plain, &home).map(str::to_owned) }
    }

    fn relative(&self, spelled: &str, purpose: Purpose) -> Option<String> {
        if spelled == "~" || spelled.starts_with("~/") {
            return None;
        }
        let below = normal(&format!("{}/{spelled}", self.folder))?;
        // It says itself that it leaves the folder, or that it is the folder.
        let Some(rest) = inside(&below, self.folder) else { return Some(below) };
        if (self.exists)(&below) {
            return Some(below);
        }
        let own_has = |name: &str| (self.exists)(&format!("{}/{name}", self.folder));
        let of_home = rest == self.folder
            || is_inside(rest, self.folder)
            || purpose == Purpose::Find && !rest.starts_with('~') && (self.exists)(rest)
            || is_in_layout(rest) && !own_has(top_of(rest));
        Some(if of_home { rest.to_owned() } else { below })
    }
}

fn top_of(path: &str) -> &str {
    path.split('/').next().unwrap_or(path)
}

/// Whether the first name of a path is a folder or a file that every home may have.
fn is_in_layout(path: &str) -> bool {
    let top = top_of(path);
    top != GIT && TOP.iter().any(|(name, _)| *name == top)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    const OWN: &str = "workspaces/coder-001";
    const AT: &str = "/srv/team";

    fn read(there: &[&str], spelled: &str, purpose: Purpose) -> Option<String> {
        let exists = |path: &str| there.contains(&path);
        Speller { folder: OWN, home: AT, exists: &exists }.read(spelled, purpose)
    }

    #[test]
    fn every_spelling_names_the_same_file() {
        let there = ["workspaces/coder-001/src/a.rs", "workspaces/coder-001/src"];
        for spelled in [
            "src/a.rs",
            "./src/a.rs",
            "src//b/../a.rs",
            "home:workspaces/coder-001/src/a.rs",
            "home:/workspaces/coder-001/src/a.rs",
            "workspaces/coder-001/src/a.rs",
            "../coder-001/src/a.rs",
            "/srv/team/workspaces/coder-001/src/a.rs",
        ] {
            let found = read(&there, spelled, Purpose::Find);
            assert_eq!(found.as_deref(), Some("workspaces/coder-001/src/a.rs"), "{spelled}");
        }
    }

    #[test]
    fn a_name_of_the_home_is_read_where_the_workspace_has_none() {
        let there = ["memory", "memory/a.md", "notes.md", "README.md", "workspaces/coder-001/README.md"];
        for (spelled, found, made) in [
            ("memory/a.md", "memory/a.md", "memory/a.md"),
            ("memory/new.md", "memory/new.md", "memory/new.md"),
            ("artifacts/x", "artifacts/x", "artifacts/x"),
            ("notes.md", "notes.md", "workspaces/coder-001/notes.md"),
            ("README.md", "workspaces/coder-001/README.md", "workspaces/coder-001/README.md"),
            ("src/new.rs", "workspaces/coder-001/src/new.rs", "workspaces/coder-001/src/new.rs"),
            ("../tester-001/a", "workspaces/tester-001/a", "workspaces/tester-001/a"),
            ("../../memory/a.md", "memory/a.md", "memory/a.md"),
            (".", "workspaces/coder-001", "workspaces/coder-001"),
            ("home:", ".", "."),
            ("/srv/team/", ".", "."),
        ] {
            assert_eq!(read(&there, spelled, Purpose::Find).as_deref(), Some(found), "{spelled}");
            assert_eq!(read(&there, spelled, Purpose::Make).as_deref(), Some(made), "{spelled}");
        }
    }

    #[test]
    fn a_folder_of_the_workspace_hides_one_of_the_home() {
        let there = ["memory", "memory/a.md", "workspaces/coder-001/memory"];
        let own = "workspaces/coder-001/memory/b.md";
        assert_eq!(read(&there, "memory/b.md", Purpose::Find).as_deref(), Some(own));
        assert_eq!(read(&there, "memory/a.md", Purpose::Find).as_deref(), Some("memory/a.md"));
        let made = "workspaces/coder-001/memory/a.md";
        assert_eq!(read(&there, "memory/a.md", Purpose::Make).as_deref(), Some(made));
    }

    #[test]
    fn what_leads_out_of_the_home_is_no_path() {
        for spelled in [
            "/etc/passwd",
            "/srv/teams/a",
            "../../../x",
            "home:../x",
            "~/x",
            "~",
            "/srv/team/../x",
            "a/../../../../x",
            "/srv/team/~",
            "home:a/../~/x",
            "../../~x",
        ] {
            assert_eq!(read(&[], spelled, Purpose::Find), None, "{spelled}");
        }
    }

    const NAMES: [&str; 15] = [
        "memory",
        "workspaces",
        "coder-001",
        "coder-001.review",
        "tasks",
        "a",
        "b.md",
        "home:",
        "home:a",
        "~",
        " ",
        "ä",
        ".git",
        "synod.yaml",
        "...",
    ];

    fn name() -> impl Strategy<Value = String> {
        prop::sample::select(&NAMES[..]).prop_map(str::to_owned)
    }

    fn path() -> impl Strategy<Value = String> {
        prop::collection::vec(name(), 1..5).prop_map(|names| names.join("/"))
    }

    fn spelling() -> impl Strategy<Value = String> {
        let part = prop_oneof![6 => name(), 1 => Just("..".to_owned()), 1 => Just(".".to_owned()), 1 => Just(String::new())];
        let start = prop::sample::select(vec![
            "",
            "./",
            "home:",
            "home:/",
            "/",
            "/srv/team/",
            "/srv/team/workspaces/coder-001/",
            "workspaces/coder-001/",
            "~/",
        ]);
        (start, prop::collection::vec(part, 0..6))
            .prop_map(|(start, parts)| format!("{start}{}", parts.join("/")))
    }

    /// A tree: each path with its folders.
    fn tree() -> impl Strategy<Value = BTreeSet<String>> {
        let own = path().prop_map(|path| format!("{OWN}/{path}"));
        prop::collection::vec(prop_oneof![path(), own], 0..12).prop_map(|paths| {
            let folders = |path: &String| {
                let ends: Vec<usize> =
                    path.match_indices('/').map(|(at, _)| at).chain([path.len()]).collect();
                ends.into_iter().map(|end| path[..end].to_owned()).collect::<Vec<_>>()
            };
            paths.iter().flat_map(folders).collect()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]

        #[test]
        fn reading_is_idempotent_and_never_leaves_the_home(there in tree(), spelled in spelling(), makes: bool) {
            let exists = |path: &str| there.contains(path);
            let speller = Speller { folder: OWN, home: AT, exists: &exists };
            let purpose = if makes { Purpose::Make } else { Purpose::Find };
            if let Some(read) = speller.read(&spelled, purpose) {
                let plain = read.strip_suffix('/').unwrap_or(&read);
                prop_assert!(plain == "." || normal(plain).as_deref() == Some(plain), "{read} is plain");
                prop_assert_eq!(speller.read(&format!("{HOME}{read}"), purpose), Some(read.clone()));
                let shown = speller.show(&read);
                prop_assert_eq!(speller.read(&shown, Purpose::Find), Some(plain.to_owned()), "{}", shown);
                prop_assert_eq!(speller.show(plain), shown);
            }
        }

        #[test]
        fn what_is_shown_reads_as_the_same_path(there in tree(), path in path()) {
            let exists = |path: &str| there.contains(path);
            for folder in [OWN, "workspaces/coder-001.review"] {
                let speller = Speller { folder, home: AT, exists: &exists };
                // Nothing reads as a path that is not plain.
                let plain = |path: &String| normal(path).is_some();
                for path in [path.clone(), format!("{folder}/{path}")].into_iter().filter(plain) {
                    let shown = speller.show(&path);
                    prop_assert_eq!(speller.read(&shown, Purpose::Find), Some(path.clone()), "{}", shown);
                    // What is there is made where it is shown.
                    if there.contains(&path) {
                        prop_assert_eq!(speller.read(&shown, Purpose::Make), Some(path.clone()), "{}", shown);
                    }
                }
            }
        }
    }
}
