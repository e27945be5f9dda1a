//! Credentials that are known by their form alone.

use super::Span;

/// A kind of key that begins in a way of its own.
struct Form {
    prefix: &'static str,
    kind: &'static str,
    /// What may follow beside letters and digits.
    also: &'static [u8],
    /// How much must follow.
    least: usize,
    /// Whether what follows must look random, because the prefix is a common word.
    random: bool,
}

const fn form(prefix: &'static str, kind: &'static str, also: &'static [u8], least: usize) -> Form {
    Form { prefix, kind, also, least, random: false }
}

const FORMS: [Form; 33] = [
    form("sk-ant-", "Anthropic key", b"-_", 16),
    form("sk-proj-", "OpenAI key", b"-_", 16),
    form("sk-svcacct-", "OpenAI key", b"-_", 16),
    Form { prefix: "sk-", kind: "API key", also: b"-_", least: 16, random: true },
    form("sk_live_", "Stripe key", b"_", 16),
    form("sk_test_", "Stripe key", b"_", 16),
    form("rk_live_", "Stripe key", b"_", 16),
    form("whsec_", "webhook secret", b"+/=", 16),
    form("ghp_", "GitHub token", b"_", 30),
    form("gho_", "GitHub token", b"_", 30),
    form("ghu_", "GitHub token", b"_", 30),
    form("ghs_", "GitHub token", b"_", 30),
    form("ghr_", "GitHub token", b"_", 30),
    form("github_pat_", "GitHub token", b"_", 22),
    form("glpat-", "GitLab token", b"-_.", 20),
    form("xoxb-", "Slack token", b"-", 10),
    form("xoxa-", "Slack token", b"-", 10),
    form("xoxp-", "Slack token", b"-", 10),
    form("xoxr-", "Slack token", b"-", 10),
    form("xoxs-", "Slack token", b"-", 10),
    form("xapp-", "Slack token", b"-", 20),
    form("AIza", "Google key", b"-_", 35),
    form("ya29.", "Google token", b"-_.", 20),
    form("npm_", "npm token", b"", 36),
    form("pypi-", "PyPI token", b"-_", 50),
    form("hf_", "Hugging Face token", b"", 30),
    form("gsk_", "API key", b"", 40),
    form("xai-", "API key", b"", 40),
    form("SG.", "SendGrid key", b"-_.", 40),
    form("dop_v1_", "DigitalOcean token", b"", 64),
    form("shpat_", "Shopify token", b"", 32),
    form("AGE-SECRET-KEY-1", "age key", b"", 50),
    form("PRIVATE+KEY+", "signing key", b"+/=-_.", 40),
];

/// Keys of AWS: four letters and sixteen more, nothing around them.
const AWS: [&str; 4] = ["AKIA", "ASIA", "AROA", "ABIA"];
const AWS_BYTES: usize = 20;
/// So much of a text that might be a key is looked at to tell whether it is one.
const RUN_BYTES_MAX: usize = 128;
/// The same for one part of a web token, which may carry much.
const PART_BYTES_MAX: usize = 2048;
/// How far the host of an address is looked for.
const ADDRESS_BYTES_MAX: usize = 512;
/// What follows `Bearer ` is at least this long.
const BEARER_BYTES_MIN: usize = 16;
const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";
const DASHES: &str = "-----";
const PRIVATE: &str = "PRIVATE KEY";
/// The longest line that begins or ends a key block.
const BLOCK_LINE_MAX: usize = 80;

pub(super) fn find(text: &str, spans: &mut Vec<Span>) {
    if text.contains(DASHES) {
        key_blocks(text, spans);
    }
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some((next, possible)) = next_start(bytes, at) {
        at = next;
        let found = match possible {
            some if some & ADDRESS != 0 => address(text, at),
            some if some & BEARER != 0 => bearer(bytes, at).or_else(|| prefixed(bytes, at)),
            some if some & WEB_TOKEN != 0 => web_token(bytes, at).or_else(|| prefixed(bytes, at)),
            _ => prefixed(bytes, at),
        };
        match found {
            Some(span) => {
                // It is one: all of it, however long.
                let more = |byte: &&u8| {
                    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'+' | b'/' | b'=')
                };
                let is_long = span.end - span.start >= RUN_BYTES_MAX;
                let rest = if is_long { bytes[span.end..].iter().take_while(more).count() } else { 0 };
                let span = Span { end: span.end + rest, ..span };
                at = span.end.max(at + 1);
                spans.push(span);
            }
            None => at += 1,
        }
    }
}

