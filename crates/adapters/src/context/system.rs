//! What a model is told first, always in the same order, so that providers can keep it: the agent's own prompt, who
//! it is, then what files say, each marked with where it comes from.

use std::fmt::Write as _;

use domain::agent;
use domain::id::TaskId;

use super::piece::Piece;

/// The whole text.
pub(super) fn text(prompt: &str, agent: &agent::Spec, task: Option<&TaskId>, pieces: &[Piece]) -> String {
    let mut text = String::new();
    if !prompt.trim().is_empty() {
        _ = write!(text, "{}\n\n", prompt.trim_end());
    }
    _ = write!(text, "You are {}, an agent with the role {}.", agent.id, agent.role);
    if !agent.description.trim().is_empty() {
        _ = write!(text, " {}", agent.description.trim());
    }
    if let Some(task) = task {
        _ = write!(
            text,
            " You work on {task}. It stands in the first message of this conversation and stays your goal until it \
             is done."
        );
    }
    text.push('\n');
    for piece in pieces {
        let Piece { path, words, content, .. } = piece;
        // What a file says must not end the mark around it.
        let content = content.replace("</file", "<\\/file");
        _ = write!(text, "\n{words}\n<file path={path:?}>\n{}\n</file>\n", content.trim_end());
    }
    text
}
