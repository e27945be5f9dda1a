//! Looking at each other's work: who is asked, what an answer needs to count, and who hears of it.

use crate::words::actor::Actor;
use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::kernel::chains;
use crate::kernel::draft::Draft;
use crate::kernel::event::{Event, Finish};
use crate::kernel::event::{ReviewEvent, TaskEvent};
use crate::kernel::lineage;
use crate::kernel::refused::Refused;
use crate::kernel::reviews;
use crate::kernel::state::State;
use crate::rules::answer::verdict_words;
use crate::rules::end::end_task;
use crate::rules::gate;
use crate::rules::say::{result, title_of};
use crate::rules::talk::no_agent;
use crate::rules::tasks::{Outcome, add, already_made, check_queue, check_room};
use crate::rules::tree::{fresh_task, label_of_result};
use crate::topics::chain;
use crate::topics::lock::workspace;
use crate::topics::lock::workspace::Room;
use crate::topics::review;
use crate::topics::review::{Finding, Move, Place, Review, Stage, written};
use crate::topics::session::{Session, Step};
use crate::topics::task;
use crate::topics::task::End;
use crate::topics::tool::{Act, Call, RequestReview, Want};
use crate::words::id::{AgentId, ReviewId, SessionId};
use crate::words::label::Label;

/// Why nobody is asked to look at the work, and what to do instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum Rejected {
    #[error(transparent)]
    Refused(#[from] Refused),
    #[error(transparent)]
    Again(#[from] review::NotAgain),
    #[error(transparent)]
    Look(#[from] gate::review::MayNotLook),
    #[error("not a request_review")]
    OtherCall,
    #[error(
        "review.max_review_rounds: {review} was looked at {rounds} times meanwhile; ask once more, and a person decides"
    )]
    LastRound { review: ReviewId, rounds: u32 },
    #[error("nobody approves their own work; name another agent or leave `to` out")]
    Own,
    #[error("nobody here may review: an agent with the role reviewer (agents/<id>.agent.yaml) is needed")]
    Nobody,
    #[error("{agent} may not see what was read here ({label})")]
    Secret { agent: AgentId, label: Label },
    #[error("{agent} was made by {author}; somebody else must look at it")]
    Made { agent: AgentId, author: AgentId },
}

/// Whether a person is asked before there is another one.
fn is_last_round(state: &State, review: &Review) -> bool {
    review.round >= state.config.settings.review.max_review_rounds
}

/// Carries out `approve_work`: the answer to the review that this conversation is about.
pub(super) fn perform(d: &mut Draft<'_>, id: &SessionId, approved: bool, issues: &[String]) -> Outcome {
    let failed = |text: String| (Finish::Failed, text);
    let issues: Vec<String> = issues.iter().map(|i| i.trim().to_owned()).filter(|i| !i.is_empty()).collect();
    let about = d.sessions.get(id).and_then(|session| Some((session.agent.clone(), session.task.as_ref()?)));
    let Some((by, review)) = about.and_then(|(by, task)| Some((by, d.reviews.of_task(task)?.clone()))) else {
        return failed("nobody asked for a review here; whoever wants one uses request_review".to_owned());
    };
    if approved && !issues.is_empty() {
        return failed(
            "work with issues is not approved; say approved: false, or leave the issues out".to_owned(),
        );
    }
    let to = if approved { Move::Approved } else { Move::Rejected { issues } };
    if let Err(refused) = review.after(&to, &d.config.settings.review.checks) {
        return match refused {
            review::Refused::Unchecked(why) => {
                let rule = "review.checks".to_owned();
                let why = no_command(d, &review, &by).unwrap_or(why);
                (Finish::Refused { rule }, format!("not approved: {why}"))
            }
            refused @ (review::Refused::Stage { .. } | review::Refused::NoIssues) => {
                failed(refused.to_string())
            }
        };
    }
    let words = verdict_words(d, &review, &by, &to);
    move_on(d, id, &review, to);
    end_task(d, &review.task, End::Done, &words, &Actor::from(&by));
    let told = if approved { "is told" } else { "gets the issues" };
    (Finish::Done, format!("{} is answered; {} {told}", review.id, review.author))
}

