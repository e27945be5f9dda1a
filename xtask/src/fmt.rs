//! `cargo xtask fmt`: formats all code. `cargo fmt` follows `mod` lines only, so the files of tools, which a macro declares, are
//! formatted by name.

use std::path::PathBuf;
use std::process::Command;

use crate::shell::{self, Failure, cargo};

/// Folders in which a macro declares the modules.
const BY_MACRO: [&str; 2] = ["crates/domain/src/topics/tools", "crates/adapters/src/tools"];

/// Formats, or only looks with `--check`.
pub fn run(args: &[String]) -> Result<(), Failure> {
    let check: &[&str] = match args {
        [] => &[],
        [flag] if flag == "--check" => &["--check"],
        _ => return Err(Failure::usage("cargo xtask fmt has one flag, --check")),
    };
    shell::run(cargo().args(["fmt", "--all"]).args(check))?;
    let mut rustfmt = Command::new(std::env::var_os("RUSTFMT").unwrap_or("rustfmt".into()));
    rustfmt.current_dir(shell::root()).args(["--edition", "2024"]).args(check).args(files()?);
    shell::run(&mut rustfmt)
}

fn files() -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for folder in BY_MACRO {
        let failed = |e: std::io::Error| Failure::new(format!("{folder} cannot be read: {e}"));
        for entry in std::fs::read_dir(shell::root().join(folder)).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    #[test]
    fn files_that_a_macro_declares_are_found() {
        let files = super::files().unwrap_or_default();
        let both = files.iter().filter(|path| path.ends_with("tools/write_file.rs")).count();
        assert_eq!(both, 2, "{files:?}");
    }
}
