//! What a repository is built with: the commands for its tests and its lint, and the folders that those need beside the system.
//! Files are read; nothing of the repository runs.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// A file that is longer is not read.
const BYTES_MAX: u64 = 1 << 20;
/// What `npm init` writes where there are no tests.
const NO_TEST: &str = "no test specified";
/// Folders of the system, whose programs commands see anyway.
const SYSTEM: [&str; 5] = ["/usr", "/bin", "/sbin", "/lib", "/nix/store"];

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Project {
    /// What it is built with, such as `cargo`.
    pub kind: Option<&'static str>,
    /// The command that runs its tests.
    pub test: Option<String>,
    /// The command that checks it without running it.
    pub lint: Option<String>,
    /// Folders that these commands must see.
    pub read: Vec<PathBuf>,
    /// What the owner should know.
    pub notes: Vec<String>,
}

/// Where programs and their folders are on this system.
#[derive(Debug, Clone, Default)]
pub struct System {
    /// The person's home folder.
    pub home: PathBuf,
    /// Where programs are looked for.
    pub path: Vec<PathBuf>,
}

impl System {
    /// This one.
    pub fn this() -> Self {
        let path = std::env::var_os("PATH").unwrap_or_default();
        Self { home: std::env::home_dir().unwrap_or_default(), path: std::env::split_paths(&path).collect() }
    }

    fn find(&self, program: &str) -> Option<PathBuf> {
        self.path.iter().map(|folder| folder.join(program)).find(|at| at.is_file())
    }
}

/// One way of building that a repository shows signs of.
#[derive(Debug, Default)]
struct Way {
    kind: &'static str,
    test: Option<String>,
    lint: Vec<String>,
    programs: Vec<&'static str>,
    read: Vec<PathBuf>,
    notes: Vec<String>,
}

/// Looks at the files of a repository.
pub fn look(repo: &Path, system: &System) -> Project {
    let ways = [cargo, node, python, go, maven, gradle, make, loose_python].into_iter();
    let mut ways: Vec<Way> = ways.filter_map(|way| way(repo, system)).collect();
    // What has tests counts; of several, the first.
    ways.sort_by_key(|way| way.test.is_none());
    let mut ways = ways.into_iter();
    let Some(mut way) = ways.next() else { return Project::default() };
    for other in ways {
        if way.lint.is_empty() && other.kind == "make" {
            way.lint.clone_from(&other.lint);
            way.programs.extend(other.programs);
        } else if other.test.is_some() && other.kind != "make" {
            let test = other.test.unwrap_or_default();
            way.notes
                .push(format!("it is also built with {}: `{test}` is not part of the tests", other.kind));
        }
    }
    for program in &way.programs {
        match system.find(program) {
            Some(at) => way.read.extend(folders_of(&at, system)),
            None if repo.join(program).is_file() => {}
            None => way.notes.push(format!("`{program}` is not installed here")),
        }
    }
    way.read.retain(|folder| folder.is_dir());
    way.read.dedup();
    let lint = (!way.lint.is_empty()).then(|| way.lint.join(" && "));
    Project { kind: Some(way.kind), test: way.test, lint, read: way.read, notes: way.notes }
}

/// The folders that a program needs, if it is not one of the system's own.
fn folders_of(program: &Path, system: &System) -> Vec<PathBuf> {
    let own = |name: &str| system.home.join(name);
    if program.starts_with(own(".cargo")) {
        return vec![own(".cargo"), own(".rustup")];
    }
    // These stand in for the program of a version that a file names.
    if program.starts_with(own(".pyenv/shims")) {
        let version = text(&own(".pyenv/version"));
        let version = version.lines().next().unwrap_or_default().trim();
        return if version.is_empty() { vec![] } else { vec![own(".pyenv/versions").join(version)] };
    }
    let real = program.canonicalize().unwrap_or_else(|_| program.to_owned());
    let root = real.ancestors().find(|folder| folder.file_name().is_some_and(|name| name == "bin"));
    let root = root.and_then(Path::parent).filter(|root| !SYSTEM.iter().any(|own| root.starts_with(own)));
    // A folder as wide as `~` or `~/.local` has more in it than a program.
    let is_narrow =
        |root: &&Path| *root != system.home && !root.ends_with(".local") && root.parent().is_some();
    root.filter(is_narrow).map(Path::to_path_buf).into_iter().collect()
}

fn text(path: &Path) -> String {
    let is_small = path.metadata().is_ok_and(|found| found.is_file() && found.len() <= BYTES_MAX);
    if is_small { std::fs::read_to_string(path).unwrap_or_default() } else { String::new() }
}

fn cargo(repo: &Path, _: &System) -> Option<Way> {
    repo.join("Cargo.toml").is_file().then(|| Way {
        kind: "cargo",
        // Commands have no network, so what is missing is said at once.
        test: Some("cargo test --offline".to_owned()),
        lint: vec!["cargo clippy --offline --all-targets -- -D warnings".to_owned()],
        programs: vec!["cargo"],
        ..Way::default()
    })
}