/// What else a credential can begin with, told apart from the prefixes.
const ADDRESS: u64 = 1 << (AWS.len() + FORMS.len());
const BEARER: u64 = ADDRESS << 1;
const WEB_TOKEN: u64 = ADDRESS << 2;

/// By a byte, the beginnings that have it in one place: of AWS first, then of the other forms, then the rest.
const fn having(place: usize) -> [u64; 256] {
    let mut having = [0; 256];
    let mut at = 0;
    while at < AWS.len() + FORMS.len() {
        let prefix = if at < AWS.len() { AWS[at] } else { FORMS[at - AWS.len()].prefix };
        having[prefix.as_bytes()[place] as usize] |= 1 << at;
        at += 1;
    }
    having[b"://"[place] as usize] |= ADDRESS;
    having[b"bearer"[place] as usize] |= BEARER;
    having[b"BEARER"[place] as usize] |= BEARER;
    having[b"eyJ"[place] as usize] |= WEB_TOKEN;
    having
}

const FIRST: [u64; 256] = having(0);
const SECOND: [u64; 256] = having(1);

/// The next place from `at` on where a credential can begin, and which can. Almost all of a text is passed over here, by
/// two bytes at a time, without a look at each prefix.
fn next_start(bytes: &[u8], at: usize) -> Option<(usize, u64)> {
    let is_word = |at: usize| bytes[at].is_ascii_alphanumeric() || bytes[at] == b'_';
    let mut from = at;
    loop {
        let mut possible = 0;
        let found = bytes.get(from..)?.windows(2).position(|pair| {
            possible = FIRST[usize::from(pair[0])] & SECOND[usize::from(pair[1])];
            possible != 0
        })?;
        from += found;
        // All but addresses begin where no part of a word stands before them.
        if possible & ADDRESS != 0 || from.checked_sub(1).is_none_or(|before| !is_word(before)) {
            return Some((from, possible));
        }
        from += 1;
    }
}

/// How many bytes from `at` on are letters, digits or one of `also`, as far as it takes to tell a key.
fn run(bytes: &[u8], at: usize, also: &[u8], most: usize) -> usize {
    bytes[at.min(bytes.len())..]
        .iter()
        .take(most)
        .take_while(|byte| byte.is_ascii_alphanumeric() || also.contains(byte))
        .count()
}

fn prefixed(bytes: &[u8], at: usize) -> Option<Span> {
    let rest = &bytes[at..];
    if AWS.iter().any(|prefix| rest.starts_with(prefix.as_bytes())) {
        let length = run(bytes, at, b"_", RUN_BYTES_MAX);
        let upper = rest[..length].iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
        if length == AWS_BYTES && upper && rest[..length].iter().any(u8::is_ascii_digit) {
            return Some(Span { start: at, end: at + length, kind: "AWS key" });
        }
    }
    let form = FORMS.iter().find(|form| rest.starts_with(form.prefix.as_bytes()))?;
    let from = at + form.prefix.len();
    let length = run(bytes, from, form.also, RUN_BYTES_MAX);
    let good = length >= form.least && (!form.random || is_random(&bytes[from..from + length]));
    good.then_some(Span { start: at, end: from + length, kind: form.kind })
}

/// Whether a text with dashes is more than words: a long piece with letters and digits mixed.
fn is_random(bytes: &[u8]) -> bool {
    bytes.split(|byte| matches!(byte, b'-' | b'_')).any(|piece| {
        let digits = piece.iter().filter(|byte| byte.is_ascii_digit()).count();
        piece.len() >= 16 && digits >= 2 && digits < piece.len()
    })
}

