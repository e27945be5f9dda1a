//! Shared contexts that were granted to the agent: read through their grants, redacted, or not at all.

use domain::context::Granted;
use serde_json::Value;

use super::sources::{Asker, Piece, names, text};

/// Stands where a field was.
const REDACTED: &str = "[redacted]";
/// The ending of the file with the grants.
const ACL: &str = ".acl.yaml";
/// The deepest field that is looked for.
const DEPTH_MAX: usize = 64;

/// The contexts that the agent may see, by name.
pub(super) fn contexts(asker: &Asker<'_>) -> Vec<Piece> {
    if asker.agent.permissions.can_access_context == Some(false) {
        return Vec::new();
    }
    let granted = names(asker.root, "contexts", ACL).into_iter().filter_map(|name| {
        let path = format!("contexts/{name}");
        // Grants that do not read grant nothing; `synod check` says what is wrong with them.
        let read = formats::acl::read(&path, &text(asker, "contexts", &path)?);
        let granted = read.value?.granted(asker.agent, asker.now)?;
        let stem = name.strip_suffix(ACL)?;
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

/// JSON with fields taken out: `a.b` is the field `b` of `a`, in every item where a list comes in between. `None` if
/// it is no JSON.
fn redact<'a>(text: &str, fields: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut value: Value = serde_json::from_str(text).ok()?;
    for field in fields {
        let keys: Vec<&str> = field.split('.').take(DEPTH_MAX).collect();
        hide(&mut value, &keys);
    }
    serde_json::to_string_pretty(&value).ok()
}

fn hide(value: &mut Value, keys: &[&str]) {
    match (value, keys) {
        (Value::Array(items), _) => items.iter_mut().for_each(|item| hide(item, keys)),
        (Value::Object(fields), [last]) => {
            if let Some(field) = fields.get_mut(*last) {
                *field = Value::from(REDACTED);
            }
        }
        (Value::Object(fields), [first, rest @ ..]) => {
            if let Some(field) = fields.get_mut(*first) {
                hide(field, rest);
            }
        }
        (Value::Object(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_), _) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_hidden_however_deep_and_in_every_item() {
        let text = r#"{"a":{"b":{"c":1,"d":2}},"list":[{"x":{"y":"s"}},[{"x":{"y":"t","z":3}}]],"c":4}"#;
        let fields = ["a.b.c", "list.x.y", "none.at.all", "c.deeper"];
        let shown: Value = serde_json::from_str(&redact(text, fields.into_iter()).unwrap()).unwrap();
        let expected = serde_json::json!({
            "a": {"b": {"c": REDACTED, "d": 2}},
            "list": [{"x": {"y": REDACTED}}, [{"x": {"y": REDACTED, "z": 3}}]],
            "c": 4
        });
        assert_eq!(shown, expected);
        assert_eq!(redact("no json", ["a"].into_iter()), None);
        let twice = redact(r#"{"a":"one","a":"two"}"#, ["a"].into_iter()).unwrap();
        assert!(!twice.contains("one") && !twice.contains("two"), "{twice}");
        let spelled = redact(r#"{"\u0061":"one"}"#, ["a"].into_iter()).unwrap();
        assert!(!spelled.contains("one"), "{spelled}");
    }
}
