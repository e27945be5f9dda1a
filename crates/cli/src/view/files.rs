//! Which files a home has, and their text.

use std::fmt;
use std::fs;
use std::io::{self, Read};
use std::path::Path;

use adapters::disk::{FILE_BYTES_MAX, is_passing};
use domain::layout::{self, Decided};

/// Why a file has no text.
#[derive(Debug)]
pub enum Unreadable {
    /// The system does not give it.
    System(io::Error),
    /// A folder, a pipe, a device.
    NotAFile,
    /// More than Synod reads.
    TooLarge {
        /// Its size.
        bytes: u64,
    },
    /// Bytes that are no text.
    NotUtf8 {
        /// What there is.
        bytes: Vec<u8>,
        /// How many bytes are good.
        good: usize,
    },
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System(error) if error.kind() == io::ErrorKind::NotFound => {
                f.write_str("it does not exist")
            }
            Self::System(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                f.write_str("permission is denied")
            }
            Self::System(error) => write!(f, "{error}"),
            Self::NotAFile => f.write_str("it is not a regular file"),
            Self::TooLarge { bytes } => write!(f, "it has {bytes} bytes, at most {FILE_BYTES_MAX} are read"),
            Self::NotUtf8 { good, .. } => write!(f, "byte {} is not UTF-8", good + 1),
        }
    }
}

/// The text of a file, by its path relative to the home.
pub fn read(home: &Path, path: &str) -> Result<String, Unreadable> {
    let mut bytes = Vec::new();
    open(home, path)?.read_to_end(&mut bytes).map_err(Unreadable::System)?;
    String::from_utf8(bytes).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        Unreadable::NotUtf8 { bytes: error.into_bytes(), good }
    })
}

/// Opens a file for reading. Looked at first: opening a pipe would wait for somebody to write.
pub fn open(home: &Path, path: &str) -> Result<fs::File, Unreadable> {
    let path = home.join(path);
    let metadata = fs::metadata(&path).map_err(Unreadable::System)?;
    if !metadata.is_file() {
        return Err(Unreadable::NotAFile);
    }
    if metadata.len() > FILE_BYTES_MAX {
        return Err(Unreadable::TooLarge { bytes: metadata.len() });
    }
    fs::File::open(&path).map_err(Unreadable::System)
}

/// The files of a folder whose names end so, sorted, relative to the home. None if there is no such folder.
pub fn list(home: &Path, folder: &str, ending: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir(home.join(folder)) else { return Vec::new() };
    let names =
        entries.flatten().filter(|e| !is_passing(&e.path())).filter_map(|e| e.file_name().into_string().ok());
    let mut found: Vec<String> =
        names.filter(|name| name.ends_with(ending)).map(|name| format!("{folder}/{name}")).collect();
    found.sort();
    found
}

/// The files of agents, of both kinds.
pub fn agents(home: &Path) -> Vec<String> {
    let mut found = list(home, layout::AGENTS, layout::AGENT_END);
    let folders = list(home, layout::AGENTS, "").into_iter().map(|folder| format!("{folder}/agent.json"));
    found.extend(folders.filter(|path| home.join(path).exists()));
    found
}

/// Task files; the queue of approvals is among them.
pub fn tasks(home: &Path) -> Vec<String> {
    list(home, layout::TASKS, layout::TASK_END)
}

/// Every file that Synod reads and people write or may edit.
pub fn all(home: &Path) -> Vec<String> {
    let single =
        [layout::SETTINGS, layout::EVE, layout::RUN_MODE, layout::PROJECT_RUN_MODE, layout::COMMANDS];
    let exists = |path: &&str| home.join(path).symlink_metadata().is_ok();
    let mut found: Vec<String> = single.into_iter().filter(exists).map(str::to_owned).collect();
    found.extend(agents(home));
    found.extend(tasks(home));
    found.extend(list(home, layout::SESSIONS, layout::SESSION_END));
    for folder in Decided::ALL.map(Decided::folder) {
        found.extend(list(home, folder, layout::APPROVAL_END));
    }
    found.extend(
        list(home, layout::INBOX, layout::LINES_END)
            .into_iter()
            .filter(|path| !path.ends_with(layout::OUTBOX_END)),
    );
    let grants = list(home, layout::CONTEXTS, layout::GRANTS_END);
    let texts =
        grants.iter().flat_map(|path| [".md", ".json"].map(|end| path.replace(layout::GRANTS_END, end)));
    found.extend(texts.filter(|path| home.join(path).exists()));
    found.extend(grants);
    let settings = super::settings(home);
    let scripts = settings.scripts().map(str::to_owned);
    found.extend(scripts.filter(|path| home.join(path).exists()));
    found.sort();
    found.dedup();
    found
}

/// Where a text stops being JSON, from 1, and why; nothing if it is JSON.
pub fn not_json(text: &str) -> Option<(usize, usize, String)> {
    // As it stands: a number may be longer than a machine takes.
    let error = serde_json::from_str::<&serde_json::value::RawValue>(text).err()?;
    // The end of a text that ends with a line is before the first column of the next.
    let (line, column) = (error.line().max(1), error.column().max(1));
    let said = error.to_string();
    let why = said.split(" at line ").next().unwrap_or_default().to_owned();
    Some((line, column, why))
}
