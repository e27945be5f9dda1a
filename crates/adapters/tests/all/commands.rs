//! Running commands: what the agent sees, and that nothing is left behind.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, Instant};

use adapters::sandbox::Sandbox;
use adapters::sandbox::backend::Backend;
use domain::id::AgentId;
use domain::settings::Settings;
use ports::tools::{Order, Outcome, Tools};
use testkit::tools::order;

use crate::home::{Home, asleep, command, eventually, inner, nap};

fn limited(text: &str, ms_max: u64) -> Order {
    Order { ms_max, ..order(7, "coder-001", command(text)) }
}

#[tokio::test]
async fn a_command_reports_its_code_and_both_streams() {
    let home = Home::new();
    for (text, expected) in [
        ("echo hello", "exit code: 0\nstdout:\nhello\n\nstderr:\n[nothing]"),
        ("echo 'a  b' \"c d\"", "exit code: 0\nstdout:\na  b c d\n\nstderr:\n[nothing]"),
        ("echo one; echo two >&2; exit 3", "exit code: 3\nstdout:\none\n\nstderr:\ntwo\n"),
        ("true", "exit code: 0\nstdout:\n[nothing]\nstderr:\n[nothing]"),
        ("false", "exit code: 1\nstdout:\n[nothing]\nstderr:\n[nothing]"),
        ("kill -9 $$", "ended by signal 9\nstdout:\n[nothing]\nstderr:\n[nothing]"),
        ("printf 'a\\377b'", "exit code: 0\nstdout:\na\u{fffd}b\nstderr:\n[nothing]"),
    ] {
        assert_eq!(home.done(command(text)).await, expected, "{text}");
    }
}

#[tokio::test]
async fn a_command_runs_in_its_workspace_with_a_clean_environment_and_no_input() {
    let home = Home::new();
    let workspace = home.path("workspaces/coder-001").canonicalize();
    assert!(workspace.is_err(), "it is made when it is needed");
    let shown = home.done(command("env")).await;
    let workspace = home.path("workspaces/coder-001").canonicalize().unwrap();
    let mut names: Vec<&str> =
        shown.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    names.sort_unstable();
    assert_eq!(names, ["GIT_CONFIG_GLOBAL", "HOME", "LANG", "PATH"]);
    assert!(shown.contains(&format!("HOME={}\n", workspace.display())), "{shown}");
    assert!(home.done(command("pwd")).await.contains(&format!("\n{}\n", workspace.display())));
    assert!(home.done(command("cat")).await.starts_with("exit code: 0\nstdout:\n[nothing]"));
}

#[tokio::test]
async fn a_toolchain_that_the_owner_names_is_found_and_its_credentials_are_not() {
    // Not in /tmp, of which a cage has its own.
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let tool = folder.path().canonicalize().unwrap().join("tool/.cargo");
    for (path, text) in [
        ("bin/forge", "#!/bin/sh\ncat $CARGO_HOME/data.txt $CARGO_HOME/*.toml; touch $CARGO_HOME/x; true\n"),
        ("data.txt", "from the toolchain"),
        ("credentials.toml", "the secret"),
        ("deep/.aws/config", "the secret"),
    ] {
        fs::create_dir_all(tool.join(path).parent().unwrap()).unwrap();
        fs::write(tool.join(path), text).unwrap();
    }
    fs::set_permissions(tool.join("bin/forge"), fs::Permissions::from_mode(0o755)).unwrap();
    for backend in [Backend::Bubblewrap, Backend::Namespaces] {
        let sandbox = Sandbox::new(inner()).only(backend);
        if sandbox.backend().is_none() {
            continue;
        }
        let home = Home::caged(sandbox);
        assert!(home.done(command("forge")).await.starts_with("exit code: 127\n"), "nobody named it");
        home.tools.settle(&reading(&[&tool, Path::new("/opt/that-is-not-here")]));
        let ran = home.done(command("forge")).await;
        assert!(ran.starts_with("exit code: 0\nstdout:\nfrom the toolchain\n"), "{ran}");
        let shown = home.done(command(&format!("grep -rs secret {}", tool.display()))).await;
        assert!(!format!("{ran}{shown}").contains("the secret"), "{ran}{shown}");
        assert!(!tool.join("x").exists(), "it is only read");
        let agent = AgentId::parse("coder-001").unwrap();
        let seen = home.tools.look(&agent, &command("forge")).await.unwrap();
        let program = format!("program {}", tool.join("bin/forge").display());
        assert!(seen.parts.iter().any(|part| part.what == program), "{seen:?}");
    }
}

