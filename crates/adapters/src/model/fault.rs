//! What can go wrong between Synod and a provider, and what follows from it: ask again, ask another model, or tell
//! the person. Messages never carry more of a foreign text than a line.

use std::error::Error;
use std::time::Duration;

use ports::model::{ErrorKind, ModelError};
use reqwest::StatusCode;
use reqwest::header::HeaderMap;
use serde_json::Value;

/// Nobody waits longer than this, whatever a header says.
const WAIT_MS_MAX: u64 = 3_600_000;
/// So much of what a provider says is told.
const SAID_CHARS_MAX: usize = 300;
/// A chain of causes is told up to here.
const CAUSES_MAX: usize = 4;

/// What a person can do if a shorter conversation does not fit either.
const TOO_LONG: &str = "; the conversation is too long for this model: set models.<alias>.context_tokens in synod.yaml, or cut the session";

/// It may go better in a moment.
pub(super) fn again(message: String) -> ModelError {
    ModelError::new(ErrorKind::Retry { after_ms: 0 }, message)
}

/// The provider does not answer, whatever it is asked.
pub(super) fn outage(message: String) -> ModelError {
    ModelError::new(ErrorKind::Outage { after_ms: 0 }, message)
}

/// The provider takes no request with this key, account or address.
pub(super) fn denied(message: String) -> ModelError {
    ModelError::new(ErrorKind::Denied, message)
}

/// This model does not serve; another may.
pub(super) fn down(message: String) -> ModelError {
    ModelError::new(ErrorKind::Down, message)
}

/// Less of the conversation may fit.
fn too_long(message: String) -> ModelError {
    ModelError::new(ErrorKind::TooLong, message)
}

/// No model would answer this.
pub(super) fn give_up(message: String) -> ModelError {
    ModelError::new(ErrorKind::GiveUp, message)
}

/// What a provider's refusal with this status means.
pub(super) fn status(
    who: &str,
    model: &str,
    status: StatusCode,
    headers: &HeaderMap,
    body: &[u8],
) -> ModelError {
    let said = Said::read(body);
    let after_ms = after_ms(headers, jiff::Timestamp::now());
    let told = |advice: &str| {
        let words = if said.words.is_empty() { String::new() } else { format!(": {}", said.words) };
        format!("{who} answers {}{words}{advice}", named(status))
    };
    if said.is_too_long() {
        return too_long(told(TOO_LONG));
    }
    match status.as_u16() {
        300..=399 => {
            let to = headers.get("location").and_then(|to| to.to_str().ok()).unwrap_or("another place");
            let to = line(to);
            denied(format!(
                "{who} sends requests on to {to}; keys do not follow, so put that address into base_url"
            ))
        }
        401 => denied(told("; the key is missing or wrong, see `key` of this provider in synod.yaml")),
        402 => denied(told("; the account has no credit")),
        403 => down(told("; this key may not use this model")),
        404 => down(told(&format!("; it does not know the model {model:?}, or base_url is wrong"))),
        413 => too_long(told(TOO_LONG)),
        429 if said.is_out_of_credit() => denied(told("; the account has no credit left")),
        429 | 529 => ModelError::new(ErrorKind::Limited { after_ms }, told("")),
        501 | 505 => denied(told("; base_url is no such API")),
        408 | 409 | 425 | 500..=599 => ModelError::new(ErrorKind::Outage { after_ms }, told("")),
        _ => give_up(told("")),
    }
}

/// What an error inside an answer that began well means.
pub(super) fn in_band(who: &str, error: &Value) -> ModelError {
    let said = Said::of(error);
    let told = |advice: &str| format!("{who} breaks off: {}{advice}", said.words);
    if said.is_too_long() {
        return too_long(told(TOO_LONG));
    }
    if said.is_out_of_credit() {
        return denied(told("; the account has no credit left"));
    }
    match said.kind.as_str() {
        "invalid_request_error" => give_up(told("")),
        "authentication_error" | "billing_error" => denied(told("")),
        "permission_error" | "not_found_error" => down(told("")),
        "overloaded_error" | "rate_limit_error" | "rate_limit_exceeded" => {
            ModelError::new(ErrorKind::Limited { after_ms: 0 }, told(""))
        }
        "api_error" | "server_error" | "timeout_error" => outage(told("")),
        _ => again(told("")),
    }
}

/// What an answer that never came means.
pub(super) fn transport(who: &str, error: &reqwest::Error, connect: Duration) -> ModelError {
    if error.is_connect() && error.is_timeout() {
        return outage(format!("{who} cannot be reached within {} ms", connect.as_millis()));
    }
    let doing = if error.is_connect() { "cannot be reached" } else { "breaks the connection" };
    outage(format!("{who} {doing}: {}", causes(error)))
}

