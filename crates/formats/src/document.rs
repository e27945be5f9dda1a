//! A YAML or JSON file of a home as a document: look at a value, change it, take it out, add to a list.
//!
//! Every edit is one splice of bytes. The result is parsed again and compared with what was asked; what would
//! not read back exactly is refused, and the text stays as it was. So an edit costs a parse, and nothing that
//! a person wrote elsewhere in the file can change.
//!
//! A path is the keys from the root down; in a list, a number counts its items from 0.

mod brackets;
mod edit;
mod expect;
mod place;
mod print;
mod splice;

use std::fmt;

use crate::diagnostic::{Diagnostic, Notes};
use crate::json;
use crate::yaml::{self, Node};

use splice::Splice;

/// A file's text and what it says.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    path: String,
    text: String,
    // Always the parse of `text`.
    root: Node,
}

/// A value that a document can be given.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// One word, number or text.
    Scalar(Scalar),
    /// Some of them.
    List(Vec<Scalar>),
}

/// A value without parts.
#[derive(Debug, Clone, PartialEq)]
pub enum Scalar {
    /// `null`
    Nothing,
    /// `true` or `false`
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// Any other number; only a finite one can be written.
    Number(f64),
    /// A text. It is read back as this text, also if it looks like a number; more than one line become a `|`
    /// block.
    Text(String),
}

/// A value of a document and its place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Found<'d> {
    /// The value.
    pub node: &'d Node,
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
}

/// Why an edit was not made. The text is as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// The path names nothing that could be changed.
    NoPath,
    /// There is no such value.
    NotThere {
        /// What was looked for.
        path: String,
    },
    /// Something on the way holds no keys.
    NotAMap {
        /// Where.
        path: String,
    },
    /// Items go into lists only.
    NotAList {
        /// Where.
        path: String,
    },
    /// There is no way to write such a number.
    NotFinite {
        /// What was to change.
        path: String,
    },
    /// The file is written in a way in which the edit would change more than was asked.
    NotReadBack {
        /// What was to change.
        path: String,
    },
}

impl Document {
    /// Reads a file: JSON if its path ends in `.json`, else YAML. There is a document if and only if no
    /// diagnostic is an error.
    pub fn parse(path: &str, text: &str) -> (Option<Self>, Vec<Diagnostic>) {
        let mut notes = Notes::new(path, text);
        let root = tree(path, text, &mut notes);
        let read = notes.finish(root);
        let document = |root| Self { path: path.to_owned(), text: text.to_owned(), root };
        (read.value.map(document), read.diagnostics)
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The path it was read from.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The whole value.
    pub fn root(&self) -> &Node {
        &self.root
    }

    /// The value at a path. A key without a value has nothing (null), at the place of the key.
    pub fn get(&self, path: &[&str]) -> Option<Found<'_>> {
        let mut node = &self.root;
        for key in path {
            node = expect::child(node, key)?;
        }
        let (line, column) = Notes::new(&self.path, &self.text).position(node.span.start);
        Some(Found { node, line, column })
    }

    /// Changes the value at a path, or adds it with the keys that lead there. It is written as what it replaces
    /// was: in the same quotes, in brackets or in lines, with the comment behind it.
    pub fn set(&mut self, path: &[&str], value: impl Into<Value>) -> Result<(), Refused> {
        let value = value.into();
        let wanted = expect::node_of(&value);
        if !expect::is_writable(&value) {
            return Err(Refused::NotFinite { path: shown(path) });
        }
        if self.get(path).is_some_and(|found| expect::is_same(found.node, &wanted)) {
            return Ok(());
        }
        let splice = self.places().set(&self.root, path, &value)?;
        let mut root = self.root.clone();
        expect::put(&mut root, path, wanted);
        self.apply(path, splice, &root)
    }

    /// Takes a key with its value out, or an item. Comments on lines of their own around it stay.
    pub fn remove(&mut self, path: &[&str]) -> Result<(), Refused> {
        let splice = self.places().remove(&self.root, path)?;
        let mut root = self.root.clone();
        expect::take(&mut root, path);
        self.apply(path, splice, &root)
    }

    /// Adds an item at the end of a list. A list that is not there is made.
    pub fn push(&mut self, path: &[&str], item: impl Into<Scalar>) -> Result<(), Refused> {
        let item = item.into();
        let Some(found) = self.get(path).filter(|found| !found.node.is_null()) else {
            return self.set(path, Value::List(vec![item]));
        };
        let value = Value::Scalar(item.clone());
        if !expect::is_writable(&value) {
            return Err(Refused::NotFinite { path: shown(path) });
        }
        let wanted = expect::node_of(&value);
        let splice = self.places().push(&self.root, path, &item)?;
        let last = found.node.items().len().to_string();
        let mut root = self.root.clone();
        expect::put(&mut root, &[path, &[last.as_str()]].concat(), wanted);
        self.apply(path, splice, &root)
    }

    fn places(&self) -> place::Places<'_> {
        place::Places { text: &self.text, json: is_json(&self.path) }
    }

    fn apply(&mut self, path: &[&str], splice: Splice, expected: &Node) -> Result<(), Refused> {
        let mut text = String::with_capacity(self.text.len() + splice.with.len());
        text.push_str(&self.text[..splice.at.start]);
        text.push_str(&splice.with);
        text.push_str(&self.text[splice.at.end..]);
        match Self::parse(&self.path, &text).0 {
            Some(document) if expect::is_same(&document.root, expected) => {
                *self = document;
                Ok(())
            }
            Some(_) | None => Err(Refused::NotReadBack { path: shown(path) }),
        }
    }
}

/// Parses by the path's ending.
pub(crate) fn tree(path: &str, text: &str, notes: &mut Notes<'_>) -> Option<Node> {
    if is_json(path) { json::parse(text, notes) } else { yaml::parse(text, notes) }
}

fn is_json(path: &str) -> bool {
    path.ends_with(".json")
}

fn shown(path: &[&str]) -> String {
    path.join(".")
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPath => write!(f, "the path has no key"),
            Self::NotThere { path } => write!(f, "there is no `{path}`"),
            Self::NotAMap { path } => write!(f, "`{path}` has no keys"),
            Self::NotAList { path } => write!(f, "`{path}` is not a list"),
            Self::NotFinite { path } => write!(f, "`{path}` must be a finite number"),
            Self::NotReadBack { path } => {
                write!(f, "`{path}` cannot be changed without changing what stands around it")
            }
        }
    }
}

impl std::error::Error for Refused {}

impl From<bool> for Scalar {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Scalar {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<u32> for Scalar {
    fn from(value: u32) -> Self {
        Self::Int(i64::from(value))
    }
}

impl From<f64> for Scalar {
    fn from(value: f64) -> Self {
        Self::Number(value)
    }
}

impl From<&str> for Scalar {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<String> for Scalar {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl<T: Into<Scalar>> From<T> for Value {
    fn from(value: T) -> Self {
        Self::Scalar(value.into())
    }
}

impl<T: Into<Scalar>> From<Vec<T>> for Value {
    fn from(values: Vec<T>) -> Self {
        Self::List(values.into_iter().map(Into::into).collect())
    }
}
