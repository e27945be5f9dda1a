//! `synod graph`: tasks that have not ended and what each waits for, as a tree, as dot, as a picture or for programs. What
//! only the journal knows (slots, windows, answers, locks, delegations) is asked of the daemon, or read from the journal.

mod picture;

use std::collections::BTreeMap;
use std::path::Path;

use domain::waits::{Node, Why, edges};
use serde_json::json;
use web::api::Waits;

use crate::args::GraphFormat;
use crate::failure::Exit;
use crate::out::Out;
use crate::text;
use crate::view::activity::Overview;
use crate::view::waits;

/// What is drawn: boxes by name, and who waits for whom.
#[derive(Default)]
struct Graph {
    boxes: Vec<Drawn>,
    places: BTreeMap<String, usize>,
    waits: Vec<(usize, usize, Why)>,
}

struct Drawn {
    id: String,
    kind: &'static str,
    title: String,
    mark: String,
    agent: Option<String>,
    why: Option<String>,
}

pub fn run(home: &Path, format: GraphFormat, out: &Out) -> anyhow::Result<Exit> {
    let overview = Overview::read(home);
    let graph = Graph::of(&overview, overview.waits_told(out));
    match (out.json, format) {
        (true, _) | (false, GraphFormat::Json) => {
            let nodes = graph.boxes.iter().map(|b| {
                json!({ "id": b.id, "kind": b.kind, "title": b.title, "state": b.mark, "agent": b.agent, "why": b.why })
            });
            let name = |index: &usize| &graph.boxes[*index].id;
            let waits = graph.waits.iter();
            let waits =
                waits.map(|(from, to, why)| json!({ "from": name(from), "to": name(to), "why": word(*why) }));
            out.value(json!({ "nodes": nodes.collect::<Vec<_>>(), "waits": waits.collect::<Vec<_>>() }));
        }
        (false, GraphFormat::Text) => tell(&overview, &graph, out),
        (false, GraphFormat::Dot) => out.line(graph.dot().trim_end()),
        (false, GraphFormat::Svg) => out.line(picture::svg(&graph).trim_end()),
    }
    Ok(Exit::Ok)
}

/// Each task below the one it is a part of, with what keeps it; then conversations about no task that wait.
fn tell(overview: &Overview, graph: &Graph, out: &Out) {
    let (tasks, around) = (&overview.tasks, overview.around());
    let rows = tasks.tree(|task| !task.mark.is_ended());
    for (index, depth) in &rows {
        let task = &tasks.list[*index];
        let who = task.spec.assignee.as_ref().map_or_else(String::new, |agent| format!(" @{agent}"));
        let (indent, id, title) =
            ("  ".repeat(*depth), task.id().unwrap_or("-"), text::line(&task.spec.title));
        out.line(text::fit(&format!("{indent}{} {id}{who}  {title}", task.shown_mark())));
        let live = graph.told(id);
        // The journal may know more of the same wait.
        let why = tasks.why(*index, &around).filter(|why| !live.iter().any(|line| line.starts_with(why)));
        let idle = (live.is_empty() && why.is_none()).then(|| "is being worked on".to_owned());
        for line in why.into_iter().chain(live).chain(idle) {
            out.line(out.dim(&format!("{indent}      {}", text::line(&line))));
        }
    }
    let talks: Vec<&Drawn> =
        graph.boxes.iter().filter(|b| b.kind == "session" && !graph.told(&b.id).is_empty()).collect();
    for talk in &talks {
        out.line(text::fit(&format!("[~] {}  {}", talk.id, talk.title)));
        for line in graph.told(&talk.id) {
            out.line(out.dim(&format!("      {}", text::line(&line))));
        }
    }
    if rows.is_empty() && talks.is_empty() {
        out.line("No task is open.");
    }
}

impl Graph {
    fn of(overview: &Overview, live: &Waits) -> Self {
        let (tasks, around) = (&overview.tasks, overview.around());
        let mut graph = Self::default();
        let open = (0..tasks.list.len()).filter(|index| !tasks.list[*index].mark.is_ended());
        for index in open {
            let task = &tasks.list[index];
            let Some(id) = task.id() else { continue };
            let (title, mark) = (text::line(&task.spec.title), task.mark.as_str());
            let place = graph.place(id, "task", &title, mark);
            graph.boxes[place].agent = task.spec.assignee.as_ref().map(ToString::to_string);
            graph.boxes[place].why = tasks.why(index, &around);
        }
        for wait in edges(&tasks.state()) {
            let (Node::Task(from), Node::Task(to)) = (&wait.from, &wait.to) else { continue };
            let to = graph.place(to.as_str(), "task", "", "missing");
            if let Some(from) = graph.places.get(from.as_str()) {
                graph.waits.push((*from, to, wait.why));
            }
        }
        for waiting in &overview.approvals.waiting {
            let request = &waiting.request;
            let to = graph.place(request.id.as_str(), "approval", "waits for a person", "asking");
            if let Some(from) = request.task.as_ref().and_then(|task| graph.places.get(task.as_str())) {
                graph.waits.push((*from, to, Why::Approval));
            }
        }
        graph.add_live(live);
        graph
    }

