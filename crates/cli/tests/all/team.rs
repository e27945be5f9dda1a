//! A home in which the real binary works, and a person who watches its files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use domain::session::Speaker;
use formats::session::{MessageItem, SessionFile};
use formats::task::{TaskFile, TaskItem};
use rustix::process::{Pid, Signal, kill_process};

use crate::home::Ran;

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long to leave the processor to others between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(3);

/// A home that goes with the test, and a place beside it for what processes say.
pub struct Team {
    folder: tempfile::TempDir,
    has_sandbox: bool,
}

impl Team {
    /// A folder with nothing in it.
    pub fn nothing() -> Self {
        Self::within("")
    }

    fn within(folder: &str) -> Self {
        let folder = tempfile::Builder::new().prefix(folder).tempdir().unwrap();
        let team = Self { folder, has_sandbox: true };
        fs::create_dir(team.path()).unwrap();
        team
    }

    /// What `synod init` makes.
    pub fn fresh() -> Self {
        let team = Self::nothing();
        let ran = team.synod(&["init", "."]);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
        team
    }

    /// One agent that plays this script.
    pub fn scripted(rules: &str) -> Self {
        Self::nothing().with_script(rules)
    }

    /// The same, with a path that is too long for the name of a socket.
    pub fn scripted_deep(rules: &str) -> Self {
        Self::within(&"deep-".repeat(30)).with_script(rules)
    }

    /// The same, as on a system that offers no sandbox.
    pub fn without_sandbox(self) -> Self {
        Self { has_sandbox: false, ..self }
    }

    fn with_script(self, rules: &str) -> Self {
        self.write("models/s.yaml", rules);
        self.write("agents/worker-1.agent.yaml", WORKER);
        self.write("synod.yaml", SETTINGS);
        self
    }

    /// The home.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// A file of it.
    pub fn at(&self, path: &str) -> PathBuf {
        self.path().join(path)
    }

    /// Writes a file in place, with the folders above it.
    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Adds to a file, as `>>` does.
    pub fn append(&self, path: &str, text: &str) {
        use std::io::Write;
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut file = fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    /// A file's text; nothing if there is none.
    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.at(path)).unwrap_or_default()
    }

    /// Loads, changes one thing that stands there once, and saves by renaming, as many editors do.
    pub fn edit(&self, path: &str, old: &str, new: &str) {
        let text = self.read(path);
        assert_eq!(text.matches(old).count(), 1, "{old:?} in {path}: {text}");
        let aside = self.at(&format!("{path}.person~"));
        fs::write(&aside, text.replacen(old, new, 1)).unwrap();
        fs::rename(aside, self.at(path)).unwrap();
    }

    /// The names in a folder, sorted.
    pub fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.at(folder)).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries
            .filter_map(|e| e.file_name().into_string().ok())
            .filter(|n| !n.starts_with('.'))
            .collect();
        names.sort();
        names
    }

    /// A task file's tasks.
    pub fn tasks(&self, path: &str) -> Vec<TaskItem> {
        TaskFile::parse(path, &self.read(path)).0.tasks().to_vec()
    }

    /// A task by its id.
    pub fn task(&self, path: &str, id: &str) -> Option<TaskItem> {
        self.tasks(path).into_iter().find(|t| t.id.as_ref().is_some_and(|own| own.as_str() == id))
    }

    /// The mark of a task as it stands in the file.
    pub fn mark(&self, path: &str, id: &str) -> Option<domain::task::Mark> {
        self.task(path, id).map(|t| t.mark)
    }

    /// The sessions of an agent, by path.
    pub fn sessions(&self, agent: &str) -> Vec<String> {
        let start = format!("{agent}-");
        let own = self.names("sessions").into_iter().filter(|n| n.starts_with(&start));
        own.filter(|n| n.ends_with(".session.yaml")).map(|n| format!("sessions/{n}")).collect()
    }

    /// What is said in a session.
    pub fn messages(&self, path: &str) -> Vec<MessageItem> {
        let (file, _) = SessionFile::parse(path, &self.read(path));
        file.map(|f| f.messages().to_vec()).unwrap_or_default()
    }

    /// The only session of an agent.
    pub fn talk(&self, agent: &str) -> Vec<MessageItem> {
        let sessions = self.sessions(agent);
        assert_eq!(sessions.len(), 1, "{agent}: {sessions:?}");
        self.messages(&sessions[0])
    }

    /// What an agent said last in its only session; the report that ends a task is no words.
    pub fn last_words(&self, agent: &str) -> String {
        let talk = self.talk(agent).into_iter().rev();
        let mut said = talk.filter(|message| message.speaker == Speaker::Assistant).map(|said| said.content);
        said.find(|words| !words.is_empty()).unwrap_or_default()
    }

    /// The lines that went out.
    pub fn sent(&self) -> Vec<String> {
        self.read("inbox/slack-outbox.jsonl").lines().map(str::to_owned).collect()
    }

    /// Runs the binary in the home and waits for it.
    pub fn synod(&self, args: &[&str]) -> Ran {
        let output = self.command(args).stdin(Stdio::null()).output().unwrap();
        Ran {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Runs it, and it must end well.
    pub fn fine(&self, args: &[&str]) -> String {
        let ran = self.synod(args);
        assert_eq!(ran.code, 0, "{args:?}: {} {}", ran.stdout, ran.stderr);
        ran.stdout
    }

    /// Starts the binary in the home and leaves it to work.
    pub fn start(&self, args: &[&str]) -> Process {
        let number = self.names("..").len();
        let said = self.folder.path().join(format!("said-{number}"));
        let told = self.folder.path().join(format!("told-{number}"));
        let child = self
            .command(args)
            .stdin(Stdio::null())
            .stdout(fs::File::create(&said).unwrap())
            .stderr(fs::File::create(&told).unwrap())
            .spawn()
            .unwrap();
        Process { child, said, told }
    }

    /// Starts `synod up` and waits until it works.
    pub fn up(&self) -> Process {
        let process = self.start(&["up"]);
        process.tells("synod works in");
        process
    }

    /// Does all that can be done, and says with which code it ended.
    pub fn pump(&self) -> i32 {
        self.synod(&["pump"]).code
    }

    /// Pumps and approves until nothing waits any more; the whole of what was printed.
    pub fn to_the_end(&self) -> String {
        let mut all = String::new();
        for _ in 0..10 {
            let ran = self.synod(&["pump"]);
            all.push_str(&ran.stdout);
            match ran.code {
                0 => return all,
                3 => _ = self.fine(&["approve", "--all"]),
                code => panic!("pump ended with {code}: {} {}", ran.stdout, ran.stderr),
            }
        }
        panic!("it does not come to an end: {all}");
    }

    /// Nothing is wrong with any file.
    pub fn is_in_order(&self) {
        let ran = self.synod(&["check"]);
        assert!(ran.stdout.ends_with("nothing wrong\n"), "{} {}", ran.stdout, ran.stderr);
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = synod();
        command.current_dir(self.path()).args(args);
        if !self.has_sandbox {
            command.env("SYNOD_SANDBOX", "none");
        }
        command
    }
}

/// The binary, for a person called tess.
pub fn synod() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_synod"));
    for key in ["SYNOD_HOME", "COLUMNS", "NO_COLOR", "CLICOLOR_FORCE", "FORCE_COLOR", "SYNOD_SANDBOX"] {
        command.env_remove(key);
    }
    command.env("SYNOD_USER", "tess");
    command
}

