//! Tools, one file each: the arguments of a tool, what it needs, what it reaches and locks, and the words for people.
//! `tools!` below is the registry: a tool that has a line there is known everywhere. Nothing here runs anything: what
//! touches the world has a performer of the same name in `adapters`.

mod reach;
mod shape;
mod words;

use policy::Nature;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::topics::lock::FILE;
use crate::topics::role::Permission;
use crate::words::spelling::{Purpose, Speller};

pub use reach::{AboutReview, Listener, Locked, Outward, Reach, Runs, Use};
pub use words::{Examples, Shown, Words};

/// How `finish_task` ends a task.
pub use finish_task::Status as FinishStatus;

/// One tool: its arguments, and all that is known of it without running it.
pub trait Tool: JsonSchema + Serialize + DeserializeOwned {
    /// The name by which models call it.
    const NAME: &'static str;
    /// What it is for, for models.
    const DESCRIPTION: &'static str = "";
    /// The permission that a role must have for it.
    const NEEDS: Option<Permission> = None;
    /// Arguments that are taken and that models are not shown: what few need costs every request.
    const UNSHOWN: &'static [&'static str] = &[];
    /// Whether the domain itself carries it out, as events.
    const INSIDE: bool = false;
    /// What repeating it would do, unless the policy says otherwise for a command.
    const NATURE: Nature = if Self::INSIDE { Nature::Idempotent } else { Nature::Read };
    /// Whether it writes files whole, with the content that its arguments have: who approves it saw all of that.
    const WRITES_WHOLE: bool = false;
    /// Whether a link that one of its paths names stands for what it leads to; else it stands for itself.
    const FOLLOWS_LINKS: bool = true;
    /// Whether the last of its paths may name something that the act makes.
    const MAKES: bool = false;

    /// The JSON Schema of its arguments, derived from their type. The comment above a field is its description.
    fn schema() -> Value {
        derived_schema::<Self>()
    }

    /// The name of the tool that this act calls.
    fn name(&self) -> &str {
        Self::NAME
    }

    /// The paths that this act names. The agent's spelling is replaced by the path relative to the home, and that by where it
    /// leads.
    fn paths(&mut self) -> Vec<&mut String> {
        Vec::new()
    }

    /// The name of a lock in this act, which may be `file:` and a path.
    fn lock_name(&mut self) -> Option<&mut String> {
        None
    }

    /// What this act reaches.
    fn reach(&self) -> Reach<'_> {
        Reach::default()
    }

    /// What is locked while this act runs.
    fn locks(&self) -> Vec<Locked<'_>> {
        Vec::new()
    }

    /// The command that this act runs.
    fn runs(&self) -> Runs<'_> {
        Runs::Nothing
    }

    /// This act in a few words.
    fn words(&self) -> Words;

    /// What a person who is asked for this act must see; its arguments as JSON if there is no better form.
    fn shown(&self) -> Option<Shown> {
        None
    }

    /// An act of each kind that the gate tells apart, with the words for that kind; empty words if there is only one.
    fn examples(_at: &Examples<'_>) -> Vec<(String, Self)> {
        Vec::new()
    }
}

/// Facts about one tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// Its name.
    pub name: &'static str,
    /// What it is for, for models.
    pub description: &'static str,
    /// The permission that a role must have for it.
    pub needs: Option<Permission>,
    /// What repeating it would do, unless the policy says otherwise for a command.
    pub nature: Nature,
    /// Whether the domain itself carries it out, as events.
    pub inside: bool,
}

/// What the gate knows of a tool, of this version or of a foreign server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Traits {
    /// The permission that a role must have for it.
    pub needs: Option<Permission>,
    /// What repeating it would do, unless the policy says otherwise for a command.
    pub nature: Nature,
    /// Whether the domain itself carries it out, as events.
    pub inside: bool,
}

impl Facts {
    const fn of<T: Tool>() -> Self {
        Self {
            name: T::NAME,
            description: T::DESCRIPTION,
            needs: T::NEEDS,
            nature: T::NATURE,
            inside: T::INSIDE,
        }
    }
}

