//! Reading and writing files with credentials: what an agent sees is redacted, what is on the disk never is.

use domain::tool::{Act, EditFile};
use testkit::tools::order;

use crate::home::{Home, read, write};
use testkit::rng::Rng;

const PATH: &str = "memory/a.env";

fn edit(old: &str, new: &str) -> Act {
    let (path, old, new) = (PATH.to_owned(), old.to_owned(), new.to_owned());
    Act::EditFile(EditFile { path, old, new, all: false })
}

/// What an agent is shown, without the line numbers.
async fn shown(home: &Home) -> String {
    let shown = home.done(read(PATH)).await;
    shown.split_inclusive('\n').filter_map(|line| line.split_once('\t')).map(|(_, line)| line).collect()
}

#[tokio::test]
async fn a_file_that_is_written_back_keeps_its_credentials() {
    let home = Home::new();
    home.write(PATH, "user = root\npassword = hunter2hunter2\nport = 1\n");
    let seen = shown(&home).await;
    assert!(!seen.contains("hunter2"), "{seen}");
    home.done(write(PATH, &seen.replace("port = 1", "port = 2"))).await;
    assert_eq!(home.read(PATH), "user = root\npassword = hunter2hunter2\nport = 2\n");
}

#[tokio::test]
async fn a_placeholder_without_a_credential_is_refused_and_nothing_is_written() {
    let home = Home::new();
    home.write(PATH, "user = root\n");
    let refused = home.failed(write(PATH, "user = root\npassword = [redacted: password]\n")).await;
    assert!(refused.starts_with("line 2 of content has a placeholder"), "{refused}");
    assert_eq!(home.read(PATH), "user = root\n");
    home.failed(write("memory/copy.env", "password = [redacted: password]\n")).await;
    assert!(!home.path("memory/copy.env").exists());
    let refused = home.failed(edit("root", "root\ntoken = [redacted: secret]")).await;
    assert!(refused.starts_with("line 2 of new has a placeholder"), "{refused}");
}

#[tokio::test]
async fn a_line_beside_a_credential_is_edited_by_what_was_shown() {
    let home = Home::new();
    home.write(PATH, "password = hunter2hunter2\nport = 1\npassword = swordfish99swordfish\nport = 1\n");
    let seen = shown(&home).await;
    let lines: Vec<&str> = seen.lines().collect();
    let old = format!("{}\n{}", lines[1], lines[2]);
    home.done(edit(&old, &old.replace("port = 1", "port = 2\nhost = x"))).await;
    assert_eq!(
        home.read(PATH),
        "password = hunter2hunter2\nport = 2\nhost = x\npassword = swordfish99swordfish\nport = 1\n"
    );
    let gone = format!("\n{}\nport = 1\n", lines[2]);
    home.done(edit(&gone, "\n")).await;
    assert_eq!(
        home.read(PATH),
        "password = hunter2hunter2\nport = 2\nhost = x\n",
        "a credential can be removed"
    );
}

#[tokio::test]
async fn a_guess_at_a_credential_gets_the_same_answer_right_or_wrong() {
    let home = Home::new();
    let file = "user = root\npassword = hunter2hunter2\nport = 1\n";
    home.write(PATH, file);
    for part in ["password = ", "", "ord = "] {
        let guess = async |secret: &str| {
            let old = format!("{part}{secret}");
            home.failed(edit(&old, "x")).await.replace(&old, "…")
        };
        assert_eq!(guess("hunter2hunter2").await, guess("hunter3hunter3").await, "{part:?}");
    }
    assert_eq!(home.read(PATH), file);
}

#[tokio::test]
async fn no_byte_outside_of_a_change_is_changed() {
    let home = Home::new();
    let mut rng = Rng::new(11);
    let (mut written, mut edited) = (0, 0);
    let files = std::env::var("SYNOD_REDACTED_FILES").ok().and_then(|n| n.parse().ok()).unwrap_or(1_000);
    for n in 0..files {
        let end = ["\n", "\r\n"][rng.below(2) as usize];
        let (mut lines, mut between): (Vec<String>, Vec<usize>) = (Vec::new(), vec![0]);
        for line in 0..rng.below(12) + 2 {
            let secret = format!("Zq{}x{}y{}", rng.below(1 << 30), rng.below(1 << 30), rng.below(1 << 30));
            match rng.below(6) {
                0 => lines.push(format!("password = {secret}")),
                1 => lines.push(format!("url{line} = redis://:{secret}@localhost:6379")),
                2 => lines.push(format!("    token: \"{secret}\", # {line}")),
                3 => {
                    lines.push("-----BEGIN RSA PRIVATE KEY-----".to_owned());
                    lines.extend((0..rng.below(4) + 1).map(|n| format!("MIIEpAIBAAKCAQEA{secret}{n}")));
                    lines.push("-----END RSA PRIVATE KEY-----".to_owned());
                }
                _ => lines.push(format!("line {line} of {}", rng.below(3))),
            }
            between.push(lines.len());
        }
        let at = between[rng.below(between.len() as u64) as usize];
        lines.insert(at, "the old line".to_owned());
        let file = lines.join(end) + ["", end][rng.below(2) as usize];
        let expected = file.replace("the old line", "a new line");
        home.write(PATH, &file);
        let seen = shown(&home).await;
        let outcome =
            home.run(order(n, "coder-001", write(PATH, &seen.replace("the old line", "a new line")))).await;
        assert!(outcome.ok, "{}\n{file}", outcome.text);
        assert_eq!(home.read(PATH), expected, "write_file");
        written += 1;
        // The line with the lines before and after it, as an agent would copy them.
        home.write(PATH, &file);
        let seen: Vec<&str> = seen.split_inclusive('\n').collect();
        let old = seen[at.saturating_sub(1)..(at + 2).min(seen.len())].concat();
        let outcome =
            home.run(order(n, "coder-001", edit(&old, &old.replace("the old line", "a new line")))).await;
        assert!(outcome.ok, "{}\n{file}", outcome.text);
        assert_eq!(home.read(PATH), expected, "edit_file");
        edited += 1;
    }
    assert_eq!((written, edited), (files, files));
}
