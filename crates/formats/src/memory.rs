//! `memory/*.md`: text for people and agents. Lines between `---` at the top may say who always gets it.

use domain::agent::Spec;

use crate::yaml;

/// The front matter is looked for up to here.
const FRONT_BYTES_MAX: usize = 4_096;

/// What a file of the memory says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Memory {
    /// Its first heading.
    pub title: Option<String>,
    /// `always: true`: every agent gets all of it with every request.
    pub always: bool,
    /// `for: [coder, planner-001]`: agents and roles that get it so.
    pub readers: Vec<String>,
    /// All but the front matter.
    pub body: String,
}

impl Memory {
    /// Whether an agent gets all of it with every request.
    pub fn is_for(&self, agent: &Spec) -> bool {
        self.always || self.readers.iter().any(|name| *name == agent.role || *name == agent.id.as_str())
    }
}

/// Reads a file of the memory. Front matter that cannot be read is part of the text.
pub fn read(text: &str) -> Memory {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (front, body) = split(text).unwrap_or(("", text));
    let front = yaml::to_json(front).unwrap_or_default();
    let readers = front["for"].as_array().map(Vec::as_slice).unwrap_or_default();
    let one = front["for"].as_str();
    Memory {
        title: title(body),
        always: front["always"].as_bool().unwrap_or(false),
        readers: readers.iter().filter_map(|name| name.as_str()).chain(one).map(str::to_owned).collect(),
        body: body.to_owned(),
    }
}

/// The lines between the two `---`, and what follows them.
fn split(text: &str) -> Option<(&str, &str)> {
    let mut at = 0;
    let mut begin = None;
    for line in text.split_inclusive('\n') {
        let is_mark = line.trim_end() == "---";
        match begin {
            None if is_mark => begin = Some(at + line.len()),
            None => return None,
            Some(begin) if is_mark => return Some((&text[begin..at], &text[at + line.len()..])),
            Some(_) if at > FRONT_BYTES_MAX => return None,
            Some(_) => {}
        }
        at += line.len();
    }
    None
}

fn title(body: &str) -> Option<String> {
    let heading = |line: &str| Some(line.strip_prefix('#')?.trim_start_matches('#').trim().to_owned());
    body.lines().filter_map(heading).find(|title| !title.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn front_matter_says_who_always_gets_it() {
        let text = "---\r\nalways: true\nfor: [coder]\n---\n\n# How we deploy\nSlowly.\n";
        let expected = Memory {
            title: Some("How we deploy".to_owned()),
            always: true,
            readers: vec!["coder".to_owned()],
            body: "\n# How we deploy\nSlowly.\n".to_owned(),
        };
        assert_eq!(read(text), expected);
        let agent = Spec::new(domain::id::AgentId::new("coder-1"), "coder", "m");
        let only = |readers: &str| read(&format!("---\nfor: {readers}\n---\nx\n"));
        assert!(expected.is_for(&agent) && only("coder-1").is_for(&agent) && only("[coder]").is_for(&agent));
        assert!(!only("[planner]").is_for(&agent) && !only("{a: b}").is_for(&agent));
    }

    #[test]
    fn what_is_no_front_matter_is_text() {
        for text in ["", "x\n---\nalways: true\n---\n", "---\nalways: true\n", "---\n"] {
            assert_eq!(read(text), Memory { body: text.to_owned(), ..Memory::default() }, "{text:?}");
        }
        assert_eq!(read("---\n\t: [\n---\n# A\n").title.as_deref(), Some("A"));
    }
}
