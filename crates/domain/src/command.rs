//! Commands: read with a shell's grammar, judged one by one, and turned into what is run.
//! Nothing here runs anything; in doubt a command is outside of what can be allowed.

mod parse;
pub mod script;
mod word;
mod wrapper;

pub use script::Script;

/// The command as it would be run, if it stays inside the small grammar that can be allowed: words, quotes and
/// globs, `|`, `&&`, `||`, `;`, lines, `!`, redirects to and from the null device and between descriptors 1 and 2.
pub fn script(text: &str) -> Option<Script> {
    parse::parse(text).ok()?.script
}