#[tokio::test]
async fn a_place_with_the_home_in_it_is_not_read() {
    let home = Home::new();
    let around = home.path("").canonicalize().unwrap();
    let link = tempfile::tempdir_in("/var/tmp").unwrap();
    symlink(&around, link.path().join("tools")).unwrap();
    symlink("/proc/1", link.path().join("system")).unwrap();
    for (place, why) in [
        (around.parent().unwrap(), "has the home in it"),
        (&around, "has the home in it"),
        (&around.join("workspaces"), "or lies there"),
        (&link.path().join("tools"), "has the home in it"),
        (&link.path().join("system"), "the system itself"),
    ] {
        fs::create_dir_all(around.join("workspaces")).unwrap();
        home.tools.settle(&reading(&[place]));
        let said = home.failed(command("true")).await;
        assert!(said.contains("sandbox.read") && said.contains(why), "{said}");
    }
}

fn reading(places: &[&Path]) -> Settings {
    let read = places.iter().map(|place| place.to_str().unwrap().to_owned()).collect();
    Settings { sandbox: domain::settings::Sandbox { read, is_unsafe: false }, ..Settings::default() }
}

#[tokio::test]
async fn a_plain_command_meets_no_shell() {
    let home = Home::new();
    assert!(home.done(command("echo '$HOME' '`id`' '*'")).await.contains("$HOME `id` *"));
    let absent = home.done(command("no-such-program x")).await;
    assert!(
        absent.starts_with("exit code: 127\n") && absent.contains("no-such-program: there is no"),
        "{absent}"
    );
    assert!(home.done(command("./absent")).await.starts_with("exit code: 127\n"));
    assert!(home.done(command("echo $((6*7)) | tr 4 5")).await.contains("52"));
    assert!(home.done(command("-c 'echo no' || echo yes")).await.contains("yes"));
}

#[tokio::test]
async fn an_agent_with_a_strange_name_gets_no_workspace() {
    let home = Home::new();
    for agent in ["../x", "a/b", "", "A", "."] {
        let outcome = home.run(order(1, agent, command("echo x"))).await;
        assert!(matches!(outcome, Outcome { ok: false, .. }), "{agent}: {outcome:?}");
    }
    std::fs::create_dir_all(home.path("workspaces")).unwrap();
    std::os::unix::fs::symlink("/tmp", home.path("workspaces/coder-001")).unwrap();
    assert!(home.failed(command("pwd")).await.contains("is a link or a file"));
}

/// With a sandbox and without, which must leave nothing behind either.
fn homes() -> [Home; 2] {
    [Home::new(), Home::bare()]
}

#[tokio::test]
async fn a_command_that_takes_too_long_is_ended_with_all_it_started() {
    for home in homes() {
        let nap = nap();
        // A child in the background, one in a session of its own, and one that does not listen.
        let text = format!(
            "sleep {nap} & setsid sleep {nap} & \
             sh -c 'trap \"\" TERM; echo > three; while :; do sleep 1; done' & \
             setsid sh -c 'echo > two; sleep {nap}; :' & \
             until test -s two -a -s three; do :; done; echo started; wait"
        );
        let before = Instant::now();
        let outcome = home.run(limited(&text, 1_500)).await;
        assert!(before.elapsed() < Duration::from_secs(8), "{:?}", before.elapsed());
        assert!(!outcome.ok && outcome.text.starts_with("ended after 1500 ms"), "{outcome:?}");
        assert!(outcome.text.contains("started"), "what it printed until then is shown: {outcome:?}");
        eventually("the end of all", || asleep(&nap) == 0).await;
    }
}

#[tokio::test]
async fn a_command_that_is_asked_to_end_may_say_its_last_words() {
    let home = Home::new();
    let text = "trap 'echo goodbye; exit 0' TERM; echo ready; while :; do sleep 0.01; done";
    match home.run(limited(text, 500)).await {
        Outcome { ok: false, text, .. } => assert!(text.contains("goodbye"), "{text}"),
        Outcome { ok: true, text, .. } => panic!("{text}"),
    }
}

#[tokio::test]
async fn what_a_finished_command_leaves_running_is_ended_at_once() {
    for home in homes() {
        let nap = nap();
        let before = Instant::now();
        let shown = home.done(command(&format!("sleep {nap} & echo done"))).await;
        assert!(before.elapsed() < Duration::from_secs(5), "{:?}", before.elapsed());
        assert_eq!(shown, "exit code: 0\nstdout:\ndone\n\nstderr:\n[nothing]");
        eventually("its end", || asleep(&nap) == 0).await;
        let text = format!("setsid sh -c 'echo > away; sleep {nap}; :' & until test -s away; do :; done");
        home.done(command(&text)).await;
        eventually("its end", || asleep(&nap) == 0).await;
    }
}

#[tokio::test]
async fn a_dropped_command_is_ended_with_all_it_started() {
    for home in homes() {
        let nap = nap();
        let text = format!("sleep {nap} & setsid sleep {nap} & wait");
        tokio::select! {
            outcome = home.tools.run(limited(&text, 60_000)) => panic!("{outcome:?}"),
            () = eventually("both", || asleep(&nap) == 2) => {}
        }
        eventually("their end", || asleep(&nap) == 0).await;
    }
}

