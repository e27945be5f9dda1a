//! The boundaries between crates, read from their manifests: who may use whom, and what all must say.

use super::Finding;

/// Who may use whom. A row more or a word more is a change of the architecture.
const EDGES: [(&str, &[&str]); 12] = [
    ("policy", &[]),
    ("domain", &["policy"]),
    ("formats", &["policy", "domain"]),
    ("ports", &["domain"]),
    ("engine", &["policy", "domain", "ports"]),
    ("adapters", &["policy", "domain", "formats", "ports"]),
    ("web", &["domain", "engine"]),
    ("cli", &["policy", "domain", "formats", "ports", "engine", "adapters", "web"]),
    ("testkit", &["policy", "domain", "ports"]),
    ("benches", &["policy", "domain", "formats", "ports", "engine", "adapters", "testkit"]),
    ("fuzz", &["policy", "domain", "formats"]),
    ("xtask", &[]),
];

/// All that a pure crate may use of others.
const PURE_USES: [(&str, &[&str]); 2] = [
    ("policy", &["brush-parser", "serde"]),
    (
        "domain",
        &[
            "memchr",
            "rustc-hash",
            "schemars",
            "serde",
            "serde_json",
            "sha2",
            "smol_str",
            "strum",
            "thiserror",
        ],
    ),
];

/// One dependency that a manifest names.
#[derive(Debug, PartialEq, Eq)]
struct Dependency {
    line: usize,
    /// The package, without `synod-` if it is ours.
    package: String,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Normal,
    Dev,
    Build,
}

/// Checks the manifest of the crate in the folder `name`.
pub fn check(name: &str, manifest: &str) -> Vec<Finding> {
    let Some((_, allowed)) = EDGES.iter().find(|(row, _)| *row == name) else {
        return vec![Finding::new(
            1,
            format!(
                "the crate {name} is not in the table of xtask/src/tidy/edges.rs; add it, with the reason"
            ),
        )];
    };
    let mut findings = Vec::new();
    for dependency in dependencies(manifest) {
        let package = dependency.package.as_str();
        let ours = EDGES.iter().any(|(row, _)| *row == package);
        let pretends = dependency.kind == Kind::Dev && package == "testkit";
        if ours && !allowed.contains(&package) && !pretends {
            let may = if allowed.is_empty() { "none of ours".to_owned() } else { allowed.join(", ") };
            let what = format!(
                "{name} uses {package}, but may use {may}; move the code, or change the architecture first"
            );
            findings.push(Finding::new(dependency.line, what));
        }
        if let Some((_, few)) = PURE_USES.iter().find(|(row, _)| *row == name)
            && !ours
            && dependency.kind != Kind::Dev
            && !few.contains(&package)
        {
            let what = format!("{name} uses {package}, but may use {}; do it in an adapter", few.join(", "));
            findings.push(Finding::new(dependency.line, what));
        }
    }
    // Fuzzing is a workspace of its own and has nothing to inherit from.
    if name != "fuzz" && !inherits_lints(manifest) {
        findings
            .push(Finding::new(1, "the crate does not inherit the lints; add [lints] with workspace = true"));
    }
    findings
}

fn inherits_lints(manifest: &str) -> bool {
    let mut lines = lines(manifest);
    lines.any(|(_, section, line)| match section {
        "lints" => key_value(line) == Some(("workspace", "true")),
        _ => key_value(line) == Some(("lints.workspace", "true")),
    })
}

fn dependencies(manifest: &str) -> Vec<Dependency> {
    let mut found: Vec<Dependency> = Vec::new();
    for (number, section, line) in lines(manifest) {
        let Some((kind, table)) = dependency_section(section) else { continue };
        let Some((key, value)) = key_value(line) else {
            // The head of `[dependencies.name]` itself.
            if let (Some(name), true) = (table, line.starts_with('[')) {
                found.push(Dependency { line: number, package: bare(name), kind });
            }
            continue;
        };
        match table {
            Some(_) if key == "package" => {
                if let Some(last) = found.last_mut() {
                    last.package = bare(value);
                }
            }
            Some(_) => {}
            None => {
                let name = key.split('.').next().unwrap_or(key);
                let package = inline(value, "package").unwrap_or(name);
                found.push(Dependency { line: number, package: bare(package), kind });
            }
        }
    }
    found
}

/// `[dependencies]`, `[target.'cfg(unix)'.dev-dependencies]`, `[dependencies.name]`: the kind, and the name.
fn dependency_section(section: &str) -> Option<(Kind, Option<&str>)> {
    let kinds = [
        ("dev-dependencies", Kind::Dev),
        ("build-dependencies", Kind::Build),
        ("dependencies", Kind::Normal),
    ];
    kinds.into_iter().find_map(|(word, kind)| {
        let (before, behind) = section.rsplit_once(word)?;
        let before_fits = before.is_empty() || before.starts_with("target.") && before.ends_with('.');
        match behind.strip_prefix('.') {
            Some(name) if before_fits => Some((kind, Some(name))),
            None if before_fits && behind.is_empty() => Some((kind, None)),
            Some(_) | None => None,
        }
    })
}

