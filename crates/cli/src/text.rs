//! Text of files and models on a terminal: made visible, cut to the width, put into columns.

use std::io::IsTerminal;

use domain::id::Time;
use policy::hidden_character;
use unicode_width::UnicodeWidthChar as _;

/// The width that lists fit into on a terminal that does not tell its own.
const WIDTH: usize = 80;
/// So much of the last column is shown however wide the others are.
const LAST_WIDTH_MIN: usize = 20;
/// And so much of its own words, however long the reason behind them is.
const CELL_WIDTH_MIN: usize = 12;
/// And of every other column, on a terminal that is too narrow for all of them.
const COLUMN_WIDTH_MIN: usize = 6;

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

/// So many columns a terminal needs for the text. Colours need none.
pub fn width(text: &str) -> usize {
    let mut letters = text.chars();
    let mut columns = 0;
    while let Some(letter) = letters.next() {
        if letter == '\u{1b}' {
            letters.by_ref().find(char::is_ascii_alphabetic);
        } else {
            columns += letter.width().unwrap_or(0);
        }
    }
    columns
}

/// As much of the text as fits, with a sign if there is more. Colours stay whole.
pub fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let (mut kept, mut taken) = (String::new(), 0);
    let mut is_coloured = false;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter == '\u{1b}' {
            is_coloured = true;
            kept.push(letter);
            for letter in letters.by_ref() {
                kept.push(letter);
                if letter.is_ascii_alphabetic() {
                    break;
                }
            }
            continue;
        }
        taken += letter.width().unwrap_or(0);
        if taken + 1 > columns {
            break;
        }
        kept.push(letter);
    }
    let reset = if is_coloured { "\x1b[0m" } else { "" };
    format!("{}…{reset}", kept.trim_end())
}

/// The line in rows of at most so many columns, broken at words; rows behind the first are indented.
pub fn wrap(line: &str, columns: usize, indent: usize) -> Vec<String> {
    let mut rows = Vec::new();
    let mut row = String::new();
    let mut room = columns;
    // Blanks at the beginning are the line's own indent.
    let lead = line.len() - line.trim_start_matches(' ').len();
    row.push_str(&line[..lead]);
    for word in line[lead..].split_inclusive(' ') {
        let mut word = word;
        loop {
            let wanted = width(word.trim_end());
            if width(&row) + wanted <= room {
                row.push_str(word);
                break;
            }
            if row.trim().is_empty() || wanted > columns.saturating_sub(indent) {
                // Longer than a row: it is broken where the row ends.
                let free = room.saturating_sub(width(&row)).max(1);
                let mut taken = 0;
                let at = word.char_indices().find(|(_, letter)| {
                    taken += letter.width().unwrap_or(0);
                    taken > free
                });
                let (head, rest) = word.split_at(at.map_or(word.len(), |(at, _)| at.max(1)));
                row.push_str(head);
                word = rest;
            }
            rows.push(std::mem::replace(&mut row, " ".repeat(indent)).trim_end().to_owned());
            room = columns;
            if word.is_empty() {
                break;
            }
        }
    }
    if !row.trim().is_empty() || rows.is_empty() {
        rows.push(row.trim_end().to_owned());
    }
    rows
}

/// The line, cut to the width of the terminal if there is one.
pub fn fit(text: &str) -> String {
    cut(text, columns())
}

