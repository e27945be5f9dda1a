//! The words for people: what an act is called before and after it is done, and what a person sees who is asked for it.

use std::borrow::Cow;

use crate::words::id::AgentId;
use crate::words::layout;

/// An act in a few words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words {
    /// Before it is done: `write notes.md`.
    pub wish: String,
    /// After it is done: `wrote notes.md`.
    pub done: String,
    /// The text that it is about, if that says more: what is posted, the question that is asked. It may be long, and it
    /// is left out where words are kept for good.
    pub about: Option<String>,
}

impl Words {
    /// Words for both tenses.
    pub fn new(wish: impl Into<String>, done: impl Into<String>) -> Self {
        Self { wish: wish.into(), done: done.into(), about: None }
    }

    /// Words that are the same in both tenses.
    pub fn same(words: impl Into<String>) -> Self {
        let words = words.into();
        Self { wish: words.clone(), done: words, about: None }
    }

    /// The same words, with the text that the act is about.
    #[must_use]
    pub fn about(self, text: String) -> Self {
        Self { about: (!text.trim().is_empty()).then_some(text), ..self }
    }

    /// The same words, with the text that the act is about in quotes.
    #[must_use]
    pub fn quoting(self, text: &str) -> Self {
        self.about(format!("\"{text}\""))
    }
}

/// What a person sees who is asked for an act.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// `terminal_command`, `file_write` …
    pub kind: Cow<'static, str>,
    /// What follows `Approve`: `command: df -h`.
    pub title: String,
    /// A label for the text.
    pub label: String,
    /// The language of the text.
    pub language: &'static str,
    /// All that counts, to the letter.
    pub text: String,
}

impl Shown {
    /// Something with a plain text.
    pub fn text(kind: &'static str, title: String, label: impl Into<String>, text: &str) -> Self {
        let (kind, label, text) = (Cow::Borrowed(kind), label.into(), text.to_owned());
        Self { kind, title, label, language: "text", text }
    }
}

/// What examples of acts are made of.
#[derive(Debug, Clone, Copy)]
pub struct Examples<'a> {
    /// The agent that would act.
    pub agent: &'a AgentId,
    /// Commands that the policy of the home names.
    pub commands: &'a [&'a str],
}

impl Examples<'_> {
    /// A file that all may read and nobody writes unasked.
    pub const PATH: &'static str = "memory/notes.md";

    /// One example, because the gate does not tell acts of the tool apart.
    pub fn anything<T>(&self, act: T) -> Vec<(String, T)> {
        vec![(String::new(), act)]
    }

    /// Examples of an act that writes: in the agent's workspace, elsewhere, and where no agent writes.
    pub fn places<T>(&self, act: impl Fn(String) -> T) -> Vec<(String, T)> {
        let own = layout::workspace(self.agent);
        vec![
            (format!("in {own}/"), act(format!("{own}/notes.md"))),
            ("elsewhere in the home".to_owned(), act(Self::PATH.to_owned())),
            ("what people control by, as agents/".to_owned(), act("agents/notes.md".to_owned())),
        ]
    }
}
