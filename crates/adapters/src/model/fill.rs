//! `{last}` and `{match:1}` in a script's answers.

use serde_json::Value;

/// What the placeholders stand for.
pub(super) struct Fill<'a> {
    pub(super) last: &'a str,
    pub(super) captured: &'a [&'a str],
}

impl Fill<'_> {
    /// The text with its placeholders replaced, in one pass: what was put in is not looked at again. A
    /// placeholder that stands for nothing stays, so that people see it.
    pub(super) fn text(&self, text: &str) -> String {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find('{') {
            filled.push_str(&rest[..at]);
            rest = &rest[at..];
            let placeholder = rest.find('}').map(|end| (&rest[1..end], &rest[end + 1..]));
            match placeholder.and_then(|(name, after)| Some((self.value(name)?, after))) {
                Some((value, after)) => {
                    filled.push_str(value);
                    rest = after;
                }
                None => {
                    filled.push('{');
                    rest = &rest[1..];
                }
            }
        }
        filled.push_str(rest);
        filled
    }

    /// The arguments of a call as text. One text is passed on as it is, JSON or not; in anything else the
    /// placeholders are replaced inside the texts, so that it stays JSON.
    pub(super) fn arguments(&self, value: &Value) -> String {
        match value {
            Value::String(text) => self.text(text),
            other => self.value_of(other).to_string(),
        }
    }

    fn value_of(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(text)),
            Value::Array(items) => items.iter().map(|item| self.value_of(item)).collect(),
            Value::Object(map) => map.iter().map(|(key, item)| (key.clone(), self.value_of(item))).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    fn value(&self, name: &str) -> Option<&str> {
        if name == "last" {
            return Some(self.last);
        }
        let number: usize = name.strip_prefix("match:")?.parse().ok()?;
        self.captured.get(number.checked_sub(1)?).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_replaced_once_and_others_stay() {
        let fill = Fill { last: "say {match:1}", captured: &["one", "{last}"] };
        for (text, expected) in [
            ("{last}!", "say {match:1}!"),
            ("{match:1} and {match:2}", "one and {last}"),
            ("{match:0} {match:3} {match:x} {other} {", "{match:0} {match:3} {match:x} {other} {"),
            ("{{last}}", "{say {match:1}}"),
            ("{a{match:1}}", "{aone}"),
            ("", ""),
        ] {
            assert_eq!(fill.text(text), expected, "{text}");
        }
    }

    #[test]
    fn arguments_stay_json_whatever_is_put_in() {
        let fill = Fill { last: "a \"quoted\"\nline", captured: &[] };
        let given = serde_json::json!({ "path": "x", "content": ["{last}"], "n": 1 });
        let expected = serde_json::json!({ "path": "x", "content": ["a \"quoted\"\nline"], "n": 1 });
        assert_eq!(fill.arguments(&given), expected.to_string());
        assert_eq!(fill.arguments(&Value::from("{broken")), "{broken");
    }
}
