//! The module graph of a crate, read from its paths (`crate::`, `super::`, `self::`, and names a `use` brought in),
//! without tests. A cycle of modules is a finding: such modules can only be understood together.
//!
//! The graph is drawn level by level: the files and folders directly below `src/`, then those inside each folder. A
//! folder's own file (`mod.rs`, or `a.rs` beside `a/`) is not part of the level below it, as `lib.rs` is not part of
//! the first.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::Finding;
use super::source::Source;

/// A module as the names that lead to it from the root of its crate.
type Path = Vec<String>;

/// Where one module names another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Use {
    file: String,
    line: usize,
    /// The path as it is written, with `crate` in front.
    path: String,
}

/// All modules of a crate and what each names.
#[derive(Debug, Default)]
pub struct Graph {
    modules: BTreeSet<Path>,
    /// From a module to an item of the crate; the item's path may be longer than its module's.
    uses: BTreeMap<(Path, Path), Use>,
}

/// The modules at one level, with an edge to each module that is used.
struct Level<'a> {
    /// The folder, empty for the crate.
    prefix: &'a [String],
    edges: BTreeMap<&'a str, BTreeMap<&'a str, &'a Use>>,
}

/// A finding and the file it is in.
pub type Placed = (String, Finding);

impl Graph {
    /// Adds a file of the crate whose sources are below `root`, such as `crates/domain/src/`. Programs of their own
    /// below `bin/` are left out.
    pub fn add(&mut self, root: &str, source: &Source<'_>) {
        let Some(inside) = source.path.strip_prefix(root).and_then(|p| p.strip_suffix(".rs")) else { return };
        if source.is_test_file() || inside.starts_with("bin/") {
            return;
        }
        let mut here: Path = inside.split('/').map(str::to_owned).collect();
        if matches!(here.last().map(String::as_str), Some("mod" | "lib" | "main")) {
            here.pop();
        }
        let named: Vec<_> = source.paths().into_iter().filter(|(i, _)| !source.is_test(*i)).collect();
        let imported: BTreeMap<&str, Path> = named
            .iter()
            .filter_map(|(_, path)| Some((*path.last()?, absolute(path, &here)?)))
            .filter(|(name, _)| *name != "self")
            .collect();
        for (index, path) in &named {
            let to = absolute(path, &here).or_else(|| match path.split_first() {
                Some((first, rest)) if !rest.is_empty() => {
                    let start = imported.get(first)?;
                    Some(start.iter().cloned().chain(rest.iter().map(|part| (*part).to_owned())).collect())
                }
                Some(_) | None => None,
            });
            let Some(to) = to else { continue };
            let line = source.tokens[*index].line;
            let path = format!("crate::{}", to.join("::"));
            let new = Use { file: source.path.to_owned(), line, path };
            self.uses.entry((here.clone(), to)).or_insert(new);
        }
        self.modules.insert(here);
    }

    /// The crate and each folder that has modules.
    fn levels(&self) -> Vec<Level<'_>> {
        let mut prefixes: BTreeSet<&[String]> = BTreeSet::new();
        for module in self.modules.iter().filter(|module| !module.is_empty()) {
            prefixes.extend((0..module.len()).map(|length| &module[..length]));
        }
        prefixes.into_iter().map(|prefix| self.level(prefix)).collect()
    }

    fn level<'a>(&'a self, prefix: &'a [String]) -> Level<'a> {
        let below = |path: &'a Path| -> Option<&'a str> {
            path.strip_prefix(prefix).and_then(<[String]>::first).map(String::as_str)
        };
        let mut edges: BTreeMap<&str, BTreeMap<&str, &Use>> =
            self.modules.iter().filter_map(below).map(|module| (module, BTreeMap::new())).collect();
        for ((from, to), place) in &self.uses {
            let (Some(from), Some(to)) = (below(from), below(to)) else { continue };
            if from == to || !edges.contains_key(to) {
                continue;
            }
            if let Some(used) = edges.get_mut(from) {
                used.entry(to).or_insert(place);
            }
        }
        Level { prefix, edges }
    }

    /// What is wrong with the graph of the crate `name`.
    pub fn check(&self, name: &str) -> Vec<Placed> {
        self.levels().iter().flat_map(|level| level.findings(name)).collect()
    }

    /// The graph as text: per level, each module and the modules it uses; then whether there is a cycle.
    pub fn print(&self, name: &str) -> String {
        let mut text = String::new();
        let mut cycles = Vec::new();
        for level in self.levels() {
            let title = level.title(name);
            text.push_str(&format!("{title}\n"));
            let width = level.edges.keys().map(|module| module.len()).max().unwrap_or_default();
            for (module, used) in &level.edges {
                let used: Vec<&str> = used.keys().copied().collect();
                let line = format!("  {module:width$} -> {}", used.join(" "));
                text.push_str(line.trim_end().trim_end_matches("->").trim_end());
                text.push('\n');
            }
            cycles.extend(level.knots().iter().map(|knot| format!("{title}: cycle: {}\n", knot.join(" "))));
        }
        if cycles.is_empty() {
            cycles.push(format!("{name}: no cycle\n"));
        }
        text + &cycles.concat()
    }
}

