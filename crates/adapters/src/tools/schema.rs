//! What each tool is told to a model as: words and a JSON Schema. One table, in the order of the documentation.

/// A tool as a model sees it.
pub(super) struct Described {
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    pub(super) schema: &'static str,
}

/// Every tool of this version.
pub(super) const TABLE: [Described; 33] = [
    Described {
        name: "read_file",
        description: "Read a text file, or some of its lines. A long file is cut, with a note that says from which line to read on. Binary files are refused.",
        schema: r#"{
            "type": "object",
            "properties": {
                "path": {"type": "string", "minLength": 1, "description": "Path relative to the home folder, such as memory/redis.md"},
                "from_line": {"type": "integer", "minimum": 1, "maximum": 1000000000, "description": "The first line to show; 1 if left out"},
                "lines": {"type": "integer", "minimum": 1, "maximum": 1000000, "description": "At most so many lines; as many as fit if left out"}
            },
            "required": ["path"],
            "additionalProperties": false
        }"#,
    },
    Described {
        name: "list_directory",
        description: "List a folder, sorted by name: folders end with '/', files have their size in bytes.",
        schema: r#"{
            "type": "object",
            "properties": {
                "path": {"type": "string", "minLength": 1, "description": "Path relative to the home folder; '.' is the home itself"}
            },
            "required": ["path"],
            "additionalProperties": false
        }"#,
    },
    Described {
        name: "search_files",
        description: "Full-text search, the best files first, each with file:line: line. Words are found in any case and in their other forms (run, runs, running); names such as read_file or readFile are found whole and by their parts; file names count too. Files that have every word come first, then those that have some.",
        schema: r#"{
            "type": "object",
            "properties": {
                "query": {"type": "string", "minLength": 1, "maxLength": 1000, "description": "Words, separated by blanks; words in \"double quotes\" must stand beside each other. There are no other operators"},
                "path": {"type": "string", "minLength": 1, "description": "Folder or file to search, relative to the home folder; memory and your own workspace if left out"}
            },
            "required": ["query"],
            "additionalProperties": false
        }"#,
    },
    Described {
        name: "write_file",
        description: "Write a whole text file: what was in it is replaced. Missing folders are made. Outside your own workspace, workspaces/<your id>/, a person is asked first.",
        schema: r#"{
            "type": "object",
            "properties": {
                "path": {"type": "string", "minLength": 1, "description": "Path relative to the home folder"},
                "content": {"type": "string", "description": "The whole new text of the file"}
            },
            "required": ["path", "content"],
            "additionalProperties": false
        }"#,
    },
    Described {
        name: "create_directory",
        description: "Make a folder and those above it. It is no error if it is there already.",
        schema: r#"{
            "type": "object",
            "properties": {
                "path": {"type": "string", "minLength": 1, "description": "Path relative to the home folder"}
            },
            "required": ["path"],
            "additionalProperties": false
        }"#,
    },
    Described {
        name: "execute_command",
        description: "Run a command in your workspace and get its exit code and output. It has no input, no terminal and a time limit; what it leaves running is ended. A person may be asked first.",
        schema: r#"{
            "type": "object",
            "properties": {
                "command": {"type": "string", "minLength": 1, "maxLength": 65536, "description": "The command as one would type it, such as df -h"}
            },
            "required": ["command"],
            "additionalProperties": false
        }"#,
    },
    Described {
        name: "git_commit",
        description: "Commit what changed in your workspace, on your branch. Files that .gitignore names are left out.",
        schema: r#"{
            "type": "object",
            "properties": {
                "message": {"type": "string", "minLength": 1, "maxLength": 10000, "description": "One line that says what changes, then why"},
                "paths": {"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 4096}, "maxItems": 1000, "description": "Only these files and folders, from the top of your workspace; everything if left out"}
            },
            "required": ["message"],
            "additionalProperties": false
        }"#,
    },
    Described {
        name: "git_diff",
        description: "Show what differs between the files of your workspace and your last commit, or another one, as a patch. New files count.",
        schema: r#"{
            "type": "object",
            "properties": {
                "path": {"type": "string", "minLength": 1, "maxLength": 4096, "description": "Only this file or folder, from the top of your workspace"},
                "against": {"type": "string", "minLength": 1, "maxLength": 200, "description": "A branch, tag or commit to compare with, such as main"}
            },
            "additionalProperties": false
        }"#,
    },
    Described {
        name: "git_update",
        description: "Bring what others merged meanwhile into your branch and your files: merges the branch that your work shall go into (such as main) into your own. Use it when merge_branch found conflicts. Commit your own work first. Without conflicts it makes the merge commit; with conflicts it names the files, in which you then decide, run_tests, and git_commit makes the merge commit.",
        schema: r#"{
            "type": "object",
            "properties": {
                "take_back": {"type": "boolean", "description": "Instead, undo a merge that is not committed: your files become what they were before it"}
            },
            "additionalProperties": false
        }"#,
    },
    Described {
        name: "run_tests",
        description: "Run the tests of your workspace, with the command that the owner of the home set for it, and get the exit code and output.",
        schema: r#"{"type": "object", "properties": {}, "additionalProperties": false}"#,
    },
    Described {
        name: "lint",
        description: "Run the checks of your workspace, with the command that the owner of the home set for them, and get the exit code and output.",
        schema: r#"{"type": "object", "properties": {}, "additionalProperties": false}"#,
    },
    Described {
        name: "request_review",
        description: "Ask another agent to review what you committed on your branch, and wait for the answer: approved, or rejected with the issues. Commit everything and run the tests first. After a rejection, mend what is named, commit, and ask again.",
        schema: r#"{
            "type": "object",
            "properties": {
                "summary": {"type": "string", "minLength": 1, "maxLength": 10000, "description": "What changed and why, and what the reviewer should look at"},
                "to": {"type": "string", "pattern": "^[a-z][a-z0-9-]{0,62}$", "description": "Id of the agent that shall review; one who may is found if left out"}
            },
            "required": ["summary"],
            "additionalProperties": false
        }"#,
    },
    Described {
        name: "approve_work",
        description: "Answer the review that you were asked for. approved: true counts only when the checks (lint, run_tests) ran in this review and passed. Otherwise say approved: false and name the issues.",
        schema: r#"{
            "type": "object",
            "properties": {
                "approved": {"type": "boolean", "description": "Whether the work may be merged as it is"},
                "issues": {"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 5000}, "maxItems": 50, "description": "What is wrong, one thing each: where, what happens, what should happen. Needed if it is not approved"}
            },
            "required": ["approved"],
            "additionalProperties": false
        }"#,
    },
    Described {
        name: "merge_branch",
        description: "Merge work that a review approved: exactly the commit that was approved, with a merge commit. If its author has moved the branch on since, it is not merged. If both sides changed the same lines, the author gets it back.",
        schema: r#"{
            "type": "object",
            "properties": {
                "review": {"type": "string", "minLength": 1, "maxLength": 63, "description": "Id of the review, such as review-0001"}
            },
            "required": ["review"],
            "additionalProperties": false
        }"#,
    },
    Described {
        name: "create_plan",
        description: "Split your task into tasks for others, all at once. Each has a tag, which says who does it, and names the tasks it comes after. They are written into a file that people can edit, and begin when what they come after has ended. You are told when all have ended.",
        schema: r#"{
            "type": "object",
            "properties": {
                "tasks": {
                    "type": "array", "minItems": 1, "maxItems": 50,
                    "items": {
                        "type": "object",
                        "properties": {
                            "id": {"type": "string", "pattern": "^[a-z][a-z0-9-]{0,62}$", "description": "A short name inside this plan, for `after`"},
                            "title": {"type": "string", "minLength": 1, "maxLength": 500, "pattern": "^[^\\r\\n]+$", "description": "What is to be done, in one line"},
                            "description": {"type": "string", "maxLength": 20000, "description": "All that whoever does it needs: they see nothing else of your conversation"},
                            "tag": {"type": "string", "minLength": 1, "maxLength": 200, "description": "The kind of work, such as code:feature; an agent must answer for it"},
                            "assignee": {"type": "string", "pattern": "^[a-z][a-z0-9-]{0,62}$", "description": "Id of the agent that shall do it; the tag decides if left out"},
                            "after": {"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 63}, "maxItems": 50, "description": "Ids of tasks of this plan that must end first"},
                            "priority": {"type": "string", "enum": ["A", "B", "C", "D", "E", "F"], "description": "A is first, F is last"},
                            "done_when": {"type": "string", "minLength": 1, "maxLength": 2000, "description": "The evidence that must be seen before it counts as done, as in create_task"}
                        },
                        "required": ["id", "title", "tag"],
                        "additionalProperties": false
                    }
                }
            },
            "required": ["tasks"],
            "additionalProperties": false
        }"#,
    },
    Described {
        name: "create_task",
        description: "Add a task for yourself or another agent. It starts when the tasks it depends on have ended.",
        schema: r#"{
            "type": "object",
            "properties": {
                "title": {"type": "string", "minLength": 1, "maxLength": 500, "pattern": "^[^\\r\\n]+$", "description": "What is to be done, in one line"},
                "description": {"type": "string", "description": "Details that whoever does it needs"},
                "assignee": {"type": "string", "pattern": "^[a-z][a-z0-9-]{0,62}$", "description": "Id of the agent that shall do it"},
                "depends_on": {"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 63}, "maxItems": 100, "description": "Ids of tasks that must end first"},
                "parent": {"type": "string", "minLength": 1, "maxLength": 63, "description": "Id of the task it is a part of; your own task if left out"},
                "tags": {"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 63}, "maxItems": 50, "description": "Words for finding it"},
                "tag": {"type": "string", "minLength": 1, "maxLength": 200, "description": "The kind of work, such as ops:check"},
                "priority": {"type": "string", "enum": ["A", "B", "C", "D", "E", "F"], "description": "A is first, F is last"},
                "approval_required": {"type": "boolean", "description": "Ask a person before each act that changes something"},
                "done_when": {"type": "string", "minLength": 1, "maxLength": 2000, "description": "The evidence that must be seen before it counts as done, one piece a line: `command: <command that must exit with 0>`, `file: <path that must not be empty>`, `schema: <schema path> <JSON file path>`, `approval`"}
            },
            "required": ["title"],
            "additionalProperties": false
        }"#,
    },
    Described {
        name: "update_task",
        description: "Change a task that you work on, asked for, or are the parent of: report it done or failed with its result, or give it a new title, assignee, priority or other tasks to wait for.",
        schema: r#"{
            "type": "object",
            "properties": {
                "id": {"type": "string", "minLength": 1, "maxLength": 63, "description": "Id of the task, such as task-003"},
                "status": {"type": "string", "enum": ["done", "failed", "cancelled"], "description": "How it ended"},
                "result": {"type": "string", "description": "What came of it, for whoever asked"},
                "title": {"type": "string", "minLength": 1, "maxLength": 500, "pattern": "^[^\\r\\n]+$", "description": "A new title, in one line"},
                "assignee": {"type": "string", "pattern": "^[a-z][a-z0-9-]{0,62}$", "description": "Id of the agent that shall do it instead"},
                "priority": {"type": "string", "enum": ["A", "B", "C", "D", "E", "F"], "description": "A is first, F is last"},
                "depends_on": {"type": "array", "maxItems": 100, "items": {"type": "string", "minLength": 1, "maxLength": 63}, "description": "Ids of all tasks that must end first, in place of those it waits for now; only before it is begun"}
            },
            "required": ["id"],
            "additionalProperties": false
        }"#,
    },
    Described {
        name: "query_tasks",
        description: "Ask all task files with one read-only SQL SELECT (SQLite). Tables: tasks(id, file, line, title, mark, priority, assignee, tag, tags, parent, depends_on, text, result, approval_required), properties(task, key, value), depends(task, on_task). mark is open, running, asking, failed, done or cancelled; tags and depends_on are joined by ', '.",
        schema: r#"{
            "type": "object",
            "properties": {
                "sql": {"type": "string", "minLength": 1, "maxLength": 10000, "description": "One SELECT, such as SELECT id, title FROM tasks WHERE mark = 'open'"}
            },
            "required": ["sql"],
            "additionalProperties": false
        }"#,
    },
    Described {
        name: "send_message",
        description: "Say something to another agent, to all others (to: broadcast), or to those that listen to a channel (to: #name). It arrives in its session between two of its tool calls. A request (the default) is answered by the other's response or its last words, as a message in your session; with wait_ms you stand still until the answer is there and get it as the result. A response names the request with reply_to. A notification wants no answer. A dependency_request asks for what you cannot go on without, a help_request for a hand; both are answered like any request, and those that listen get them by to: #dependency and to: #help.",
        schema: r#"{
            "type": "object",
            "properties": {
                "to": {"type": "string", "pattern": "^#?[a-z][a-z0-9-]{0,62}$", "description": "Id of the agent, broadcast, or a channel such as #ops"},
                "content": {"type": "string", "minLength": 1, "description": "What to say"},
                "type": {"type": "string", "enum": ["request", "response", "notification", "dependency_request", "dependency_resolution", "help_request", "help_response"], "description": "What it wants; request if left out. An answer is of the kind that was asked for"},
                "priority": {"type": "string", "enum": ["low", "normal", "high", "critical"], "description": "Of several that wait, the most urgent is read first; normal if left out"},
                "reply_to": {"type": "string", "minLength": 1, "maxLength": 200, "description": "Of a response: the id of the request, as it was shown"},
                "wait_ms": {"type": "integer", "minimum": 1, "maximum": 3600000, "description": "Of a request: wait so many milliseconds for the answer"},
                "approved": {"type": "boolean", "description": "Of a response about somebody's work: whether it is good"},
                "issues": {"type": "array", "maxItems": 100, "items": {"type": "string", "minLength": 1}, "description": "Of a response about somebody's work: what is wrong with it"}
            },
            "required": ["to", "content"],
            "additionalProperties": false
        }"#,
    },
    Described {
        name: "lock",
        description: "Take a lock, so that no other agent does what it stands for at the same time; waits if another has it. Taking your own lock again is fine: give it back as often. Files that you write with write_file, and commits, are locked by themselves while the call runs: take a lock for more than one call, such as reading a file, thinking, and writing it. You lose it when your task ends, or when you do nothing for long.",
        schema: r#"{
            "type": "object",
            "properties": {
                "name": {"type": "string", "minLength": 1, "maxLength": 200, "description": "What for, such as deploy; file: and a path for a file, such as file:memory/notes.md"},
                "wait_ms": {"type": "integer", "minimum": 0, "maximum": 3600000, "description": "Wait so long at most; 0 does not wait"}
            },
            "required": ["name"],
            "additionalProperties": false
        }"#,
    },
    Described {
        name: "unlock",
        description: "Give a lock back that you took with lock.",
        schema: r#"{
            "type": "object",
            "properties": {
                "name": {"type": "string", "minLength": 1, "maxLength": 200, "description": "As you took it"}
            },
            "required": ["name"],
            "additionalProperties": false
        }"#,
    },
    Described {
        name: "delegate",
        description: "Hand a piece of work to another agent and wait for what comes of it: its result, or why there is none. The other works with its own rights and within the time you have left. The result ends with the chain of agents that the work went through.",
        schema: r#"{
            "type": "object",
            "properties": {
                "to": {"type": "string", "pattern": "^[a-z][a-z0-9-]{0,62}$", "description": "Id of the agent"},
                "tag": {"type": "string", "minLength": 1, "maxLength": 200, "description": "The kind of work, one that the other is responsible for, such as ops:check"},
                "task": {"type": "string", "minLength": 1, "maxLength": 20000, "description": "What is to be done, with all that the other must know"},
                "payload": {"description": "Data that the other needs for it, as any JSON value"},
                "callback": {"type": "boolean", "description": "false: do not wait; you get the id at once and hear no more of it. true if you do not say"},
                "deadline_ms": {"type": "integer", "minimum": 1, "maximum": 2592000000, "description": "Give it up after so many milliseconds"},
                "contexts": {
                    "type": "array", "maxItems": 32,
                    "description": "Shared contexts that the other may see while it works on this, as far as you may yourself",
                    "items": {
                        "type": "object",
                        "properties": {
                            "context": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$", "description": "Its name"},
                            "access": {"enum": ["read", "read_write"], "description": "read if you do not say"},
                            "redact": {"type": "array", "maxItems": 100, "items": {"type": "string", "minLength": 1, "maxLength": 200}, "description": "Fields that it does not see, such as customer.email"},
                            "expires_ms": {"type": "integer", "minimum": 1, "maximum": 2592000000, "description": "It is seen no longer after so many milliseconds"}
                        },
                        "required": ["context"],
                        "additionalProperties": false
                    }
                }
            },
            "required": ["to", "tag", "task"],
            "additionalProperties": false
        }"#,
    },
    Described {
        name: "spawn_agent",
        description: "Make a new agent of a role. It has the rights of its role and your model, and ends with you. It begins when you give it work: delegate, create_task or send_message. Answers with its id.",
        schema: r#"{
            "type": "object",
            "properties": {
                "role": {"type": "string", "minLength": 1, "maxLength": 100, "description": "A role, such as coder"},
                "name": {"type": "string", "minLength": 1, "maxLength": 100, "description": "A name for people"},
                "goal": {"type": "string", "minLength": 1, "maxLength": 20000, "description": "What it is for, with all that it must always know"},
                "responsibilities": {"type": "array", "maxItems": 20, "items": {"type": "string", "minLength": 1, "maxLength": 200}, "description": "Kinds of work that can be delegated to it, such as code:*"}
            },
            "required": ["role"],
            "additionalProperties": false
        }"#,
    },
    Described {
        name: "terminate_agent",
        description: "End an agent that you spawned, or that one of those spawned: its work is given up, and it does not come back. Whoever waits for it is told.",
        schema: r#"{
            "type": "object",
            "properties": {
                "agent": {"type": "string", "pattern": "^[a-z][a-z0-9-]{0,62}$", "description": "Id of the agent"},
                "reason": {"type": "string", "maxLength": 1000, "description": "Why; those who waited for it are told"}
            },
            "required": ["agent"],
            "additionalProperties": false
        }"#,
    },
    Described {
        name: "memory_search",
        description: "Full-text search in the team's memory, the best files first, each with file:line: line. The query is as that of search_files.",
        schema: r#"{
            "type": "object",
            "properties": {
                "query": {"type": "string", "minLength": 1, "maxLength": 1000, "description": "Words, separated by blanks; words in \"double quotes\" must stand beside each other"},
                "limit": {"type": "integer", "minimum": 1, "maximum": 100, "description": "At most so many files; 20 if left out"}
            },
            "required": ["query"],
            "additionalProperties": false
        }"#,
    },
    Described {
        name: "extract",
        description: "Let a separate model without tools read a file that is not to be trusted (mail, messages, fetched pages) and answer one question about it. Only a closed answer comes back, so that you can act on it without having read the text yourself.",
        schema: r#"{
            "type": "object",
            "properties": {
                "path": {"type": "string", "minLength": 1, "maxLength": 4096, "description": "The file, relative to the home"},
                "question": {"type": "string", "minLength": 1, "maxLength": 2000, "description": "One question"},
                "answer": {
                    "type": "object",
                    "properties": {
                        "kind": {"type": "string", "enum": ["bool", "number", "choice", "agent", "task"], "description": "What may be answered: yes or no, a whole number, one of `of`, the id of an agent, or of a task that has not ended"},
                        "of": {"type": "array", "minItems": 1, "maxItems": 64, "items": {"type": "string", "minLength": 1, "maxLength": 100}, "description": "For `choice`: all answers that there are"}
                    },
                    "required": ["kind"],
                    "additionalProperties": false
                }
            },
            "required": ["path", "question", "answer"],
            "additionalProperties": false
        }"#,
    },
    Described {
        name: "context_get",
        description: "Read a shared context, or one field of it. You see those that were granted to you, without the fields that are hidden from you.",
        schema: r#"{
            "type": "object",
            "properties": {
                "context": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$", "description": "Name of the context, such as customers"},
                "field": {"type": "string", "minLength": 1, "maxLength": 1000, "description": "Only this field, such as customer.name, or rows.0 for the first of a list; everything if left out"}
            },
            "required": ["context"],
            "additionalProperties": false
        }"#,
    },
    Described {
        name: "context_put",
        description: "Write a shared context: give content for all of it, or field and value for one field. You need a grant for read_write. Fields that are hidden from you keep their values. One that does not exist is made, for you alone until a person grants it to others: JSON if its content is JSON, else text.",
        schema: r#"{
            "type": "object",
            "properties": {
                "context": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$", "description": "Name of the context, such as customers"},
                "content": {"type": "string", "description": "The whole new text; for a context that is JSON, one JSON value"},
                "field": {"type": "string", "minLength": 1, "maxLength": 1000, "description": "Only this field changes, such as customer.name, or rows.0 for the first of a list"},
                "value": {"description": "The new value of the field, as JSON"}
            },
            "required": ["context"],
            "additionalProperties": false
        }"#,
    },
    Described {
        name: "list_sessions",
        description: "List conversations of agents, those that changed last first: id, status, agent, task, when.",
        schema: r#"{
            "type": "object",
            "properties": {
                "agent": {"type": "string", "pattern": "^[a-z][a-z0-9-]{0,62}$", "description": "Only those of this agent"},
                "status": {"type": "string", "enum": ["active", "sleeping", "completed", "error"], "description": "Only those that stand so"},
                "limit": {"type": "integer", "minimum": 1, "maximum": 200, "description": "At most so many; 20 if left out"}
            },
            "additionalProperties": false
        }"#,
    },
    Described {
        name: "read_session",
        description: "Read the newest messages of a conversation, oldest first.",
        schema: r#"{
            "type": "object",
            "properties": {
                "session": {"type": "string", "minLength": 1, "maxLength": 100, "description": "Id of the session, such as planner-001-0a1b2c"},
                "last": {"type": "integer", "minimum": 1, "maximum": 500, "description": "At most so many messages; 20 if left out"}
            },
            "required": ["session"],
            "additionalProperties": false
        }"#,
    },
    Described {
        name: "slack_read",
        description: "Read the newest messages that came in from Slack, oldest first, one JSON object a line.",
        schema: r#"{
            "type": "object",
            "properties": {
                "limit": {"type": "integer", "minimum": 1, "maximum": 200, "description": "At most so many; 20 if left out"}
            },
            "additionalProperties": false
        }"#,
    },
    Described {
        name: "slack_send",
        description: "Post a message to Slack. A person is asked first.",
        schema: r##"{
            "type": "object",
            "properties": {
                "channel": {"type": "string", "minLength": 1, "maxLength": 200, "description": "Channel or user, such as #ops"},
                "text": {"type": "string", "minLength": 1, "maxLength": 40000, "description": "What to post"}
            },
            "required": ["channel", "text"],
            "additionalProperties": false
        }"##,
    },
    Described {
        name: "email_send",
        description: "Send a mail. A person is asked first.",
        schema: r#"{
            "type": "object",
            "properties": {
                "to": {"type": "string", "minLength": 3, "maxLength": 320, "pattern": "^[^\\s@,;<>]+@[^\\s@,;<>]+$", "description": "One address, such as dana@example.org"},
                "subject": {"type": "string", "minLength": 1, "maxLength": 500, "pattern": "^[^\\r\\n]+$", "description": "One line"},
                "text": {"type": "string", "minLength": 1, "maxLength": 200000, "description": "What to say"}
            },
            "required": ["to", "subject", "text"],
            "additionalProperties": false
        }"#,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_every_tool_of_the_domain_in_its_order() {
        let names: Vec<&str> = domain::tool::ALL.iter().map(|facts| facts.name).collect();
        assert_eq!(TABLE.iter().map(|t| t.name).collect::<Vec<_>>(), names);
    }
}
