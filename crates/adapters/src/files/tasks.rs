//! Task files: printing marks, results and new tasks, and telling a person's edits from old saves.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use domain::event::Event;
use domain::event::{BudgetEvent, SessionEvent, TaskEvent};
use domain::id::{SessionId, TaskId, Time};
use domain::input::FileInput;
use domain::input::Input;
use domain::lifecycle::Lifecycle;
use domain::state::TaskStage;
use domain::task::{Change, Mark, Spec};
use formats::diagnostic::{Diagnostic, Severity};
use formats::task::{New, TaskFile};

use super::cabinet::Cabinet;

/// Properties that Synod prints from the journal; a person's change of them is overwritten at the next print.
const PRINTED: [&str; 6] = ["created", "started", "completed", "session", "result", "verified"];
/// How much of a result stands in the task file.
const RESULT_BYTES_MAX: usize = 2000;

/// A small edit of one task file.
#[derive(Debug, Clone)]
pub(super) enum TaskOp {
    Add {
        spec: Box<Spec>,
        mark: Mark,
        created: Option<Time>,
    },
    /// A person wrote the task without an id.
    GiveId {
        id: TaskId,
        title: String,
    },
    /// `from` is what the task said before; a person who changed the same field meanwhile wins.
    Edit {
        id: TaskId,
        change: Change,
        from: Option<Box<Spec>>,
    },
    Mark {
        id: TaskId,
        mark: Mark,
    },
    Start {
        id: TaskId,
        session: SessionId,
        at: Time,
    },
    End {
        id: TaskId,
        mark: Mark,
        result: String,
        at: Time,
    },
    Verify {
        id: TaskId,
        at: Time,
    },
    Reopen {
        id: TaskId,
    },
}

impl TaskOp {
    /// The task that it changes; none if it makes or names one.
    fn about(&self) -> Option<&TaskId> {
        match self {
            Self::Add { .. } | Self::GiveId { .. } => None,
            Self::Edit { id, .. }
            | Self::Mark { id, .. }
            | Self::Start { id, .. }
            | Self::End { id, .. }
            | Self::Verify { id, .. }
            | Self::Reopen { id } => Some(id),
        }
    }
}

/// What the desk waits for while the engine takes what task files say.
#[derive(Default)]
pub(super) struct Tasks {
    /// By file and title: how many tasks without an id the engine is asked to name.
    adopting: BTreeMap<(String, String), usize>,
    /// Tasks with ids that the engine was given and has not taken yet.
    reading: BTreeMap<TaskId, Spec>,
    /// While all files are looked at: those with tasks to be named, once every id that is taken is known.
    pub(super) to_name: Option<BTreeSet<String>>,
}

