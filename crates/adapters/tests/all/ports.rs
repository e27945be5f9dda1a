//! The real printer, hands and clock keep the contracts of their ports.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use adapters::clock::SystemClock;
use adapters::files::{self, Files, Setup};
use adapters::hands::{LocalHands, Reach};
use adapters::lock::Claim;
use adapters::tools::Toolbox;
use domain::event::Event;
use domain::event::SystemEvent;
use domain::id::{Seq, SessionId, Time};
use domain::input::Input;
use domain::input::ModelInput;
use domain::settings::{ModelRef, Provider, Settings};
use domain::state::State;
use domain::tool::foreign::Offer;
use domain::tool::{Act, Want};
use formats::session::SessionFile;
use policy::Nature;
use ports::clock::Clock;
use ports::hands::Hands as _;
use ports::inputs::Inputs;
use ports::printer::Printer;
use testkit::contract;
use testkit::inputs::Tray;

fn desk(home: &std::path::Path, state: State, inputs: Arc<dyn Inputs>) -> Files {
    let tools = Arc::new(Toolbox::new(home.to_owned(), Arc::new(SystemClock)).unwrap());
    let setup = Setup {
        home: home.to_owned(),
        state,
        inputs,
        tools,
        printed: Seq(0),
        watch: false,
        uncommitted: Vec::new(),
        claim: Claim::default(),
    };
    files::spawn(setup).unwrap().0
}

#[test]
fn the_desk_keeps_the_contract_of_printers() {
    let home = tempfile::tempdir().unwrap();
    let mut files = desk(home.path(), State::new(), Arc::new(Tray::new(100)));
    let path = home.path().join(format!("sessions/{}.session.yaml", contract::printer::SESSION));
    let read = || {
        let (file, problems) = SessionFile::parse("s", &std::fs::read_to_string(&path).unwrap());
        assert_eq!(problems, []);
        file.unwrap().messages().iter().map(|m| m.id.as_ref().unwrap().to_string()).collect()
    };
    contract::printer::holds(&mut files, &read);
}

/// Hands with a scripted model, and a conversation for it to answer in.
struct Rig {
    hands: LocalHands,
    state: State,
    reach: Reach,
    waiting: Mutex<Vec<Input>>,
    tray: Arc<Tray>,
    _runtime: tokio::runtime::Runtime,
    _home: tempfile::TempDir,
}

impl Rig {
    fn new(script: &str, more: &[Event]) -> Self {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("s.yaml"), script).unwrap();
        let settings = Settings {
            providers: [("s".to_owned(), Provider::Scripted { script: "s.yaml".to_owned() })].into(),
            models: [(
                "m".to_owned(),
                ModelRef {
                    provider: "s".to_owned(),
                    model: "m".to_owned(),
                    context_tokens: None,
                    max_tokens: None,
                },
            )]
            .into(),
            ..Settings::default()
        };
        let settled = [Event::System(SystemEvent::SettingsChanged { settings: Box::new(settings) })];
        let state =
            contract::hands::state(&settled.into_iter().chain(more.iter().cloned()).collect::<Vec<_>>());
        let tray = Arc::new(Tray::new(8));
        let mut files = desk(home.path(), State::new(), tray.clone());
        contract::printer::holds(&mut files, &{
            let path = home.path().join(format!("sessions/{}.session.yaml", contract::printer::SESSION));
            move || {
                let (file, _) = SessionFile::parse("s", &std::fs::read_to_string(&path).unwrap());
                file.unwrap().messages().iter().map(|m| m.id.as_ref().unwrap().to_string()).collect()
            }
        });
        files.flush();
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let tools = Arc::new(Toolbox::new(home.path().to_owned(), Arc::new(SystemClock)).unwrap());
        let (reach, handle) = (Reach::default(), runtime.handle().clone());
        let hands =
            LocalHands::new(home.path().to_owned(), handle, tray.clone(), files, tools, reach.clone());
        let waiting = Mutex::new(Vec::new());
        Self { hands, state, reach, waiting, tray, _runtime: runtime, _home: home }
    }
}

fn next(waiting: &Mutex<Vec<Input>>, tray: &Tray) -> Input {
    let limit = Instant::now() + Duration::from_secs(10);
    loop {
        let mut waiting = waiting.lock().unwrap();
        waiting.extend(tray.take());
        if !waiting.is_empty() {
            return waiting.remove(0);
        }
        assert!(Instant::now() < limit, "an outcome comes");
        drop(waiting);
        std::thread::yield_now();
    }
}

#[test]
fn local_hands_keep_the_contract_of_hands() {
    let mut rig = Rig::new("rules:\n  - text: I am done.\n", &[]);
    let (waiting, tray) = (&rig.waiting, &rig.tray);
    let none = || waiting.lock().unwrap().is_empty() && tray.take().is_empty();
    let session = SessionId::new(contract::printer::SESSION);
    contract::hands::holds(&mut rig.hands, &rig.state, &session, &|| next(waiting, tray), &none);
    assert_eq!(rig.reach.unmatched(), [], "the one rule was used");
}

#[test]
fn a_call_of_a_foreign_tool_is_read_by_the_schema_of_its_server() {
    let script = "rules:
  - calls:
      - tool: tracker__add
        arguments: {title: Look}
      - tool: tracker__add
        arguments: {title: 7}
      - tool: tracker__none
        arguments: {}
";
    let schema = serde_json::json!({"type": "object", "properties": {"title": {"type": "string"}}});
    let (name, description) = ("tracker__add".to_owned(), "Add an issue.".to_owned());
    let found = Offer { name, description, schema, needs: None, nature: Nature::Once, outward: false };
    let tools = vec![found.clone()];
    let mut rig =
        Rig::new(script, &[Event::System(SystemEvent::ToolsFound { server: "tracker".to_owned(), tools })]);
    rig.hands.perform(&rig.state, contract::hands::ask(&SessionId::new(contract::printer::SESSION), 1));
    let Input::Model(ModelInput::Replied { calls, .. }) = next(&rig.waiting, &rig.tray) else {
        panic!("the model replies")
    };
    let act = Act::Foreign(found.call(serde_json::json!({"title": "Look"})));
    assert_eq!(calls[0].want, Want::Act(act));
    let errors: Vec<&str> = calls[1..]
        .iter()
        .map(|call| match &call.want {
            Want::Invalid { error, .. } => error.as_str(),
            Want::Act(act) => panic!("{act:?}"),
        })
        .collect();
    assert!(
        errors[0].starts_with("the arguments of tracker__add do not fit:\n- /title: 7 is not"),
        "{errors:?}"
    );
    assert!(errors[1].starts_with("there is no tool \"tracker__none\""), "{errors:?}");
}

#[test]
fn the_systems_clock_goes_on() {
    let (first, second) = (SystemClock.now(), SystemClock.now());
    assert!(first > Time(1_700_000_000_000) && second >= first);
}
