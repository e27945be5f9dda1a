//! Questions on the terminal of whoever gave a command.

use std::io::{BufRead, IsTerminal, Write};

/// Whether somebody is there to answer.
pub fn is_possible() -> bool {
    std::io::stdin().is_terminal()
}

/// Asks for one line; nothing if the input ended.
pub fn ask(question: &str) -> anyhow::Result<Option<String>> {
    let mut stderr = std::io::stderr();
    write!(stderr, "{question}")?;
    stderr.flush()?;
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line)?;
    Ok((read > 0).then(|| line.trim().to_owned()))
}