impl Tasks {
    /// What an event changes in a task file, given the state right before it.
    pub(super) fn op(&mut self, cabinet: &mut Cabinet, at: Time, event: &Event) -> Option<(String, TaskOp)> {
        let file_of =
            |cabinet: &Cabinet, id: &TaskId| cabinet.state.work.tasks.get(id).map(|t| t.spec.file.clone());
        match event {
            Event::Task(TaskEvent::Added { spec, in_file, .. }) => {
                cabinet.recent.task(&spec.id);
                self.reading.remove(&spec.id);
                let op = if *in_file {
                    self.adopted(&spec.file, &spec.title);
                    TaskOp::GiveId { id: spec.id.clone(), title: spec.title.clone() }
                } else {
                    TaskOp::Add { spec: spec.clone(), mark: Mark::Open, created: Some(at) }
                };
                Some((spec.file.clone(), op))
            }
            Event::Task(TaskEvent::Edited { task, change, in_file: false }) => {
                let old = cabinet.state.work.tasks.get(task).map(|t| t.spec.clone())?;
                cabinet.recent.spec(&old);
                let (file, from) = (old.file.clone(), (!cabinet.replaying).then(|| Box::new(old)));
                Some((file, TaskOp::Edit { id: task.clone(), change: change.clone(), from }))
            }
            Event::Task(TaskEvent::Started { task, session }) => {
                note_mark(cabinet, task);
                Some((
                    file_of(cabinet, task)?,
                    TaskOp::Start { id: task.clone(), session: session.clone(), at },
                ))
            }
            Event::Session(SessionEvent::Moved { session, task: Some(task), to, .. }) => {
                let for_agents = cabinet.state.waits_for_agents(session);
                let mark = match to {
                    Lifecycle::Working => Mark::Running,
                    Lifecycle::Blocked if for_agents => Mark::Running,
                    Lifecycle::Blocked => Mark::Asking,
                    Lifecycle::Idle | Lifecycle::Waiting | Lifecycle::Complete => return None,
                };
                let known = cabinet
                    .state
                    .work
                    .tasks
                    .get(task)
                    .filter(|t| matches!(t.stage, TaskStage::Running { .. }))?;
                let file = known.spec.file.clone();
                note_mark(cabinet, task);
                Some((file, TaskOp::Mark { id: task.clone(), mark }))
            }
            Event::Budget(BudgetEvent::Parked { session, parked, .. }) => {
                let task = cabinet.state.sessions.get(session)?.task.clone()?;
                let known = cabinet
                    .state
                    .work
                    .tasks
                    .get(&task)
                    .filter(|t| matches!(t.stage, TaskStage::Running { .. }))?;
                let file = known.spec.file.clone();
                // It was told that the session stands still, and only this tells whether a person is asked.
                let mark = if parked.is_for_people() { Mark::Asking } else { Mark::Running };
                note_mark(cabinet, &task);
                Some((file, TaskOp::Mark { id: task, mark }))
            }
            Event::Task(TaskEvent::Ended { task, end, result, .. }) => {
                note_mark(cabinet, task);
                let op = TaskOp::End { id: task.clone(), mark: end.mark(), result: result.clone(), at };
                Some((file_of(cabinet, task)?, op))
            }
            Event::Task(TaskEvent::Verified { task, .. }) => {
                Some((file_of(cabinet, task)?, TaskOp::Verify { id: task.clone(), at }))
            }
            Event::Task(TaskEvent::Reopened { task, .. }) => {
                note_mark(cabinet, task);
                Some((file_of(cabinet, task)?, TaskOp::Reopen { id: task.clone() }))
            }
            _ => None,
        }
    }

    /// Carries out edits on one task file; notices what a person did to it on the way.
    pub(super) fn settle(
        &mut self,
        cabinet: &mut Cabinet,
        path: &str,
        ops: &[TaskOp],
        forced: bool,
    ) -> std::io::Result<()> {
        let (mut lost, mut back) = (false, Back::default());
        cabinet.rewrite(path, forced, |cabinet, text, fresh| {
            let (mut file, diagnostics) = TaskFile::parse(path, text.unwrap_or_default());
            // Nothing follows from a file that does not read, nor from any while nobody knows who takes what.
            let broken = cabinet.reports.hold.puts_off(path)
                || diagnostics.iter().any(|d| d.severity == Severity::Error);
            let mut repairs = Vec::new();
            if fresh {
                cabinet.reports.complain(path, diagnostics);
                if cabinet.replaying {
                    // What was journalled and not printed before a crash is no wish of a person.
                    carry_out_all(&mut file, ops.iter());
                }
                repairs = self.compare(cabinet, path, &file, text.is_some(), broken);
            }
            let wording = if repairs.is_empty() { 0 } else { wording(text.unwrap_or_default()) };
            carry_out_all(&mut file, ops.iter().chain(&repairs));
            back = Back::of(&file, &repairs, wording);
            let is_gone = |op: &TaskOp| matches!(op, TaskOp::GiveId { id, .. } if file.find(id).is_none());
            lost = ops.iter().any(is_gone);
            Some(file.text().to_owned())
        })?;
        report_put_back(cabinet, path, back);
        for op in ops {
            match op {
                TaskOp::Add { spec, .. } => cabinet.recent.stands(&spec.id),
                TaskOp::GiveId { id, .. } => cabinet.recent.stands(id),
                _ => {}
            }
        }
        if lost {
            // Something took it away before it had its name: it is printed again by who compares.
            cabinet.looks.again(path);
        }
        Ok(())
    }

