//! Shared contexts that were granted to the agent: read through their grants, redacted, or not at all.

use domain::context::{self, Access, Granted, Hidden};
use serde_json::Value;

use super::sources::{Asker, Piece, names, text};

/// The ending of the file with the grants.
const ACL: &str = ".acl.yaml";

/// The contexts that the agent may see, by name.
pub(super) fn contexts(asker: &Asker<'_>) -> Vec<Piece> {
    if asker.agent.permissions.can_access_context == Some(false) {
        return Vec::new();
    }
    let granted = names(asker.root, "contexts", ACL).into_iter().filter_map(|name| {
        let path = format!("contexts/{name}");
        // Grants that do not read grant nothing; `synod check` says what is wrong with them.
        let read = formats::acl::read(&path, &text(asker, "contexts", &path)?);
        let stem = name.strip_suffix(ACL)?;
        let who = context::Asker { line: asker.line, ..context::Asker::of(asker.agent) };
        let granted = read.value?.judge(who, stem, Access::Read, asker.now).ok()?;
        [format!("contexts/{stem}.json"), format!("contexts/{stem}.md")]
            .into_iter()
            .find_map(|path| piece(asker, path, &granted))
    });
    granted.collect()
}

fn piece(asker: &Asker<'_>, path: String, granted: &Granted) -> Option<Piece> {
    let content = text(asker, "contexts", &path)?;
    let content = match (granted.redact.is_empty(), path.ends_with(".json")) {
        (true, _) => content,
        (false, true) => redact(&content, granted.redact.iter().map(String::as_str))?,
        // Fields of a text for people cannot be found, and what cannot be hidden is not shown.
        (false, false) => return None,
    };
    let words = format!("A shared context, granted to you for {}: {path}.", granted.access.as_str());
    Some(Piece { read: vec![path.clone()], path, words, content })
}

/// JSON with fields taken out. `None` if it is no JSON.
fn redact<'a>(text: &str, fields: impl Iterator<Item = &'a str>) -> Option<String> {
    let value: Value = serde_json::from_str(text).ok()?;
    serde_json::to_string_pretty(&Hidden::of(fields).shown(&value)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_hidden_however_they_are_written() {
        assert_eq!(redact("no json", ["a"].into_iter()), None);
        let twice = redact(r#"{"a":"one","a":"two"}"#, ["a"].into_iter()).unwrap();
        assert!(!twice.contains("one") && !twice.contains("two"), "{twice}");
        let spelled = redact(r#"{"\u0061":"one"}"#, ["a"].into_iter()).unwrap();
        assert!(!spelled.contains("one"), "{spelled}");
    }
}