/// Makes the enum `Act` and the tables of all tools. `agents` can have those of the first list, in the order of the
/// documentation; those of the second are not offered by name: Synod's own, and the form of foreign tools.
macro_rules! tools {
    (
        agents { $($module:ident::$tool:ident,)* }
        synod { $($own_module:ident::$own:ident,)* }
    ) => {
        $(pub mod $module;)*
        $(pub mod $own_module;)*
        $(pub use $module::$tool;)*
        $(pub use $own_module::$own;)*

        /// An action with its arguments. In JSON: `{"tool": "read_file", "arguments": {"path": "…"}}`.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(tag = "tool", content = "arguments", rename_all = "snake_case", deny_unknown_fields)]
        #[expect(missing_docs, reason = "each tool is documented in its file")]
        pub enum Act {
            $($tool($tool),)*
            $($own($own),)*
        }

        /// Every tool that agents can have, in the order of the documentation.
        pub const ALL: [Facts; [$($tool::NAME),*].len()] = [$(Facts::of::<$tool>()),*];

        /// The JSON Schema of the arguments of a tool that agents can have.
        pub fn schema(name: &str) -> Option<Value> {
            match name {
                $($tool::NAME => Some($tool::schema()),)*
                _ => None,
            }
        }

        /// The schema of the arguments of a tool that agents can have, as models are shown it, with what is added to it.
        pub fn shown_schema(name: &str, add: impl FnOnce(&mut Value)) -> Option<String> {
            match name {
                $($tool::NAME => {
                    let mut schema = $tool::schema();
                    add(&mut schema);
                    Some(shape::shown::<$tool>(schema, $tool::UNSHOWN))
                })*
                _ => None,
            }
        }

        /// The act that calls a tool that agents can have; `None` if there is no such tool.
        pub fn parse(name: &str, arguments: Value) -> Option<serde_json::Result<Act>> {
            match name {
                $($tool::NAME => Some(serde_json::from_value(arguments).map(Act::$tool)),)*
                _ => None,
            }
        }

        /// Acts of a tool, one of each kind that the gate tells apart, with the words for that kind.
        pub fn examples(name: &str, at: &Examples<'_>) -> Vec<(String, Act)> {
            match name {
                $($tool::NAME => {
                    let examples = $tool::examples(at).into_iter();
                    examples.map(|(when, act)| (when, Act::$tool(act))).collect()
                })*
                _ => Vec::new(),
            }
        }

        impl Act {
            /// The tool's name.
            pub fn tool(&self) -> &str {
                match self {
                    $(Self::$tool(tool) => tool.name(),)*
                    $(Self::$own(tool) => tool.name(),)*
                }
            }

            pub(crate) fn paths_mut(&mut self) -> Vec<&mut String> {
                match self {
                    $(Self::$tool(tool) => tool.paths(),)*
                    $(Self::$own(tool) => tool.paths(),)*
                }
            }

            fn makes(&self) -> bool {
                match self {
                    $(Self::$tool(_) => $tool::MAKES,)*
                    $(Self::$own(_) => $own::MAKES,)*
                }
            }

            fn lock_name_mut(&mut self) -> Option<&mut String> {
                match self {
                    $(Self::$tool(tool) => tool.lock_name(),)*
                    $(Self::$own(tool) => tool.lock_name(),)*
                }
            }

            /// Whether it writes files whole, with the content that its arguments have.
            pub fn writes_whole(&self) -> bool {
                match self {
                    $(Self::$tool(_) => $tool::WRITES_WHOLE,)*
                    $(Self::$own(_) => $own::WRITES_WHOLE,)*
                }
            }

            /// What it reaches.
            pub fn reach(&self) -> Reach<'_> {
                match self {
                    $(Self::$tool(tool) => tool.reach(),)*
                    $(Self::$own(tool) => tool.reach(),)*
                }
            }

            /// What is locked while it runs.
            pub fn locks(&self) -> Vec<Locked<'_>> {
                match self {
                    $(Self::$tool(tool) => tool.locks(),)*
                    $(Self::$own(tool) => tool.locks(),)*
                }
            }

            /// The command that it runs.
            pub fn runs(&self) -> Runs<'_> {
                match self {
                    $(Self::$tool(tool) => tool.runs(),)*
                    $(Self::$own(tool) => tool.runs(),)*
                }
            }

            /// The act in a few words.
            pub fn words(&self) -> Words {
                match self {
                    $(Self::$tool(tool) => tool.words(),)*
                    $(Self::$own(tool) => tool.words(),)*
                }
            }

            /// What a person who is asked for it must see, if that is not its arguments as JSON.
            pub fn shown(&self) -> Option<Shown> {
                match self {
                    $(Self::$tool(tool) => tool.shown(),)*
                    $(Self::$own(tool) => tool.shown(),)*
                }
            }
        }
    };
}

