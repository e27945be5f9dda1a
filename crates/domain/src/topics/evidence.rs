//! Evidence: what a task demands before it counts as done. Synod looks at it itself, after the agent's last act; what
//! the agent says about it does not matter.

use serde::{Deserialize, Serialize};

/// So many pieces of evidence are read from one task.
pub const EVIDENCE_MAX: usize = 16;
/// How often an agent may report a task done whose evidence is not there.
pub const ROUNDS_MAX: u32 = 3;

/// One thing that must be so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// The command ends with exit code 0, in the workspace of the agent.
    Command(String),
    /// The file is there and is not empty; relative to the home.
    File(String),
    /// The file is JSON that fits the JSON Schema; both relative to the home.
    Schema {
        /// The schema.
        schema: String,
        /// The file.
        file: String,
    },
    /// A person says that it is done.
    Approval,
}

impl std::fmt::Display for Evidence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Command(command) => write!(f, "command: {command}"),
            Self::File(path) => write!(f, "file: {path}"),
            Self::Schema { schema, file } => write!(f, "schema: {schema} {file}"),
            Self::Approval => f.write_str("approval"),
        }
    }
}

/// Why a text is no evidence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadEvidence {
    /// There is a bound.
    #[error("more than {EVIDENCE_MAX} pieces of evidence")]
    TooMuch,
    /// A schema alone proves nothing.
    #[error("{0:?} names no file behind the schema")]
    NoFile(String),
    /// A line of no known kind.
    #[error("{0:?} is no evidence; write `command: …`, `file: …`, `schema: <schema> <file>` or `approval`")]
    Unknown(String),
}

/// Reads `done_when:`, one piece of evidence a line.
pub fn parse(text: &str) -> Result<Vec<Evidence>, BadEvidence> {
    let mut all = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if all.len() == EVIDENCE_MAX {
            return Err(BadEvidence::TooMuch);
        }
        all.push(one(line)?);
    }
    Ok(all)
}

fn one(line: &str) -> Result<Evidence, BadEvidence> {
    let (word, rest) = line.split_once(':').map_or((line, ""), |(word, rest)| (word.trim(), rest.trim()));
    match (word, rest) {
        ("approval", "") => Ok(Evidence::Approval),
        ("command", command) if !command.is_empty() => Ok(Evidence::Command(command.to_owned())),
        ("file", path) if !path.is_empty() => Ok(Evidence::File(path.to_owned())),
        ("schema", both) => match both.split_once(' ') {
            Some((schema, file)) => {
                Ok(Evidence::Schema { schema: schema.to_owned(), file: file.trim().to_owned() })
            }
            None => Err(BadEvidence::NoFile(line.to_owned())),
        },
        _ => Err(BadEvidence::Unknown(line.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evidence_reads_as_it_prints() {
        let all = vec![
            Evidence::Command("cargo test -q".to_owned()),
            Evidence::File("artifacts/report.md".to_owned()),
            Evidence::Schema { schema: "schemas/a.json".to_owned(), file: "artifacts/a.json".to_owned() },
            Evidence::Approval,
        ];
        let text: Vec<String> = all.iter().map(ToString::to_string).collect();
        assert_eq!(parse(&text.join("\n")), Ok(all));
    }

    #[test]
    fn what_is_no_evidence_says_what_would_be() {
        for text in ["tests pass", "command:", "schema: a.json", "approval: by me", "file: "] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert_eq!(parse(""), Ok(Vec::new()));
        assert!(parse(&"approval\n".repeat(17)).is_err());
    }
}
