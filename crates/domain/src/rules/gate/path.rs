//! Paths of the home as agents name them: their plain form, and which of them no tool reads or writes.

use policy::hidden_character;
use policy::path::{CONTROL, CONTROL_ANYWHERE, CONTROL_FILES, beneath, folded, parts};

/// How files end by which people say who may see a shared context.
const GRANTS_END: &str = ".acl.yaml";
/// Folders that Synod prints; agents change them through their own tools.
pub const PRINTED: [(&str, &str); 3] =
    [("tasks", "create_task and update_task"), ("sessions", "send_message"), ("inbox", "slack_send")];

pub(super) fn readable(path: &str) -> Result<String, (String, String)> {
    let clean = clean(path)?;
    if beneath(&clean, ".synod") {
        return Err((
            ".synod is closed to agents".to_owned(),
            "the folder .synod belongs to Synod alone; read the files of the home instead".to_owned(),
        ));
    }
    Ok(clean)
}

pub(super) fn writable(path: &str) -> Result<String, (String, String)> {
    let clean = clean(path)?;
    let control = CONTROL
        .iter()
        .find(|folder| beneath(&clean, folder))
        .or_else(|| CONTROL_FILES.iter().find(|f| beneath(&clean, f)));
    if let Some(what) = control {
        return Err((
            format!("control file {what}"),
            format!("{clean} is one of the files by which people keep control; no agent may write it"),
        ));
    }
    let folded_path = folded(&clean);
    let is_grants = parts(&folded_path).last().is_some_and(|name| name.ends_with(GRANTS_END));
    if is_grants && beneath(&clean, "contexts") {
        return Err((
            "control file contexts/*.acl.yaml".to_owned(),
            format!("{clean} says who may see a shared context, which people decide; no agent may write it"),
        ));
    }
    if parts(&folded_path).any(|part| CONTROL_ANYWHERE.contains(&part)) {
        return Err((
            "control folder .git".to_owned(),
            format!("{clean} is in a folder whose files git runs; no agent may write it"),
        ));
    }
    if let Some((folder, instead)) = PRINTED.iter().find(|(folder, _)| beneath(&clean, folder)) {
        return Err((
            format!("{folder}/ is printed by synod"),
            format!("{clean} is printed by Synod; use {instead} instead"),
        ));
    }
    Ok(clean)
}

/// The path in its plain form, relative to the home. Compared without case, because some file systems do.
fn clean(path: &str) -> Result<String, (String, String)> {
    let refuse = |why: &str| {
        Err((
            "paths stay beneath the home".to_owned(),
            format!("{path:?} {why}; give a path relative to the home, such as memory/notes.md"),
        ))
    };
    if path.starts_with('/') || path.starts_with('~') {
        return refuse("is not relative");
    }
    if path.contains('\\') || hidden_character(path).is_some() || path.contains('\n') {
        return refuse("has characters that paths here do not have");
    }
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => return refuse("has a '..'"),
            part => parts.push(part),
        }
    }
    Ok(parts.join("/"))
}
