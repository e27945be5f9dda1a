//! Laws of documents, on made-up files: without an edit nothing changes; with one, its own lines do, and the
//! value is the one that was asked for.

use std::ops::Range;

use formats::document::{Document, Refused, Scalar, Value};
use formats::yaml::{Kind, Node};
use proptest::prelude::*;
use serde_json::json;

/// A file that is made up: what stands where, and how it is written.
#[derive(Debug, Clone)]
enum Made {
    Scalar(usize),
    Literal(usize),
    BlockMap(Vec<Part>),
    BlockList(Vec<Part>),
    FlowMap(Vec<Made>, usize),
    FlowList(Vec<Made>, usize),
}

/// An entry or item of a block, and what stands around it.
#[derive(Debug, Clone)]
struct Part {
    key: usize,
    made: Made,
    above: usize,
    behind: usize,
}

const KEYS: [&str; 6] = ["k", "'k ", "\"k: ", "df -h ", "é", "k.k-"];
const SCALARS: [&str; 16] = [
    "",
    "~",
    "x",
    "5",
    "'5'",
    "-0.5",
    "true",
    "'it''s'",
    "\"q\\n#\"",
    "hello world",
    "/a:b",
    "\"a # b\"",
    "null",
    "'[x'",
    "é",
    "\"\"",
];
const LITERALS: [&str; 6] =
    ["|\n@x\n@y\n", "|-\n@x\n\n@ y\n", "|+\n@x\n\n", ">-\n@x\n@y\n", ">\n@x\n\n@y\n\n", "| # @\n@x\n"];
const BEHIND: [&str; 4] = ["", " ", "  # @", "\t# @"];
const ABOVE: [&str; 4] = ["", "", "\n", "# @\n"];

struct Printer {
    out: String,
    comments: usize,
    step: usize,
    dash: usize,
}

impl Printer {
    fn comment(&mut self, text: &str) -> String {
        self.comments += usize::from(text.contains('#'));
        text.replace("# @", &format!("#c{}.", self.comments))
    }

    fn key(&self, key: usize, index: usize) -> String {
        let word = KEYS[key % KEYS.len()];
        let quote = word.chars().next().filter(|c| "'\"".contains(*c)).map(String::from).unwrap_or_default();
        format!("{word}{index}{quote}")
    }

    /// What stands behind a colon or a dash at `column`, up to the line end.
    fn value(&mut self, made: &Made, column: usize, behind: usize) {
        let behind = BEHIND[behind % BEHIND.len()];
        match made {
            Made::Literal(index) => {
                let indent = " ".repeat(column + self.step);
                let (head, body) = LITERALS[index % LITERALS.len()].split_once('\n').unwrap();
                let head = self.comment(head);
                self.out.push_str(&format!(" {head}\n{}", body.replace('@', &indent)));
            }
            Made::BlockMap(parts) if !parts.is_empty() => {
                let behind = self.comment(behind);
                self.out.push_str(&format!("{behind}\n"));
                self.map(parts, column + self.step);
            }
            Made::BlockList(parts) if !parts.is_empty() => {
                let behind = self.comment(behind);
                self.out.push_str(&format!("{behind}\n"));
                self.list(parts, column + self.dash);
            }
            Made::Scalar(_)
            | Made::FlowMap(..)
            | Made::FlowList(..)
            | Made::BlockMap(_)
            | Made::BlockList(_) => {
                let inline = self.inline(made, column + 1);
                let behind = self.comment(behind);
                let gap = if inline.is_empty() { "" } else { " " };
                self.out.push_str(&format!("{gap}{inline}{behind}\n"));
            }
        }
    }

    fn map(&mut self, parts: &[Part], column: usize) {
        for (index, part) in parts.iter().enumerate() {
            self.above(part, column);
            let key = self.key(part.key, index);
            self.out.push_str(&format!("{:column$}{key}:", ""));
            self.value(&part.made, column, part.behind);
        }
    }

    fn list(&mut self, parts: &[Part], column: usize) {
        for part in parts {
            self.above(part, column);
            self.out.push_str(&format!("{:column$}-", ""));
            match &part.made {
                // The first key on the line of the dash.
                Made::BlockMap(inner) if !inner.is_empty() && part.behind % 2 == 0 => {
                    let start = self.out.len();
                    let inner: Vec<Part> = inner
                        .iter()
                        .enumerate()
                        .map(|(i, p)| if i == 0 { Part { above: 0, ..p.clone() } } else { p.clone() })
                        .collect();
                    self.map(&inner, column + 2);
                    self.out.replace_range(start..start + column + 2, " ");
                }
                made => self.value(made, column, part.behind),
            }
        }
    }

    fn above(&mut self, part: &Part, column: usize) {
        let above = self.comment(ABOVE[part.above % ABOVE.len()]);
        let indent = if above.contains('#') { column } else { 0 };
        self.out.push_str(&format!("{:indent$}{above}", ""));
    }

