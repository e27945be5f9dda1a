//! Slack through its two files.

use domain::tool::{Act, SlackRead, SlackSend};
use ports::tools::{Outcome, Tools};
use testkit::tools::order;

use crate::home::Home;

const OUTBOX: &str = "inbox/slack-outbox.jsonl";

fn send(text: &str) -> Act {
    Act::SlackSend(SlackSend { channel: "#ops".to_owned(), text: text.to_owned() })
}

fn line(effect: u64, text: &str) -> String {
    format!(
        "{{\"effect\":\"{effect}\",\"channel\":\"#ops\",\"text\":\"{text}\",\"at\":\"2023-11-14T22:13:20Z\"}}\n"
    )
}

#[tokio::test]
async fn a_post_is_one_line_and_a_repetition_adds_none() {
    let home = Home::new();
    for _ in 0..3 {
        let outcome = home.run(order(5, "coder-001", send("done"))).await;
        assert_eq!(outcome, Outcome::done("posted to #ops".to_owned()));
    }
    assert_eq!(home.read(OUTBOX), line(5, "done"));
    home.run(order(6, "coder-001", send("done"))).await;
    assert_eq!(home.read(OUTBOX), line(5, "done") + &line(6, "done"));
}

#[tokio::test]
async fn a_number_from_before_the_journal_was_deleted_does_not_swallow_a_new_post() {
    let home = Home::new();
    home.write(OUTBOX, line(5, "of last year"));
    home.run(order(5, "coder-001", send("new"))).await;
    assert_eq!(home.read(OUTBOX), line(5, "of last year") + &line(5, "new"));
}

#[tokio::test]
async fn a_torn_last_line_is_left_and_a_new_one_begun() {
    let home = Home::new();
    let whole = line(5, "done");
    for cut in 1..whole.len() - 1 {
        home.write(OUTBOX, &whole[..cut]);
        home.run(order(5, "coder-001", send("done"))).await;
        assert_eq!(home.read(OUTBOX), format!("{}\n{whole}", &whole[..cut]));
    }
    // Only the end of the line is missing: the post stands there.
    home.write(OUTBOX, whole.trim_end());
    home.run(order(5, "coder-001", send("done"))).await;
    assert_eq!(home.read(OUTBOX), whole);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn posts_at_the_same_time_all_stand_there_once() {
    let home = std::sync::Arc::new(Home::new());
    let mut posts = tokio::task::JoinSet::new();
    for n in 0..40 {
        let home = std::sync::Arc::clone(&home);
        // Every effect is tried twice at the same time.
        posts.spawn(async move {
            home.tools.run(order(n / 2, "coder-001", send(&format!("text {}", n / 2)))).await
        });
    }
    while let Some(outcome) = posts.join_next().await {
        assert!(matches!(outcome.unwrap(), Outcome { ok: true, .. }));
    }
    let mut lines: Vec<String> = home.read(OUTBOX).lines().map(|l| format!("{l}\n")).collect();
    lines.sort();
    let mut expected: Vec<String> = (0..20).map(|n| line(n, &format!("text {n}"))).collect();
    expected.sort();
    assert_eq!(lines, expected);
}

#[tokio::test]
async fn an_outbox_that_is_no_file_is_refused() {
    let home = Home::new();
    std::fs::create_dir_all(home.path("inbox")).unwrap();
    std::os::unix::fs::symlink("/dev/null", home.path(OUTBOX)).unwrap();
    home.failed(send("x")).await;
    std::fs::remove_file(home.path(OUTBOX)).unwrap();
    std::fs::create_dir(home.path(OUTBOX)).unwrap();
    home.failed(send("x")).await;
}

#[tokio::test]
async fn the_newest_messages_are_read_oldest_first() {
    let home = Home::new();
    let read = |limit| Act::SlackRead(SlackRead { limit });
    assert_eq!(home.done(read(None)).await, "[no messages came in]");
    home.write("inbox/slack-messages.jsonl", "");
    assert_eq!(home.done(read(None)).await, "[no messages came in]");
    let lines: Vec<String> = (0..50).map(|n| format!("{{\"text\":\"{n}\"}}")).collect();
    home.write("inbox/slack-messages.jsonl", lines.join("\n"));
    assert_eq!(home.done(read(Some(2))).await, lines[48..].join("\n"));
    assert_eq!(home.done(read(None)).await, lines[30..].join("\n"));
    let mut few = order(1, "coder-001", read(Some(3)));
    few.output_bytes_max = 30;
    let expected = format!("[cut: 1 older messages]\n{}", lines[48..].join("\n"));
    assert_eq!(home.run(few).await, Outcome::done(expected).reading("inbox/slack-messages.jsonl"));
    home.write("inbox/slack-messages.jsonl", format!("{}\n{}\n", "x".repeat(2 << 20), lines[0]));
    assert_eq!(home.done(read(None)).await, lines[0]);
}
