//! Looking at evidence: what a task demands is there, or it is said what is missing.

use std::io::Read as _;

use domain::evidence::Evidence;
use domain::tool::{Act, ExecuteCommand};
use ports::tools::{Order, Outcome, Tools as _};
use sha2::{Digest as _, Sha256};

use super::{Toolbox, blocking};
use crate::beneath::Root;

/// Larger files are no evidence.
const BYTES_MAX: u64 = 16 << 20;
/// So many errors against a schema are told.
const ERRORS_MAX: usize = 10;
/// How an outcome of a command begins that ended well.
pub(super) const ENDED_WELL: &str = "exit code: 0\n";

/// Looks whether one piece of evidence is there; a failure says what is missing.
pub(super) async fn check(toolbox: &Toolbox, order: Order, evidence: Evidence) -> Outcome {
    match evidence {
        Evidence::Command(command) => {
            let act = Act::ExecuteCommand(ExecuteCommand { command });
            let outcome = toolbox.run(Order { act, ..order }).await;
            Outcome { ok: outcome.ok && outcome.text.starts_with(ENDED_WELL), ..outcome }
        }
        Evidence::File(path) => {
            let place = path.clone();
            told(toolbox, move |root| file(root, &path)).await.reading(place)
        }
        Evidence::Schema { schema, file } => {
            let places = [schema.clone(), file.clone()];
            let outcome = told(toolbox, move |root| fits(root, &schema, &file)).await;
            places.into_iter().fold(outcome, Outcome::reading)
        }
        Evidence::Approval => Outcome::failed("a person decides this"),
    }
}

async fn told(
    toolbox: &Toolbox,
    look: impl FnOnce(&Root) -> Result<String, String> + Send + 'static,
) -> Outcome {
    let root = toolbox.exact.clone();
    match blocking(move || look(&root)).await {
        Ok(text) => Outcome::done(text),
        Err(text) => Outcome::failed(format!("not done: {text}")),
    }
}

fn read(root: &Root, path: &str) -> Result<Vec<u8>, String> {
    let (file, size) = root.file(path).map_err(|e| e.to_string())?;
    if size > BYTES_MAX {
        return Err(format!("{path} has {size} bytes, more than {BYTES_MAX}"));
    }
    let mut bytes = Vec::new();
    file.take(BYTES_MAX).read_to_end(&mut bytes).map_err(|e| format!("{path} cannot be read: {e}"))?;
    Ok(bytes)
}

fn file(root: &Root, path: &str) -> Result<String, String> {
    let bytes = read(root, path)?;
    if bytes.is_empty() {
        return Err(format!("{path} is empty"));
    }
    let digest: String = Sha256::digest(&bytes).iter().map(|b| format!("{b:02x}")).collect();
    Ok(format!("{path} is there: {} bytes, sha256 {digest}", bytes.len()))
}

fn fits(root: &Root, schema: &str, path: &str) -> Result<String, String> {
    let json = |path: &str| -> Result<serde_json::Value, String> {
        serde_json::from_slice(&read(root, path)?)
            .map_err(|e| format!("{path}:{}:{}: not JSON: {e}", e.line(), e.column()))
    };
    let (rules, value) = (json(schema)?, json(path)?);
    let validator =
        jsonschema::validator_for(&rules).map_err(|e| format!("{schema} is no JSON Schema: {e}"))?;
    let errors: Vec<String> = validator
        .iter_errors(&value)
        .take(ERRORS_MAX)
        .map(|error| format!("{path} at {:?}: {error}", error.instance_path().to_string()))
        .collect();
    if errors.is_empty() { Ok(format!("{path} fits {schema}")) } else { Err(errors.join("\n")) }
}
