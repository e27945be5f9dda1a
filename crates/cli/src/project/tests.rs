//! Projects of each kind, and what is found in them.

use std::fs;

use super::*;

/// Files, and what is found: the kind, the tests, the lint.
type Case<'a> = (&'a [(&'a str, &'a str)], &'a str, &'a str, &'a str);

/// A repository with these files, on a system with these programs in the person's home folder.
fn found(files: &[(&str, &str)], programs: &[&str]) -> (tempfile::TempDir, Project) {
    let folder = tempfile::tempdir().unwrap();
    let write = |path: PathBuf, text: &str| {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    for (path, text) in files {
        write(folder.path().join("repo").join(path), text);
    }
    let home = folder.path().join("home");
    for program in programs {
        write(home.join(program), "");
    }
    let path = programs.iter().filter_map(|p| home.join(p).parent().map(Path::to_path_buf)).collect();
    let project = look(&folder.path().join("repo"), &System { home, path });
    (folder, project)
}

fn commands(files: &[(&str, &str)]) -> (Option<&'static str>, String, String) {
    let (_folder, project) = found(files, &[]);
    (project.kind, project.test.unwrap_or_default(), project.lint.unwrap_or_default())
}

#[test]
fn the_commands_of_a_project_are_found_by_its_own_files() {
    let npm = r#"{"scripts": {"test": "jest", "lint": "eslint .", "typecheck": "tsc"}}"#;
    let python = "PYTHONDONTWRITEBYTECODE=1 python3 -m";
    let cases: [Case; 14] = [
        (
            &[("Cargo.toml", "")],
            "cargo",
            "cargo test --offline",
            "cargo clippy --offline --all-targets -- -D warnings",
        ),
        (
            &[("package.json", npm)],
            "npm",
            "npm --cache /tmp/npm run test",
            "npm --cache /tmp/npm run lint && npm --cache /tmp/npm run typecheck",
        ),
        (
            &[("package.json", npm), ("pnpm-lock.yaml", "")],
            "pnpm",
            "pnpm run test",
            "pnpm run lint && pnpm run typecheck",
        ),
        (
            &[("package.json", r#"{"packageManager": "yarn@4.1.0", "scripts": {"test": "jest"}}"#)],
            "yarn",
            "yarn run test",
            "",
        ),
        (
            &[("pyproject.toml", "[tool.pytest.ini_options]\n[tool.ruff]\n[tool.mypy]\n")],
            "pytest",
            &format!("{python} pytest -q -p no:cacheprovider"),
            &format!("{python} ruff check --no-cache . && {python} mypy --cache-dir /tmp/mypy ."),
        ),
        (
            &[("setup.py", ""), ("tests/test_a.py", "")],
            "unittest",
            &format!("{python} unittest discover -s tests -t ."),
            "",
        ),
        (&[("setup.py", ""), ("test_a.py", "")], "unittest", &format!("{python} unittest discover"), ""),
        (
            &[("a/b.py", ""), ("tests/test_a.py", "")],
            "unittest",
            &format!("{python} unittest discover -s tests -t ."),
            "",
        ),
        (
            &[("go.mod", ""), ("tests/test_a.py", "")],
            "go",
            "GOCACHE=/tmp/go-build GOFLAGS=-mod=readonly go test ./...",
            "GOCACHE=/tmp/go-build GOFLAGS=-mod=readonly go vet ./...",
        ),
        (
            &[("go.mod", "")],
            "go",
            "GOCACHE=/tmp/go-build GOFLAGS=-mod=readonly go test ./...",
            "GOCACHE=/tmp/go-build GOFLAGS=-mod=readonly go vet ./...",
        ),
        (
            &[("Makefile", "X := 1\n.PHONY: test\ntest: a\n\tcheck: no\nlint:\n\ttrue\n")],
            "make",
            "make test",
            "make lint",
        ),
        (
            &[("Makefile", "all:\n"), ("setup.py", ""), ("test_a.py", "")],
            "unittest",
            &format!("{python} unittest discover"),
            "",
        ),
        (
            &[("Makefile", "lint: x\ntest: x\n"), ("setup.cfg", ""), ("test_a.py", "")],
            "unittest",
            &format!("{python} unittest discover"),
            "make lint",
        ),
        (
            &[("package.json", r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#)],
            "npm",
            "",
            "",
        ),
    ];
    for (files, kind, test, lint) in cases {
        assert_eq!(commands(files), (Some(kind), test.to_owned(), lint.to_owned()), "{files:?}");
    }
    assert_eq!(commands(&[("README.md", "")]).0, None);
}

#[test]
fn java_builds_use_what_was_downloaded_before() {
    let (folder, maven) = found(&[("pom.xml", "<x>maven-checkstyle-plugin</x>")], &[".m2/repository/x"]);
    let local = folder.path().join("home/.m2/repository");
    let run = |goal: &str| Some(format!("mvn -o -q -Dmaven.repo.local='{}' {goal}", local.display()));
    assert_eq!((maven.test, maven.lint), (run("test"), run("checkstyle:check")));
    assert_eq!(maven.read, [local]);
    let (_folder, gradle) = found(&[("build.gradle.kts", ""), ("gradlew", "")], &[]);
    let test = gradle.test.unwrap();
    assert!(test.contains("./gradlew --offline --no-daemon") && gradle.lint.is_none(), "{test}");
}

#[test]
fn toolchains_in_the_home_folder_are_named_for_the_sandbox() {
    let names = |files: &[(&str, &str)], programs: &[&str]| -> Vec<String> {
        let (folder, project) = found(files, programs);
        let own = |at: &PathBuf| at.strip_prefix(folder.path()).unwrap().display().to_string();
        project.read.iter().map(own).collect()
    };
    let cargo = [".cargo/bin/cargo", ".rustup/settings.toml"];
    assert_eq!(names(&[("Cargo.toml", "")], &cargo), ["home/.cargo", "home/.rustup"]);
    let node = [".nvm/versions/node/v22/bin/node", ".nvm/versions/node/v22/bin/npm"];
    let package = ("package.json", r#"{"scripts": {"test": "jest"}}"#);
    assert_eq!(names(&[package], &node), ["home/.nvm/versions/node/v22"]);
    // A folder with more than a program in it is not shown.
    assert_eq!(names(&[package], &["bin/node", ".local/bin/npm"]), [""; 0]);
    assert_eq!(
        names(&[("go.mod", "")], &["sdk/go1.22/bin/go", "go/pkg/mod/x"]),
        ["home/go/pkg/mod", "home/sdk/go1.22"]
    );
}

#[test]
fn what_is_installed_beside_the_code_is_linked_for_as_long_as_a_command_runs() {
    let package = ("package.json", r#"{"scripts": {"test": "jest"}, "devDependencies": {"jest": "1"}}"#);
    let (folder, project) = found(&[package, ("node_modules/jest/index.js", "")], &[]);
    let modules = folder.path().join("repo/node_modules");
    let test = format!(
        "ln -sfn '{}' node_modules; npm --cache /tmp/npm run test; code=$?; rm -f node_modules; exit $code",
        modules.display()
    );
    assert_eq!((project.test, project.read), (Some(test), vec![modules]));
    let (_folder, bare) = found(&[package], &[]);
    assert!(bare.notes.iter().any(|note| note.contains("`npm install`")), "{:?}", bare.notes);
    let venv = [("setup.py", ""), ("test_a.py", ""), (".venv/bin/python", "")];
    let (folder, project) = found(&venv, &[]);
    assert_eq!(project.read, [folder.path().join("repo/.venv")]);
    assert!(project.test.unwrap().contains("/.venv/bin/python' -m unittest discover"));
}