    /// What a file says beyond what was printed: inputs for what people did, repairs for what an old save undid.
    fn compare(
        &mut self,
        cabinet: &mut Cabinet,
        path: &str,
        file: &TaskFile,
        exists: bool,
        broken: bool,
    ) -> Vec<TaskOp> {
        let mut repairs = Vec::new();
        let (mut said, mut marked) = (Vec::new(), Vec::new());
        let mut renamed = lost_names(cabinet, path, file);
        let mut unnamed: BTreeMap<&str, usize> = BTreeMap::new();
        for (index, item) in file.tasks().iter().enumerate() {
            let Some(id) = &item.id else {
                if let Some(id) = renamed.get_mut(&item.title).and_then(VecDeque::pop_front) {
                    repairs.push(TaskOp::GiveId { id, title: item.title.clone() });
                    continue;
                }
                if let Some(to_name) = &mut self.to_name {
                    to_name.insert(path.to_owned());
                    continue;
                }
                // Several may have one title: as many as the engine was asked to name are left alone.
                let before = unnamed.entry(&item.title).or_default();
                *before += 1;
                let key = (path.to_owned(), item.title.clone());
                if !broken
                    && *before > self.adopting.get(&key).copied().unwrap_or_default()
                    && let Some(spec) = file_spec(file, index)
                {
                    *self.adopting.entry(key).or_default() += 1;
                    said.push(Input::File(FileInput::TaskRead {
                        spec: Box::new(spec),
                        mark: item.mark,
                        result: result_of(file, index),
                    }));
                }
                continue;
            };
            let Some(theirs) = file_spec(file, index) else { continue };
            let Some(known) = cabinet.state.work.tasks.get(id) else {
                // Said once: by now it may be somebody's, and the file does not know yet.
                if !broken && self.reading.get(id) != Some(&theirs) {
                    self.reading.insert(id.clone(), theirs.clone());
                    said.push(Input::File(FileInput::TaskRead {
                        spec: Box::new(theirs),
                        mark: item.mark,
                        result: result_of(file, index),
                    }));
                }
                continue;
            };
            let mut wanted = known.spec.clone();
            wanted.file.clone_from(&theirs.file);
            let mut changed = false;
            for change in Change::between(&known.spec, &theirs) {
                if cabinet.recent.had_value(&known.spec, &change) {
                    repairs.push(TaskOp::Edit {
                        id: id.clone(),
                        change: change_back(&known.spec, &change),
                        from: None,
                    });
                } else {
                    change.apply(&mut wanted);
                    changed = true;
                }
            }
            if changed && !broken {
                said.push(Input::File(FileInput::TaskRead {
                    spec: Box::new(wanted),
                    mark: item.mark,
                    result: String::new(),
                }));
            }
            let ours = cabinet.state.mark_of(known);
            if item.mark == ours {
                continue;
            }
            let by_person = !cabinet.recent.had_mark(id, item.mark)
                && matches!(item.mark, Mark::Open | Mark::Done | Mark::Failed | Mark::Cancelled);
            let meaningful = item.mark != Mark::Open || known.is_ended();
            if by_person && meaningful && !broken {
                marked.push(Input::File(FileInput::TaskMarked {
                    task: id.clone(),
                    mark: item.mark,
                    why: String::new(),
                    by: "person".to_owned(),
                }));
            } else {
                cabinet.recent.mark(id, item.mark);
                repairs.push(TaskOp::Mark { id: id.clone(), mark: ours });
            }
        }
        if !broken {
            repairs.extend(missing_tasks(cabinet, path, file, exists, &mut said));
        }
        // A mark sets others going; by then, all else that was saved with it must be known.
        for input in said.into_iter().chain(marked) {
            cabinet.outbox.say(input);
        }
        repairs
    }

