//! One line for each agent that works: what it does, for how long, with which model, what it took, and the end of what the
//! model says.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use domain::usage::{Spent, Usage};
use web::api::{Live, Working};

use crate::text::{cut, line, width};

/// So many agents are shown; of the others it is said how many they are.
const ROWS_MAX: usize = 8;
/// An agent's name has at most so many columns.
const NAME_WIDTH_MAX: usize = 18;
/// Less of a text says nothing.
const TEXT_WIDTH_MIN: usize = 12;
/// And more of it is for reading later.
const TEXT_BYTES_MAX: usize = 400;

/// Agents that work, by session.
#[derive(Debug, Default)]
pub struct Rows {
    rows: BTreeMap<String, Row>,
}

#[derive(Debug, Clone)]
struct Row {
    working: Working,
    since: Instant,
    /// What the answer that comes took so far.
    usage: Usage,
    text: String,
}

impl Rows {
    /// What is under way now.
    pub fn take(&mut self, live: Live, at: Instant) {
        let mut before = std::mem::take(&mut self.rows);
        for working in live.working.into_iter().filter(|working| !working.doing.is_empty()) {
            let known = before.remove(&working.session).filter(|known| known.working.doing == working.doing);
            let row = match known {
                // The model was asked again: what it says now is another answer.
                Some(known) if known.working.spent == working.spent => Row { working, ..known },
                _ => Row { working, since: at, usage: Usage::default(), text: String::new() },
            };
            self.rows.insert(row.working.session.clone(), row);
        }
    }

    /// What a model says.
    pub fn hear(&mut self, session: &str, tail: &str, usage: Usage) {
        let Some(row) = self.rows.get_mut(session) else { return };
        let mut from = tail.len().saturating_sub(TEXT_BYTES_MAX);
        while !tail.is_char_boundary(from) {
            from += 1;
        }
        row.text = line(&tail[from..]);
        row.usage = usage;
    }

    /// Whether nobody works.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The lines, each at most so wide.
    pub fn lines(&self, columns: usize, now: Instant) -> Vec<String> {
        let name = self.rows.values().map(|row| width(&row.working.agent)).max().unwrap_or(0);
        let name = name.min(NAME_WIDTH_MAX).min(columns / 3);
        let shown = self.rows.values().take(ROWS_MAX);
        let mut lines: Vec<String> =
            shown.map(|row| row.line(columns, name, now.saturating_duration_since(row.since))).collect();
        if self.rows.len() > ROWS_MAX {
            lines.push(format!("… and {} more agents at work", self.rows.len() - ROWS_MAX));
        }
        lines
    }
}

impl Row {
    fn line(&self, columns: usize, name: usize, since: Duration) -> String {
        let agent = cut(&self.working.agent, name);
        let pad = " ".repeat(name.saturating_sub(width(&agent)));
        let columns = columns.saturating_sub(1);
        let facts = self.facts(since);
        let doing = self.doing();
        let room = columns.saturating_sub(name + 2 + width(&facts[0]) + 3);
        let mut text = format!("{agent}{pad}  {}", cut(&doing, room.min(columns / 2).max(8)));
        for fact in facts {
            if width(&text) + 3 + width(&fact) <= columns {
                text.push_str(" · ");
                text.push_str(&fact);
            }
        }
        let room = columns.saturating_sub(width(&text) + 3);
        if room >= TEXT_WIDTH_MIN && !self.text.is_empty() {
            text.push_str(" · ");
            text.push_str(&end_of(&self.text, room));
        }
        text
    }

    fn doing(&self) -> String {
        let what = match self.working.acts.as_slice() {
            [] if self.text.is_empty() => "waits for the model".to_owned(),
            [] => "answers".to_owned(),
            acts => line(&acts.join(", ")),
        };
        match &self.working.task {
            Some(task) => format!("{task} {what}"),
            None => what,
        }
    }

    /// The most important first.
    fn facts(&self, since: Duration) -> Vec<String> {
        let Spent { usage, cost, unpriced, replies } = self.working.spent;
        let tokens = usage.tokens_in + usage.tokens_out + self.usage.tokens_in + self.usage.tokens_out;
        let mut facts = vec![seconds(since)];
        if self.working.acts.is_empty() && !self.working.model.is_empty() {
            facts.push(self.working.model.clone());
        }
        if tokens > 0 {
            facts.push(format!("{} tokens", short(tokens)));
        }
        if cost > 0 || (replies > 0 && unpriced == 0) {
            facts.push(format!("cost {}", domain::usage::money(cost)));
        }
        facts
    }
}

