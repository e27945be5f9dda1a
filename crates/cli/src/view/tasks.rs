//! Tasks of all files together: how they hang together, and why one does not start.

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use domain::agent::PERSON;
use domain::event::Event;
use domain::event::TaskEvent;
use domain::id::{AgentId, TaskId, Time};
use domain::plan::HELD_BY;
use domain::route;
use domain::state::{Requester, State};
use domain::task::{End, Mark, Spec};
use domain::waits::{Cycle, Node, would_close};
use formats::did_you_mean;
use formats::task::TaskFile;
use serde_json::{Value, json};

use super::team::Team;
use super::{QUEUE_PATH, Waiting, files};

/// What is told of work that stood in the middle when whoever did it ended.
pub const INTERRUPTED: &str = "was interrupted, goes on with the next start";

/// So many tasks that wait for each other are looked at closely.
const CYCLES_MAX: usize = 100;

/// One task as its file says.
#[derive(Debug)]
pub struct Task {
    /// What people own of it. Its id is empty if the file gives none.
    pub spec: Spec,
    /// The box.
    pub mark: Mark,
    /// Where it stands, from 1.
    pub line: usize,
    /// All properties in the order of the file.
    pub properties: Vec<(String, String)>,
    /// The task it is a part of, as an index of [`Tasks::list`].
    pub parent: Option<usize>,
    /// If it has not begun and will not without a person: why.
    stranded: Option<Stranded>,
}

/// All tasks, in the order of files and lines.
#[derive(Debug, Default)]
pub struct Tasks {
    /// Them.
    pub list: Vec<Task>,
    by_id: HashMap<TaskId, usize>,
    children: Vec<Vec<usize>>,
    /// For tasks that wait for each other: all of them.
    cycles: HashMap<usize, Cycle>,
}

/// Why a task will not begin, and what a person does about it.
#[derive(Debug)]
struct Stranded {
    why: String,
    mend: Mend,
}

#[derive(Debug)]
enum Mend {
    /// The agent that is named cannot work; whom the person may have meant.
    Name { near: Option<String> },
    /// Nobody is named, and no rule finds anybody.
    Route,
    /// It waits for itself.
    Untie,
}

/// Reads the tasks of all files. A file that cannot be read has none.
pub fn read(home: &Path) -> Tasks {
    let mut tasks = Tasks::default();
    for path in files::tasks(home).into_iter().filter(|path| path != QUEUE_PATH) {
        let Ok(text) = files::read(home, &path) else { continue };
        let (file, _) = TaskFile::parse(&path, &text);
        let first = tasks.list.len();
        for (index, item) in file.tasks().iter().enumerate() {
            let Some(spec) = file.spec(index, TaskId::new("")) else { continue };
            if let Some(id) = &item.id {
                tasks.by_id.entry(id.clone()).or_insert(first + index);
            }
            tasks.list.push(Task {
                spec,
                mark: item.mark,
                line: item.line,
                properties: item.properties.clone(),
                parent: item.parent.map(|p| first + p),
                stranded: None,
            });
        }
    }
    tasks.link();
    tasks.find_cycles();
    tasks.find_stranded(home);
    tasks
}

impl Task {
    /// Its id, if the file gives one.
    pub fn id(&self) -> Option<&str> {
        Some(self.spec.id.as_str()).filter(|id| !id.is_empty())
    }

    /// A property by its key.
    pub fn property(&self, key: &str) -> Option<&str> {
        self.properties.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_str())
    }

    /// Why it will not begin without a person, if that is so.
    pub fn why_stranded(&self) -> Option<&str> {
        self.stranded.as_ref().map(|stranded| stranded.why.as_str())
    }

    /// `[x]`
    pub fn shown_mark(&self) -> String {
        format!("[{}]", self.mark.symbol())
    }
}

impl Tasks {
    /// `parent:` counts more than indentation.
    fn link(&mut self) {
        self.children = vec![Vec::new(); self.list.len()];
        for index in 0..self.list.len() {
            let named = self.list[index].spec.parent.as_ref().map(|id| self.by_id.get(id).copied());
            let parent = named.unwrap_or(self.list[index].parent).filter(|p| *p != index);
            self.list[index].parent = parent;
            if let Some(parent) = parent {
                self.children[parent].push(index);
            }
        }
    }