    /// The engine has named one of the tasks with this title.
    fn adopted(&mut self, path: &str, title: &str) {
        let key = (path.to_owned(), title.to_owned());
        if let Some(asked) = self.adopting.get_mut(&key) {
            *asked = asked.saturating_sub(1);
            if *asked == 0 {
                self.adopting.remove(&key);
            }
        }
    }
}

/// Remembers the mark of a task that is about to be replaced.
fn note_mark(cabinet: &mut Cabinet, id: &TaskId) {
    if let Some(task) = cabinet.state.work.tasks.get(id) {
        let mark = cabinet.state.mark_of(task);
        cabinet.recent.mark(id, mark);
        if cabinet.replaying {
            // The copy of the state is ahead of the file: any of these may still stand there.
            [Mark::Open, Mark::Running, Mark::Asking]
                .into_iter()
                .for_each(|mark| cabinet.recent.mark(id, mark));
        }
    }
}

/// Tells people that what they may have taken out stands there again.
fn report_put_back(cabinet: &mut Cabinet, path: &str, back: Back) {
    for (id, line) in back.tasks {
        // What was never printed before is news and nothing that anybody took out.
        if !cabinet.recent.put_back(&id, back.wording) {
            continue;
        }
        let is_open = cabinet.state.work.tasks.get(&id).is_some_and(|task| task.stage == TaskStage::Open);
        let help = match is_open {
            true => "if you meant to remove it, take it out once more, or mark it [-]",
            false => "if you meant to end it, mark it [-]",
        };
        let message = format!("{id} stands here again: the file was saved from a copy that is older than it");
        let diagnostic = Diagnostic {
            severity: Severity::Warning,
            line,
            help: Some(help.to_owned()),
            ..crate::problem::of_file(path, message)
        };
        // Nobody may listen, or not fast enough.
        cabinet.reports.send(diagnostic, None);
    }
}

/// Tasks that were named a moment ago and whose ids an old save took away again, by title; those of one title in the
/// order in which they were named, which is that of the file.
fn lost_names(cabinet: &Cabinet, path: &str, file: &TaskFile) -> BTreeMap<String, VecDeque<TaskId>> {
    if file.tasks().iter().all(|item| item.id.is_some()) {
        return BTreeMap::new();
    }
    let here = cabinet
        .state
        .work
        .tasks
        .iter()
        .filter(|(id, task)| task.spec.file == path && cabinet.recent.was_added(id));
    let mut lost: BTreeMap<String, VecDeque<TaskId>> = BTreeMap::new();
    for (id, task) in here.filter(|(id, _)| file.find(id).is_none()) {
        lost.entry(task.spec.title.clone()).or_default().push_back(id.clone());
    }
    lost
}

/// Tasks that should stand in the file and do not: printed again if they are new, else taken out by a person.
fn missing_tasks(
    cabinet: &mut Cabinet,
    path: &str,
    file: &TaskFile,
    exists: bool,
    said: &mut Vec<Input>,
) -> Vec<TaskOp> {
    let here = ids(file);
    let missing: Vec<TaskId> = cabinet
        .state
        .work
        .tasks
        .iter()
        .filter(|(id, task)| task.spec.file == path && !here.contains(*id))
        .map(|(id, _)| id.clone())
        .collect();
    let mut repairs = Vec::new();
    let mut doubtful = false;
    let wording = if missing.is_empty() { 0 } else { wording(file.text()) };
    for id in missing {
        let Some(task) = cabinet.state.work.tasks.get(&id) else { continue };
        let is_meant = task.stage == TaskStage::Open && cabinet.recent.was_put_back(&id, wording);
        if cabinet.recent.was_added(&id) && !is_meant {
            repairs.push(TaskOp::Add {
                spec: Box::new(task.spec.clone()),
                mark: cabinet.state.mark_of(task),
                created: None,
            });
            if task.is_ended() {
                repairs.push(TaskOp::End {
                    id: id.clone(),
                    mark: cabinet.state.mark_of(task),
                    result: task.result.clone(),
                    at: Time(0),
                });
            }
        } else if !task.is_ended() {
            if cabinet.looks.is_confirmed(path) {
                cabinet.recent.forget_task(&id);
                said.push(Input::File(FileInput::TaskGone { task: id }));
            } else {
                doubtful = true;
            }
        }
    }
    if doubtful || (!exists && !repairs.is_empty()) {
        // An editor may be in the middle of writing: look once more before believing it.
        cabinet.looks.confirm_later(path);
    }
    repairs
}