/// Something happens to a review: it stands in the file of the reviewer's task, too.
fn move_on(d: &mut Draft<'_>, id: &SessionId, review: &Review, to: Move) {
    let Some(by) = d.sessions.get(id).map(|session| session.agent.clone()) else { return };
    if let Some(written) = write_down(d, review, &to) {
        d.emit(written);
    }
    let (review, commit) = (review.id.clone(), review.place.commit.clone());
    d.emit(ReviewEvent::Moved { review, commit, to, by, session: id.clone() });
}

/// That a check is wanted which the reviewer cannot make: neither its work nor that of the author is at fault.
fn no_command(state: &State, review: &Review, reviewer: &AgentId) -> Option<String> {
    let spec = &state.team.agents.get(reviewer)?.spec;
    let missing = review::without_command(spec, &state.config.settings.review.checks);
    let check = missing.into_iter().find(|check| review.checks.get(check) != Some(&true))?;
    Some(format!(
        "{reviewer} has no command for {}, which `review.checks` in synod.yaml wants: the owner of the home can set one in the file of {reviewer}, as `workspace: {{{}: \"…\"}}`",
        check.tool(),
        check.as_str()
    ))
}

/// How a review stands then, in the file of the reviewer's task: the files alone must be enough.
fn write_down(state: &State, review: &Review, to: &Move) -> Option<Event> {
    let after = review.after(to, &BTreeSet::new()).ok()?;
    let task = state.work.tasks.get(&review.task)?;
    let mut properties = task.spec.properties.clone();
    properties.extend(written::write(&after));
    if properties == task.spec.properties {
        return None;
    }
    let change = task::Change::Properties(properties);
    Some(Event::Task(TaskEvent::Edited { task: review.task.clone(), change, in_file: false }))
}

/// What follows from a finding that came with the end of a call; whether the call waits since then, so that its plain
/// result does not count.
pub(super) fn found(d: &mut Draft<'_>, id: &SessionId, call: &Call, finding: &Finding) -> bool {
    match finding {
        Finding::Submitted(place) => {
            if let Err(rejected) = ask(d, id, call, place) {
                let message = result(d.at, &call.id, rejected.to_string());
                d.finish_call(id, Finish::Failed, message);
            }
            true
        }
        Finding::Checked { commit, check, passed } => {
            step(d, id, call, commit, Move::Checked { check: *check, passed: *passed });
            false
        }
        Finding::Merged { commit, merge } => {
            step(d, id, call, commit, Move::Merged { merge: merge.clone() });
            false
        }
        Finding::Conflicted { commit, files } => {
            let back = about(d, id, call, commit).map(|review| send_back(d, id, review, files));
            step(d, id, call, commit, Move::Conflicted { files: files.clone() });
            if let Some(spec) = back.flatten() {
                add(d, spec, id);
            }
            false
        }
    }
}

/// The review that a call is about, if it is about this commit.
fn about<'a>(state: &'a State, id: &SessionId, call: &Call, commit: &str) -> Option<&'a Review> {
    let review = match reviews::merged(call) {
        Some(review) => state.reviews.by_id.get(review),
        None => {
            let task = state.sessions.get(id)?.task.as_ref();
            task.and_then(|task| state.reviews.of_task(task))
        }
    };
    review.filter(|review| review.place.commit == commit)
}

fn step(d: &mut Draft<'_>, id: &SessionId, call: &Call, commit: &str, to: Move) {
    let review = about(d, id, call, commit).filter(|review| review.after(&to, &BTreeSet::new()).is_ok());
    if let Some(review) = review.cloned() {
        move_on(d, id, &review, to);
    }
}

/// A new round: the reviewer's task, and the call that waits for it.
fn ask(d: &mut Draft<'_>, id: &SessionId, call: &Call, place: &Place) -> Result<(), Rejected> {
    let Some(session) = d.sessions.get(id) else { return Err(Refused::ConversationOver.into()) };
    let (spec, review) = new_round(d, (id, session), call, place)?;
    if let Some(spec) = spec {
        add(d, spec, id);
    }
    d.emit(ReviewEvent::Asked { review: Box::new(review) });
    Ok(())
}

