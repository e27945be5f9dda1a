//! JSON whose numbers stay what they are: one that is too long for a machine is carried along as it is written, and
//! printed so again.

use serde_json::{Number, Value};

/// Begins what stands for a number as it is written. No text that people write has this character.
const RAW: char = '\u{fdd0}';
/// Stands before a text that begins with one of these two.
const TEXT: char = '\u{fdd1}';

/// The value of a JSON text; numbers that would not come out again as they went in are texts that begin with `RAW`.
pub(super) fn read(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str(&marked(text)).map_err(|error| {
        // The place of the mistake is that in the text as it is.
        serde_json::from_str::<Value>(text).err().unwrap_or(error)
    })
}

/// A value that others read, as `read` would give it.
pub(super) fn carried(value: Value) -> Value {
    match value {
        Value::String(text) if text.starts_with([RAW, TEXT]) => Value::String(format!("{TEXT}{text}")),
        Value::Array(items) => items.into_iter().map(carried).collect(),
        Value::Object(fields) => fields.into_iter().map(|(key, value)| (key, carried(value))).collect(),
        value @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => value,
    }
}

/// What `read` would give this value for, over several lines.
pub(super) fn print(value: &Value) -> String {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    let mut printed = String::with_capacity(text.len());
    for token in tokens(&text) {
        let inner = token.text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        match inner.filter(|_| !token.is_key) {
            Some(inner) if inner.starts_with(RAW) => printed.push_str(&inner[RAW.len_utf8()..]),
            Some(inner) if inner.starts_with(TEXT) => {
                printed.push('"');
                printed.push_str(&inner[TEXT.len_utf8()..]);
                printed.push('"');
            }
            Some(_) | None => printed.push_str(token.text),
        }
    }
    printed
}

fn marked(text: &str) -> String {
    let mut marked = String::with_capacity(text.len());
    for token in tokens(text) {
        match token.text.chars().next() {
            Some('"') if !token.is_key && begins_marked(&token.text[1..]) => {
                marked.push('"');
                marked.push(TEXT);
                marked.push_str(&token.text[1..]);
            }
            Some('-' | '0'..='9') if is_number(token.text) && !is_exact(token.text) => {
                marked.push('"');
                marked.push(RAW);
                marked.push_str(token.text);
                marked.push('"');
            }
            Some(_) | None => marked.push_str(token.text),
        }
    }
    marked
}

/// Whether the inside of a text begins with a mark, spelled in either way.
fn begins_marked(inner: &str) -> bool {
    let spelled = inner.get(..6).map(str::to_ascii_lowercase);
    inner.starts_with([RAW, TEXT]) || matches!(spelled.as_deref(), Some("\\ufdd0" | "\\ufdd1"))
}

/// A text in quotes, what can be a number, or what is between them.
struct Token<'a> {
    text: &'a str,
    /// Whether it is a text that names a field.
    is_key: bool,
}

fn tokens(text: &str) -> impl Iterator<Item = Token<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let length = match first {
            '"' => quoted(rest),
            '-' | '0'..='9' => rest
                .find(|c: char| !matches!(c, '0'..='9' | '+' | '-' | '.' | 'e' | 'E'))
                .unwrap_or(rest.len()),
            _ => {
                rest.find(['"', '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']).unwrap_or(rest.len())
            }
        };
        let (token, after) = rest.split_at(length);
        rest = after;
        let is_key = first == '"' && after.trim_start_matches([' ', '\t', '\r', '\n']).starts_with(':');
        Some(Token { text: token, is_key })
    })
}

/// How long the text is that begins here, with its quotes.
fn quoted(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            b'"' if !is_escaped => return at + 1,
            byte => is_escaped = byte == b'\\' && !is_escaped,
        }
    }
    text.len()
}