/// Tasks that a file lacked and has again, with the lines at which they stand.
#[derive(Default)]
struct Back {
    tasks: Vec<(TaskId, usize)>,
    /// What the file said without them.
    wording: u64,
}

impl Back {
    fn of(file: &TaskFile, repairs: &[TaskOp], wording: u64) -> Self {
        let added = repairs.iter().filter_map(|op| match op {
            TaskOp::Add { spec, .. } => Some((spec.id.clone(), file.tasks().get(file.find(&spec.id)?)?.line)),
            _ => None,
        });
        Self { tasks: added.collect(), wording }
    }
}

/// What a person wrote in a file, in short. Neither marks nor what Synod prints counts, which change meanwhile, nor space
/// between lines, of which some may stay behind where a task was.
fn wording(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let words = line.trim();
        let is_printed = |key: &&str| words.strip_prefix(*key).is_some_and(|rest| rest.starts_with(':'));
        let is_task = words.starts_with("- [");
        match words.get(5..).filter(|_| is_task) {
            Some(rest) => rest.hash(&mut hasher),
            None if PRINTED.iter().any(is_printed) => {}
            None => line.trim_end().hash(&mut hasher),
        }
    }
    hasher.finish()
}

/// The change that undoes `change` on top of `now`: the same field with the present value.
fn change_back(now: &Spec, change: &Change) -> Change {
    let mut undone = now.clone();
    change.apply(&mut undone);
    Change::between(&undone, now).into_iter().next().unwrap_or_else(|| change.clone())
}

/// Whether the file's value of the field that `change` is about is neither the old nor the new one.
fn says_something_else(file: &TaskFile, index: usize, from: &Spec, change: &Change) -> bool {
    let Some(theirs) = file_spec(file, index) else { return false };
    if let Change::Label(label) = change {
        // One property: a person may be at any of the others.
        let said = theirs.properties.get("label");
        return said != from.properties.get("label") && said != Some(&label.to_string());
    }
    let unchanged = |change: &Change| {
        let mut with = theirs.clone();
        change.apply(&mut with);
        with == theirs
    };
    !unchanged(change) && !unchanged(&change_back(from, change))
}

/// What the file says of a task, without what Synod prints. An empty id asks for one.
fn file_spec(file: &TaskFile, index: usize) -> Option<Spec> {
    let mut spec = file.spec(index, TaskId::new(""))?;
    spec.properties.retain(|key, _| !PRINTED.contains(&key.as_str()));
    Some(spec)
}

fn result_of(file: &TaskFile, index: usize) -> String {
    file.tasks().get(index).and_then(|item| item.property("result")).unwrap_or_default().to_owned()
}

/// Makes edits: first new tasks and names, then what is said of them, which changes nothing of where tasks stand. Many
/// are made in one go: an edit alone reads the whole file again, and a burst of messages is ten thousand of them.
fn carry_out_all<'a>(file: &mut TaskFile, ops: impl Iterator<Item = &'a TaskOp>) {
    let (new, known): (Vec<&TaskOp>, Vec<&TaskOp>) = ops.partition(|op| op.about().is_none());
    add_all(file, &new);
    let edits: Vec<(&TaskId, &TaskOp)> = known.into_iter().filter_map(|op| Some((op.about()?, op))).collect();
    file.edit_each(&edits, |file, op| carry_out(file, op));
}

