//! A home for tests, with its tools.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use adapters::sandbox::Sandbox;
use adapters::sandbox::backend::Backend;
use adapters::tools::Toolbox;
use domain::id::Time;
use domain::settings::Settings;
use domain::tool::{Act, ExecuteCommand, ListDirectory, SearchFiles, WriteFile};
use ports::tools::{Order, Outcome, Tools};
use tempfile::TempDir;
use testkit::clock::Virtual;
use testkit::tools::order;

pub struct Home {
    folder: TempDir,
    pub tools: Toolbox,
}

impl Home {
    pub fn new() -> Self {
        Self::caged(Sandbox::new(inner()))
    }

    pub fn caged(sandbox: Sandbox) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("home")).unwrap();
        let clock = Arc::new(Virtual::at(Time(1_700_000_000_000)));
        let tools = Toolbox::new(folder.path().join("home"), clock).unwrap().caged(Arc::new(sandbox));
        Self { folder, tools }
    }

    /// Without a sandbox, where the owner says that commands run all the same.
    pub fn bare() -> Self {
        let home = Self::caged(Sandbox::new(inner()).only(Backend::Bare));
        let mut settings = Settings::default();
        settings.sandbox.is_unsafe = true;
        home.tools.settle(&settings);
        home
    }

    pub fn path(&self, relative: &str) -> PathBuf {
        self.folder.path().join("home").join(relative)
    }

    pub fn write(&self, relative: &str, text: impl AsRef<[u8]>) -> &Self {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    pub fn read(&self, relative: &str) -> String {
        fs::read_to_string(self.path(relative)).unwrap()
    }

    pub async fn run(&self, order: Order) -> Outcome {
        self.tools.run(order).await
    }

    #[track_caller]
    pub fn done(&self, act: Act) -> impl Future<Output = String> {
        let shown = format!("{act:?}");
        let run = self.run(order(1, "coder-001", act));
        async move {
            match run.await {
                Outcome { ok: true, text, .. } => text,
                Outcome { ok: false, text, .. } => panic!("{shown} failed: {text}"),
            }
        }
    }

    pub fn failed(&self, act: Act) -> impl Future<Output = String> {
        let shown = format!("{act:?}");
        let run = self.run(order(1, "coder-001", act));
        async move {
            match run.await {
                Outcome { ok: false, text, .. } => text,
                Outcome { ok: true, text, .. } => panic!("{shown} was done: {text}"),
            }
        }
    }
}

/// The program that runs inside of sandboxes.
pub fn inner() -> PathBuf {
    env!("CARGO_BIN_EXE_synod-inner").into()
}

pub fn read(path: &str) -> Act {
    Act::read_file(path)
}

pub fn list(path: &str) -> Act {
    Act::ListDirectory(ListDirectory { path: path.to_owned() })
}

pub fn search(query: &str, path: Option<&str>) -> Act {
    Act::SearchFiles(SearchFiles { query: query.to_owned(), path: path.map(str::to_owned) })
}

pub fn write(path: &str, content: &str) -> Act {
    Act::WriteFile(WriteFile { path: path.to_owned(), content: content.to_owned() })
}

pub fn command(command: &str) -> Act {
    Act::ExecuteCommand(ExecuteCommand { command: command.to_owned() })
}

/// Waits for a condition that another process brings about; the limit only ends a broken test.
pub async fn eventually(what: &str, condition: impl Fn() -> bool) {
    let limit = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while !condition() {
        assert!(std::time::Instant::now() < limit, "{what} did not come about");
        tokio::task::yield_now().await;
    }
}

/// A number of seconds that nothing else on this machine sleeps, so that whoever does can be found.
pub fn nap() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("{}.{}", 1_000 + COUNT.fetch_add(1, Ordering::Relaxed), std::process::id())
}

/// How many processes sleep so long, in whatever namespace.
pub fn asleep(nap: &str) -> usize {
    let all = fs::read_dir("/proc").unwrap().flatten();
    let commands = all.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    commands.filter(|command| command.split(|byte| *byte == 0).eq([b"sleep", nap.as_bytes(), b""])).count()
}
