//! The picture of a graph: what waits stands left of what it waits for, and lines run between boxes.

use std::collections::{BTreeMap, BTreeSet};

use super::Graph;
use crate::text;

/// The width of a character of the picture, about.
const CHARACTER: usize = 7;
const BOX_WIDTH: usize = 34 * CHARACTER;
const BOX_HEIGHT: usize = 44;
const GAP_X: usize = 110;
const GAP_Y: usize = 20;
const STEP_Y: usize = BOX_HEIGHT + GAP_Y;
/// The room of a line that runs past a column.
const LANE: usize = GAP_Y;
const MARGIN: usize = 20;
/// So much of a title is shown in a box.
const TITLE_MAX: usize = 32;

/// Something that has a place in a column: a box, or a line that runs past.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spot {
    Box(usize),
    /// Of this wait.
    Lane(usize),
}

/// Where everything stands.
struct Layout {
    /// The upper left corner of each box.
    boxes: Vec<(usize, usize)>,
    /// For each wait, the columns that it runs past: their left edge and its height there.
    lanes: Vec<Vec<(usize, usize)>>,
    wide: usize,
    high: usize,
}

pub(super) fn svg(graph: &Graph) -> String {
    let layout = Layout::of(graph);
    let Layout { wide, high, .. } = layout;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{wide}\" height=\"{high}\" viewBox=\"0 0 {wide} {high}\" \
         font-family=\"monospace\" font-size=\"11\">\n<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" \
         markerWidth=\"8\" markerHeight=\"8\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"#374151\"/></marker></defs>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    for (index, (from, to, why)) in graph.waits.iter().enumerate() {
        svg.push_str(&line(&layout, index, (*from, *to), super::word(*why)));
    }
    for (b, (x, y)) in graph.boxes.iter().zip(&layout.boxes) {
        let fill = match b.mark.as_str() {
            "running" | "working" => "#dbeafe",
            "asking" => "#fef3c7",
            "missing" => "#fee2e2",
            "lock" => "#ede9fe",
            "slot" | "window" | "moment" => "#ecfdf5",
            _ => "#f3f4f6",
        };
        let head = match &b.agent {
            Some(agent) => format!("{} @{agent}", b.id),
            None => b.id.clone(),
        };
        svg.push_str(&format!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{BOX_WIDTH}\" height=\"{BOX_HEIGHT}\" rx=\"4\" fill=\"{fill}\" stroke=\"#6b7280\"/>\n\
             <text x=\"{tx}\" y=\"{ty}\" font-weight=\"bold\">{}</text>\n<text x=\"{tx}\" y=\"{by}\">{}</text>\n",
            escape(&text::cut(&head, TITLE_MAX)),
            escape(&text::cut(&b.title, TITLE_MAX)),
            tx = x + 8,
            ty = y + 18,
            by = y + 34,
        ));
    }
    svg + "</svg>\n"
}

/// One wait: from the right side of a box, past the columns between, to the left side of another; its word stands in the
/// first gap. One that leads back runs below both.
fn line(layout: &Layout, index: usize, (from, to): (usize, usize), why: &str) -> String {
    let ((fx, fy), (tx, ty)) = (layout.boxes[from], layout.boxes[to]);
    let (path, label) = if tx > fx {
        let mut at = (fx + BOX_WIDTH, fy + BOX_HEIGHT / 2);
        let mut path = format!("M{} {}", at.0, at.1);
        let mut label = None;
        let lanes = layout.lanes[index].iter().map(|(x, y)| (*x, *y, true));
        for (x, y, passes) in lanes.chain([(tx, ty + BOX_HEIGHT / 2, false)]) {
            let half = (x - at.0) / 2;
            path.push_str(&format!("C{} {} {} {y} {x} {y}", at.0 + half, at.1, x - half));
            label.get_or_insert((at.0 + half, (at.1 + y) / 2));
            at = (x, y);
            if passes {
                at.0 += BOX_WIDTH;
                path.push_str(&format!("L{} {y}", at.0));
            }
        }
        (path, label.unwrap_or(at))
    } else {
        let (x1, x2) = (fx + BOX_WIDTH / 2 + GAP_Y, tx + BOX_WIDTH / 2);
        let (y1, y2) = (fy + BOX_HEIGHT, ty + BOX_HEIGHT);
        let below = y1.max(y2) + GAP_Y;
        (format!("M{x1} {y1}C{x1} {below} {x2} {below} {x2} {y2}"), (x1.midpoint(x2), below - 5))
    };
    format!(
        "<path d=\"{path}\" fill=\"none\" stroke=\"#374151\" marker-end=\"url(#tip)\"/>\n\
         <text x=\"{}\" y=\"{}\" font-size=\"9\" text-anchor=\"middle\" fill=\"#374151\" stroke=\"white\" stroke-width=\"3\" \
         paint-order=\"stroke\">{why}</text>\n",
        label.0,
        label.1 + 3,
    )
}

