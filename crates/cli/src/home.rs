//! Finding the home a command is about.

use std::path::{Path, PathBuf};

use domain::layout;

use crate::failure::{Exit, fail};

/// The home named by `--home` or `SYNOD_HOME`, else the nearest folder upwards that has a `synod.yaml` or an `eve.json`.
pub fn find(given: Option<&Path>) -> anyhow::Result<PathBuf> {
    if let Some(given) = given {
        let home = given.canonicalize().map_err(|error| {
            fail(
                Exit::Failed,
                format!("{} cannot be opened: {error}", given.display()),
                "give a folder that exists, or make a home with `synod init DIR`",
            )
        })?;
        return match is_home(&home) {
            true => Ok(home),
            false => Err(fail(
                Exit::Failed,
                format!("{} is not a home: it has no synod.yaml and no eve.json", given.display()),
                "make it one with `synod init DIR`",
            )),
        };
    }
    let here = std::env::current_dir()?;
    let found = here.ancestors().find(|folder| is_home(folder));
    found.map(Path::to_path_buf).ok_or_else(|| {
        fail(
            Exit::Failed,
            format!("{} is not in a home: there is no synod.yaml here or above", here.display()),
            "go into a home, name one with --home DIR, or make one with `synod init DIR`",
        )
    })
}

/// Whether a folder has settings.
fn is_home(folder: &Path) -> bool {
    layout::SETTINGS_FILES.iter().any(|file| folder.join(file).is_file())
}

/// Who gives this command, for the record.
pub fn person() -> String {
    for key in ["SYNOD_USER", "USER", "LOGNAME"] {
        if let Ok(name) = std::env::var(key)
            && !name.trim().is_empty()
        {
            return name.trim().to_owned();
        }
    }
    "owner".to_owned()
}
