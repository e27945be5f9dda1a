//! `log/labels.jsonl`: which files agents wrote from what is not to be trusted, or not for all. One line for each
//! change, the last one of a path counts.

use std::collections::BTreeMap;

use domain::label::Label;
use domain::layout;
use serde::{Deserialize, Serialize};

/// Where the list is, relative to the home.
pub const PATH: &str = layout::LABELS;

#[derive(Serialize, Deserialize)]
struct Line<'a> {
    path: std::borrow::Cow<'a, str>,
    /// None: there is nothing to say of it any more.
    label: Option<String>,
}

/// One line, with its end.
pub fn print_line(path: &str, label: Option<&Label>) -> String {
    let line = Line { path: path.into(), label: label.map(ToString::to_string) };
    let mut text = serde_json::to_string(&line).unwrap_or_default();
    text.push('\n');
    text
}

/// What the list says. A line that cannot be read says nothing, but for a path that can: that is from outside.
pub fn read(text: &str) -> BTreeMap<String, Label> {
    let mut labels = BTreeMap::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let Ok(Line { path, label }) = serde_json::from_str::<Line<'_>>(line) else { continue };
        match label {
            Some(label) => {
                let label = label.parse().unwrap_or_else(|_| Label::outside(PATH));
                labels.insert(path.into_owned(), label);
            }
            None => _ = labels.remove(path.as_ref()),
        }
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_of_a_path_counts() {
        let outside = Label::outside("inbox/slack.jsonl:3");
        let text = [
            print_line("a", Some(&outside)),
            print_line("b \"q\"\n", Some(&outside)),
            print_line("a", None),
            "{\"path\":\"c\",\"label\":\"nonsense\"}\n{\"path\":\"d\",\"la".to_owned(),
        ]
        .concat();
        let known = [("b \"q\"\n".to_owned(), outside), ("c".to_owned(), Label::outside(PATH))];
        assert_eq!(read(&text), BTreeMap::from(known));
    }
}