impl<'a> Level<'a> {
    fn title(&self, name: &str) -> String {
        let parts: Vec<&str> = std::iter::once(name).chain(self.prefix.iter().map(String::as_str)).collect();
        parts.join("::")
    }

    /// All modules that can be reached from `start`, without `start` unless a path leads back.
    fn reach(&self, start: &'a str) -> BTreeSet<&'a str> {
        let mut seen = BTreeSet::new();
        let mut open = vec![start];
        while let Some(module) = open.pop() {
            let used = self.edges.get(module).into_iter().flat_map(BTreeMap::keys);
            open.extend(used.copied().filter(|to| seen.insert(*to)));
        }
        seen
    }

    /// Groups of modules that all reach each other, each sorted by name.
    fn knots(&self) -> Vec<Vec<&'a str>> {
        let reach: BTreeMap<&str, _> =
            self.edges.keys().map(|module| (*module, self.reach(module))).collect();
        let mut knots = BTreeSet::new();
        for (module, reached) in &reach {
            if reached.contains(module) {
                let back = |other: &&&'a str| reach.get(**other).is_some_and(|r| r.contains(module));
                knots.insert(reached.iter().filter(back).copied().collect::<Vec<_>>());
            }
        }
        knots.into_iter().collect()
    }

    /// A shortest way from a module back to itself.
    fn cycle(&self, start: &'a str) -> Vec<&'a str> {
        let mut before: BTreeMap<&str, &str> = BTreeMap::new();
        let mut open = VecDeque::from([start]);
        while let Some(module) = open.pop_front() {
            for to in self.edges.get(module).into_iter().flat_map(BTreeMap::keys).copied() {
                if to == start {
                    let mut way = vec![module];
                    while let Some(earlier) =
                        way.last().filter(|last| **last != start).and_then(|l| before.get(l))
                    {
                        way.push(earlier);
                    }
                    way.reverse();
                    return way;
                }
                if !before.contains_key(to) {
                    before.insert(to, module);
                    open.push_back(to);
                }
            }
        }
        Vec::new()
    }

    fn findings(&self, name: &str) -> Vec<Placed> {
        self.knots().iter().filter_map(|knot| self.finding(name, knot)).collect()
    }

    fn finding(&self, name: &str, knot: &[&'a str]) -> Option<Placed> {
        let way = knot.iter().map(|module| self.cycle(module)).min_by_key(Vec::len)?;
        let steps = way.iter().zip(way.iter().cycle().skip(1));
        let places: Vec<(&str, &str, &Use)> =
            steps.filter_map(|(from, to)| Some((*from, *to, *self.edges.get(from)?.get(to)?))).collect();
        let (_, _, first) = places.first()?;
        let mut what = format!(
            "{} modules of {} form a dependency cycle ({}), such as {} -> {}; move what they share below both",
            knot.len(),
            self.title(name),
            knot.join(" "),
            way.join(" -> "),
            way.first()?
        );
        for (from, to, place) in &places {
            what.push_str(&format!("\n  {from} -> {to}: {} at {}:{}", place.path, place.file, place.line));
        }
        Some((first.file.clone(), Finding::new(first.line, what)))
    }
}

/// The path from the root of the crate of something that a file of the module `here` names. None for a path that
/// does not begin with `crate`, `super` or `self`.
fn absolute(path: &[&str], here: &[String]) -> Option<Path> {
    let mut base = match *path.first()? {
        "crate" => Path::new(),
        "super" | "self" => here.to_vec(),
        _ => return None,
    };
    for part in path {
        match *part {
            "crate" | "self" => {}
            "super" => _ = base.pop(),
            name => base.push(name.to_owned()),
        }
    }
    Some(base)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(files: &[(&str, &str)]) -> Graph {
        let mut graph = Graph::default();
        for (path, text) in files {
            graph.add("crates/x/src/", &Source::read(&format!("crates/x/src/{path}"), text));
        }
        graph
    }

    /// The edges at every level, as `level: from -> to`.
    fn edges(files: &[(&str, &str)]) -> Vec<String> {
        let graph = graph(files);
        let mut found = Vec::new();
        for level in graph.levels() {
            let title = level.title("x");
            for (from, used) in &level.edges {
                found.extend(used.keys().map(|to| format!("{title}: {from} -> {to}")));
            }
        }
        found
    }

    fn findings(files: &[(&str, &str)]) -> Vec<String> {
        let found = graph(files).check("x");
        found
            .into_iter()
            .map(|(file, finding)| format!("{file}:{}: {}", finding.line, finding.what))
            .collect()
    }

    #[test]
    fn a_cycle_is_found_and_each_edge_has_a_place() {
        let files = [
            ("lib.rs", "mod a; mod b; mod c;"),
            ("a.rs", "use crate::b::B;"),
            ("b.rs", "fn f() {\n  crate::c::g()\n}"),
            ("c.rs", "use super::a;"),
            ("d.rs", "use crate::a;"),
        ];
        assert_eq!(
            findings(&files),
            [
                "crates/x/src/a.rs:1: 3 modules of x form a dependency cycle (a b c), such as a -> b -> c -> a; \
              move what they share below both\
              \n  a -> b: crate::b::B at crates/x/src/a.rs:1\
              \n  b -> c: crate::c::g at crates/x/src/b.rs:2\
              \n  c -> a: crate::a at crates/x/src/c.rs:1"
            ]
        );
    }

    #[test]
    fn modules_in_one_direction_are_in_order() {
        let files =
            [("a.rs", "use crate::b::B;"), ("b.rs", "use crate::c;"), ("c.rs", "use self::inner::X;")];
        assert_eq!(findings(&files), [""; 0]);
    }

    #[test]
    fn tests_and_programs_do_not_count() {
        let files = [
            ("a.rs", "use crate::b::B;"),
            ("b.rs", "#[cfg(test)]\nmod tests { use crate::a; }\nuse crate::c;"),
            ("c.rs", "#[cfg(test)]\nmod tests;"),
            ("c/tests.rs", "use crate::a;"),
            ("bin/d.rs", "use crate::a;"),
        ];
        assert_eq!(edges(&files), ["x: a -> b", "x: b -> c"]);
    }

    #[test]
    fn nested_use_groups_are_spread_out() {
        let files = [
            ("a.rs", "use crate::{b::{self, x::Y}, c::D as E, d};"),
            ("b.rs", ""),
            ("c.rs", ""),
            ("d.rs", ""),
        ];
        assert_eq!(edges(&files), ["x: a -> b", "x: a -> c", "x: a -> d"]);
    }

    #[test]
    fn super_paths_are_followed_at_every_level() {
        let files = [
            ("a/mod.rs", "mod b; mod c;"),
            ("a/b.rs", "use super::c::C; use super::super::e;"),
            ("a/c/mod.rs", ""),
            ("a/c/f.rs", "use super::g::G; use super::super::b;"),
            ("a/c/g.rs", "use self::inside::A;"),
            ("e.rs", ""),
        ];
        assert_eq!(edges(&files), ["x: a -> e", "x::a: b -> c", "x::a: c -> b", "x::a::c: f -> g"]);
    }

    #[test]
    fn a_folder_s_own_file_is_not_part_of_its_level() {
        let files = [("a.rs", "use self::b::B; struct A;"), ("a/b.rs", "use super::A;")];
        assert_eq!(edges(&files), [""; 0]);
    }

    #[test]
    fn a_sibling_reached_by_an_imported_parent_counts() {
        let files = [("a/mod.rs", ""), ("a/b.rs", "use crate::a;\nfn f() { a::c::g() }"), ("a/c.rs", "")];
        assert_eq!(edges(&files), ["x::a: b -> c"]);
    }

    #[test]
    fn the_graph_is_printed_with_its_cycles() {
        let files = [("a.rs", "use crate::long;"), ("long.rs", "")];
        assert_eq!(graph(&files).print("x"), "x\n  a    -> long\n  long\nx: no cycle\n");
        let files = [("a.rs", "use crate::b;"), ("b.rs", "use crate::a;")];
        assert_eq!(graph(&files).print("x"), "x\n  a -> b\n  b -> a\nx: cycle: a b\n");
    }
}
