//! Keys: read where the settings say, held as secrets, never printed. Nothing here shows more of a key than where it
//! was looked for.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use domain::settings::KeySource;
use linux_keyutils::{KeyRing, KeyRingIdentifier};
use secrecy::SecretString;

/// A longer text is not a key.
const KEY_BYTES_MAX: usize = 16 << 10;

/// Where a key is, in one home.
#[derive(Debug, Clone)]
pub(super) struct Key {
    home: PathBuf,
    source: KeySource,
}

impl Key {
    pub(super) fn new(home: &Path, source: KeySource) -> Self {
        Self { home: home.to_owned(), source }
    }

    /// Reads the key. Blocks for a moment.
    pub(super) fn read(&self) -> Result<SecretString, String> {
        let (text, place) = match &self.source {
            KeySource::Env(name) => (from_env(name)?, format!("the variable {name}")),
            KeySource::File(path) => (from_file(&self.home, path)?, path.clone()),
            KeySource::Keyring(name) => (from_keyring(name)?, format!("the keyring's {name}")),
        };
        let text = text.trim();
        if text.is_empty() || text.len() > KEY_BYTES_MAX || !text.chars().all(|c| c.is_ascii_graphic()) {
            return Err(format!("{place} holds no key: expected one line of letters, digits and signs"));
        }
        crate::redact::know(text);
        Ok(SecretString::from(text))
    }
}

fn from_env(name: &str) -> Result<String, String> {
    match std::env::var(name) {
        Ok(text) => Ok(text),
        Err(std::env::VarError::NotPresent) => {
            Err(format!("the environment has no {name}; set it before synod starts"))
        }
        Err(std::env::VarError::NotUnicode(_)) => Err(format!("the variable {name} is not text")),
    }
}

fn from_file(home: &Path, path: &str) -> Result<String, String> {
    let full = home.join(path).canonicalize().map_err(|e| format!("{path}: {e}"))?;
    let meta = full.metadata().map_err(|e| format!("{path}: {e}"))?;
    if !meta.is_file() || meta.len() > KEY_BYTES_MAX as u64 {
        return Err(format!("{path} is no file with a key in it"));
    }
    let mode = meta.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(format!("{path} can be read by others (mode {mode:04o}); run `chmod 600 {path}`"));
    }
    if would_be_committed(home, &full) {
        return Err(format!(
            "{path} would be committed; add it to .gitignore, or keep it outside of the home"
        ));
    }
    std::fs::read_to_string(&full).map_err(|e| format!("{path}: {e}"))
}

/// Whether the file lies in a repository with the home and is not ignored there.
fn would_be_committed(home: &Path, file: &Path) -> bool {
    let Ok(home) = home.canonicalize() else { return false };
    let Ok(repository) = git2::Repository::discover(&home) else { return false };
    let Some(root) = repository.workdir().and_then(|root| root.canonicalize().ok()) else { return false };
    let Ok(inside) = file.strip_prefix(&root) else { return false };
    let is_tracked = repository.index().is_ok_and(|index| index.get_path(inside, 0).is_some());
    // In doubt it would be.
    is_tracked || !repository.is_path_ignored(inside).unwrap_or(false)
}

/// Linux keeps keys for a user (`keyctl add user NAME KEY @u`); the session's own come first.
fn from_keyring(name: &str) -> Result<String, String> {
    let rings = [KeyRingIdentifier::Session, KeyRingIdentifier::User];
    let found = rings.into_iter().find_map(|ring| {
        let ring = KeyRing::from_special_id(ring, false).ok()?;
        ring.search(name).and_then(|key| key.read_to_vec()).ok()
    });
    let bytes = found.ok_or_else(|| {
        format!("the keyring has no {name}; add it with `keyctl padd user {name} @u < FILE`")
    })?;
    String::from_utf8(bytes).map_err(|_| format!("the keyring's {name} is not text"))
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;

    use secrecy::ExposeSecret as _;

    use super::*;

    const SECRET: &str = "sk-test-5f2a";

    fn file(home: &Path, name: &str, mode: u32) -> Key {
        let path = home.join(name);
        std::fs::write(&path, format!("{SECRET}\n")).unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        Key::new(home, KeySource::File(name.to_owned()))
    }

    #[test]
    fn a_file_gives_its_key_only_if_nobody_else_can_read_it() {
        let home = tempfile::tempdir().unwrap();
        assert_eq!(file(home.path(), "key", 0o600).read().unwrap().expose_secret(), SECRET);
        assert_eq!(file(home.path(), "key", 0o400).read().unwrap().expose_secret(), SECRET);
        for mode in [0o640, 0o604, 0o660, 0o777] {
            let error = file(home.path(), "key", mode).read().unwrap_err();
            assert!(error.contains("can be read by others") && error.contains("chmod 600"), "{error}");
        }
    }

    #[test]
    fn a_file_that_would_be_committed_gives_no_key() {
        let home = tempfile::tempdir().unwrap();
        let repository = git2::Repository::init(home.path()).unwrap();
        let key = file(home.path(), "key", 0o600);
        let error = key.read().unwrap_err();
        assert!(error.contains("would be committed"), "{error}");
        std::fs::write(home.path().join(".gitignore"), "key\n").unwrap();
        assert_eq!(key.read().unwrap().expose_secret(), SECRET);
        // Ignored, but committed all the same.
        let mut index = repository.index().unwrap();
        index.add_path(Path::new("key")).unwrap();
        index.write().unwrap();
        assert!(key.read().is_err());
    }

    #[test]
    fn a_key_that_is_missing_or_odd_is_told_without_being_shown() {
        let home = tempfile::tempdir().unwrap();
        let read = |source| Key::new(home.path(), source).read().unwrap_err();
        let env = read(KeySource::Env("SYNOD_TEST_NO_SUCH_KEY".to_owned()));
        assert_eq!(env, "the environment has no SYNOD_TEST_NO_SUCH_KEY; set it before synod starts");
        assert!(read(KeySource::File("gone".to_owned())).starts_with("gone: "));
        assert!(read(KeySource::Keyring("synod-test-none".to_owned())).contains("no synod-test-none"));
        for odd in ["", "two words", "new\nline", "\u{1b}x"] {
            let key = file(home.path(), "odd", 0o600);
            std::fs::write(home.path().join("odd"), odd).unwrap();
            let error = key.read().unwrap_err();
            assert!(error.starts_with("odd holds no key"), "{error}");
            assert!(odd.is_empty() || !error.contains(odd), "{error}");
        }
    }

    #[test]
    fn the_keyring_gives_the_key_with_that_name() {
        let session = KeyRing::from_special_id(KeyRingIdentifier::Session, true).unwrap();
        let name = format!("synod-test-{}", std::process::id());
        let key = session.add_key(&name, SECRET).unwrap();
        let read = Key::new(Path::new("."), KeySource::Keyring(name)).read();
        key.invalidate().unwrap();
        assert_eq!(read.unwrap().expose_secret(), SECRET);
    }

    #[test]
    fn a_secret_does_not_show_in_debug() {
        let home = tempfile::tempdir().unwrap();
        let key = file(home.path(), "key", 0o600);
        let shown = format!("{key:?} {:?}", key.read().unwrap());
        assert!(!shown.contains(SECRET), "{shown}");
    }
}