/// The review in its new round, and the reviewer's task unless there is one already.
fn new_round(
    state: &State,
    (id, session): (&SessionId, &Session),
    call: &Call,
    place: &Place,
) -> Result<(Option<task::Spec>, Review), Rejected> {
    let Want::Act(Act::RequestReview(RequestReview { summary, to })) = &call.want else {
        return Err(Rejected::OtherCall);
    };
    let before = state.reviews.open_of(&session.agent, session.task.as_ref());
    if let Some(left) = before.filter(|before| is_left(state, before) && before.place == *place) {
        return Ok((None, Review { session: id.clone(), call: call.id.clone(), ..left.clone() }));
    }
    if let Some(before) = before {
        before.may_ask_again(place)?;
        // Another call, let through beside this one, had the last round.
        let approved = matches!(
            session.pending(&call.id).map(|pending| &pending.step),
            Some(Step::Running { approved: true, .. })
        );
        if is_last_round(state, before) && !approved {
            return Err(Rejected::LastRound { review: before.id.clone(), rounds: before.round });
        }
    }
    let reviewer = choose(state, session, to.as_ref(), before)?;
    let about = session.task.as_ref().and_then(|task| state.work.tasks.get(task));
    let title = about.map_or_else(|| title_of(summary), |task| task.spec.title.clone());
    let mut review = Review {
        id: before.map_or_else(|| state.reviews.fresh(), |before| before.id.clone()),
        author: session.agent.clone(),
        reviewer,
        about: session.task.clone(),
        title,
        session: id.clone(),
        call: call.id.clone(),
        task: fresh_task(state),
        place: place.clone(),
        round: before.map_or(1, |before| before.round + 1),
        stage: Stage::Asked,
        checks: Default::default(),
    };
    let spec = spec_of(state, (id, session), &review, before, summary);
    match already_made(state, id, session, &spec) {
        // Printed before the journal was lost: the reviewer goes on with it.
        Some(made) if state.work.tasks.get(made).is_some_and(|task| !task.is_ended()) => {
            review.task = made.clone();
            Ok((None, review))
        }
        Some(_) | None => {
            check_room(state)?;
            check_queue(state, &spec)?;
            Ok((Some(spec), review))
        }
    }
}

/// Whether the reviewer has it and nobody waits for the answer any more: all but the files was lost, or a person cut the
/// conversation.
fn is_left(state: &State, review: &Review) -> bool {
    let waits = state.sessions.get(&review.session).and_then(|session| session.pending(&review.call));
    review.stage == Stage::Asked && waits.is_none()
}

/// Who looks at the work: who was named, who looked at it before, or the first who may.
fn choose(
    state: &State,
    session: &Session,
    named: Option<&AgentId>,
    before: Option<&Review>,
) -> Result<AgentId, Rejected> {
    if let Some(name) = named {
        if *name == session.agent {
            return Err(Rejected::Own);
        }
        let agent = state.employed(name).ok_or_else(|| no_agent(state, name.as_str()))?;
        may_review(state, session, &agent.spec)?;
        return Ok(name.clone());
    }
    let able: Vec<&crate::topics::agent::Spec> = state
        .team
        .agents
        .values()
        .filter(|agent| !agent.retired && agent.spec.id != session.agent)
        .map(|agent| &agent.spec)
        .filter(|spec| may_review(state, session, spec).is_ok())
        .collect();
    // Whoever gave no verdict is asked once more only if there is nobody else.
    let knows = |spec: &crate::topics::agent::Spec| match before.filter(|before| before.reviewer == spec.id) {
        Some(before) if before.stage == Stage::Lapsed => 2,
        Some(_) => 0,
        None => 1,
    };
    let rank = |spec: &&&crate::topics::agent::Spec| {
        (knows(spec), spec.role != "reviewer", spec.priority, spec.id.clone())
    };
    able.iter().min_by_key(rank).map(|spec| spec.id.clone()).ok_or(Rejected::Nobody)
}

fn may_review(state: &State, session: &Session, spec: &crate::topics::agent::Spec) -> Result<(), Rejected> {
    if !session.label.readers.include(&spec.id) {
        return Err(Rejected::Secret { agent: spec.id.clone(), label: session.label.clone() });
    }
    if lineage::above(state, &spec.id).contains(&&session.agent) {
        return Err(Rejected::Made { agent: spec.id.clone(), author: session.agent.clone() });
    }
    Ok(gate::review::may_look(spec, state.role(&spec.role), &state.config.settings.review.checks)?)
}

