//! Roles: named sets of permissions with default tools. Roles are data; `synod.yaml` may add more.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

/// What a role may do at all. Tools each need at most one of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    /// Read files of the home and the workspace.
    ReadFiles,
    /// Write files.
    WriteFiles,
    /// Run commands and outward tools.
    ExecuteTools,
    /// Make new agents.
    SpawnAgents,
    /// Approve other agents' work.
    ApproveWork,
}

impl Permission {
    /// All of them, in the order of the table.
    pub const ALL: [Self; 5] =
        [Self::ReadFiles, Self::WriteFiles, Self::ExecuteTools, Self::SpawnAgents, Self::ApproveWork];

    /// The word in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ReadFiles => "read_files",
            Self::WriteFiles => "write_files",
            Self::ExecuteTools => "execute_tools",
            Self::SpawnAgents => "spawn_agents",
            Self::ApproveWork => "approve_work",
        }
    }

    /// The permission that `word` names.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|p| p.as_str() == word)
    }
}

/// One role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Role {
    /// What it may do.
    pub permissions: BTreeSet<Permission>,
    /// Patterns (`*` matches any run of characters) of the tools it has unless the agent says otherwise.
    pub tools: Vec<String>,
}

/// Tools that any role may have: they move work about inside the home and touch nothing outside it.
pub const COORDINATION_TOOLS: [&str; 9] = [
    "create_task",
    "update_task",
    "get_task",
    "query_tasks",
    "list_agents",
    "ask_agent",
    "send_message",
    "lock",
    "unlock",
];

/// Tools for shared contexts. Every built-in role has them, because what they reach is granted one by one.
pub const CONTEXT_TOOLS: [&str; 2] = ["context_get", "context_put"];

/// Tools that every built-in role has because it may read.
const READERS_TOOLS: [&str; 3] = ["memory_search", "extract", "summarize"];

/// The roles that every home has, made once: the gate looks one up for each call.
pub static BUILTIN: LazyLock<BTreeMap<String, Role>> = LazyLock::new(builtin);

/// The roles that every home has.
pub fn builtin() -> BTreeMap<String, Role> {
    use Permission::{ApproveWork, ExecuteTools, ReadFiles, SpawnAgents, WriteFiles};
    let read_tools = ["read_file", "search_files", "grep", "list_directory"];
    let rows: [(&str, &[Permission], &[&str]); 12] = [
        (
            "coordinator",
            &[ReadFiles, ExecuteTools, SpawnAgents, ApproveWork],
            &[
                "read_file",
                "search_files",
                "grep",
                "list_directory",
                "list_sessions",
                "read_session",
                "slack_read",
                "slack_send",
                "email_send",
                "delegate",
                "create_plan",
                "approve_work",
                "merge_branch",
                "spawn_agent",
                "terminate_agent",
            ],
        ),
        (
            "planner",
            &[ReadFiles],
            &[
                "read_file",
                "search_files",
                "grep",
                "list_directory",
                "list_sessions",
                "read_session",
                "slack_read",
                "create_plan",
            ],
        ),
        (
            "coder",
            &[ReadFiles, WriteFiles, ExecuteTools],
            &["*_file", "*_files", "grep", "*_directory", "git_*", "run_tests", "lint", "request_review"],
        ),
        (
            "reviewer",
            &[ReadFiles, ExecuteTools, ApproveWork],
            &[
                "read_file",
                "search_files",
                "grep",
                "list_directory",
                "git_diff",
                "run_tests",
                "lint",
                "approve_work",
            ],
        ),
        ("retriever", &[ReadFiles], &read_tools),
        (
            "executor",
            &[ReadFiles, WriteFiles, ExecuteTools],
            &["execute_command", "*_file", "list_directory"],
        ),
        ("evaluator", &[ReadFiles, ApproveWork], &["read_file"]),
        (
            "builder",
            &[ReadFiles, WriteFiles, ExecuteTools],
            &["*_file", "*_files", "grep", "*_directory", "run_tests"],
        ),
        ("critic", &[ReadFiles, ApproveWork], &read_tools),
        ("domain_specialist", &[ReadFiles], &read_tools),
        (
            "orchestrator",
            &[ReadFiles, SpawnAgents],
            &[
                "read_file",
                "search_files",
                "grep",
                "list_directory",
                "delegate",
                "create_plan",
                "spawn_agent",
                "terminate_agent",
            ],
        ),
        ("voter", &[ReadFiles], &read_tools),
    ];
    rows.into_iter()
        .map(|(name, permissions, tools)| {
            let tools = tools
                .iter()
                .chain(&READERS_TOOLS)
                .chain(&CONTEXT_TOOLS)
                .chain(&COORDINATION_TOOLS)
                .map(|t| (*t).to_owned())
                .collect();
            (name.to_owned(), Role { permissions: permissions.iter().copied().collect(), tools })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_roles_is_the_table_of_the_design() {
        let table: [(&str, &str); 12] = [
            ("coordinator", "r-xsa"),
            ("planner", "r----"),
            ("coder", "rwx--"),
            ("reviewer", "r-x-a"),
            ("retriever", "r----"),
            ("executor", "rwx--"),
            ("evaluator", "r---a"),
            ("builder", "rwx--"),
            ("critic", "r---a"),
            ("domain_specialist", "r----"),
            ("orchestrator", "r--s-"),
            ("voter", "r----"),
        ];
        let roles = builtin();
        assert_eq!(roles.len(), table.len());
        for (name, expected) in table {
            let has = &roles[name].permissions;
            let shown: String = Permission::ALL
                .into_iter()
                .zip("rwxsa".chars())
                .map(|(p, c)| if has.contains(&p) { c } else { '-' })
                .collect();
            assert_eq!(shown, expected, "{name}");
        }
    }
}
