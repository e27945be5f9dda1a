//! `synod trust`: which files are from outside, and vouching for one.

use std::path::{Component, Path};

use domain::input::Input;
use domain::input::PersonInput;
use formats::labels;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use web::api::Request;

use super::mark::leave;
use crate::failure::{Exit, fail};
use crate::home::person;
use crate::out::Out;

/// Files that are larger are not read by a person before they vouch for them.
const BYTES_MAX: u64 = 16 << 20;

pub fn list(home: &Path, out: &Out) -> anyhow::Result<Exit> {
    let text = match std::fs::read_to_string(home.join(labels::PATH)) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => {
            return Err(fail(Exit::Failed, format!("{}: {error}", labels::PATH), "make it readable"));
        }
    };
    let labels = labels::read(&text);
    if out.json {
        let files: Vec<_> =
            labels.iter().map(|(path, label)| json!({ "path": path, "label": label.to_string() })).collect();
        out.value(json!({ "files": files }));
        return Ok(Exit::Ok);
    }
    if labels.is_empty() {
        out.line("no file was written from what is not to be trusted");
    }
    for (path, label) in &labels {
        out.line(format!("{path}  {label}"));
    }
    Ok(Exit::Ok)
}

pub fn vouch(home: &Path, path: &str, out: &Out) -> anyhow::Result<Exit> {
    let help = "give a file of the home, relative to it, such as memory/notes.md";
    let plain = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
    if !plain || path.is_empty() {
        return Err(fail(Exit::Usage, format!("{path:?} is not a path in the home"), help));
    }
    let place = home.join(path);
    let meta = std::fs::symlink_metadata(&place)
        .map_err(|error| fail(Exit::Failed, format!("{path}: {error}"), help))?;
    if !meta.is_file() || meta.len() > BYTES_MAX {
        let what = format!("{path} is not a file of at most {BYTES_MAX} bytes");
        return Err(fail(Exit::Failed, what, help));
    }
    let content =
        std::fs::read(&place).map_err(|error| fail(Exit::Failed, format!("{path}: {error}"), help))?;
    let digest: String = Sha256::digest(&content).iter().map(|b| format!("{b:02x}")).collect();
    let request = Request::Vouch { path: path.to_owned(), digest: digest.clone(), by: person() };
    let input =
        Input::Person(PersonInput::TrustFile { path: path.to_owned(), digest: digest.clone(), by: person() });
    leave(home, &request, input, "`synod trust list` shows which files are from outside")?;
    if out.json {
        out.value(json!({ "vouched": path, "sha256": digest }));
    } else {
        out.line(format!("you vouch for {path} as it stands (sha256 {digest})"));
    }
    Ok(Exit::Ok)
}