    fn inline(&mut self, made: &Made, column: usize) -> String {
        let (open, close, members, look): (char, char, Vec<String>, usize) = match made {
            Made::Scalar(index) => return SCALARS[index % SCALARS.len()].to_owned(),
            Made::Literal(index) => return format!("l{index}"),
            Made::BlockMap(parts) => return if parts.is_empty() { "{}" } else { "b" }.to_owned(),
            Made::BlockList(parts) => return if parts.is_empty() { "[]" } else { "b" }.to_owned(),
            Made::FlowMap(all, look) => {
                let entry = |(i, made): (usize, &Made)| {
                    let key = self.key(i + look, i);
                    format!("{key}: {}", self.inline(made, column))
                };
                ('{', '}', all.iter().enumerate().map(entry).collect(), *look)
            }
            Made::FlowList(all, look) => {
                let item = |made: &Made| match self.inline(made, column) {
                    text if text.is_empty() => "~".to_owned(),
                    text => text,
                };
                ('[', ']', all.iter().map(item).collect(), *look)
            }
        };
        let lines = format!("\n{:column$}", "");
        let (start, gap, end) = match look % 5 {
            0 => ("", ", ".to_owned(), ""),
            1 => (" ", ", ".to_owned(), " "),
            2 => ("", " ,  ".to_owned(), ""),
            3 => (lines.as_str(), format!(",{lines}"), lines.as_str()),
            _ => {
                let comment = self.comment(" # @");
                (lines.as_str(), format!(",{comment}{lines}"), lines.as_str())
            }
        };
        if members.is_empty() {
            format!("{open}{close}")
        } else {
            format!("{open}{start}{}{end}{close}", members.join(&gap))
        }
    }
}

fn print(parts: &[Part], step: usize, dash: usize) -> String {
    let mut printer = Printer { out: String::new(), comments: 0, step, dash };
    printer.map(parts, 0);
    printer.out
}

fn flow() -> impl Strategy<Value = Made> {
    let leaf = (0..SCALARS.len()).prop_map(Made::Scalar);
    leaf.prop_recursive(2, 8, 3, |inner| {
        let all = prop::collection::vec(inner, 0..4);
        (all, any::<bool>(), 0..20_usize).prop_map(|(all, map, look)| {
            if map { Made::FlowMap(all, look) } else { Made::FlowList(all, look) }
        })
    })
}

fn parts() -> impl Strategy<Value = Vec<Part>> {
    let leaf = prop_oneof![flow(), (0..LITERALS.len()).prop_map(Made::Literal)];
    let part = |made: BoxedStrategy<Made>| {
        (0..KEYS.len(), made, 0..4_usize, 0..4_usize).prop_map(|(key, made, above, behind)| Part {
            key,
            made,
            above,
            behind,
        })
    };
    let made = leaf.boxed().prop_recursive(3, 16, 4, move |inner| {
        (prop::collection::vec(part(inner), 0..4), any::<bool>())
            .prop_map(|(parts, map)| if map { Made::BlockMap(parts) } else { Made::BlockList(parts) })
    });
    prop::collection::vec(part(made.boxed()), 0..5)
}

fn yaml() -> impl Strategy<Value = String> {
    (parts(), 1..5_usize, 0..3_usize, any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
        |(parts, step, dash, crlf, bom, cut)| {
            let text = print(&parts, step, dash);
            let text = if cut { text.trim_end_matches('\n').to_owned() } else { text };
            let text = if crlf { text.replace('\n', "\r\n") } else { text };
            if bom { format!("\u{feff}{text}") } else { text }
        },
    )
}

fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(|b| json!(b)),
        any::<i64>().prop_map(|n| json!(n)),
        "(\\PC|[\n\\\\\"#,:{}]){0,6}".prop_map(|t| json!(t)),
    ];
    let value = leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|v| json!(v)),
            prop::collection::btree_map("(\\PC|[\"\\\\]){0,3}", inner, 0..4).prop_map(|m| json!(m)),
        ]
    });
    (value, any::<bool>(), any::<bool>()).prop_map(|(value, pretty, crlf)| {
        let text = if pretty { serde_json::to_string_pretty(&value).unwrap() } else { value.to_string() };
        if crlf { text.replace('\n', "\r\n") } else { text }
    })
}

