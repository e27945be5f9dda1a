//! The tool `execute_command`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Examples, Reach, Runs, Shown, Tool, Use, Words};
use crate::topics::role::Permission;
use policy::Nature;

/// Run a command in the agent's workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecuteCommand {
    /// As typed, such as df -h
    #[schemars(length(min = 1, max = 65536))]
    pub command: String,
}

impl Tool for ExecuteCommand {
    const NAME: &'static str = "execute_command";
    const DESCRIPTION: &'static str = "Run a command in your workspace; get its exit code and output. It has no input, no terminal and a \
        time limit. A person may be asked first.";
    const NEEDS: Option<Permission> = Some(Permission::ExecuteTools);
    const NATURE: Nature = Nature::Once;

    fn reach(&self) -> Reach<'_> {
        Reach { workspace: Some(Use::Changes), ..Reach::default() }
    }

    fn runs(&self) -> Runs<'_> {
        Runs::Command(&self.command)
    }

    fn words(&self) -> Words {
        let command = self.command.trim();
        Words::new(format!("run `{command}`"), format!("ran `{command}`"))
    }

    fn shown(&self) -> Option<Shown> {
        let title = format!("command: {}", self.command);
        Some(Shown { language: "sh", ..Shown::text("terminal_command", title, "Command", &self.command) })
    }

    fn examples(at: &Examples<'_>) -> Vec<(String, Self)> {
        let of = |when: &str, command: &str| (when.to_owned(), Self { command: command.to_owned() });
        let listed = at.commands.iter().map(|command| of(command, command));
        let others =
            [of("those that only read, as ls", "ls"), of("any other command", "(any other command)")];
        listed.chain(others).collect()
    }
}