/// Whether it is a number as JSON has them.
fn is_number(text: &str) -> bool {
    let digits = |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let text = text.strip_prefix('-').unwrap_or(text);
    let whole = digits(text);
    if whole == 0 || (whole > 1 && text.starts_with('0')) {
        return false;
    }
    let mut rest = &text[whole..];
    if let Some(part) = rest.strip_prefix('.') {
        if digits(part) == 0 {
            return false;
        }
        rest = &part[digits(part)..];
    }
    match rest.strip_prefix(['e', 'E']) {
        Some(power) => {
            let power = power.strip_prefix(['+', '-']).unwrap_or(power);
            digits(power) > 0 && digits(power) == power.len()
        }
        None => rest.is_empty(),
    }
}

/// Whether it is printed as the same number again.
fn is_exact(text: &str) -> bool {
    let printed = serde_json::from_str::<Number>(text).ok().map(|number| number.to_string());
    printed.is_some_and(|printed| plain(&printed).is_some_and(|printed| Some(printed) == plain(text)))
}

/// A number as its sign, its digits without zeros around them, and how far they stand from the point; `None` if that is
/// too far to say.
fn plain(text: &str) -> Option<(bool, String, i64)> {
    let is_negative = text.starts_with('-');
    let text = text.trim_start_matches('-');
    let (mantissa, power) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{part}");
    let digits = digits.trim_start_matches('0');
    let short = digits.trim_end_matches('0');
    if short.is_empty() {
        return Some((is_negative, String::new(), 0));
    }
    let power: i64 = power.parse().ok()?;
    let moved = i64::try_from(digits.len() - short.len()).ok()? - i64::try_from(part.len()).ok()?;
    Some((is_negative, short.to_owned(), power.checked_add(moved)?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_come_out_as_the_same_numbers() {
        for (text, printed) in [
            ("123456789012345678901234567890", None),
            ("0.1000000000000000055511151231257827", None),
            ("-18446744073709551616.5", None),
            ("1e400", None),
            ("1E+99999999999999999999", None),
            ("18446744073709551615", None),
            ("-9223372036854775808", None),
            ("0.1", None),
            ("-0.0", None),
            ("1.50", Some("1.5")),
            ("1e2", Some("100.0")),
        ] {
            let value = read(&format!("[{text}]")).unwrap();
            let out: String = print(&value).split_whitespace().collect();
            assert_eq!(out, format!("[{}]", printed.unwrap_or(text)));
        }
        for bad in ["01", "1.", "-", "1e", "+1", ".5", "--1", "1-2", "0x1"] {
            assert!(read(&format!("[{bad}]")).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_text_that_looks_like_a_carried_number_stays_a_text() {
        let text =
            "{\"\u{fdd0}1\": \"\u{fdd0}1\", \"b\": \"\\uFDD1x\", \"c\": \"\\\\\\\"1e400\", \"d\": \"1e400\"}";
        let plain: Value = serde_json::from_str(text).unwrap();
        let value = read(text).unwrap();
        assert_eq!(value, carried(plain.clone()));
        assert!(value.get("\u{fdd0}1").is_some(), "names of fields are as they are");
        assert_eq!(serde_json::from_str::<Value>(&print(&value)).unwrap(), plain);
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<i32>().prop_map(|number| json!(f64::from(number) / 8.0)),
            "[\u{fdd0}\u{fdd1}\"\\\\1e:, ä-]{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::btree_map("[\u{fdd0}\u{fdd1}\":1a]{0,3}", inner, 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_a_machine_can_hold_is_read_and_printed_as_ever(value in value(), pretty: bool) {
            let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
            let text = text.unwrap();
            let read = read(&text).unwrap();
            prop_assert_eq!(&read, &carried(value.clone()));
            prop_assert_eq!(serde_json::from_str::<Value>(&print(&read)).unwrap(), value);
        }

        #[test]
        fn what_is_no_json_is_none_with_long_numbers_either(text in "[\\[\\]{}\",:0-9eE+.a\\\\ -]{0,12}") {
            let (ours, theirs) = (read(&text), serde_json::from_str::<Value>(&text));
            // Only a number that is too large for a machine may be read beyond what is read otherwise.
            let out_of_range = theirs.as_ref().is_err_and(|error| error.to_string().contains("out of range"));
            prop_assert!(ours.is_ok() == theirs.is_ok() || out_of_range, "{}", text);
        }
    }
}