/// Every line with its number and the section it is in; the head of a section is in it.
fn lines(manifest: &str) -> impl Iterator<Item = (usize, &str, &str)> {
    let mut section = "";
    manifest.lines().enumerate().map(move |(index, line)| {
        let line = line.trim();
        if let Some(name) = line.strip_prefix('[').and_then(|l| l.split(']').next()) {
            section = name.trim();
        }
        (index + 1, section, line)
    })
}

fn key_value(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once('=').filter(|_| !line.starts_with(['#', '[']))?;
    Some((key.trim().trim_matches('"'), value.trim()))
}

/// The value of a key in `{ a = "b", c = "d" }`.
fn inline<'a>(table: &'a str, key: &str) -> Option<&'a str> {
    let inner = table.strip_prefix('{')?;
    inner
        .split([',', '{', '}'])
        .find_map(|part| key_value(part.trim()).filter(|(k, _)| *k == key))
        .map(|(_, v)| v)
}

/// A package's name without quotes and without our prefix.
fn bare(name: &str) -> String {
    let name = name.trim_matches(['"', '\'']);
    name.strip_prefix("synod-").unwrap_or(name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINTS: &str = "[lints]\nworkspace = true\n";

    fn findings(name: &str, manifest: &str) -> Vec<String> {
        let short = |f: Finding| format!("{} {}", f.line, f.what.split(';').next().unwrap_or_default());
        check(name, manifest).into_iter().map(short).collect()
    }

    #[test]
    fn the_edges_of_the_table_are_allowed() {
        let manifest = format!(
            "{LINTS}[dependencies]\ndomain = {{ workspace = true }}\nports.workspace = true\ntokio = \"1\"\n[dev-dependencies]\ntestkit = {{ workspace = true }}"
        );
        assert_eq!(findings("engine", &manifest), [""; 0]);
    }

    #[test]
    fn another_edge_is_refused_however_it_is_written() {
        let expected = |line| vec![format!("{line} engine uses adapters, but may use policy, domain, ports")];
        let forms = [
            "[dependencies]\nadapters = { workspace = true }",
            "[dependencies]\nadapters.workspace = true",
            "[dependencies]\nsynod-adapters = { path = \"../adapters\" }",
            "[dependencies]\nhands = { path = \"../adapters\", package = \"synod-adapters\" }",
            "[build-dependencies]\nadapters = { workspace = true }",
            "[dev-dependencies]\nadapters = { workspace = true }",
            "[target.'cfg(unix)'.dependencies]\nadapters = { workspace = true }",
        ];
        for form in forms {
            assert_eq!(findings("engine", &format!("{LINTS}{form}")), expected(4), "{form}");
        }
        let table =
            format!("{LINTS}[dependencies.hands]\npath = \"../adapters\"\npackage = \"synod-adapters\"");
        assert_eq!(findings("engine", &table), expected(3));
    }

    #[test]
    fn only_tests_use_the_testkit() {
        let manifest = format!("{LINTS}[dependencies]\ntestkit = {{ workspace = true }}");
        assert_eq!(
            findings("engine", &manifest),
            ["4 engine uses testkit, but may use policy, domain, ports"]
        );
    }

    #[test]
    fn a_pure_crate_uses_little_of_others() {
        let manifest = format!(
            "{LINTS}[dependencies]\nserde = \"1\"\ntokio = \"1\"\n[dev-dependencies]\nproptest = \"1\""
        );
        assert_eq!(
            findings("domain", &manifest),
            [
                "5 domain uses tokio, but may use memchr, rustc-hash, schemars, serde, serde_json, sha2, smol_str, strum, thiserror"
            ]
        );
        assert_eq!(findings("policy", &manifest), ["5 policy uses tokio, but may use brush-parser, serde"]);
    }

    #[test]
    fn every_crate_inherits_the_lints() {
        assert_eq!(
            findings("domain", "[lints.rust]\nunsafe_code = \"warn\""),
            ["1 the crate does not inherit the lints"]
        );
        assert_eq!(findings("domain", "[package]\nname = \"x\"\n\n[lints]\nworkspace = true"), [""; 0]);
        assert_eq!(findings("domain", "lints.workspace = true"), [""; 0]);
    }

    #[test]
    fn a_crate_that_nobody_planned_is_named() {
        assert_eq!(
            findings("helpers", LINTS),
            ["1 the crate helpers is not in the table of xtask/src/tidy/edges.rs"]
        );
    }
}
