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
use domain::settings::{ModelRef, Provider, Settings};
use domain::state::State;
use formats::session::SessionFile;
use ports::clock::Clock;
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

#[test]
fn local_hands_keep_the_contract_of_hands() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("s.yaml"), "rules:\n  - text: I am done.\n").unwrap();
    let settings = Settings {
        providers: [("s".to_owned(), Provider::Scripted { script: "s.yaml".to_owned() })].into(),
        models: [(
            "m".to_owned(),
            ModelRef { provider: "s".to_owned(), model: "m".to_owned(), context_tokens: None },
        )]
        .into(),
        ..Settings::default()
    };
    let state = contract::hands::state(&[Event::System(SystemEvent::SettingsChanged {
        settings: Box::new(settings),
    })]);
    let tray = Arc::new(Tray::new(8));
    let mut files = desk(home.path(), State::new(), tray.clone());
    // A conversation for the model to answer in.
    contract::printer::holds(&mut files, &{
        let path = home.path().join(format!("sessions/{}.session.yaml", contract::printer::SESSION));
        move || {
            let (file, _) = SessionFile::parse("s", &std::fs::read_to_string(&path).unwrap());
            file.unwrap().messages().iter().map(|m| m.id.as_ref().unwrap().to_string()).collect()
        }
    });
    files.flush();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let tools = Arc::new(Toolbox::new(home.path().to_owned(), Arc::new(SystemClock)).unwrap());
    let reach = Reach::default();
    let mut hands = LocalHands::new(
        home.path().to_owned(),
        runtime.handle().clone(),
        tray.clone(),
        files,
        tools,
        reach.clone(),
    );
    let waiting = Mutex::new(Vec::new());
    let next = || {
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
    };
    let none = || waiting.lock().unwrap().is_empty() && tray.take().is_empty();
    contract::hands::holds(&mut hands, &state, &SessionId::new(contract::printer::SESSION), &next, &none);
    assert_eq!(reach.unmatched(), [], "the one rule was used");
}

#[test]
fn the_systems_clock_goes_on() {
    let (first, second) = (SystemClock.now(), SystemClock.now());
    assert!(first > Time(1_700_000_000_000) && second >= first);
}