tools! {
    agents {
        read_file::ReadFile,
        list_directory::ListDirectory,
        search_files::SearchFiles,
        grep::Grep,
        write_file::WriteFile,
        edit_file::EditFile,
        delete_file::DeleteFile,
        move_file::MoveFile,
        create_directory::CreateDirectory,
        execute_command::ExecuteCommand,
        git_commit::GitCommit,
        git_diff::GitDiff,
        git_update::GitUpdate,
        run_tests::RunTests,
        lint::Lint,
        request_review::RequestReview,
        approve_work::ApproveWork,
        merge_branch::MergeBranch,
        create_plan::CreatePlan,
        finish_task::FinishTask,
        create_task::CreateTask,
        update_task::UpdateTask,
        get_task::GetTask,
        query_tasks::QueryTasks,
        list_agents::ListAgents,
        ask_agent::AskAgent,
        send_message::SendMessage,
        lock::Lock,
        unlock::Unlock,
        delegate::Delegate,
        spawn_agent::SpawnAgent,
        terminate_agent::TerminateAgent,
        memory_search::MemorySearch,
        extract::Extract,
        summarize::Summarize,
        context_get::ContextGet,
        context_put::ContextPut,
        list_sessions::ListSessions,
        read_session::ReadSession,
        slack_read::SlackRead,
        slack_send::SlackSend,
        email_send::EmailSend,
    }
    synod {
        check::Check,
        raise_budget::RaiseBudget,
        foreign::Foreign,
    }
}

impl Act {
    /// The same act with paths relative to the home in place of the spellings of its agent. What names nothing beneath the home
    /// stays, for the gate to refuse. `is_settled` is false if an earlier call of the same answer may make files.
    #[must_use]
    pub fn spelled_by(mut self, speller: Speller<'_>, is_settled: bool) -> Self {
        let makes = self.makes();
        let mut paths = self.paths_mut();
        let last = paths.len().saturating_sub(1);
        for (at, path) in paths.iter_mut().enumerate() {
            let finds = is_settled && !(makes && at == last);
            let read = speller.read(path, if finds { Purpose::Find } else { Purpose::Make });
            **path = read.unwrap_or_else(|| std::mem::take(*path));
        }
        if let Some(name) = self.lock_name_mut()
            && let Some(path) = name.trim().strip_prefix(FILE)
            && let Some(path) = speller.read(path.trim(), Purpose::Find)
        {
            *name = format!("{FILE}{path}");
        }
        self
    }
}

/// The facts about a tool that agents can have.
pub fn facts(name: &str) -> Option<&'static Facts> {
    static TABLE: [Facts; ALL.len()] = ALL;
    TABLE.iter().find(|facts| facts.name == name)
}

/// The schema of a type as models are shown it: whole, and with nothing that says less than the words beside it.
fn derived_schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    simplify(&mut schema);
    if let Value::Object(schema) = &mut schema {
        schema.remove("description");
        schema.entry("properties").or_insert_with(|| Value::Object(serde_json::Map::new()));
    }
    schema
}

/// Removes what a schema says of Rust types: their names, widths and defaults, and that an option can be null, since a value
/// of null is read as one left out.
fn simplify(schema: &mut Value) {
    let Value::Object(schema) = schema else { return };
    for key in ["title", "format", "default"] {
        schema.remove(key);
    }
    if let Some(Value::String(description)) = schema.get_mut("description") {
        *description = description.replace('\n', " ");
    }
    if let Some(kinds @ Value::Array(_)) = schema.get_mut("type") {
        let kind = kinds.as_array().and_then(|kinds| kinds.iter().find(|kind| *kind != "null")).cloned();
        *kinds = kind.unwrap_or_default();
    }
    for value in
        schema.get_mut("properties").and_then(Value::as_object_mut).into_iter().flat_map(|p| p.values_mut())
    {
        simplify(value);
    }
    if let Some(items) = schema.get_mut("items") {
        simplify(items);
        // The comment on the type of an item is for people who read the code.
        if let Value::Object(items) = items {
            items.remove("description");
        }
    }
}

#[cfg(test)]
mod tests;
