//! Files of the home as they go into its history.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use domain::layout;

use super::commit::New;
use crate::disk;

/// Folders that never go into the history.
const OUTSIDE: [&str; 3] = [layout::OWN, layout::WORKSPACES, ".git"];
/// Endings and names of files that hold keys.
const KEYS: [&str; 5] = [".key", ".pem", ".p12", "id_rsa", "id_ed25519"];

/// Whether the history has room for a path at all: inside the home, and neither Synod's own, an agent's
/// workspace, nor a key.
pub(super) fn is_kept(path: &str) -> bool {
    let mut parts = path.split('/');
    let first = parts.clone().next().unwrap_or_default();
    let name = parts.clone().next_back().unwrap_or_default();
    let plain = |part: &str| !matches!(part, "" | "." | ".." | ".git");
    parts.all(plain)
        && !OUTSIDE.contains(&first)
        && !KEYS.iter().any(|key| name.ends_with(key))
        && !name.starts_with(".env")
}

/// What stands at a path.
pub(super) enum Found {
    /// A file with this content.
    File(New),
    /// Nothing.
    Nothing,
    /// Something that cannot be kept: a link, a folder, a file that is too large or cannot be read.
    Other,
}

/// Reads a file of the home. A link is never followed.
pub(super) fn file(home: &Path, path: &str) -> Found {
    let place = home.join(path);
    let mut above = home.to_path_buf();
    for part in Path::new(path).parent().into_iter().flat_map(Path::components) {
        above.push(part);
        match fs::symlink_metadata(&above) {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(_) => return Found::Other,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Found::Nothing,
            Err(_) => return Found::Other,
        }
    }
    match fs::symlink_metadata(&place) {
        Ok(metadata) if metadata.is_file() && metadata.len() <= disk::FILE_BYTES_MAX => {}
        Ok(_) => return Found::Other,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Found::Nothing,
        Err(_) => return Found::Other,
    }
    let Ok(mut opened) = File::open(&place) else { return Found::Other };
    let mut bytes = Vec::new();
    let Ok(metadata) = opened.metadata() else { return Found::Other };
    match opened.read_to_end(&mut bytes) {
        Ok(_) if metadata.len() == bytes.len() as u64 => Found::File(New::file(bytes, metadata)),
        // It grew while it was read: the content counts, the metadata is of another one.
        Ok(_) => Found::File(New::text(bytes)),
        Err(_) => Found::Other,
    }
}

/// The first `lines` lines.
pub(super) fn head(new: New, lines: u64) -> New {
    let ends = new.bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
    let end = lines.checked_sub(1).map(|n| ends.clone().nth(usize::try_from(n).unwrap_or(usize::MAX)));
    match end {
        None => New::text(Vec::new()),
        Some(Some(end)) if end < new.bytes.len() => New::text(new.bytes[..end].to_vec()),
        Some(_) => new,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_synods_own_an_agents_or_a_key_is_not_kept() {
        for path in [
            ".synod/journal.db",
            "workspaces/a/b",
            "models/openai.key",
            ".env",
            "a/../b",
            "a/.git/config",
            "/x",
        ] {
            assert!(!is_kept(path), "{path}");
        }
        for path in ["synod.yaml", "tasks/a.task.md", "memory/keys.md", "log/audit.jsonl", "inbox/a.jsonl"] {
            assert!(is_kept(path), "{path}");
        }
    }

    #[test]
    fn an_inbox_is_kept_as_far_as_it_was_read() {
        let of = |text: &str, lines| head(New::text(text.as_bytes().to_vec()), lines).bytes;
        assert_eq!(of("a\nb\nc", 2), b"a\nb\n");
        assert_eq!(of("a\nb\nc", 0), b"");
        assert_eq!(of("a\nb\nc", 9), b"a\nb\nc");
    }

    #[test]
    fn a_link_is_not_followed() {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join("memory")).unwrap();
        std::os::unix::fs::symlink("/etc/hostname", home.path().join("memory/a.md")).unwrap();
        std::os::unix::fs::symlink("/etc", home.path().join("tasks")).unwrap();
        assert!(matches!(file(home.path(), "memory/a.md"), Found::Other));
        assert!(matches!(file(home.path(), "tasks/hostname"), Found::Other));
        assert!(matches!(file(home.path(), "none/a"), Found::Nothing));
    }
}
