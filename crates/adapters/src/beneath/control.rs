//! Names that are not for agents, however they are spelled.

use std::path::{Component, Path};

use domain::layout;
use policy::path::CONTROL_ANYWHERE;

/// Synod's own folder: agents do not see it at all.
const HIDDEN: &str = layout::OWN;

/// So ends the name of a folder in `workspaces/` with what git leaves out of the work of others.
const ASIDE: &str = layout::ASIDE_END;

/// Shared contexts: agents see them by grants, never by their path.
const GRANTED: &str = layout::CONTEXTS;

/// Whether `real`, a path without links relative to the home, is a control file or beneath one.
pub(super) fn is_control(real: &Path) -> bool {
    let is_at_top = |first: Component<'_>| {
        layout::TOP.iter().any(|(name, writer)| !writer.allows_file_tools() && is_named(first, name))
    };
    // The settings and hooks of a repository can run programs, wherever it is.
    real.components().next().is_some_and(is_at_top)
        || real.components().any(|part| part.as_os_str().to_str().is_some_and(is_git_name))
}

/// Whether `real` is Synod's own folder, or one with what it has put aside, or beneath one.
pub(super) fn is_hidden(real: &Path) -> bool {
    let mut parts = real.components();
    let (first, second) = (parts.next(), parts.next());
    let is_aside =
        |second: Component<'_>| second.as_os_str().to_str().is_some_and(|text| plain(text).ends_with(ASIDE));
    first.is_some_and(|first| {
        is_named(first, HIDDEN) || (is_named(first, layout::WORKSPACES) && second.is_some_and(is_aside))
    })
}

/// Whether `real` is a shared context or the folder of all.
pub(crate) fn is_granted(real: &Path) -> bool {
    real.components().next().is_some_and(|first| is_named(first, GRANTED))
}

/// Whether some file system takes a name for git's own folder.
pub(crate) fn is_git_name(name: &str) -> bool {
    CONTROL_ANYWHERE.iter().any(|git| is_name(name, git))
}

fn is_named(component: Component<'_>, name: &str) -> bool {
    component.as_os_str().to_str().is_some_and(|text| is_name(text, name))
}

/// Whether some file system takes `text` for `name`: case, and dots and blanks at the end, are nothing to some.
fn is_name(text: &str, name: &str) -> bool {
    plain(text) == name
}

fn plain(text: &str) -> String {
    let visible: String = text.chars().filter(|c| !is_ignorable(*c)).collect();
    visible.trim_end_matches(['.', ' ']).to_lowercase()
}

/// Characters that some file systems leave out when they compare names.
fn is_ignorable(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{ad}')
}