/// `45 s`, `2 min 5 s`.
fn seconds(since: Duration) -> String {
    match since.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}

/// `950`, `1.2k`, `3.4M`.
fn short(n: u64) -> String {
    match n {
        0..1_000 => n.to_string(),
        1_000..1_000_000 => format!("{}.{}k", n / 1_000, n % 1_000 / 100),
        _ => format!("{}.{}M", n / 1_000_000, n % 1_000_000 / 100_000),
    }
}

/// The last words that fit, with a sign that there are more.
fn end_of(text: &str, room: usize) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    let mut from = text.len();
    for (at, _) in text.char_indices().rev() {
        if width(&text[at..]) + 1 > room {
            break;
        }
        from = at;
    }
    format!("…{}", text[from..].trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn working(session: &str, acts: &[&str]) -> Working {
        let spent = Spent { replies: 1, usage: Usage::of(1_200, 40), cost: 12_300, unpriced: 0 };
        Working {
            session: session.to_owned(),
            agent: session.trim_end_matches("-aaaaaa").to_owned(),
            task: Some("task-001".to_owned()),
            doing: if acts.is_empty() {
                vec!["model".to_owned()]
            } else {
                acts.iter().map(|a| (*a).to_owned()).collect()
            },
            acts: acts.iter().map(|act| (*act).to_owned()).collect(),
            model: "big".to_owned(),
            spent,
        }
    }

    fn rows(all: Vec<Working>, at: Instant) -> Rows {
        let mut rows = Rows::default();
        rows.take(Live { working: all, ..Live::default() }, at);
        rows
    }

    #[test]
    fn a_row_says_who_does_what_for_how_long_and_what_it_took() {
        let at = Instant::now();
        let mut rows = rows(vec![working("planner-001-aaaaaa", &[])], at);
        let later = at + Duration::from_secs(75);
        assert_eq!(
            rows.lines(120, later),
            ["planner-001  task-001 waits for the model · 1 min 15 s · big · 1.2k tokens · cost 0.0123"]
        );
        rows.hear("planner-001-aaaaaa", "There is\nenough space for the backup, by far", Usage::of(0, 900));
        assert_eq!(
            rows.lines(100, later),
            [
                "planner-001  task-001 answers · 1 min 15 s · big · 2.1k tokens · cost 0.0123 · …the backup, by far"
            ]
        );
        assert_eq!(rows.lines(40, later), ["planner-001  task-001 ans… · 1 min 15 s"]);
    }

    #[test]
    fn rows_fit_every_terminal() {
        let at = Instant::now();
        let names: Vec<String> = (0..20).map(|n| format!("a-very-long-agent-name-{n:03}-aaaaaa")).collect();
        let acts = "run `cargo test --workspace --all-targets --locked -- --nocapture 日本語日本語`";
        let mut rows = rows(names.iter().map(|name| working(name, &[acts])).collect(), at);
        names.iter().for_each(|name| rows.hear(name, &"日本語 ".repeat(200), Usage::default()));
        for columns in [40, 80, 200] {
            let lines = rows.lines(columns, at);
            assert_eq!(lines.len(), ROWS_MAX + 1);
            lines.iter().for_each(|line| assert!(width(line) < columns, "{columns}: {line}"));
        }
    }

    #[test]
    fn the_time_of_a_row_begins_with_what_is_done() {
        let at = Instant::now();
        let mut rows = rows(vec![working("a-1-aaaaaa", &[])], at);
        let later = at + Duration::from_secs(5);
        rows.take(Live { working: vec![working("a-1-aaaaaa", &[])], ..Live::default() }, later);
        assert!(rows.lines(80, later)[0].contains("5 s"));
        rows.take(Live { working: vec![working("a-1-aaaaaa", &["read a"])], ..Live::default() }, later);
        assert!(rows.lines(80, later)[0].contains("read a · 0 s"));
    }
}
