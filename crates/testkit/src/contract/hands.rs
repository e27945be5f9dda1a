//! What all hands keep.

use std::sync::Arc;

use domain::agent;
use domain::effect::Effect;
use domain::event::AgentEvent;
use domain::event::Event;
use domain::id::{AgentId, CallId, Seq, SessionId, Ticket, Time};
use domain::input::Input;
use domain::input::{ModelInput, ToolInput};
use domain::state::State;
use domain::tool::{Act, Call, ListDirectory, Permit, Want};
use ports::hands::Hands;

use super::printer;

/// The agent whose effects are carried out.
pub const AGENT: &str = "writer-1";

/// A state that knows the agent and its conversation, after what `more` adds.
pub fn state(more: &[Event]) -> State {
    let mut state = State::new();
    let spec = agent::Spec::new(AgentId::new(AGENT), "executor", "m");
    state.apply(Time(1), &Event::Agent(AgentEvent::Defined { spec: Box::new(spec) }));
    state.apply(Time(1), &printer::opened());
    for event in more {
        state.apply(Time(1), event);
    }
    state
}

fn ticket(attempt: u32) -> Ticket {
    Ticket { effect: Seq(7), attempt }
}

/// Asking the model in `session`.
pub fn ask(session: &SessionId, attempt: u32) -> Effect {
    let agent = AgentId::new(AGENT);
    Effect::CallModel { ticket: ticket(attempt), session: session.clone(), agent, turn: 1, reserved: None }
}

/// A tool call that only looks.
pub fn look(session: &SessionId) -> Effect {
    let act = Act::ListDirectory(ListDirectory { path: ".".to_owned() });
    let call =
        Call { id: CallId::new("call-1"), arguments: "{}".to_owned(), want: Want::Act(act), seen: None };
    Effect::RunTool {
        ticket: ticket(1),
        session: session.clone(),
        agent: AgentId::new(AGENT),
        call: Arc::new(call),
        permit: Permit::NONE,
        locks: Vec::new(),
        hold: None,
    }
}

/// `next` waits for one input, with a limit; `none` says that none came and none is on its way.
pub fn holds(
    hands: &mut dyn Hands,
    state: &State,
    session: &SessionId,
    next: &dyn Fn() -> Input,
    none: &dyn Fn() -> bool,
) {
    hands.perform(state, ask(session, 3));
    let Input::Model(ModelInput::Replied { ticket: answered, session: of, .. }) = next() else {
        panic!("a model call ends in a reply")
    };
    assert_eq!((answered, &of), (ticket(3), session), "the outcome carries the ticket of its try");

    hands.perform(state, look(session));
    let Input::Tool(ToolInput::Finished { ticket: finished, ok, call, .. }) = next() else {
        panic!("a tool call ends in a result")
    };
    assert_eq!((finished, ok, call), (ticket(1), true, CallId::new("call-1")), "so does that of a tool");
    assert!(none(), "each effect has one outcome");

    hands.abort();
    assert!(none(), "nothing comes after an abort");
}