fn scalar() -> impl Strategy<Value = Scalar> {
    prop_oneof![
        Just(Scalar::Nothing),
        any::<bool>().prop_map(Scalar::Bool),
        any::<i64>().prop_map(Scalar::Int),
        prop::num::f64::NORMAL.prop_map(Scalar::Number),
        prop::sample::select(vec![
            "5",
            "null",
            "~",
            "true",
            "yes",
            "",
            " ",
            "a: b",
            "- a",
            "a #b",
            "a, b",
            "[x]",
            "{",
            "'",
            "\"",
            "|",
            "\n",
            "a\nb",
            " a\n b\n\n",
            "a\n \nb",
            "---",
            "\u{feff}",
            "\t",
            "a\r\nb",
            "0x10",
            "1_000",
            "1e3",
            "key:",
            "\u{85}",
            "*a",
            "&a",
            "!a",
            "%a",
        ])
        .prop_map(Scalar::from),
        "(\\PC|[\n\r\t :#,'\"\\[\\]{}|>&*!?-]){0,12}".prop_map(Scalar::from),
    ]
}

#[derive(Debug, Clone)]
enum Edit {
    Set(Scalar),
    SetList(Vec<Scalar>),
    Add(Vec<String>, Scalar),
    Remove,
    Push(Scalar),
}

fn edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        scalar().prop_map(Edit::Set),
        prop::collection::vec(scalar(), 0..4).prop_map(Edit::SetList),
        (prop::collection::vec("(\\PC|[\n:#,'\"]){0,5}", 1..3), scalar()).prop_map(|(k, s)| Edit::Add(k, s)),
        Just(Edit::Remove),
        scalar().prop_map(Edit::Push),
    ]
}

/// A value with the way to it, and the bytes of its own lines.
#[derive(Debug, Clone)]
struct Target {
    path: Vec<String>,
    own: Range<usize>,
    /// The lines of the list or map that it is taken out of: a comma or the key of a list may change with it.
    around: Range<usize>,
    node: Node,
}

fn targets(
    text: &str,
    node: &Node,
    path: &[String],
    start: usize,
    around: Option<Range<usize>>,
    found: &mut Vec<Target>,
) {
    let line_start = text[..start].rfind('\n').map_or(0, |i| i + 1);
    let end = start.max(node.span.end);
    let line_end = text[end..].find('\n').map_or(text.len(), |i| end + i + 1);
    let own = line_start..line_end;
    let around = around.unwrap_or_else(|| own.clone());
    found.push(Target { path: path.to_vec(), own: own.clone(), around, node: node.clone() });
    let below = |key: String| path.iter().cloned().chain([key]).collect::<Vec<_>>();
    match &node.kind {
        Kind::Scalar { .. } => {}
        Kind::List { items, flow } => {
            let mut from = start;
            for (index, item) in items.iter().enumerate() {
                // The dash stands somewhere behind the item before.
                let whole = Some(own.clone()).filter(|_| *flow || items.len() == 1);
                targets(text, item, &below(index.to_string()), from, whole, found);
                from = from.max(item.span.end);
            }
        }
        Kind::Map { entries, flow } => {
            for (index, entry) in entries.iter().enumerate() {
                // Behind a dash, the second key moves up when the first goes.
                let whole = Some(own.clone()).filter(|_| *flow || index == 0);
                targets(text, &entry.value, &below(entry.key.clone()), entry.key_span.start, whole, found);
            }
        }
    }
}

fn as_json(scalar: &Scalar) -> serde_json::Value {
    match scalar {
        Scalar::Nothing => json!(null),
        Scalar::Bool(value) => json!(value),
        Scalar::Int(value) => json!(value),
        Scalar::Number(value) => json!(value),
        Scalar::Text(text) => json!(text),
    }
}

/// The value at a path of JSON; keys that are missing are made.
fn at<'v>(value: &'v mut serde_json::Value, path: &[String]) -> &'v mut serde_json::Value {
    let Some((key, rest)) = path.split_first() else { return value };
    if value.is_null() {
        *value = json!({});
    }
    let below = match value {
        serde_json::Value::Array(items) => &mut items[key.parse::<usize>().unwrap()],
        other => other.as_object_mut().unwrap().entry(key.clone()).or_insert(json!(null)),
    };
    at(below, rest)
}

fn words(text: &str) -> Vec<usize> {
    text.split("#c").skip(1).filter_map(|rest| rest.split_once('.')?.0.parse().ok()).collect()
}

