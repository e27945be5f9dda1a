//! Asking a program for its version, and nothing else.

use crate::command::script::Word;

/// Programs that can be asked with `--version`, and how else.
const PROGRAMS: [(&str, &[&str]); 74] = [
    ("ansible", &[]),
    ("aws", &[]),
    ("bash", &[]),
    ("bun", &["-v"]),
    ("c++", &[]),
    ("cargo", &["-V", "version"]),
    ("cargo-clippy", &["-V"]),
    ("cc", &[]),
    ("clang", &[]),
    ("clang++", &[]),
    ("clang-format", &[]),
    ("cmake", &[]),
    ("composer", &["-V"]),
    ("curl", &["-V"]),
    ("deno", &["-V"]),
    ("docker", &["-v"]),
    ("docker-compose", &["-v", "version"]),
    ("dotnet", &[]),
    ("elixir", &["-v"]),
    ("emacs", &[]),
    ("ffmpeg", &["-version"]),
    ("ffprobe", &["-version"]),
    ("g++", &[]),
    ("gcc", &["-v"]),
    ("gdb", &[]),
    ("gem", &["-v"]),
    ("gh", &["version"]),
    ("ghc", &["-V"]),
    ("git", &["-v"]),
    ("go", &["version"]),
    ("helm", &["version"]),
    ("java", &["-version"]),
    ("javac", &["-version"]),
    ("julia", &["-v"]),
    ("kotlinc", &["-version"]),
    ("kubectl", &[]),
    ("ld", &["-v", "-V"]),
    ("less", &["-V"]),
    ("lua", &["-v"]),
    ("make", &["-v"]),
    ("mysql", &["-V"]),
    ("nano", &["-V"]),
    ("nginx", &["-v", "-V"]),
    ("ninja", &[]),
    ("node", &["-v"]),
    ("npm", &["-v"]),
    ("npx", &["-v"]),
    ("nvim", &["-v"]),
    ("openssl", &["version"]),
    ("perl", &["-v"]),
    ("php", &["-v"]),
    ("pip", &["-V"]),
    ("pip3", &["-V"]),
    ("podman", &["-v"]),
    ("psql", &["-V"]),
    ("python", &["-V", "-VV"]),
    ("python2", &["-V"]),
    ("python3", &["-V", "-VV"]),
    ("redis-cli", &["-v"]),
    ("ruby", &["-v"]),
    ("rustc", &["-V", "-vV", "-Vv"]),
    ("rustfmt", &["-V"]),
    ("rustup", &["-V"]),
    ("sqlite3", &["-version"]),
    ("ssh", &["-V"]),
    ("swift", &["-version"]),
    ("terraform", &["-version", "-v"]),
    ("tmux", &["-V"]),
    ("tsc", &["-v"]),
    ("uv", &["-V"]),
    ("vim", &[]),
    ("wget", &["-V"]),
    ("zig", &["version"]),
    ("zsh", &[]),
];

/// Whether the one argument is a question for the version.
pub(super) fn only_tells_its_version(program: &str, arguments: &[Word]) -> bool {
    let [only] = arguments else { return false };
    let Ok(at) = PROGRAMS.binary_search_by(|(name, _)| (*name).cmp(program)) else { return false };
    only.text == "--version" || PROGRAMS[at].1.contains(&only.text.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted() {
        assert!(PROGRAMS.is_sorted_by(|one, two| one.0 < two.0));
    }
}