fn node(repo: &Path, _: &System) -> Option<Way> {
    let package: Value = serde_json::from_str(&text(&repo.join("package.json"))).ok()?;
    let named =
        package["packageManager"].as_str().and_then(|name| name.split('@').next()).unwrap_or_default();
    let is = |name: &str, lock: &str| named == name || (named.is_empty() && repo.join(lock).is_file());
    let (kind, run) = match () {
        () if is("pnpm", "pnpm-lock.yaml") => ("pnpm", "pnpm run"),
        () if is("yarn", "yarn.lock") => ("yarn", "yarn run"),
        // Its cache would be in the home folder, which in a sandbox is the workspace.
        () => ("npm", "npm --cache /tmp/npm run"),
    };
    let script = |name: &str| {
        let command = package["scripts"][name].as_str()?;
        (!command.contains(NO_TEST)).then(|| format!("{run} {name}"))
    };
    let mut way = Way {
        kind,
        test: script("test"),
        lint: ["lint", "typecheck", "type-check", "check-types"].into_iter().filter_map(script).collect(),
        programs: vec!["node", kind],
        ..Way::default()
    };
    let needs = |key: &str| package[key].as_object().is_some_and(|all| !all.is_empty());
    if needs("dependencies") || needs("devDependencies") {
        let modules = repo.join("node_modules");
        if modules.is_dir() {
            // They are in no commit, so a checkout gets a link to them for as long as the command runs.
            let linked = |command: String| {
                let at = modules.display();
                format!("ln -sfn '{at}' node_modules; {command}; code=$?; rm -f node_modules; exit $code")
            };
            way.test = way.test.map(linked);
            way.lint = if way.lint.is_empty() { vec![] } else { vec![linked(way.lint.join(" && "))] };
            way.read.push(modules);
        } else {
            way.notes
                .push(format!("install the dependencies with `{kind} install` and give this command again"));
        }
    }
    Some(way)
}

const PYTHON: [&str; 6] =
    ["pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "tox.ini", "pytest.ini"];

fn python(repo: &Path, system: &System) -> Option<Way> {
    PYTHON.iter().any(|name| repo.join(name).is_file()).then(|| python_way(repo, system))
}

/// Python that is not packaged, known by its tests. It comes last: other projects have scripts in Python, too.
fn loose_python(repo: &Path, system: &System) -> Option<Way> {
    let is_packaged = PYTHON.iter().any(|name| repo.join(name).is_file());
    let has_tests = ["", "tests", "test"].iter().any(|folder| has_test_file(&repo.join(folder)));
    (!is_packaged && has_tests).then(|| python_way(repo, system))
}

fn python_way(repo: &Path, system: &System) -> Way {
    let read = |name: &str| text(&repo.join(name));
    let (pyproject, setup) = (read("pyproject.toml"), read("setup.cfg"));
    let venv =
        [".venv", "venv"].into_iter().map(|name| repo.join(name)).find(|at| at.join("bin/python").exists());
    let python =
        venv.as_ref().map_or("python3".to_owned(), |at| format!("'{}'", at.join("bin/python").display()));
    // What a run leaves behind would be taken for work.
    let run = |module: &str| format!("PYTHONDONTWRITEBYTECODE=1 {python} -m {module}");
    let lists = ["requirements.txt", "requirements-dev.txt", "dev-requirements.txt", "tox.ini"];
    let is_pytest = repo.join("pytest.ini").is_file()
        || repo.join("conftest.py").is_file()
        || repo.join("tests/conftest.py").is_file()
        || pyproject.contains("pytest")
        || setup.contains("[tool:pytest]")
        || lists.iter().any(|name| read(name).contains("pytest"));
    let tests = ["tests", "test"].into_iter().find(|name| repo.join(name).is_dir());
    let test = match (is_pytest, tests) {
        (true, _) => Some(run("pytest -q -p no:cacheprovider")),
        (false, Some(folder)) => Some(run(&format!("unittest discover -s {folder} -t ."))),
        (false, None) => has_test_file(repo).then(|| run("unittest discover")),
    };
    let mut lint = Vec::new();
    if repo.join("ruff.toml").is_file()
        || repo.join(".ruff.toml").is_file()
        || pyproject.contains("[tool.ruff")
    {
        lint.push(run("ruff check --no-cache ."));
    }
    if repo.join(".flake8").is_file() || setup.contains("[flake8]") || read("tox.ini").contains("[flake8]") {
        lint.push(run("flake8"));
    }
    if repo.join("mypy.ini").is_file() || pyproject.contains("[tool.mypy") || setup.contains("[mypy]") {
        lint.push(run("mypy --cache-dir /tmp/mypy ."));
    }
    let mut way = Way { kind: if is_pytest { "pytest" } else { "unittest" }, test, lint, ..Way::default() };
    match venv {
        None => way.programs.push("python3"),
        Some(venv) => {
            // The Python that it was made of, if that is not one of the system's.
            let made_of = read_value(&text(&venv.join("pyvenv.cfg")), "home");
            way.read.extend(folders_of(&PathBuf::from(made_of).join("python3"), system));
            way.read.push(venv);
        }
    }
    way
}

/// The value of a line `key = value`.
fn read_value(text: &str, key: &str) -> String {
    let lines = text.lines().filter_map(|line| line.split_once('='));
    lines
        .filter(|(name, _)| name.trim() == key)
        .map(|(_, value)| value.trim().to_owned())
        .next()
        .unwrap_or_default()
}

fn has_test_file(repo: &Path) -> bool {
    let names = std::fs::read_dir(repo)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok());
    names.into_iter().any(|name| name.starts_with("test") && name.ends_with(".py"))
}