    /// Tasks that do not wait are taken away, then those that waited only for them, and so on: what is left waits in a
    /// circle or behind one, and only that is looked at closely.
    fn find_cycles(&mut self) {
        let is_open = |index: &usize| !self.list[*index].mark.is_ended();
        let mut waits = vec![0_usize; self.list.len()];
        let mut waiting: Vec<Vec<usize>> = vec![Vec::new(); self.list.len()];
        for index in (0..self.list.len()).filter(is_open) {
            let on = self.list[index].spec.depends_on.iter().filter_map(|id| self.by_id.get(id));
            for needed in on.chain(&self.children[index]).filter(|needed| is_open(needed)) {
                waits[index] += 1;
                waiting[*needed].push(index);
            }
        }
        let mut free: Vec<usize> = (0..self.list.len()).filter(|index| waits[*index] == 0).collect();
        while let Some(index) = free.pop() {
            for other in &waiting[index] {
                waits[*other] -= 1;
                if waits[*other] == 0 {
                    free.push(*other);
                }
            }
        }
        let stuck: Vec<usize> = (0..self.list.len()).filter(|index| waits[*index] > 0).collect();
        if stuck.is_empty() {
            return;
        }
        let state = self.state();
        let named = stuck.into_iter().take(CYCLES_MAX);
        let named = named.filter_map(|index| Some((index, would_close(&state, &self.list[index].spec)?)));
        self.cycles = named.collect();
    }

    /// Tasks that have not begun and that nobody will do: whose agent cannot work, that nobody takes, that wait in a circle.
    fn find_stranded(&mut self, home: &Path) {
        let is_theirs = |task: &Task| task.spec.assignee.as_ref().is_some_and(|who| who.as_str() == PERSON);
        let is_left = |task: &Task| task.mark == Mark::Open && !is_theirs(task);
        if self.list.iter().any(is_left) {
            let team = super::team::read(home);
            let rules = OnceCell::new();
            for task in self.list.iter_mut().filter(|task| is_left(task)) {
                task.stranded = match &task.spec.assignee {
                    Some(agent) => stranger(&team, agent),
                    None => {
                        let rules = rules.get_or_init(|| team.rules(super::team::settings(home).0));
                        let nobody = route(rules, &task.spec, None).is_none();
                        let why = "nobody takes it".to_owned();
                        nobody.then_some(Stranded { why, mend: Mend::Route })
                    }
                };
            }
        }
        // Of each circle the first task tells of all.
        let mut told: BTreeSet<&TaskId> = BTreeSet::new();
        for (index, task) in self.list.iter_mut().enumerate() {
            let Some(cycle) = self.cycles.get(&index).filter(|_| !told.contains(&task.spec.id)) else {
                continue;
            };
            let members =
                cycle.0.iter().filter_map(|node| if let Node::Task(id) = node { Some(id) } else { None });
            told.extend(members);
            task.stranded = Some(Stranded { why: format!("waits for itself: {cycle}"), mend: Mend::Untie });
        }
    }

    /// The tasks as the domain knows them.
    pub fn state(&self) -> State {
        let mut state = State::new();
        for task in self.list.iter().filter(|task| task.id().is_some()) {
            let by = Requester::Person { name: String::new() };
            let spec = Box::new(task.spec.clone());
            state.apply(Time(0), &Event::Task(TaskEvent::Added { spec, by, in_file: true }));
            let end = match task.mark {
                Mark::Open | Mark::Running | Mark::Asking => continue,
                Mark::Done => End::Done,
                Mark::Failed => End::Failed,
                Mark::Cancelled => End::Cancelled,
            };
            let (result, by) = (String::new(), domain::Actor::person(""));
            state.apply(
                Time(0),
                &Event::Task(TaskEvent::Ended {
                    task: task.spec.id.clone(),
                    end,
                    result,
                    by,
                    session: None,
                    found: true,
                }),
            );
        }
        state
    }

    /// A task by its id.
    pub fn find(&self, id: &str) -> Option<usize> {
        self.by_id.get(&TaskId::new(id)).copied()
    }

