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
        Evidence::File(path) => told(toolbox, &order, [path], |root, [path]| file(root, path)).await,
        Evidence::Schema { schema, file } => {
            told(toolbox, &order, [schema, file], |root, [schema, file]| fits(root, schema, file)).await
        }
        Evidence::Approval => Outcome::failed("a person decides this"),
    }
}

/// Looks at files as the agent that works on the task names them.
async fn told<const N: usize>(
    toolbox: &Toolbox,
    order: &Order,
    paths: [String; N],
    look: impl FnOnce(&Root, &[String; N]) -> Result<String, String> + Send + 'static,
) -> Outcome {
    let (root, exact) = (toolbox.root.for_agent(&order.folder()), toolbox.exact.for_agent(&order.folder()));
    let work = move || {
        let read = |path: String| root.read(&path).unwrap_or(path);
        let paths = paths.map(read);
        let looked = look(&exact, &paths);
        Ok((looked, paths))
    };
    match blocking(work).await {
        Ok((Ok(text), paths)) => paths.into_iter().fold(Outcome::done(text), Outcome::reading),
        Ok((Err(text), paths)) => {
            paths.into_iter().fold(Outcome::failed(format!("not done: {text}")), Outcome::reading)
        }
        Err(text) => Outcome::failed(format!("not done: {text}")),
    }
}

fn read(root: &Root, path: &str) -> Result<Vec<u8>, String> {
    let (file, size) = root.file(path).map_err(|refused| root.in_words(refused))?;
    let path = root.shown(path);
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
        return Err(format!("{} is empty", root.shown(path)));
    }
    let digest: String = Sha256::digest(&bytes).iter().map(|b| format!("{b:02x}")).collect();
    Ok(format!("{} is there: {} bytes, sha256 {digest}", root.shown(path), bytes.len()))
}

fn fits(root: &Root, schema: &str, path: &str) -> Result<String, String> {
    let shown = (root.shown(schema), root.shown(path));
    let json = |path: &str| -> Result<serde_json::Value, String> {
        serde_json::from_slice(&read(root, path)?)
            .map_err(|e| format!("{}:{}:{}: not JSON: {e}", root.shown(path), e.line(), e.column()))
    };
    let (rules, value) = (json(schema)?, json(path)?);
    let (schema, path) = shown;
    let validator =
        jsonschema::validator_for(&rules).map_err(|e| format!("{schema} is no JSON Schema: {e}"))?;
    let errors: Vec<String> = validator
        .iter_errors(&value)
        .take(ERRORS_MAX)
        .map(|error| format!("{path} at {:?}: {error}", error.instance_path().to_string()))
        .collect();
    if errors.is_empty() { Ok(format!("{path} fits {schema}")) } else { Err(errors.join("\n")) }
}