/// A process that works in a home.
pub struct Process {
    child: Child,
    said: PathBuf,
    told: PathBuf,
}

impl Process {
    /// Its number.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it printed so far.
    pub fn stdout(&self) -> String {
        fs::read_to_string(&self.said).unwrap()
    }

    /// What it told a person so far.
    pub fn stderr(&self) -> String {
        fs::read_to_string(&self.told).unwrap()
    }

    /// Waits until it printed this.
    pub fn says(&self, words: &str) {
        self.wait_for(&self.said, words);
    }

    /// Waits until it told this.
    pub fn tells(&self, words: &str) {
        self.wait_for(&self.told, words);
    }

    fn wait_for(&self, path: &Path, words: &str) {
        let began = Instant::now();
        while !fs::read_to_string(path).unwrap().contains(words) {
            let all = || format!("{}\n{}", self.stdout(), self.stderr());
            assert!(began.elapsed() < PATIENCE, "{words:?} was not said: {}", all());
            std::thread::park_timeout(LOOK_EVERY);
        }
    }

    /// Ends it as a system that shuts down does; it must end well.
    pub fn stop(self) -> (String, String) {
        let (code, stdout, stderr) = self.signal(Signal::TERM);
        assert_eq!(code, Some(0), "{stdout}\n{stderr}");
        (stdout, stderr)
    }

    /// Sends a signal.
    pub fn send(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Sends a signal and waits for the end.
    pub fn signal(mut self, signal: Signal) -> (Option<i32>, String, String) {
        self.send(signal);
        let code = self.end();
        (code, self.stdout(), self.stderr())
    }

    /// Ends it without any warning.
    pub fn kill(self) {
        _ = self.signal(Signal::KILL);
    }

    /// Waits until it ends by itself.
    pub fn wait(mut self) -> Ran {
        let code = self.end().unwrap_or(-1);
        Ran { code, stdout: self.stdout(), stderr: self.stderr() }
    }

    fn end(&mut self) -> Option<i32> {
        until("the process ends", || self.child.try_wait().unwrap()).code()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// Waits for something, with a limit.
pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "not within {PATIENCE:?}: {what}");
        std::thread::park_timeout(LOOK_EVERY);
    }
}

/// Waits until something is so, with a limit.
pub fn until_so(what: &str, mut is_so: impl FnMut() -> bool) {
    until(what, || is_so().then_some(()));
}

const SETTINGS: &str = "\
providers: {script: {kind: scripted, script: models/s.yaml}}
models: {m: {provider: script, model: m}}
routing: {fallback: worker-1}
";

const WORKER: &str = "\
id: worker-1
type: executor
model: m
";