/// `eyJ….eyJ….…`: three parts in base64, the first two of them JSON.
fn web_token(bytes: &[u8], at: usize) -> Option<Span> {
    const ALSO: &[u8] = b"-_";
    let mut end = at;
    for part in 0..3 {
        if part > 0 {
            if bytes.get(end) != Some(&b'.') {
                return None;
            }
            end += 1;
        }
        if part < 2 && !bytes[end..].starts_with(b"eyJ") {
            return None;
        }
        let length = run(bytes, end, ALSO, PART_BYTES_MAX);
        if length < 10 {
            return None;
        }
        end += length;
        if length == PART_BYTES_MAX {
            // Too long for anything else that begins so.
            break;
        }
    }
    Some(Span { start: at, end, kind: "web token" })
}

/// `Bearer …`, as in a header.
fn bearer(bytes: &[u8], at: usize) -> Option<Span> {
    let word = bytes.get(at..at + 6)?;
    if !word.eq_ignore_ascii_case(b"bearer") || bytes.get(at + 6) != Some(&b' ') {
        return None;
    }
    let start = at + 7;
    let length = run(bytes, start, b"-_.~+/=", RUN_BYTES_MAX);
    let digits = bytes[start..start + length].iter().any(u8::is_ascii_digit);
    (length >= BEARER_BYTES_MIN && digits).then_some(Span { start, end: start + length, kind: "token" })
}

/// `://user:password@host`: the password.
fn address(text: &str, at: usize) -> Option<Span> {
    let rest = text.as_bytes().get(at..)?.strip_prefix(b"://")?;
    let stop = |byte: &u8| {
        byte.is_ascii_whitespace() || matches!(byte, b'/' | b'?' | b'#' | b'"' | b'\'' | b'<' | b'>' | b'`')
    };
    let length =
        rest.iter().take(ADDRESS_BYTES_MAX).position(stop).unwrap_or(rest.len().min(ADDRESS_BYTES_MAX));
    let host = rest[..length].iter().rposition(|byte| *byte == b'@')?;
    let colon = rest[..host].iter().position(|byte| *byte == b':')?;
    let (start, end) = (at + 3 + colon + 1, at + 3 + host);
    let password = text.get(start..end)?;
    let stands_for_one = password.is_empty() || password.starts_with(['$', '{', '<', '[', '*', '%']);
    (!stands_for_one).then_some(Span { start, end, kind: "password" })
}

/// Private keys in blocks. One that was cut off at its end, or at its beginning, is a key all the same.
fn key_blocks(text: &str, spans: &mut Vec<Span>) {
    let mut at = 0;
    while let Some(start) = text[at..].find(BEGIN).map(|found| at + found) {
        let line = line_from(text, start);
        if !line.contains(PRIVATE) {
            at = start + BEGIN.len();
            continue;
        }
        let end = text[start..].find(END).map(|found| start + found);
        let end = match end {
            Some(end) => end + line_from(text, end).len(),
            None => {
                let is_key = |c: char| c.is_ascii_alphanumeric() || "+/=-:,.\\ \t\r\n".contains(c);
                text.len() - text[start..].trim_start_matches(is_key).len()
            }
        };
        spans.push(Span { start, end, kind: "private key" });
        at = end;
    }
    // The first end without a beginning: what stands before it belongs to it, as far as it looks so.
    let first = text.find(END).filter(|end| text.find(BEGIN).is_none_or(|begin| begin > *end));
    if let Some(end) = first.filter(|end| line_from(text, *end).contains(PRIVATE)) {
        let before = &text[..end];
        let kept = before.trim_end_matches(|c: char| c.is_ascii_alphanumeric() || "+/=\r\n\\".contains(c));
        spans.push(Span { start: kept.len(), end: end + line_from(text, end).len(), kind: "private key" });
    }
}

/// The line that begins or ends a block, up to its last dashes.
fn line_from(text: &str, start: usize) -> &str {
    let most = text.floor_char_boundary((start + BLOCK_LINE_MAX).min(text.len()));
    let line = text[start..most].split('\n').next().unwrap_or_default();
    match line.get(5..).and_then(|rest| rest.find(DASHES)) {
        Some(dashes) => &line[..dashes + 10],
        None => line,
    }
}
