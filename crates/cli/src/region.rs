//! The lines at the bottom of a terminal that are drawn again and again, below those that stay.

use crate::text::{cut, width};

/// What is drawn now. Nothing on anything but a terminal.
#[derive(Debug, Default)]
pub struct Region {
    lines: Vec<String>,
}

impl Region {
    /// With these lines on the terminal.
    pub fn of(lines: Vec<String>) -> Self {
        Self { lines }
    }

    /// What is drawn.
    pub fn into_lines(self) -> Vec<String> {
        self.lines
    }

    /// Takes the lines away, on a terminal that has so many columns by now.
    fn erased(&self, columns: usize) -> String {
        // A terminal that became narrower has wrapped them.
        let rows: usize = self.lines.iter().map(|line| width(line).div_ceil(columns.max(1)).max(1)).sum();
        match rows {
            0 => String::new(),
            1 => "\r\x1b[J".to_owned(),
            rows => format!("\r\x1b[{}A\x1b[J", rows - 1),
        }
    }

    fn drawn(&self) -> String {
        // The cursor stays behind the last one, where a person types.
        self.lines.join("\r\n")
    }

    /// Puts lines above that stay.
    pub fn above(&self, text: &str, columns: usize) -> String {
        let erased = self.erased(columns);
        if erased.is_empty() {
            return format!("{text}\n");
        }
        format!("{erased}{text}\n{}", self.drawn())
    }

    /// Draws other lines in place of these; each has one row. Nothing if nothing changed.
    pub fn change(&mut self, lines: Vec<String>, columns: usize) -> String {
        let lines: Vec<String> = lines.into_iter().map(|line| fit(line, columns)).collect();
        if lines == self.lines {
            return String::new();
        }
        let erased = self.erased(columns);
        self.lines = lines;
        format!("{erased}{}", self.drawn())
    }
}

/// A line that wraps would have two rows.
fn fit(line: String, columns: usize) -> String {
    if width(&line) < columns { line } else { cut(&line, columns.saturating_sub(1)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_stay_are_put_above_those_that_are_drawn_again() {
        let mut region = Region::default();
        assert_eq!(region.above("first", 80), "first\n");
        assert_eq!(region.change(vec!["a".to_owned(), "b".to_owned()], 80), "a\r\nb");
        assert_eq!(region.above("second", 80), "\r\x1b[1A\x1b[Jsecond\na\r\nb");
        assert_eq!(region.change(vec!["a".to_owned(), "b".to_owned()], 80), "", "nothing changed");
        assert_eq!(region.change(Vec::new(), 80), "\r\x1b[1A\x1b[J");
    }

    #[test]
    fn a_line_has_one_row_and_is_taken_away_whole_from_a_narrower_terminal() {
        let mut region = Region::default();
        assert_eq!(region.change(vec!["x".repeat(100)], 40), format!("{}…", "x".repeat(38)));
        assert_eq!(region.change(Vec::new(), 20), "\r\x1b[1A\x1b[J");
    }
}