fn add_all(file: &mut TaskFile, ops: &[&TaskOp]) {
    let mut at = 0;
    while let Some(op) = ops.get(at) {
        if !matches!(op, TaskOp::Add { .. }) {
            carry_out(file, op);
            at += 1;
            continue;
        }
        let here = ids(file);
        let mut fresh: HashSet<&TaskId> = HashSet::new();
        let mut new = Vec::new();
        while let Some(TaskOp::Add { spec, mark, created }) = ops.get(at) {
            let stands = here.contains(&spec.id) || fresh.contains(&spec.id);
            if spec.parent.as_ref().is_some_and(|parent| here.contains(parent) || fresh.contains(parent)) {
                break;
            }
            if !stands {
                fresh.insert(&spec.id);
                let created = created.map(|at| ("created".to_owned(), formats::time::print(at)));
                new.push(New { task: spec, mark: *mark, extra: created.into_iter().collect() });
            }
            at += 1;
        }
        file.add_all(&new);
        if let Some(op) = ops.get(at) {
            carry_out(file, op);
            at += 1;
        }
    }
}

fn ids(file: &TaskFile) -> HashSet<TaskId> {
    file.tasks().iter().filter_map(|item| item.id.clone()).collect()
}

/// Makes one edit; what already stands there is left alone.
pub(super) fn carry_out(file: &mut TaskFile, op: &TaskOp) {
    match op {
        TaskOp::Add { spec, mark, created } => {
            if file.find(&spec.id).is_none() {
                let parent = spec.parent.as_ref().and_then(|parent| file.find(parent));
                let created = created.map(|at| ("created".to_owned(), formats::time::print(at)));
                file.add(parent, spec, *mark, &created.into_iter().collect::<Vec<_>>());
            }
        }
        TaskOp::GiveId { id, title } => {
            let unnamed = |item: &formats::task::TaskItem| item.id.is_none() && item.title == *title;
            if file.find(id).is_none()
                && let Some(index) = file.tasks().iter().position(unnamed)
            {
                file.set_property(index, "id", id.as_str());
            }
        }
        TaskOp::Edit { id, change, from } => with(file, id, |file, index| {
            let by_person = from.as_ref().is_some_and(|from| says_something_else(file, index, from, change));
            if !by_person {
                edit(file, index, change);
            }
        }),
        TaskOp::Mark { id, mark } => with(file, id, |file, index| file.set_mark(index, *mark)),
        TaskOp::Start { id, session, at } => with(file, id, |file, index| {
            file.set_mark(index, Mark::Running);
            file.set_property(index, "started", &formats::time::print(*at));
            file.set_property(index, "session", session.as_str());
        }),
        TaskOp::End { id, mark, result, at } => with(file, id, |file, index| {
            file.set_mark(index, *mark);
            if at.0 != 0 {
                file.set_property(index, "completed", &formats::time::print(*at));
            }
            let shown = domain::cut(result, RESULT_BYTES_MAX);
            if !shown.trim().is_empty() {
                let cut =
                    if shown.len() < result.len() { "\n… (the rest stands in the session)" } else { "" };
                file.set_property(index, "result", &format!("{}{cut}", shown.trim_end()));
            }
        }),
        TaskOp::Verify { id, at } => {
            with(file, id, |file, index| file.set_property(index, "verified", &formats::time::print(*at)))
        }
        TaskOp::Reopen { id } => with(file, id, |file, index| {
            file.set_mark(index, Mark::Open);
            for key in ["started", "completed", "session", "result", "verified"] {
                file.remove_property(index, key);
            }
        }),
    }
}

fn with(file: &mut TaskFile, id: &TaskId, edit: impl FnOnce(&mut TaskFile, usize)) {
    if let Some(index) = file.find(id) {
        edit(file, index);
    }
}

