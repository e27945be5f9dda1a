//! The fakes keep the contracts too.

use std::cell::RefCell;
use std::sync::Arc;

use domain::event::Event;
use domain::event::SessionEvent;
use domain::id::SessionId;
use testkit::contract;
use testkit::hands::Puppets;
use testkit::inputs::Tray;
use testkit::printer::Paper;

#[tokio::test]
async fn the_tray_keeps_the_contract_of_inputs() {
    let tray = Tray::new(3);
    assert_eq!(contract::inputs::is_bounded(&tray, 3), 3);
    assert_eq!(tray.take(), (0..3).map(contract::inputs::input).collect::<Vec<_>>());
    tray.close();
    contract::inputs::is_closed(&tray).await;
}

#[test]
fn the_paper_keeps_the_contract_of_printers() {
    let paper = Paper::default();
    let read = || {
        let ids = paper.events().into_iter().filter_map(|event| match event {
            Event::Session(SessionEvent::MessageAdded { message, .. }) => Some(message.id.to_string()),
            _ => None,
        });
        ids.collect()
    };
    contract::printer::holds(&mut paper.clone(), &read);
}

#[test]
fn the_puppets_keep_the_contract_of_hands() {
    let tray = Tray::new(8);
    let waiting = RefCell::new(Vec::new());
    let next = || {
        waiting.borrow_mut().extend(tray.take());
        waiting.borrow_mut().remove(0)
    };
    let none = || waiting.borrow().is_empty() && tray.take().is_empty();
    let mut puppets = Puppets::new(Arc::new(tray.clone()), "done");
    let session = SessionId::new("writer-1-0a0b0c");
    contract::hands::holds(&mut puppets, &contract::hands::state(&[]), &session, &next, &none);
}
