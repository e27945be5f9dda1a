//! Arguments that are almost JSON. Strict reading comes first and what it takes is left alone; then a fence is taken
//! off, or a closing brace that a model forgot is put back. Nothing is guessed: a text, a number or a list that is
//! cut in the middle stays broken, and the model is told.

use serde_json::Value;

/// So many forgotten braces are put back.
const BRACES_MAX: usize = 4;

/// Makes `text` JSON if that takes no guess.
pub(super) fn repair(text: &mut String) {
    if text.trim().is_empty() {
        // A tool without arguments: some providers send nothing, some an empty object.
        "{}".clone_into(text);
    }
    if is_json(text) {
        return;
    }
    if let Some(inner) = unfenced(text).filter(|inner| is_json(inner)) {
        *text = inner.to_owned();
        return;
    }
    if let Some(closed) = closed(text) {
        *text = closed;
    }
}

/// The JSON value in `text`, which may stand in a fence or among words.
pub(super) fn value(text: &str) -> Option<Value> {
    let whole = serde_json::from_str(text.trim()).ok();
    whole.or_else(|| serde_json::from_str(unfenced(text)?).ok()).or_else(|| first_block(text))
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// What stands between the first fence and the last one.
fn unfenced(text: &str) -> Option<&str> {
    let begin = text.find("```")?;
    let end = text.rfind("```").filter(|end| *end > begin)?;
    let inner = &text[begin + 3..end];
    // The word behind the fence names a language.
    let word = inner.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(0);
    Some(inner[word..].trim())
}

/// The first value that begins with a bracket and reads as JSON.
fn first_block(text: &str) -> Option<Value> {
    let begin = text.find(['{', '['])?;
    let mut values = serde_json::Deserializer::from_str(&text[begin..]).into_iter::<Value>();
    values.next()?.ok()
}

/// With the braces that are missing at the end, if only braces are.
fn closed(text: &str) -> Option<String> {
    let text = text.trim_end();
    if !text.ends_with(['"', '}', ']']) {
        return None;
    }
    let mut closed = text.to_owned();
    for _ in 0..BRACES_MAX {
        closed.push('}');
        if is_json(&closed) {
            return Some(closed);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_takes_no_guess_is_repaired() {
        for (given, expected) in [
            (r#"{"a":"```json\n{}\n```"}"#, r#"{"a":"```json\n{}\n```"}"#),
            ("```json\n{\"a\":1}\n```", "{\"a\":1}"),
            ("Here:\n```\n{\"a\":1}\n```\nDone.", "{\"a\":1}"),
            (r#"{"a":{"b":"c""#, r#"{"a":{"b":"c"}}"#),
            (r#"{"a":["b"]"#, r#"{"a":["b"]}"#),
            (r#"{"a":"half of a te"#, r#"{"a":"half of a te"#),
            (r#"{"a":1"#, r#"{"a":1"#),
            (r#"{"a":["b""#, r#"{"a":["b""#),
            (r#"{"a":"b","c""#, r#"{"a":"b","c""#),
            ("", "{}"),
            ("nonsense", "nonsense"),
        ] {
            let mut text = given.to_owned();
            repair(&mut text);
            assert_eq!(text, expected, "{given}");
        }
    }

    #[test]
    fn a_value_is_found_among_words() {
        let expected = Some(serde_json::json!({"a": 1}));
        for text in ["{\"a\":1}", " {\"a\":1}\n", "```json\n{\"a\":1}\n```", "I think {\"a\":1} is right"] {
            assert_eq!(value(text), expected, "{text}");
        }
        assert_eq!(value("no"), None);
    }
}