fn edit(file: &mut TaskFile, index: usize, change: &Change) {
    let mut text = |key: &str, value: Option<String>| match value {
        Some(value) if !value.is_empty() => file.set_property(index, key, &value),
        _ => file.remove_property(index, key),
    };
    match change {
        Change::Title(title) => file.set_title(index, title),
        Change::Text(words) => text("description", Some(words.clone())),
        Change::Assignee(assignee) => file.set_assignee(index, assignee.as_ref()),
        Change::Priority(priority) => file.set_priority(index, *priority),
        Change::Tags(tags) => file.set_tags(index, tags),
        Change::Tag(tag) => text("tag", tag.clone()),
        Change::Parent(parent) => text("parent", parent.as_ref().map(ToString::to_string)),
        Change::DependsOn(ids) => {
            let ids: Vec<&str> = ids.iter().map(TaskId::as_str).collect();
            text("depends_on", Some(ids.join(", ")));
        }
        Change::ApprovalRequired(required) => text("approval_required", required.then(|| "true".to_owned())),
        Change::Label(label) => text("label", Some(label.to_string())),
        Change::Properties(properties) => {
            for (key, value) in properties {
                file.set_property(index, key, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::label::Label;

    use super::*;

    fn marked(before: &str, saved: &str) -> String {
        let (old, _) = TaskFile::parse("tasks/a.task.md", before);
        let (mut file, _) = TaskFile::parse("tasks/a.task.md", saved);
        let change = Change::Label(Label::outside("inbox/mail.txt"));
        let from = file_spec(&old, 0).map(Box::new);
        carry_out(&mut file, &TaskOp::Edit { id: TaskId::new("task-001"), change, from });
        file.text().to_owned()
    }

    #[test]
    fn a_mark_goes_beside_what_a_person_saved_meanwhile_and_not_over_their_own() {
        const TASK: &str = "- [/] Read\n  id: task-001\n";
        let note = format!("{TASK}  note: mine\n");
        assert_eq!(marked(TASK, &note), format!("{note}  label: outside from inbox/mail.txt\n"));
        let own = format!("{TASK}  label: outside from a fax\n");
        assert_eq!(marked(TASK, &own), own);
        assert_eq!(marked(&own, &own), format!("{TASK}  label: outside from inbox/mail.txt\n"));
    }

    /// What a burst of messages comes to: each task is added, begun and ended.
    fn burst(count: usize) -> Vec<TaskOp> {
        let of = |n: usize| {
            let id = TaskId::new(format!("task-{n:03}"));
            let spec = Spec::new(id.clone(), "tasks/inbox.task.md", format!("message {n}"));
            let at = Time(1_700_000_000_000);
            [
                TaskOp::Add { spec: Box::new(spec), mark: Mark::Open, created: Some(at) },
                TaskOp::Start { id: id.clone(), session: SessionId::new(format!("worker-1-{n:06}")), at },
                TaskOp::End { id, mark: Mark::Done, result: format!("It is {n}.\nReally."), at },
            ]
        };
        (1..=count).flat_map(of).collect()
    }

    fn empty() -> TaskFile {
        TaskFile::parse("tasks/inbox.task.md", "").0
    }

    #[test]
    fn edits_at_once_come_to_the_same_as_one_by_one() {
        let (mut at_once, mut one_by_one, ops) = (empty(), empty(), burst(20));
        carry_out_all(&mut at_once, ops.iter());
        ops.iter().for_each(|op| carry_out(&mut one_by_one, op));
        assert_eq!(at_once.text(), one_by_one.text());
        assert_eq!(at_once, one_by_one);
    }

    #[test]
    fn twice_as_many_edits_read_twice_as_much() {
        let cost = |count: usize| {
            let (mut file, before) = (empty(), formats::task::bytes_read());
            carry_out_all(&mut file, burst(count).iter());
            assert_eq!(file.tasks().iter().filter(|item| item.mark == Mark::Done).count(), count);
            formats::task::bytes_read() - before
        };
        let (few, many) = (cost(200), cost(2_000));
        assert!(many < few * 12, "{few} bytes for 200 tasks, {many} for 2,000");
    }
}