impl Layout {
    fn of(graph: &Graph) -> Self {
        let columns = columns(graph);
        let last = columns.iter().copied().max().unwrap_or(0);
        let mut spots: Vec<Vec<Spot>> = vec![Vec::new(); last + 1];
        for (index, column) in columns.iter().enumerate() {
            spots[*column].push(Spot::Box(index));
        }
        for (index, (from, to, _)) in graph.waits.iter().enumerate() {
            for past in spots.iter_mut().take(columns[*to]).skip(columns[*from] + 1) {
                past.push(Spot::Lane(index));
            }
        }
        let mut layout = Self {
            boxes: vec![(0, 0); graph.boxes.len()],
            lanes: vec![Vec::new(); graph.waits.len()],
            wide: MARGIN * 2 + (last + 1) * (BOX_WIDTH + GAP_X) - GAP_X,
            high: 0,
        };
        // The middle of each box that has its place.
        let mut placed: BTreeMap<usize, usize> = BTreeMap::new();
        for (column, spots) in spots.into_iter().enumerate() {
            let mut spots: Vec<(usize, Spot)> =
                spots.into_iter().map(|spot| (layout.wanted(graph, &placed, spot), spot)).collect();
            // What stands left of each decides its height, so that few lines cross.
            spots.sort_by_key(|(wanted, _)| *wanted);
            let (x, mut y) = (MARGIN + column * (BOX_WIDTH + GAP_X), MARGIN);
            for (wanted, spot) in spots {
                match spot {
                    Spot::Box(index) => {
                        y = y.max(wanted.saturating_sub(BOX_HEIGHT / 2));
                        layout.boxes[index] = (x, y);
                        placed.insert(index, y + BOX_HEIGHT / 2);
                        y += STEP_Y;
                    }
                    Spot::Lane(wait) => {
                        y = y.max(wanted.saturating_sub(LANE / 2));
                        layout.lanes[wait].push((x, y + LANE / 2));
                        y += LANE;
                    }
                }
            }
            layout.high = layout.high.max(y);
        }
        layout.high += MARGIN;
        layout
    }

    /// The height that a spot would best have: the middle of what leads to it from the left.
    fn wanted(&self, graph: &Graph, placed: &BTreeMap<usize, usize>, spot: Spot) -> usize {
        let begin = |wait: usize| {
            let lane = self.lanes[wait].last().map(|(_, y)| *y);
            lane.or_else(|| placed.get(&graph.waits[wait].0).copied())
        };
        let ys: Vec<usize> = match spot {
            Spot::Lane(wait) => begin(wait).into_iter().collect(),
            Spot::Box(index) => {
                let to_it = graph.waits.iter().enumerate().filter(|(_, (_, to, _))| *to == index);
                to_it.filter_map(|(wait, _)| begin(wait)).collect()
            }
        };
        ys.iter().sum::<usize>() / ys.len().max(1)
    }
}

/// The column of each box: what waits stands left of what it waits for, but for waits that lead back.
fn columns(graph: &Graph) -> Vec<usize> {
    let back = lead_back(graph);
    let mut columns = vec![0; graph.boxes.len()];
    // Without circles no way is longer than there are boxes.
    for _ in 0..graph.boxes.len() {
        let mut moved = false;
        for (index, (from, to, _)) in graph.waits.iter().enumerate() {
            if !back.contains(&index) && columns[*to] <= columns[*from] {
                (columns[*to], moved) = (columns[*from] + 1, true);
            }
        }
        if !moved {
            break;
        }
    }
    columns
}

/// Waits without which there is no circle: those that lead to a box from which one has just come.
fn lead_back(graph: &Graph) -> BTreeSet<usize> {
    let mut of: Vec<Vec<usize>> = vec![Vec::new(); graph.boxes.len()];
    for (index, (from, ..)) in graph.waits.iter().enumerate() {
        of[*from].push(index);
    }
    let mut back = BTreeSet::new();
    let (mut seen, mut on_the_way) = (vec![false; of.len()], vec![false; of.len()]);
    for root in 0..of.len() {
        // A box and how many of its waits were followed.
        let mut way = vec![(root, 0)];
        while let Some((at, followed)) = way.pop() {
            if followed == 0 && std::mem::replace(&mut seen[at], true) {
                continue;
            }
            on_the_way[at] = true;
            let Some(wait) = of[at].get(followed) else {
                on_the_way[at] = false;
                continue;
            };
            way.push((at, followed + 1));
            let to = graph.waits[*wait].1;
            if on_the_way[to] {
                back.insert(*wait);
            } else if !seen[to] {
                way.push((to, 0));
            }
        }
    }
    back
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
