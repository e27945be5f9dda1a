//! A real home: the engine, the journal and the files, put together as the binary does it, with hands that carry out
//! nothing, or with those of the binary.

use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

use adapters::clock::SystemClock;
use adapters::files::{self, Files, Setup};
use adapters::hands::{LocalHands, Reach};
use adapters::journal::Sqlite;
use adapters::lock::Claim;
use adapters::problem::Problem;
use adapters::tools::Toolbox;
use anyhow::Context as _;
use domain::effect::Effect;
use domain::id::{AgentId, MessageId, SessionId, Time};
use domain::session::{Head, Message, Speaker};
use domain::state::State;
use engine::{Engine, Handle, Parts, Stopped};
use ports::hands::Hands;
use ports::inputs::Inputs;
use ports::tools::Tools;
use tokio::sync::mpsc;

use crate::load;

/// The agent of the sessions.
pub const AGENT: &str = "writer-001";

/// A home in which the engine runs.
pub struct Running {
    /// Speaks to the loop.
    pub handle: Handle,
    /// Speaks to the desk.
    pub files: Files,
    problems: mpsc::Receiver<Problem>,
    engine: JoinHandle<Result<(), Stopped>>,
    desk: JoinHandle<()>,
}

/// Opens the home and reads its files; nothing is carried out.
pub async fn open(home: &Path) -> anyhow::Result<Running> {
    open_with(home, |_, _, _| Box::new(NoHands)).await
}

/// Opens the home and reads its files; models are asked and tools run.
pub async fn open_at_work(home: &Path) -> anyhow::Result<Running> {
    let runtime = tokio::runtime::Handle::current();
    let at = home.to_owned();
    open_with(home, move |inputs, files, tools| {
        Box::new(LocalHands::new(at, runtime, inputs, files, tools, Reach::default()))
    })
    .await
}

async fn open_with(
    home: &Path,
    hands: impl FnOnce(Arc<dyn Inputs>, Files, Arc<dyn Tools>) -> Box<dyn Hands>,
) -> anyhow::Result<Running> {
    std::fs::create_dir_all(home.join(".synod"))?;
    let mut engine = Engine::open(Box::new(Sqlite::open(&home.join(".synod/journal.db"))?))?;
    let clock = Arc::new(SystemClock);
    let tools: Arc<dyn Tools> = Arc::new(Toolbox::new(home.to_owned(), clock.clone())?);
    let (printed, state) = (engine.printed()?, engine.state().clone());
    let mut made = None;
    let (handle, engine) = engine::spawn(engine, |handle| {
        let inputs: Arc<dyn Inputs> = Arc::new(handle);
        let setup = Setup {
            home: home.to_owned(),
            state,
            inputs: inputs.clone(),
            tools: tools.clone(),
            printed,
            watch: true,
            uncommitted: Vec::new(),
            claim: Claim::default(),
        };
        let (files, problems, desk) = files::spawn(setup)?;
        made = Some((files.clone(), problems, desk));
        Ok(Parts { hands: hands(inputs, files.clone(), tools), printer: Box::new(files), clock })
    })?;
    let (files, problems, desk) = made.context("the files of the home were not opened")?;
    files.scan().await;
    Ok(Running { handle, files, problems, engine, desk })
}

impl Running {
    /// Fails with the first complaint about a file, if there is one.
    pub fn check(&mut self) -> anyhow::Result<()> {
        match self.problems.try_recv() {
            Ok(problem) => anyhow::bail!("{}: {}", problem.diagnostic.path, problem.diagnostic.message),
            Err(_) => Ok(()),
        }
    }

    /// Ends both threads.
    pub async fn close(self) -> anyhow::Result<()> {
        self.handle.stop().await;
        let ended = tokio::task::spawn_blocking(move || self.engine.join()).await?;
        self.files.stop().await;
        _ = tokio::task::spawn_blocking(move || self.desk.join()).await?;
        ended.map_err(|_| anyhow::anyhow!("the engine thread panicked"))??;
        Ok(())
    }
}

/// Carries out nothing.
pub struct NoHands;

impl Hands for NoHands {
    fn perform(&mut self, _: &State, _: Effect) {}
    fn wind_down(&mut self) {}
    fn abort(&mut self) {}
}

/// The file of an agent with a middling prompt.
pub fn agent_file(id: &str) -> String {
    let prompt = load::words(600, 1).trim_end().replace('\n', "\n  ");
    format!(
        "id: {id}\ntype: coder\ndescription: Writes and reads files and says what it did\nmodel: team\n\
         system_prompt: |\n  {prompt}\ncapabilities: [read_file, write_file, search_files]\n\
         responsibilities: [\"{id}:*\"]\npermissions:\n  tools: {{deny: [slack_send]}}\nmetadata: {{version: '1.0'}}\n"
    )
}

/// The head of a conversation of [`AGENT`].
pub fn head(session: &SessionId) -> Head {
    Head {
        session: session.clone(),
        agent: AgentId::new(AGENT),
        role: "coder".to_owned(),
        model: "team".to_owned(),
        system_prompt: load::words(600, 1),
        task: None,
        created: Time(1_768_000_000_000),
    }
}

/// The message with this number; people and the agent take turns.
pub fn message(number: u32) -> Message {
    let asks = number % 2 == 1;
    Message {
        label: Default::default(),
        id: MessageId::new(format!("m-{number:04}")),
        at: Time(1_768_000_000_000 + i64::from(number) * 1_000),
        speaker: if asks { Speaker::User } else { Speaker::Assistant },
        from: asks.then(|| domain::Actor::person("dana")),
        content: load::words(300, number),
        calls: Vec::new(),
        call: None,
        is_error: false,
        summary_through: None,
        read_through: None,
        envelope: None,
    }
}
