//! Circles of tasks that wait for each other. Works with a stack of its own: chains can be long.

use std::collections::{BTreeMap, HashMap};

use domain::id::TaskId;

/// The most circles that are named.
const CIRCLES_MAX: usize = 20;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Color {
    Open,
    Done,
}

/// Circles, each once, starting with its first id by name. Not every circle of a knot is named: when one is
/// broken, the next shows.
pub(super) fn find(edges: &BTreeMap<TaskId, Vec<TaskId>>) -> Vec<Vec<TaskId>> {
    let mut colors: HashMap<&TaskId, Color> = HashMap::new();
    let mut circles = Vec::new();
    for start in edges.keys() {
        if colors.contains_key(start) || circles.len() >= CIRCLES_MAX {
            continue;
        }
        let mut path: Vec<(&TaskId, usize)> = vec![(start, 0)];
        colors.insert(start, Color::Open);
        while let Some((id, next)) = path.last_mut() {
            let id: &TaskId = id;
            let Some(to) = edges.get(id).and_then(|list| list.get(*next)) else {
                colors.insert(id, Color::Done);
                path.pop();
                continue;
            };
            *next += 1;
            match colors.get(to) {
                Some(Color::Done) => {}
                Some(Color::Open) if circles.len() >= CIRCLES_MAX => {}
                Some(Color::Open) => {
                    let from = path.iter().position(|(p, _)| *p == to).unwrap_or(0);
                    circles.push(turned(path[from..].iter().map(|(p, _)| (*p).clone()).collect()));
                }
                None => {
                    colors.insert(to, Color::Open);
                    path.push((to, 0));
                }
            }
        }
    }
    circles.sort();
    circles.dedup();
    circles
}

fn turned(mut circle: Vec<TaskId>) -> Vec<TaskId> {
    let least = circle.iter().enumerate().min_by_key(|(_, id)| (*id).clone()).map_or(0, |(i, _)| i);
    circle.rotate_left(least);
    circle
}