/// Makes an edit and checks all laws. Says whether it was made.
fn check(path: &str, text: &str, pick: usize, edit: &Edit) -> Result<bool, TestCaseError> {
    let (document, diagnostics) = Document::parse(path, text);
    prop_assert_eq!(&diagnostics, &[], "{}", text);
    let mut document = document.unwrap();
    prop_assert_eq!(document.text(), text);
    let mut all = Vec::new();
    targets(text, document.root(), &[], document.root().span.start.min(text.len()), None, &mut all);
    let target = all[pick % all.len()].clone();
    let mut expected = document.root().to_json();
    let keys: Vec<&str> = target.path.iter().map(String::as_str).collect();
    let is_map = matches!(target.node.kind, Kind::Map { .. }) || target.node.is_null();
    let (made, keeps_words) = match edit {
        Edit::Set(_) | Edit::SetList(_) | Edit::Remove if keys.is_empty() => return Ok(true),
        Edit::Set(scalar) => {
            *at(&mut expected, &target.path) = as_json(scalar);
            (document.set(&keys, scalar.clone()), matches!(target.node.kind, Kind::Scalar { .. }))
        }
        Edit::SetList(items) => {
            *at(&mut expected, &target.path) = items.iter().map(as_json).collect();
            (document.set(&keys, Value::List(items.clone())), matches!(target.node.kind, Kind::Scalar { .. }))
        }
        Edit::Add(more, scalar) if is_map && target.node.entry(&more[0]).is_none() => {
            let whole: Vec<String> = target.path.iter().chain(more).cloned().collect();
            *at(&mut expected, &whole) = as_json(scalar);
            let keys: Vec<&str> = whole.iter().map(String::as_str).collect();
            (document.set(&keys, scalar.clone()), true)
        }
        Edit::Add(..) => return Ok(true),
        Edit::Remove => {
            let (last, above) = target.path.split_last().unwrap();
            let parent = at(&mut expected, above);
            match &mut *parent {
                serde_json::Value::Array(items) => _ = items.remove(last.parse().unwrap()),
                other => _ = other.as_object_mut().unwrap().remove(last),
            }
            let nothing = parent.as_object().is_some_and(serde_json::Map::is_empty);
            let made = document.remove(&keys);
            // A map in lines without keys is nothing.
            let left = document.get(&keys[..keys.len() - 1]);
            if nothing && left.is_some_and(|f| f.node.is_null()) {
                *at(&mut expected, above) = json!(null);
            }
            (made, false)
        }
        Edit::Push(item) => match &target.node.kind {
            Kind::List { .. } => {
                at(&mut expected, &target.path).as_array_mut().unwrap().push(as_json(item));
                (document.push(&keys, item.clone()), true)
            }
            Kind::Scalar { .. } if target.node.is_null() && !keys.is_empty() => {
                *at(&mut expected, &target.path) = json!([as_json(item)]);
                (document.push(&keys, item.clone()), true)
            }
            Kind::Scalar { .. } | Kind::Map { .. } => {
                let refused = document.push(&keys, item.clone());
                prop_assert!(refused.is_err());
                prop_assert_eq!(document.text(), text);
                return Ok(true);
            }
        },
    };
    if let Err(why) = made {
        let is_back = matches!(why, Refused::NotReadBack { .. });
        prop_assert!(is_back, "{}", why);
        prop_assert_eq!(document.text(), text);
        return Ok(false);
    }
    let after = document.text();
    let again = Document::parse(path, after).0;
    prop_assert_eq!(again.as_ref(), Some(&document));
    prop_assert_eq!(document.root().to_json(), expected, "{:?}\n{}\n{}", target.path, text, after);
    let same = |(a, b): &(u8, u8)| a == b;
    let front = text.bytes().zip(after.bytes()).take_while(same).count();
    let back = text.bytes().rev().zip(after.bytes().rev()).take_while(same).count();
    let own = if matches!(edit, Edit::Remove) { target.around } else { target.own };
    prop_assert!(front >= own.start, "{:?}\n{}\n{}", target.path, text, after);
    prop_assert!(back >= text.len() - own.end, "{:?}\n{}\n{}", target.path, text, after);
    if keeps_words {
        prop_assert_eq!(words(after), words(text), "{:?}\n{}\n{}", target.path, text, after);
    }
    Ok(true)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 1024, ..ProptestConfig::default() })]

    #[test]
    fn an_edit_of_yaml_changes_what_was_asked_and_its_own_lines(text in yaml(), pick in 0..1000_usize, edit in edit()) {
        let made = check("synod.yaml", &text, pick, &edit)?;
        // What follows a `|+` cannot go if blank lines are behind it.
        prop_assert!(made || text.contains("|+"), "{edit:?} {pick}\n{text}");
    }

    #[test]
    fn an_edit_of_json_changes_what_was_asked_and_its_own_lines(text in json(), pick in 0..1000_usize, edit in edit()) {
        prop_assert!(check("agents/a/agent.json", &text, pick, &edit)?, "{edit:?} {pick}\n{text}");
    }

    #[test]
    fn edits_in_a_row_stay_right(text in yaml(), edits in prop::collection::vec((0..1000_usize, edit()), 1..6)) {
        let mut text = text;
        for (pick, edit) in edits {
            check("synod.yaml", &text, pick, &edit)?;
            let mut document = Document::parse("synod.yaml", &text).0.unwrap();
            let key = format!("new{pick}");
            if document.set(&[key.as_str()], "x").is_ok() {
                text = document.text().to_owned();
            }
        }
    }
}