#[tokio::test]
async fn a_flood_is_cut_in_the_middle_and_kept_for_people() {
    let home = Home::new();
    let text = "echo first; i=0; while test $i -lt 3000; do echo filling $i; i=$((i+1)); done; echo last; echo bad >&2";
    let mut order = limited(text, 10_000);
    order.output_bytes_max = 1_000;
    let Outcome { ok: true, text: shown, .. } = home.run(order).await else { panic!("it is done") };
    assert!(shown.len() < 1_400, "{} bytes", shown.len());
    for part in [
        "stdout:\nfirst\n",
        "bytes cut",
        "last\n\nstderr:\nbad\n",
        "in artifacts/output/7.txt; read_file shows it by lines]",
    ] {
        assert!(shown.contains(part), "{shown} has {part}");
    }
    let whole = home.read("artifacts/output/7.txt");
    assert!(whole.contains("filling 1500\n") && whole.ends_with("stderr:\nbad\n"));
}

#[tokio::test]
async fn an_endless_flood_is_ended() {
    let home = Home::new();
    match home.run(limited("yes", 60_000)).await {
        Outcome { ok: false, text, .. } => {
            assert!(text.starts_with("ended because it printed more than"), "{}", &text[..100]);
            assert!(text.len() < 40_000, "{} bytes", text.len());
        }
        Outcome { ok: true, text, .. } => panic!("{text}"),
    }
    assert!(std::fs::metadata(home.path("artifacts/output/7.txt")).unwrap().len() < 5 << 20);
}

#[tokio::test]
async fn commands_do_not_wait_for_each_other() {
    let home = Home::new();
    // Each waits for the file that the other makes.
    let one = home.run(limited("touch a; until test -e b; do :; done", 8_000));
    let two = home.run(limited("touch b; until test -e a; do :; done", 8_000));
    let (one, two) = tokio::join!(one, two);
    assert!(matches!((&one, &two), (Outcome { ok: true, .. }, Outcome { ok: true, .. })), "{one:?} {two:?}");
}

#[tokio::test]
async fn what_a_killed_daemon_left_running_is_ended_by_the_next() {
    // In a sandbox nothing can be left.
    let home = Home::bare();
    let shown = home.done(command("printenv SYNOD_RUN")).await;
    let mark = shown.lines().find(|line| line.contains('/')).unwrap();
    let (identity, _) = mark.split_once('/').unwrap();
    let left = |mark: String| {
        std::process::Command::new("/bin/sleep").arg("100").env("SYNOD_RUN", mark).spawn().unwrap()
    };
    let mut earlier = left(format!("{identity}/1/7"));
    let mut own = left(format!("{identity}/{}/999", std::process::id()));
    let mut other_home = left("0-0/1/7".to_owned());
    assert_eq!(home.tools.end_left_over(), 1);
    assert!(!earlier.wait().unwrap().success());
    for child in [&mut own, &mut other_home] {
        assert_eq!(child.try_wait().unwrap(), None, "it runs on");
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

#[tokio::test]
async fn a_command_says_what_it_could_read_of_memory() {
    let home = Home::new();
    home.write("memory/a.md", "one\n")
        .write("memory/pay/june.md", "two\n")
        .write("memory/logs/app.log", "E\n");
    let read = async |text: &str, hidden: &[&str]| {
        let hidden = hidden.iter().map(|path| (*path).to_owned()).collect();
        let outcome = home.run(Order { hidden, ..order(7, "coder-001", command(text)) }).await;
        assert!(outcome.ok, "{outcome:?}");
        outcome.read.into_iter().filter(|place| place.starts_with("memory")).collect::<Vec<_>>()
    };
    assert_eq!(read("cat ../../memory/a.md", &[]).await, ["memory/a.md"]);
    assert_eq!(read("cat ../../memory/pay/june.md", &["memory/pay/june.md"]).await, [""; 0]);
    assert_eq!(read("ls ../../memory", &["memory/pay/june.md"]).await, ["memory/a.md", "memory/logs"]);
    assert_eq!(read("cat a.txt", &[]).await, [""; 0]);
    assert_eq!(read("make test", &[]).await, ["memory"]);
    assert_eq!(read("make test", &["memory/pay"]).await, ["memory/a.md", "memory/logs"]);
    // By the owner's rules, too.
    let mut settings = Settings::default();
    settings.trust.secret.insert("memory/pay/*".to_owned(), vec![AgentId::new("finance-001")]);
    home.tools.settle(&settings);
    let outcome = home.run(order(7, "coder-001", command("cat ../../memory/pay/june.md"))).await;
    assert!(!outcome.text.contains("two"), "{outcome:?}");
    assert_eq!(read("make test", &[]).await, ["memory/a.md", "memory/logs"]);
}
