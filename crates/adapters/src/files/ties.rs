//! Who waits for whose answer, and for whom a conversation acts, when there is no journal that knows: the session files say
//! so, all of them together. A request stands in the file of who was asked, its answer in that of who asked.

use std::collections::{BTreeMap, BTreeSet};

use domain::Actor;
use domain::delegation::Hands;
use domain::id::{AgentId, SessionId};
use domain::message::{Question, Tie};
use domain::session::{Speaker, Status};
use formats::session::{MessageItem, SessionFile};

/// What was read so far.
#[derive(Default)]
pub(super) struct Ties {
    talks: BTreeMap<SessionId, Talk>,
    /// Answers that arrived: to what, and whose.
    answered: BTreeSet<(String, AgentId)>,
}

/// What a conversation heard of others.
struct Talk {
    agent: AgentId,
    heard: Vec<Heard>,
    /// Its last words, if it is at rest.
    words: Option<String>,
}

/// Words of an agent, or of a person, that want something.
struct Heard {
    request: Option<Question>,
    hands: Hands,
    /// Whether the conversation was at rest.
    at_rest: bool,
}

impl Ties {
    /// Takes over what a file says that the journal does not know.
    pub(super) fn read(&mut self, file: &SessionFile) {
        let head = file.head();
        let mut talk = Talk { agent: head.agent.clone(), heard: Vec::new(), words: None };
        for item in file.messages() {
            if let Some(answer) = answer_in(item) {
                self.answered.insert(answer);
            }
            match item.speaker {
                Speaker::Assistant => talk.words = item.calls.is_empty().then(|| item.content.clone()),
                Speaker::User => {
                    let at_rest = talk.words.take().is_some() || talk.heard.is_empty();
                    talk.heard.extend(heard(item, at_rest));
                }
                Speaker::System | Speaker::ToolResult => {}
            }
        }
        // Nobody waits for one that is over; what it asked is still answered.
        if matches!(file.status(), Status::Active | Status::Sleeping) {
            self.talks.insert(head.session.clone(), talk);
        }
    }

    /// All files were read.
    pub(super) fn found(self) -> Vec<Tie> {
        let Self { talks, answered } = self;
        let is_open =
            |agent: &AgentId, request: &&Question| !answered.contains(&(request.name.clone(), agent.clone()));
        let tie = |(session, talk): (SessionId, Talk)| {
            let Talk { agent, heard, words } = talk;
            let mut hands = Hands::default();
            let mut requests: Vec<Question> = Vec::new();
            for Heard { request, hands: theirs, at_rest } in heard {
                // As when it is heard: who is at rest and owes nobody an answer begins anew.
                match at_rest && requests.is_empty() {
                    true => hands = theirs,
                    false => hands.add(&theirs),
                }
                requests.extend(request.filter(|request| is_open(&agent, &request)));
            }
            let is_tied = !requests.is_empty() || !hands.is_empty();
            is_tied.then_some(Tie { session, hands, requests, words })
        };
        talks.into_iter().filter_map(tie).collect()
    }
}

/// What a message answers, and who answers it.
fn answer_in(item: &MessageItem) -> Option<(String, AgentId)> {
    let envelope = item.envelope.as_ref().filter(|envelope| envelope.kind.answers())?;
    Some((envelope.in_reply_to.clone()?, item.from.as_ref()?.agent()?.clone()))
}

fn heard(item: &MessageItem, at_rest: bool) -> Option<Heard> {
    if item.from.as_ref().is_some_and(Actor::is_person) {
        return Some(Heard { request: None, hands: Hands::default(), at_rest });
    }
    let envelope = item.envelope.as_ref().filter(|_| item.from.as_ref().and_then(Actor::agent).is_some())?;
    if envelope.kind.answers() {
        return None;
    }
    let name = envelope.correlation_id.clone().filter(|_| envelope.kind.asks());
    let request = name.map(|name| Question { name, kind: envelope.kind });
    Some(Heard { request, hands: envelope.hands.clone(), at_rest })
}