    /// All ids.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.list.iter().filter_map(Task::id)
    }

    /// Its parts.
    pub fn children(&self, index: usize) -> impl Iterator<Item = &Task> {
        self.children[index].iter().map(|child| &self.list[*child])
    }

    /// Tasks that wait for it.
    pub fn dependents<'a>(&'a self, id: &'a TaskId) -> impl Iterator<Item = &'a Task> {
        self.list.iter().filter(move |task| task.spec.depends_on.contains(id))
    }

    /// Tasks that only a person can do, and that can be done now: nothing is before them and no part of them is open.
    /// And those that will not begin, however much is before them: only a person can name another agent, or untie a circle.
    pub fn for_people(&self) -> impl Iterator<Item = usize> {
        let is_due = |index: &usize| {
            let task = &self.list[*index];
            let is_theirs = task.spec.assignee.as_ref().is_some_and(|agent| agent.as_str() == PERSON);
            if task.stranded.is_some() {
                return true;
            }
            is_theirs
                && !task.mark.is_ended()
                && self.open_dependencies(task).next().is_none()
                && self.children(*index).all(|part| part.mark.is_ended())
        };
        (0..self.list.len()).filter(is_due)
    }

    /// Tasks of a plan that begins when this one is done.
    pub fn held_by<'a>(&'a self, task: &'a Task) -> impl Iterator<Item = &'a Task> {
        let id = task.id();
        self.list.iter().filter(move |held| {
            id.is_some() && held.property(HELD_BY) == id && held.spec.depends_on.contains(&task.spec.id)
        })
    }

    /// What a person does about a task that is for them.
    pub fn how_to_answer(&self, task: &Task) -> String {
        let (id, place) = (task.id().unwrap_or("-"), format!("in {}:{}", task.spec.file, task.line));
        match &task.stranded {
            Some(Stranded { why, mend: Mend::Name { near } }) => {
                let near = near.as_ref().map_or_else(String::new, |near| format!(" (did you mean {near}?)"));
                return format!("{why}: mend that, or name another {place}{near}");
            }
            Some(Stranded { why, mend: Mend::Route }) => {
                return format!("{why}: name somebody {place}, or set routing.fallback in synod.yaml");
            }
            Some(Stranded { why, mend: Mend::Untie }) => {
                return format!("{why}: take a depends_on or parent away {place}");
            }
            None => {}
        }
        match self.held_by(task).next() {
            Some(_) => format!(
                "`synod approve {id}` lets the plan begin and `synod reject {id}` cancels it, as [x] and [-] do {place}"
            ),
            None => format!(
                "`synod task mark {id} done` when it is, or mark it [x] {place}; [-] if it will not be"
            ),
        }
    }

    /// Whether a task waits for another, by what it depends on and by its parts, however far.
    pub fn waits_for(&self, index: usize, other: usize) -> bool {
        let mut seen = vec![false; self.list.len()];
        let mut next = vec![index];
        while let Some(at) = next.pop() {
            if std::mem::replace(&mut seen[at], true) || self.list[at].mark.is_ended() {
                continue;
            }
            if at == other {
                return true;
            }
            let on = self.list[at].spec.depends_on.iter().filter_map(|id| self.by_id.get(id));
            next.extend(on.chain(&self.children[at]));
        }
        false
    }

    /// Every task below the one it is a part of, with its depth; those that `shown` refuses are left out and
    /// their parts move up.
    pub fn tree(&self, shown: impl Fn(&Task) -> bool) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        let mut seen = vec![false; self.list.len()];
        let roots = (0..self.list.len()).filter(|index| self.list[*index].parent.is_none());
        // Tasks that are parts of each other hang on no root; they come last, each once.
        for root in roots.chain(0..self.list.len()) {
            let mut stack = vec![(root, 0)];
            while let Some((index, depth)) = stack.pop() {
                if std::mem::replace(&mut seen[index], true) {
                    continue;
                }
                let is_shown = shown(&self.list[index]);
                if is_shown {
                    found.push((index, depth));
                }
                let below = depth + usize::from(is_shown);
                stack.extend(self.children[index].iter().rev().map(|child| (*child, below)));
            }
        }
        found
    }

    /// Tasks it waits for that have not ended; one that does not exist counts as open.
    pub fn open_dependencies<'a>(&'a self, task: &'a Task) -> impl Iterator<Item = &'a TaskId> {
        let is_open = |id: &&TaskId| self.by_id.get(*id).is_none_or(|i| !self.list[*i].mark.is_ended());
        task.spec.depends_on.iter().filter(is_open)
    }

    /// What keeps a task that has not ended from going on; nothing if it is being worked on.
    pub fn why(&self, index: usize, around: &Around<'_>) -> Option<String> {
        let task = &self.list[index];
        if let Some(cycle) = self.cycles.get(&index) {
            return Some(format!("waits for itself: {cycle}"));
        }
        match task.mark {
            Mark::Done | Mark::Failed | Mark::Cancelled => None,
            Mark::Open => self.why_not_begun(task, around),
            Mark::Running | Mark::Asking => {
                let asked =
                    around.approvals.iter().filter(|w| w.request.task.as_ref() == Some(&task.spec.id));
                let asked: Vec<&str> = asked.map(|w| w.request.id.as_str()).collect();
                if !asked.is_empty() {
                    return Some(format!("waits for you: {}", asked.join(", ")));
                }
                if task.mark == Mark::Asking {
                    return Some(around.told(task).unwrap_or_else(|| "waits for a person".to_owned()));
                }
                let open = self.children(index).filter(|child| !child.mark.is_ended());
                let open: Vec<&str> = open.filter_map(Task::id).collect();
                if !open.is_empty() {
                    return Some(format!("waits for {}", open.join(", ")));
                }
                let is_theirs = task.spec.assignee.as_ref().is_some_and(|who| who.as_str() == PERSON);
                let off = (!around.is_running && !is_theirs).then(|| INTERRUPTED.to_owned());
                around.told(task).or(off)
            }
        }
    }

    fn why_not_begun(&self, task: &Task, around: &Around<'_>) -> Option<String> {
        let name = |id: &TaskId| match self.by_id.contains_key(id) {
            true => id.to_string(),
            false => format!("{id}, which does not exist"),
        };
        let open: Vec<String> = self.open_dependencies(task).map(name).collect();
        if !open.is_empty() {
            return Some(format!("waits for {}", open.join(", ")));
        }
        if let Some(why) = task.why_stranded() {
            return Some(why.to_owned());
        }
        match &task.spec.assignee {
            None => Some("nobody is assigned".to_owned()),
            Some(agent) if agent.as_str() == PERSON => match self.held_by(task).next() {
                Some(_) => Some("waits for you to say yes".to_owned()),
                None => Some("is for a person to do".to_owned()),
            },
            Some(_) => around.told(task).or_else(|| {
                let ready = if around.is_running { "ready, waits for a free slot" } else { "ready" };
                Some(ready.to_owned())
            }),
        }
    }

    /// A task for programs.
    pub fn json(&self, index: usize, around: &Around<'_>) -> Value {
        let task = &self.list[index];
        let spec = &task.spec;
        let blocked_by: BTreeSet<&TaskId> =
            self.open_dependencies(task).filter(|_| !task.mark.is_ended()).collect();
        json!({
            "id": task.id(),
            "mark": task.mark.as_str(),
            "title": spec.title,
            "assignee": spec.assignee,
            "priority": spec.priority,
            "tag": spec.tag,
            "tags": spec.tags,
            "parent": spec.parent,
            "depends_on": spec.depends_on,
            "blocked_by": blocked_by,
            "why": self.why(index, around),
            "file": spec.file,
            "line": task.line,
        })
    }
}

fn stranger(team: &Team, agent: &AgentId) -> Option<Stranded> {
    let why = team.lacks(agent)?;
    let near = match team.unread.contains_key(agent) {
        true => None,
        false => did_you_mean(agent.as_str(), team.agents.iter().map(|spec| spec.id.as_str())),
    };
    Some(Stranded { why, mend: Mend::Name { near: near.map(str::to_owned) } })
}

/// What else must be known to say why a task does not start.
pub struct Around<'a> {
    /// Approvals that wait.
    pub approvals: &'a [Waiting],
    /// Whether somebody works in the home.
    pub is_running: bool,
    /// What they say of tasks that do not go on.
    pub waiting: &'a [web::api::Waiting],
}

impl Around<'_> {
    pub fn told(&self, task: &Task) -> Option<String> {
        let told = self.waiting.iter().find(|waiting| waiting.task == task.spec.id.as_str());
        told.map(|waiting| waiting.why.clone())
    }
}
