//! Text of files and models on a terminal: made visible, cut to the width, put into columns.

use std::io::IsTerminal;

use domain::id::Time;
use policy::hidden_character;

use crate::out;

/// The width that lists fit into on a terminal that does not tell its own.
const WIDTH: usize = 80;
/// So much of the last column is shown however wide the others are.
const LAST_WIDTH_MIN: usize = 20;
/// And so much of its own words, however long the reason behind them is.
const CELL_WIDTH_MIN: usize = 12;

/// The text with characters that hide, reorder or steer shown by their number; line ends and tabs are kept.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.replace("\r\n", "\n").chars() {
        if hidden_character(c.encode_utf8(&mut [0; 4])).is_some() {
            shown.push_str(&format!("\\u{{{:x}}}", u32::from(c)));
        } else {
            shown.push(c);
        }
    }
    shown
}

/// The text as one visible line.
pub fn line(text: &str) -> String {
    visible(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The first `width` characters, with a sign if there are more.
pub fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// The line, cut to the width of the terminal if there is one.
pub fn fit(text: &str) -> String {
    cut(text, width())
}

/// What `COLUMNS` says, else how wide the terminal is. A file or a program gets all of it.
fn width() -> usize {
    let columns = std::env::var("COLUMNS").ok().and_then(|c| c.parse::<usize>().ok());
    let is_wide = |columns: &usize| *columns >= LAST_WIDTH_MIN;
    if let Some(columns) = columns.filter(is_wide) {
        return columns;
    }
    let stdout = std::io::stdout();
    if !stdout.is_terminal() {
        return usize::MAX;
    }
    let size = rustix::termios::tcgetwinsize(&stdout).ok();
    size.map(|size| usize::from(size.ws_col)).filter(is_wide).unwrap_or(WIDTH)
}

/// A table that fits the terminal: the last column is cut.
pub fn table(head: &[&str], rows: Vec<Vec<String>>) -> Vec<String> {
    table_with_reasons(head, rows.into_iter().map(|row| (row, None)).collect())
}

/// The same with a reason behind the last cell, in parentheses: the cell gives way to it.
pub fn table_with_reasons(head: &[&str], rows: Vec<(Vec<String>, Option<String>)>) -> Vec<String> {
    let last = head.len().saturating_sub(1);
    let widest =
        |i: usize| rows.iter().filter_map(|(r, _)| r.get(i)).map(|c| c.chars().count()).max().unwrap_or(0);
    let before: usize = (0..last).map(|i| widest(i).max(head[i].chars().count()) + 2).sum();
    let room = width().saturating_sub(before).max(LAST_WIDTH_MIN);
    let mut cut_rows = Vec::new();
    for (mut row, reason) in rows {
        if let Some(cell) = row.get_mut(last) {
            let reason = reason.map_or_else(String::new, |reason| format!(" ({reason})"));
            let kept = room.saturating_sub(reason.chars().count()).max(CELL_WIDTH_MIN);
            *cell = cut(&format!("{}{reason}", cut(cell, kept)), room);
        }
        cut_rows.push(row);
    }
    out::table(head, &cut_rows)
}

/// `2026-01-31 12:00:05`, in UTC; nothing for the beginning of time, which stands for "unknown".
pub fn time(at: Time) -> String {
    if at == Time::default() {
        return String::new();
    }
    formats::time::print(at).replace('T', " ").chars().take("2026-01-31 12:00:05".len()).collect()
}

/// `45 s`, `12 min`, `3 h 20 min`, `2 d`.
pub fn duration(ms: u64) -> String {
    let (minutes, hours, days) = (ms / 60_000, ms / 3_600_000, ms / 86_400_000);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{} s", ms / 1_000),
        (0, 0, minutes) => format!("{minutes} min"),
        (0, hours, minutes) if minutes % 60 == 0 => format!("{hours} h"),
        (0, hours, minutes) => format!("{hours} h {} min", minutes % 60),
        (days, ..) => format!("{days} d"),
    }
}

/// `1 task`, `2 tasks`.
pub fn count(n: usize, word: &str) -> String {
    if n == 1 { format!("1 {word}") } else { format!("{n} {word}s") }
}
