//! Homes to look at.

use std::path::Path;

use assert_cmd::Command;
use domain::approval::Request;
use domain::id::{AgentId, ApprovalId, CallId, SessionId, TaskId, Time};
use domain::tool::{Act, ExecuteCommand};
use policy::Risk;
use serde_json::Value;
use tempfile::TempDir;

/// A folder that goes with the test.
pub struct Home {
    folder: TempDir,
}

/// What the binary did.
pub struct Ran {
    /// What it ended with.
    pub code: i32,
    /// Data.
    pub stdout: String,
    /// Talk.
    pub stderr: String,
}

impl Home {
    /// A home with nothing but an empty `synod.yaml`.
    pub fn empty() -> Self {
        let home = Self { folder: tempfile::tempdir().unwrap() };
        home.write("synod.yaml", "")
    }

    /// Four agents, some work, one approval that waits.
    pub fn fine() -> Self {
        let home = Self::empty()
            .write("synod.yaml", SETTINGS)
            .write("scripts/team.yaml", "rules:\n  - answer: Done.\n")
            .write(
                "policy/commands.yaml",
                "commands:\n  df -h: {verdict: allow, effect: read}\n  docker ps: ask\n  rm -rf /: deny\n",
            )
            .write("tasks/disk.task.md", TASKS)
            .write("sessions/planner-001-aaaaaa.session.yaml", SLEEPING)
            .write("sessions/executor-001-bbbbbb.session.yaml", ACTIVE)
            .write("inbox/slack-messages.jsonl", "{\"user\": \"dana\", \"text\": \"Is there space?\"}\n");
        for (id, role) in
            [("planner-001", "planner"), ("executor-001", "executor"), ("retriever-001", "retriever")]
        {
            home.write_agent(id, role, "");
        }
        home.write_agent("slack-001", "coordinator", "description: Speaks to people in Slack\n");
        home.ask("approval-0001", command("df -h /backup && echo done"));
        home
    }

    /// Writes a file, with the folders above it.
    pub fn write(self, path: &str, text: impl AsRef<[u8]>) -> Self {
        self.put(path, text);
        self
    }

    /// The same, for a home that is kept.
    pub fn put(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn write_agent(&self, id: &str, role: &str, more: &str) {
        let text = format!("id: {id}\ntype: {role}\nmodel: small\nresponsibilities: [\"{role}:*\"]\n{more}");
        self.put(&format!("agents/{id}.agent.yaml"), text);
    }

    /// Puts an approval into the home, as Synod prints it.
    pub fn ask(&self, id: &str, act: Act) {
        let request = request(id, act);
        let text = formats::approval::print_detail(&request);
        self.put(&format!("approvals/pending/{id}.approval.md"), text);
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Runs the binary in the home.
    pub fn run(&self, args: &[&str]) -> Ran {
        run(self.path(), args)
    }

    /// Runs it with `--json` and reads what it prints.
    pub fn json(&self, args: &[&str]) -> Value {
        let ran = self.run(&[args, &["--json"]].concat());
        let value: Value =
            serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {}", ran.stdout));
        assert_eq!(value["schema_version"], 1, "{}", ran.stdout);
        value
    }
}

/// Runs the binary in a folder.
pub fn run(folder: &Path, args: &[&str]) -> Ran {
    let output = synod().current_dir(folder).args(args).output().unwrap();
    Ran {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// The binary, with nothing of the tester's own settings.
pub fn synod() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_synod"));
    for key in ["SYNOD_HOME", "COLUMNS", "NO_COLOR", "CLICOLOR_FORCE", "FORCE_COLOR"] {
        command.env_remove(key);
    }
    command
}

/// An act that runs a command.
pub fn command(command: &str) -> Act {
    Act::ExecuteCommand(ExecuteCommand { command: command.to_owned() })
}

fn request(id: &str, act: Act) -> Request {
    Request {
        id: ApprovalId::new(id),
        agent: AgentId::new("executor-001"),
        session: SessionId::new("executor-001-bbbbbb"),
        call: CallId::new("call-1"),
        task: Some(TaskId::new("task-002")),
        seen: None,
        permit: domain::tool::Permit::NONE,
        label: Default::default(),
        chain: Vec::new(),
        escalates: None,
        digest: act.digest(None, domain::tool::Permit::NONE),
        act,
        why: "I look how much is free.".to_owned(),
        risk: Risk::Medium,
        factors: vec!["runs a command that policy/commands.yaml does not list".to_owned()],
        created: Time(1_759_570_000_000),
        expires: None,
    }
}

const SETTINGS: &str = "\
providers:
  script: {kind: scripted, script: scripts/team.yaml}
models:
  small: {provider: script, model: scripted-small}
routing:
  inbox: {slack-messages: planner-001}
  fallback: planner-001
";

const TASKS: &str = "\
# Disk

- [/] A @planner-001 #disk \"Is there enough space for the backup?\"
  id: task-001
  session: planner-001-aaaaaa

  - [?] @executor-001 \"Look at the disk\"
    id: task-002
    tag: executor:look
    session: executor-001-bbbbbb
  - [ ] @retriever-001 \"Read the notes about the backup\"
    id: task-003
    depends_on: task-002
    description: |
      The notes are in memory/.
      They may be old.

- [ ] \"Nobody has this one\"
  id: task-004
- [ ] @ghost-001 \"This one has somebody who is not there\"
  id: task-005
- [ ] @human \"Buy a disk\"
  id: task-006
- [ ] @slack-001 \"Tell the channel\"
  id: task-007
- [x] @planner-001 \"Look around\"
  id: task-008
  result: It is a folder.
";

const SLEEPING: &str = "\
session_id: planner-001-aaaaaa
agent_id: planner-001
agent_type: planner
model: small
system_prompt: |
  You plan.
task: task-001
created: '2025-10-04T10:00:00.000Z'
updated: '2025-10-04T10:00:02.000Z'
status: sleeping
metadata: {}
messages:
  - id: m-0001
    role: user
    from: person:dana
    content: Is there enough space?
    timestamp: '2025-10-04T10:00:00.000Z'
  - id: m-0002
    role: assistant
    content: I make two tasks.
    timestamp: '2025-10-04T10:00:02.000Z'
";

const ACTIVE: &str = "\
session_id: executor-001-bbbbbb
agent_id: executor-001
agent_type: executor
model: small
system_prompt: |
  You run commands.
task: task-002
created: '2025-10-04T10:00:03.000Z'
updated: '2025-10-04T10:00:05.000Z'
status: active
metadata: {}
messages:
  - id: m-0001
    role: user
    from: agent:planner-001
    content: |
      Task task-002: Look at the disk
      Say how much is free.
    timestamp: '2025-10-04T10:00:03.000Z'
  - id: m-0002
    role: assistant
    content: First the list.
    tool_calls:
      - id: call-0
        type: function
        function:
          name: list_directory
          arguments: '{\"path\":\"memory\"}'
    timestamp: '2025-10-04T10:00:04.000Z'
  - id: m-0003
    role: tool_result
    content: |
      1.md
      2.md
      3.md
      4.md
      5.md
      6.md
      7.md
      8.md
      9.md
      10.md
      11.md
      12.md
      13.md
      14.md
    tool_call_id: call-0
    timestamp: '2025-10-04T10:00:05.000Z'
";