/// The reviewer's task. It begins a chain of its own: a review is not work that the author handed on.
fn spec_of(
    state: &State,
    (id, session): (&SessionId, &Session),
    review: &Review,
    before: Option<&Review>,
    summary: &str,
) -> task::Spec {
    let own = session.task.as_ref().and_then(|task| state.work.tasks.get(task));
    let file = own.map_or_else(|| format!("tasks/{}.task.md", session.agent), |own| own.spec.file.clone());
    let title = title_of(&format!("Review of {}, round {}", review.title, review.round));
    let mut spec = task::Spec::new(review.task.clone(), file, title);
    // What the author was not told, it cannot tell on.
    let heard = before.filter(|before| may_tell(state, session, before));
    spec.text = brief(state, review, heard, summary);
    spec.approval_required = chains::above(state, session).approval_required;
    spec.assignee = Some(review.reviewer.clone());
    spec.tag = Some(review::TAG.to_owned());
    spec.parent.clone_from(&session.task);
    spec.priority = own.and_then(|own| own.spec.priority);
    spec.properties.insert("requested_by".to_owned(), id.to_string());
    spec.properties.extend(written::write(review));
    if chains::chain(state, session).chain.len() > 1 {
        spec.properties.insert(chain::CHAIN.to_owned(), review.reviewer.to_string());
    }
    if session.label.counts() {
        spec.properties.insert("label".to_owned(), session.label.to_string());
    }
    spec
}

/// Whether a conversation has what was said of a round: with its label, that goes on to others.
fn may_tell(state: &State, session: &Session, before: &Review) -> bool {
    let said = state.work.tasks.get(&before.task).map(|task| label_of_result(state, task));
    said.is_some_and(|said| session.label.clone().joined(&said) == session.label)
}

fn brief(state: &State, review: &Review, before: Option<&Review>, summary: &str) -> String {
    let Review { id, author, reviewer, place, round, .. } = review;
    let most = state.config.settings.review.max_review_rounds;
    let mut text = format!(
        "{id}, round {round} of {most}: {author} asks you to look at commit {} on {}, which shall go into {}.",
        place.commit, place.branch, place.target
    );
    _ = write!(text, "\n{author} says: {}", summary.trim());
    if let Some(Stage::Rejected { issues }) = before.map(|before| &before.stage) {
        text.push_str("\nWhat was wrong in the round before:");
        for issue in issues {
            _ = write!(text, "\n- {issue}");
        }
    }
    let checks: Vec<&str> = state.config.settings.review.checks.iter().map(|check| check.tool()).collect();
    let folder = Room::Review.folder(reviewer);
    _ = write!(
        text,
        "\ngit_diff shows what changed. Its files are in {folder}/, a checkout of exactly this commit for you, where commands run too."
    );
    if !checks.is_empty() {
        _ = write!(
            text,
            " Run {} on it yourself: an approval counts only when they passed.",
            checks.join(" and ")
        );
    }
    text.push_str(
        "\nAnswer with approve_work: approved: true, or approved: false with the issues, one thing each.",
    );
    text
}

/// The task of the author whose work could not be merged, with the names of the files.
fn send_back(state: &State, id: &SessionId, review: &Review, files: &[String]) -> Option<task::Spec> {
    let session = state.sessions.get(id)?;
    let own = session.task.as_ref().and_then(|task| state.work.tasks.get(task));
    let file = own.map_or_else(|| format!("tasks/{}.task.md", session.agent), |own| own.spec.file.clone());
    let Place { branch, target, .. } = &review.place;
    let title = title_of(&format!("Bring {branch} in line with {target}: {}", files.join(", ")));
    let mut spec = task::Spec::new(fresh_task(state), file, title);
    spec.text = format!(
        "{} ({}) was approved, but {target} has changed meanwhile and both sides changed: {}.\nUse git_update, which merges {target} into {branch}, make the files what they shall be, see that the tests pass, git_commit, and request_review again.",
        review.id,
        review.title,
        files.join(", ")
    );
    spec.assignee = Some(review.author.clone());
    let about = review.about.as_ref().and_then(|about| state.work.tasks.get(about));
    spec.approval_required = chains::above(state, session).approval_required
        || about.is_some_and(|about| about.spec.approval_required);
    spec.parent.clone_from(&session.task);
    spec.properties.insert("requested_by".to_owned(), id.to_string());
    spec.properties.insert(workspace::CONTINUES.to_owned(), review.id.to_string());
    chains::bind(session, &mut spec.properties);
    if session.label.counts() {
        spec.properties.insert("label".to_owned(), session.label.to_string());
    }
    Some(spec)
}