    /// What only the journal knows. What files tell of tasks and approvals is there already, and is newer.
    fn add_live(&mut self, live: &Waits) {
        for wait in &live.waits {
            let told = matches!((&wait.from, &wait.to), (Node::Task(_), Node::Task(_)));
            let (Some(from), Some(to)) = (self.node(live, &wait.from), self.node(live, &wait.to)) else {
                continue;
            };
            let why = wait.why;
            // What was handed on is a part too; the wait is told once, by its better word.
            let known = self.waits.iter().position(|(a, b, known)| {
                (*a, *b) == (from, to) && (*known == why || (why, *known) == (Why::Delegation, Why::Part))
            });
            match known {
                Some(place) => self.waits[place].2 = why,
                None if told || from == to => {}
                None => self.waits.push((from, to, why)),
            }
        }
    }

    /// The box of a node: a conversation about a task is drawn as the task. `None` for a task that is over by now.
    fn node(&mut self, live: &Waits, node: &Node) -> Option<usize> {
        let name = node.to_string();
        Some(match node {
            Node::Task(_) => *self.places.get(&name)?,
            Node::Session(id) => {
                let talk = live.sessions.get(id.as_str())?;
                if let Some(place) = talk.task.as_ref().and_then(|task| self.places.get(task)) {
                    return Some(*place);
                }
                let place = self.place(&name, "session", "a conversation", &talk.state);
                self.boxes[place].agent = Some(talk.agent.clone());
                place
            }
            Node::Approval(_) => self.place(&name, "approval", "waits for a person", "asking"),
            Node::Slot(_) => self.place(&name, "slot", "none is free", "slot"),
            Node::Lock(lock) => {
                let held = live.locks.iter().find(|held| held.name == lock.as_str());
                let title = held.map_or_else(String::new, |held| format!("held by {}", held.agent));
                self.place(&name, "lock", &title, "lock")
            }
            Node::Window(_) => self.place(&name, "window", "has no room now", "window"),
            Node::Moment(at) => {
                let name = formats::time::print(*at);
                self.place(&name, "moment", "a model is asked again", "moment")
            }
        })
    }

    /// The box with this id, made if it is not there.
    fn place(&mut self, id: &str, kind: &'static str, title: &str, mark: &str) -> usize {
        if let Some(place) = self.places.get(id) {
            return *place;
        }
        let (title, mark) = (title.to_owned(), mark.to_owned());
        self.boxes.push(Drawn { id: id.to_owned(), kind, title, mark, agent: None, why: None });
        self.places.insert(id.to_owned(), self.boxes.len() - 1);
        self.boxes.len() - 1
    }

    /// In words what a box waits for, beside what the files tell.
    fn told(&self, id: &str) -> Vec<String> {
        let Some(own) = self.places.get(id) else { return Vec::new() };
        // Who has a lock, or which approval asks for more room.
        let behind = |node: usize, why: Why| {
            let found = self.waits.iter().find(|(from, _, next)| (*from, *next) == (node, why));
            found.map(|(_, to, _)| self.boxes[*to].id.as_str())
        };
        // That it is ready and waits for a slot, the files tell.
        let of = self.waits.iter().filter(|(from, _, why)| from == own && *why != Why::Slot);
        of.filter_map(|(_, to, why)| waits::told(*why, &self.boxes[*to].id, |next| behind(*to, next)))
            .collect()
    }

    fn dot(&self) -> String {
        let quote = |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
        let mut dot = "digraph waits {\n  rankdir=LR;\n  node [shape=box];\n".to_owned();
        for b in &self.boxes {
            let label = quote(&format!("{} [{}]\n{}", b.id, b.mark, b.title)).replace('\n', "\\n");
            dot.push_str(&format!("  {} [label={label}];\n", quote(&b.id)));
        }
        for (from, to, why) in &self.waits {
            let (from, to) = (quote(&self.boxes[*from].id), quote(&self.boxes[*to].id));
            dot.push_str(&format!("  {from} -> {to} [label={}];\n", quote(word(*why))));
        }
        dot + "}\n"
    }
}

/// The word for a wait.
fn word(why: Why) -> &'static str {
    match why {
        Why::Dependency => "dependency",
        Why::Part => "part",
        Why::Approval => "approval",
        Why::Answer => "answer",
        Why::Delegation => "delegation",
        Why::Lock => "lock",
        Why::Held => "held",
        Why::Window => "window",
        Why::Slot => "slot",
        Why::Retry => "retry",
    }
}