fn go(repo: &Path, system: &System) -> Option<Way> {
    if !repo.join("go.mod").is_file() {
        return None;
    }
    let modules = system.home.join("go/pkg/mod");
    let cache = if modules.is_dir() { format!(" GOMODCACHE='{}'", modules.display()) } else { String::new() };
    let run = |command: &str| format!("GOCACHE=/tmp/go-build GOFLAGS=-mod=readonly{cache} {command}");
    let configs = [".golangci.yml", ".golangci.yaml", ".golangci.toml"];
    let has_linter =
        configs.iter().any(|name| repo.join(name).is_file()) && system.find("golangci-lint").is_some();
    let lint = if has_linter { "golangci-lint run" } else { "go vet ./..." };
    Some(Way {
        kind: "go",
        test: Some(run("go test ./...")),
        lint: vec![run(lint)],
        programs: if has_linter { vec!["go", "golangci-lint"] } else { vec!["go"] },
        read: vec![modules],
        ..Way::default()
    })
}

fn maven(repo: &Path, system: &System) -> Option<Way> {
    let pom = text(&repo.join("pom.xml"));
    if pom.is_empty() {
        return None;
    }
    let program = if repo.join("mvnw").is_file() { "./mvnw" } else { "mvn" };
    let local = system.home.join(".m2/repository");
    let run = |goal: &str| format!("{program} -o -q -Dmaven.repo.local='{}' {goal}", local.display());
    let lint = [("maven-checkstyle-plugin", "checkstyle:check"), ("spotless-maven-plugin", "spotless:check")];
    let lint =
        lint.into_iter().filter(|(plugin, _)| pom.contains(plugin)).map(|(_, goal)| run(goal)).collect();
    Some(Way {
        kind: "maven",
        test: Some(run("test")),
        lint,
        programs: if program == "mvn" { vec!["java", "mvn"] } else { vec!["java"] },
        read: vec![local],
        ..Way::default()
    })
}

fn gradle(repo: &Path, system: &System) -> Option<Way> {
    let build = ["build.gradle", "build.gradle.kts"].into_iter().find(|name| repo.join(name).is_file())?;
    let build = text(&repo.join(build));
    let program = if repo.join("gradlew").is_file() { "./gradlew" } else { "gradle" };
    let caches = system.home.join(".gradle/caches");
    let run = |task: &str| {
        let cache = caches.display();
        format!("GRADLE_RO_DEP_CACHE='{cache}' {program} --offline --no-daemon -g /tmp/gradle {task}")
    };
    let lint = [("ktlint", "ktlintCheck"), ("spotless", "spotlessCheck"), ("checkstyle", "checkstyleMain")];
    let lint =
        lint.into_iter().filter(|(plugin, _)| build.contains(plugin)).map(|(_, task)| run(task)).collect();
    Some(Way {
        kind: "gradle",
        test: Some(run("test")),
        lint,
        programs: if program == "gradle" { vec!["java", "gradle"] } else { vec!["java"] },
        read: vec![caches],
        ..Way::default()
    })
}

fn make(repo: &Path, _: &System) -> Option<Way> {
    let names = ["GNUmakefile", "makefile", "Makefile"];
    let makefile = text(&names.into_iter().map(|name| repo.join(name)).find(|at| at.is_file())?);
    let targets = makefile.lines().filter_map(|line| {
        let (names, rest) = line.split_once(':')?;
        (!rest.starts_with('=') && !names.starts_with(['\t', '#', '.'])).then_some(names)
    });
    let targets: Vec<&str> = targets.flat_map(str::split_whitespace).collect();
    let has = |name: &&&str| targets.contains(*name);
    Some(Way {
        kind: "make",
        test: ["test", "tests", "check"].iter().find(has).map(|name| format!("make {name}")),
        lint: ["lint", "vet"].iter().find(has).map(|name| format!("make {name}")).into_iter().collect(),
        programs: vec!["make"],
        ..Way::default()
    })
}

#[cfg(test)]
mod tests;