/// What `COLUMNS` says, else how wide the terminal is. A file or a program gets all of it.
pub fn columns() -> usize {
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

/// A table that fits the terminal: the widest columns give way, the last one first.
pub fn table(head: &[&str], rows: Vec<Vec<String>>) -> Vec<String> {
    table_with_reasons(head, rows.into_iter().map(|row| (row, None)).collect())
}

/// The same, but the last column has as many rows as it needs: nothing of it is lost.
pub fn table_whole(head: &[&str], rows: Vec<Vec<String>>) -> Vec<String> {
    let columns = columns();
    let rows = rows.into_iter().map(|row| (row, None)).collect();
    let lines = table_within(usize::MAX, head, rows);
    let indent = lines.first().and_then(|line| line.rfind(head.last()?)).unwrap_or(0);
    let indent = if indent + LAST_WIDTH_MIN > columns { 2 } else { indent };
    lines.iter().flat_map(|line| wrap(line, columns, indent)).collect()
}

/// The same with a reason behind the last cell, in parentheses: the cell gives way to it.
pub fn table_with_reasons(head: &[&str], rows: Vec<(Vec<String>, Option<String>)>) -> Vec<String> {
    table_within(columns(), head, rows)
}

fn table_within(columns: usize, head: &[&str], rows: Vec<(Vec<String>, Option<String>)>) -> Vec<String> {
    let last = head.len().saturating_sub(1);
    let widest = |i: usize| {
        let cells = rows.iter().filter_map(|(row, _)| row.get(i)).map(|cell| width(cell)).max();
        cells.unwrap_or(0).max(width(head[i]))
    };
    let mut widths: Vec<usize> = (0..last).map(widest).collect();
    let taken = |widths: &[usize]| widths.iter().map(|width| width + 2).sum::<usize>();
    while taken(&widths) + LAST_WIDTH_MIN > columns {
        let Some(widest) = widths.iter_mut().max().filter(|width| **width > COLUMN_WIDTH_MIN) else { break };
        *widest -= 1;
    }
    let room = columns.saturating_sub(taken(&widths)).max(CELL_WIDTH_MIN);
    let line = |row: &[String]| {
        let mut text = String::new();
        for (i, cell) in row.iter().enumerate() {
            let Some(columns) = widths.get(i) else {
                text.push_str(&cut(cell, room));
                continue;
            };
            let cell = cut(cell, *columns);
            text.push_str(&cell);
            text.push_str(&" ".repeat(columns + 2 - width(&cell)));
        }
        text.trim_end().to_owned()
    };
    let heads: Vec<String> = head.iter().map(|&head| head.to_owned()).collect();
    let mut lines = vec![line(&heads)];
    for (mut row, reason) in rows {
        if let (Some(cell), Some(reason)) = (row.get_mut(last), reason) {
            let reason = format!(" ({reason})");
            let kept = room.saturating_sub(width(&reason)).max(CELL_WIDTH_MIN);
            *cell = format!("{}{reason}", cut(cell, kept));
        }
        lines.push(line(&row));
    }
    lines
}

/// `2026-01-31 12:00:05`, in UTC; nothing for the beginning of time, which stands for "unknown".
pub fn time(at: Time) -> String {
    if at == Time::default() {
        return String::new();
    }
    formats::time::print(at).replace('T', " ").chars().take("2026-01-31 12:00:05".len()).collect()
}

/// `in 24 h`, or `now` if that is past.
pub fn ahead(at: Time, now: Time) -> String {
    match at.ms_since(now) {
        0 => "now".to_owned(),
        ms => format!("in {}", duration(ms)),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_broken_at_words_and_fits() {
        assert_eq!(wrap("one two three", 8, 2), ["one two", "  three"]);
        assert_eq!(wrap("  a b", 80, 4), ["  a b"]);
        assert_eq!(wrap("", 10, 2), [""]);
        assert_eq!(wrap("abcdefghij k", 6, 2), ["abcdef", "  ghij", "  k"]);
        let text = "日本語のとても長い文章 with words and averyverylongwordthatdoesnotfitanywhereatall";
        for columns in [20, 40, 80] {
            let rows = wrap(text, columns, 4);
            rows.iter().for_each(|row| assert!(width(row) <= columns, "{columns}: {row}"));
            let letters = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            assert_eq!(letters(&rows.concat()), letters(text));
        }
    }

    #[test]
    fn a_table_fits_every_terminal() {
        let row =
            ["task-001", "a-very-long-agent-name-001", "日本語日本語日本語", "What there is to do here"];
        let rows = vec![(row.map(str::to_owned).to_vec(), Some("waits for task-002".to_owned()))];
        for columns in [40, 80, 200] {
            let lines = table_within(columns, &["ID", "AGENT", "WHERE", "TITLE"], rows.clone());
            for line in lines {
                assert!(width(&line) <= columns, "{columns}: {line}");
            }
        }
    }

    #[test]
    fn colours_need_no_room() {
        assert_eq!(width("\x1b[31mred\x1b[0m"), 3);
        assert_eq!(cut("\x1b[31mred wine\x1b[0m", 4), "\x1b[31mred…\x1b[0m");
    }
}
