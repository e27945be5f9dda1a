//! The loop under a clock that a test moves: how long it waits, and for whom.

use domain::agent;
use domain::effect::Effect;
use domain::id::{AgentId, CallId, TaskId, Time};
use domain::input::{FileInput, ModelInput, PersonInput};
use domain::task::Spec;
use domain::tool::{Act, Call, ExecuteCommand, Want};
use domain::usage::Usage;
use policy::{CommandRule, CommandVerdict, Policy};
use testkit::clock::Virtual;
use testkit::journal::Disk;
use testkit::printer::Paper;

use super::*;

/// Hands that never bring anything to an end.
struct Idle {
    effects: mpsc::UnboundedSender<Effect>,
}

impl Hands for Idle {
    fn perform(&mut self, _: &State, effect: Effect) {
        _ = self.effects.send(effect);
    }

    fn wind_down(&mut self) {}

    fn abort(&mut self) {}
}

fn opening() -> Vec<Input> {
    let rule = CommandRule::new(CommandVerdict::Allow);
    let mut spec = Spec::new(TaskId::new(""), "tasks/x.task.md", "look");
    spec.assignee = Some(AgentId::new("executor-001"));
    vec![
        Input::File(FileInput::PolicyRead(Policy { commands: [("make".to_owned(), rule)].into() })),
        Input::File(FileInput::AgentRead(Box::new(agent::Spec::new(
            AgentId::new("executor-001"),
            "executor",
            "m",
        )))),
        Input::Started,
        Input::Person(PersonInput::AddTask { spec: Box::new(spec), by: "dana".to_owned() }),
    ]
}

/// The model's answer to a call: run a command.
fn command(effect: Effect) -> Input {
    let Effect::CallModel { ticket, session, .. } = effect else { panic!("not a model call: {effect:?}") };
    let act = Act::ExecuteCommand(ExecuteCommand { command: "make".to_owned() });
    let call = Call { id: CallId::new("c-1"), arguments: String::new(), want: Want::Act(act), seen: None };
    Input::Model(ModelInput::Replied {
        session,
        ticket,
        text: String::new(),
        calls: vec![call],
        model: String::new(),
        usage: Usage::of(1, 1),
        read: Vec::new(),
    })
}

/// A loop with a tool under way that never ends.
async fn with_a_tool(drive: impl AsyncFnOnce(Handle)) -> (Result<(), Stopped>, Duration) {
    let (sender, mut effects) = mpsc::unbounded_channel();
    let engine = Engine::open(Box::new(Disk::new())).unwrap();
    let parts = Parts {
        hands: Box::new(Idle { effects: sender }),
        printer: Box::new(Paper::default()),
        clock: Arc::new(Virtual::at(Time(1_000_000))),
    };
    let (handle, turning) = assemble(engine, |_| Ok(parts)).unwrap();
    let begun = tokio::time::Instant::now();
    let work = async {
        for input in opening() {
            handle.submit(input).await.unwrap().unwrap();
        }
        let thinking = effects.recv().await.unwrap();
        handle.submit(command(thinking)).await.unwrap().unwrap();
        drive(handle).await;
    };
    let (ended, ()) = tokio::join!(turning.run(), work);
    (ended, begun.elapsed())
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_never_ends_is_waited_for_no_longer_than_the_grace() {
    let mut kept = None;
    let (ended, waited) = with_a_tool(async |handle| {
        handle.stop().await;
        kept = Some(handle);
    })
    .await;
    ended.unwrap();
    let grace = Duration::from_millis(GRACE_MS);
    assert!(waited >= grace && waited < grace + Duration::from_millis(GRACE_MS / 10), "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn a_loop_that_nobody_can_speak_to_any_more_ends() {
    let (ended, waited) = with_a_tool(async |handle| drop(handle)).await;
    ended.unwrap();
    assert!(waited < Duration::from_millis(GRACE_MS), "nobody could bring the outcome: {waited:?}");
}
