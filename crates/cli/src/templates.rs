//! What `synod init` can make. `synod.yaml` comes last in each: a folder is a home once it has it.

/// The folder of the repository that a template brings along.
pub const REPO: &str = "repo";

/// A kind of new home.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Template {
    /// Four agents that find things out and answer.
    Team,
    /// A coordinator, a planner, a coder and a reviewer who change a repository.
    Code,
}

impl Template {
    /// Its files, by place.
    pub fn files(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Team => TEAM,
            Self::Code => CODE,
        }
    }

    /// The same, as text that can be changed before it is written.
    pub fn texts(self) -> Vec<(String, String)> {
        self.files().iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
    }

    /// What to try first.
    pub fn example(self) -> &'static str {
        match self {
            Self::Team => "synod run \"Is there enough disk space for the nightly backup?\"",
            Self::Code => "synod run \"Greet people by name\"",
        }
    }
}

/// The team that changes code, for a repository that is there: without the example and its script.
pub fn for_repository() -> Vec<(String, String)> {
    let own = [
        ("README.md", include_str!("../templates/repo/README.md")),
        ("synod.yaml", include_str!("../templates/repo/synod.yaml")),
    ];
    let is_example = |name: &str| name.starts_with("repo/") || name.starts_with("models/");
    let mut files = Template::Code.texts();
    files.retain(|(name, _)| !is_example(name) && own.iter().all(|(other, _)| other != name));
    files.extend(own.map(|(name, text)| (name.to_owned(), text.to_owned())));
    files
}

/// Four agents that answer questions.
const TEAM: &[(&str, &str)] = &[
    (".gitignore", include_str!("../templates/team/gitignore")),
    ("agents/planner-001.agent.yaml", include_str!("../templates/team/agents/planner-001.agent.yaml")),
    ("agents/retriever-001.agent.yaml", include_str!("../templates/team/agents/retriever-001.agent.yaml")),
    ("agents/executor-001.agent.yaml", include_str!("../templates/team/agents/executor-001.agent.yaml")),
    ("agents/evaluator-001.agent.yaml", include_str!("../templates/team/agents/evaluator-001.agent.yaml")),
    ("policy/commands.yaml", include_str!("../templates/team/policy/commands.yaml")),
    ("memory/backup.md", include_str!("../templates/team/memory/backup.md")),
    ("memory/team.md", include_str!("../templates/team/memory/team.md")),
    ("models/team.script.yaml", include_str!("../templates/team/models/team.script.yaml")),
    ("run_mode.yaml", include_str!("../templates/team/run_mode.yaml")),
    ("README.md", include_str!("../templates/team/README.md")),
    ("synod.yaml", include_str!("../templates/team/synod.yaml")),
];

/// A coordinator, a planner, a coder and a reviewer, with a small repository.
const CODE: &[(&str, &str)] = &[
    (".gitignore", include_str!("../templates/code/gitignore")),
    (
        "agents/coordinator-001.agent.yaml",
        include_str!("../templates/code/agents/coordinator-001.agent.yaml"),
    ),
    ("agents/planner-001.agent.yaml", include_str!("../templates/code/agents/planner-001.agent.yaml")),
    ("agents/coder-001.agent.yaml", include_str!("../templates/code/agents/coder-001.agent.yaml")),
    ("agents/reviewer-001.agent.yaml", include_str!("../templates/code/agents/reviewer-001.agent.yaml")),
    ("policy/commands.yaml", include_str!("../templates/code/policy/commands.yaml")),
    ("models/code.script.yaml", include_str!("../templates/code/models/code.script.yaml")),
    ("run_mode.yaml", include_str!("../templates/code/run_mode.yaml")),
    ("README.md", include_str!("../templates/code/README.md")),
    ("repo/.gitignore", include_str!("../templates/code/repo/gitignore")),
    ("repo/README.md", include_str!("../templates/code/repo/README.md")),
    ("repo/greet.sh", include_str!("../templates/code/repo/greet.sh")),
    ("repo/test.sh", include_str!("../templates/code/repo/test.sh")),
    ("synod.yaml", include_str!("../templates/code/synod.yaml")),
];
