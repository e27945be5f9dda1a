//! Times in files: RFC 3339, printed in UTC with milliseconds.

use domain::id::Time;

/// The longest text that is tried as a time.
const TIME_BYTES_MAX: usize = 64;

/// `2026-01-31T12:00:00.000Z`. Times outside the years that RFC 3339 can say are printed as the nearest it can.
pub fn print(t: Time) -> String {
    let least = jiff::civil::date(0, 1, 1).to_zoned(jiff::tz::TimeZone::UTC).map(|z| z.timestamp());
    let least = least.unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    let greatest = jiff::Timestamp::MAX;
    let ms = t.0.clamp(least.as_millisecond(), greatest.as_millisecond());
    let timestamp = jiff::Timestamp::from_millisecond(ms).unwrap_or(greatest);
    timestamp.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// The time that `text` says, with `Z` or any offset.
pub fn parse(text: &str) -> Option<Time> {
    let text = text.trim();
    if text.len() > TIME_BYTES_MAX {
        return None;
    }
    text.parse::<jiff::Timestamp>().ok().map(|t| Time(t.as_millisecond()))
}

/// Milliseconds of `24h`, `30m`, `1h30m`, `45s`, `500ms`, `7d` or a plain number of milliseconds.
pub fn parse_duration(text: &str) -> Option<u64> {
    let text = text.trim();
    if text.is_empty() || text.len() > TIME_BYTES_MAX {
        return None;
    }
    if text.bytes().all(|b| b.is_ascii_digit()) {
        return text.parse().ok();
    }
    let (mut rest, mut total) = (text, 0_u64);
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let number: u64 = rest.get(..digits)?.parse().ok()?;
        rest = rest.get(digits..)?;
        let letters = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
        let unit: u64 = match rest.get(..letters)? {
            "ms" => 1,
            "s" => 1_000,
            "m" | "min" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return None,
        };
        total = total.checked_add(number.checked_mul(unit)?)?;
        rest = rest.get(letters..)?.trim_start();
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_printed_in_utc_with_milliseconds_and_read_back() {
        let t = parse("2025-10-04T12:05:23+02:00").unwrap();
        assert_eq!(print(t), "2025-10-04T10:05:23.000Z");
        for ms in [0, 1, -1, 1_759_622_866_331] {
            assert_eq!(parse(&print(Time(ms))), Some(Time(ms)));
        }
        for far in [i64::MIN, i64::MAX] {
            assert!(parse(&print(Time(far))).is_some());
        }
        for bad in ["", "yesterday", "2025-10-04", "2025-13-04T00:00:00Z"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_duration_has_units() {
        for (text, ms) in
            [("24h", 86_400_000), ("30m", 1_800_000), ("500ms", 500), ("1h30m", 5_400_000), ("7", 7)]
        {
            assert_eq!(parse_duration(text), Some(ms), "{text}");
        }
        for bad in ["", "h", "1x", "-1s", "99999999999999999999d", "1h x"] {
            assert_eq!(parse_duration(bad), None, "{bad}");
        }
    }
}