/// What an error says, without the address, which it repeats, and with its causes, which it leaves out.
fn causes(error: &reqwest::Error) -> String {
    let mut texts: Vec<String> = Vec::new();
    let mut at: Option<&dyn Error> = error.source();
    while let Some(cause) = at.filter(|_| texts.len() < CAUSES_MAX) {
        let text = line(&cause.to_string());
        if !texts.iter().any(|t| t.contains(&text)) {
            texts.push(text);
        }
        at = cause.source();
    }
    if texts.is_empty() { "no reason is given".to_owned() } else { texts.join(": ") }
}

/// `429 Too Many Requests`.
fn named(status: StatusCode) -> String {
    match status.canonical_reason() {
        Some(reason) => format!("{} {reason}", status.as_u16()),
        None => status.as_u16().to_string(),
    }
}

/// One line of a foreign text: no control characters, cut to a bound.
pub(super) fn line(text: &str) -> String {
    let clean = text.split(|c: char| c.is_control() || c.is_whitespace()).filter(|word| !word.is_empty());
    let clean = clean.collect::<Vec<_>>().join(" ");
    let mut cut: String = clean.chars().take(SAID_CHARS_MAX).collect();
    if cut.len() < clean.len() {
        cut.push('…');
    }
    cut
}

/// What a provider says about an error, in whichever of the usual forms.
struct Said {
    /// `rate_limit_error`, `insufficient_quota`.
    kind: String,
    code: String,
    words: String,
}

impl Said {
    fn read(body: &[u8]) -> Self {
        let text = String::from_utf8_lossy(body);
        match serde_json::from_slice::<Value>(body) {
            Ok(value) => Self::of(value.get("error").unwrap_or(&value)),
            // A page for people says nothing that fits on a line.
            Err(_) if text.trim_start().starts_with('<') => Self::plain("a web page"),
            Err(_) => Self::plain(&text),
        }
    }

    fn of(error: &Value) -> Self {
        let text = |key: &str| error.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let words = match error {
            Value::String(words) => words.clone(),
            _ => text("message"),
        };
        let words = if words.is_empty() { error.to_string() } else { words };
        Self { kind: text("type"), code: text("code"), words: line(&words) }
    }

    fn plain(words: &str) -> Self {
        Self { kind: String::new(), code: String::new(), words: line(words) }
    }

    fn is_too_long(&self) -> bool {
        let words = self.words.to_lowercase();
        self.code == "context_length_exceeded"
            || self.kind == "request_too_large"
            || self.kind == "exceed_context_size_error"
            || [
                "maximum context length",
                "context window",
                "prompt is too long",
                "context size",
                "context limit",
            ]
            .iter()
            .any(|part| words.contains(part))
    }

    fn is_out_of_credit(&self) -> bool {
        [&self.kind, &self.code].iter().any(|word| *word == "insufficient_quota" || *word == "billing_error")
    }
}

/// How long the headers ask to wait, in milliseconds; 0 if they do not.
pub(super) fn after_ms(headers: &HeaderMap, now: jiff::Timestamp) -> u64 {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let exact = text("retry-after-ms").and_then(|ms| ms.parse::<f64>().ok()).map(|ms| ms / 1_000.0);
    let asked = exact.map(seconds_ms).or_else(|| text("retry-after").and_then(|t| wait_ms(t, now)));
    asked.or_else(|| window_ms(headers, now)).unwrap_or(0).min(WAIT_MS_MAX)
}

/// When the window opens that the headers call used up, from now, in milliseconds.
pub(super) fn window_ms(headers: &HeaderMap, now: jiff::Timestamp) -> Option<u64> {
    let text = |name: String| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let windows = [
        ("x-ratelimit-remaining-", "x-ratelimit-reset-", "requests"),
        ("x-ratelimit-remaining-", "x-ratelimit-reset-", "tokens"),
    ]
    .map(|(left, reset, what)| (format!("{left}{what}"), format!("{reset}{what}")));
    let anthropic = ["requests", "tokens", "input-tokens", "output-tokens"].map(|what| {
        (format!("anthropic-ratelimit-{what}-remaining"), format!("anthropic-ratelimit-{what}-reset"))
    });
    let used_up = windows.into_iter().chain(anthropic).filter(|(left, _)| text(left.clone()) == Some("0"));
    used_up.filter_map(|(_, reset)| wait_ms(text(reset)?, now)).max().map(|ms| ms.min(WAIT_MS_MAX))
}

/// `30`, `1.5`, `6m0s`, `20ms`, a date of HTTP or of RFC 3339.
fn wait_ms(text: &str, now: jiff::Timestamp) -> Option<u64> {
    if let Ok(seconds) = text.parse::<f64>() {
        return Some(seconds_ms(seconds));
    }
    if let Some(ms) = duration_ms(text) {
        return Some(ms);
    }
    let http = || jiff::fmt::rfc2822::parse(text).ok().map(|at| at.timestamp());
    let at: jiff::Timestamp = text.parse().ok().or_else(http)?;
    Some(u64::try_from(at.as_millisecond() - now.as_millisecond()).unwrap_or(0))
}

/// `1h2m3.5s`, `20ms`.
fn duration_ms(text: &str) -> Option<u64> {
    let mut total = 0.0;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').filter(|at| *at > 0)?;
        let number: f64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        total += number
            * match &rest[..letters] {
                "ms" => 0.001,
                "s" => 1.0,
                "m" => 60.0,
                "h" => 3_600.0,
                "d" => 86_400.0,
                _ => return None,
            };
        rest = &rest[letters..];
    }
    Some(seconds_ms(total))
}

/// Rounded up, so that nobody comes too early. A cast of a float never wraps.
fn seconds_ms(seconds: f64) -> u64 {
    (seconds.max(0.0) * 1_000.0).ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn waits_are_read_in_every_form_that_providers_use() {
        let now: jiff::Timestamp = "2026-01-31T12:00:00Z".parse().unwrap();
        for (pairs, expected) in [
            (&[("retry-after", "30")][..], 30_000),
            (&[("retry-after", "1.5")], 1_500),
            (&[("retry-after", "Sat, 31 Jan 2026 12:00:20 GMT")], 20_000),
            (&[("retry-after", "Sat, 31 Jan 2026 11:00:00 GMT")], 0),
            (&[("retry-after", "soon")], 0),
            (&[("retry-after", "-5")], 0),
            (&[("retry-after", "1e300")], WAIT_MS_MAX),
            (&[("retry-after", "NaN")], 0),
            (&[("retry-after-ms", "250"), ("retry-after", "30")], 250),
            (&[("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", "6m0s")], 360_000),
            (&[("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", "20ms")], 20),
            (&[("x-ratelimit-remaining-requests", "7"), ("x-ratelimit-reset-requests", "6m0s")], 0),
            (&[("x-ratelimit-remaining-tokens", "0"), ("x-ratelimit-reset-tokens", "1m2.5s")], 62_500),
            (
                &[
                    ("anthropic-ratelimit-requests-remaining", "0"),
                    ("anthropic-ratelimit-requests-reset", "2026-01-31T12:00:07Z"),
                ],
                7_000,
            ),
            (&[], 0),
        ] {
            assert_eq!(after_ms(&headers(pairs), now), expected, "{pairs:?}");
        }
    }

    #[test]
    fn each_status_has_its_outcome_and_says_what_to_do() {
        let outage = ErrorKind::Outage { after_ms: 2_000 };
        let limited = ErrorKind::Limited { after_ms: 2_000 };
        for (code, body, kind, part) in [
            (
                400,
                r#"{"error":{"message":"bad tool"}}"#,
                ErrorKind::GiveUp,
                "answers 400 Bad Request: bad tool",
            ),
            (
                400,
                r#"{"error":{"message":"too many","code":"context_length_exceeded"}}"#,
                ErrorKind::TooLong,
                "the conversation is too long",
            ),
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 1 > 0"}}"#,
                ErrorKind::TooLong,
                "the conversation is too long",
            ),
            (401, r#"{"error":{"message":"no"}}"#, ErrorKind::Denied, "the key is missing or wrong"),
            (402, "", ErrorKind::Denied, "no credit"),
            (403, "{}", ErrorKind::Down, "may not use this model"),
            (404, r#"{"error":"model not found"}"#, ErrorKind::Down, "does not know the model \"big\""),
            (404, "<html>", ErrorKind::Down, "base_url is wrong"),
            (408, "", outage, "408 Request Timeout"),
            (409, "", outage, "409 Conflict"),
            (413, "", ErrorKind::TooLong, "too long"),
            (418, "", ErrorKind::GiveUp, "418"),
            (422, "", ErrorKind::GiveUp, "422"),
            (429, "slow down", limited, "429 Too Many Requests: slow down"),
            (
                429,
                r#"{"error":{"message":"pay","type":"insufficient_quota"}}"#,
                ErrorKind::Denied,
                "no credit left",
            ),
            (500, "", outage, "500 Internal Server Error"),
            (501, "", ErrorKind::Denied, "no such API"),
            (502, "<html>bad gateway", outage, "502 Bad Gateway: a web page"),
            (503, "", outage, "503 Service Unavailable"),
            (504, "", outage, "504 Gateway Timeout"),
            (
                529,
                r#"{"error":{"type":"overloaded_error","message":"Overloaded"}}"#,
                limited,
                "529: Overloaded",
            ),
            (302, "", ErrorKind::Denied, "keys do not follow"),
        ] {
            let code = StatusCode::from_u16(code).unwrap();
            let error = status("host", "big", code, &headers(&[("retry-after", "2")]), body.as_bytes());
            assert_eq!(error.kind, kind, "{}", error.message);
            assert!(error.message.contains(part), "{} has {part}", error.message);
            assert!(error.message.starts_with("host "), "{}", error.message);
        }
    }

    #[test]
    fn a_foreign_text_is_told_in_one_line() {
        assert_eq!(line("a\n\u{1b}[2J  b\t\0c"), "a [2J b c");
        assert_eq!(line(&"x".repeat(1_000)).chars().count(), SAID_CHARS_MAX + 1);
    }
}
