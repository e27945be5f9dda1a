//! What was measured, for people and for programs.

use std::fmt::Display;
use std::io::Write;

use serde_json::json;

use crate::measure::{Aim, Measurement, Unit};

/// Talk: to stderr.
pub fn say(text: impl Display) {
    // A reader that went away is no reason to stop measuring.
    _ = writeln!(std::io::stderr(), "{text}");
}

/// Data: to stdout.
pub fn print(text: impl Display) {
    _ = writeln!(std::io::stdout(), "{text}");
}

/// One aligned row for each measurement.
pub fn table(measurements: &[Measurement]) -> String {
    let head = ["name", "figure", "baseline", "ratio", "aim", "", "rounds"];
    let mut rows: Vec<[String; 7]> = vec![head.map(str::to_owned)];
    for m in measurements {
        rows.push([
            m.name.clone(),
            shown(m.value, m.unit),
            format!("{} ({})", shown(m.baseline, m.unit), m.against),
            m.ratio().map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}x")),
            aim(m),
            verdict(m).to_owned(),
            m.rounds.to_string(),
        ]);
    }
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 7] = std::array::from_fn(width);
    let mut lines: Vec<String> = Vec::new();
    for row in &rows {
        let cells: Vec<String> =
            row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        lines.push(cells.join("  ").trim_end().to_owned());
    }
    lines.push(
        "ratio: the cost as a multiple of the baseline's, lower is better; figures are medians unless they say otherwise"
            .to_owned(),
    );
    lines.join("\n")
}

/// One object with all measurements.
pub fn json(measurements: &[Measurement]) -> String {
    let list: Vec<_> = measurements
        .iter()
        .map(|m| {
            json!({
                "name": m.name,
                "value": m.value,
                "unit": m.unit.as_str(),
                "baseline": { "name": m.against, "value": m.baseline },
                "ratio": m.ratio(),
                "aim": aim_json(m.aim),
                "met": m.met(),
                "rounds": m.rounds,
            })
        })
        .collect();
    json!({ "schema_version": 1, "measurements": list }).to_string()
}

fn shown(value: f64, unit: Unit) -> String {
    let number = match value {
        1000.0.. => grouped(value),
        1.0.. => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    };
    format!("{number} {}", unit.as_str())
}

/// A whole number with a comma at the thousands.
fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn aim(m: &Measurement) -> String {
    match m.aim {
        Aim::AtLeast(least) => format!(">= {}", shown(least, m.unit)),
        Aim::AtMost(most) => format!("<= {}", shown(most, m.unit)),
        Aim::Times(most) => format!("<= {most}x"),
        Aim::Nothing => "-".to_owned(),
    }
}

fn aim_json(aim: Aim) -> serde_json::Value {
    match aim {
        Aim::AtLeast(least) => json!({ "value_min": least }),
        Aim::AtMost(most) => json!({ "value_max": most }),
        Aim::Times(most) => json!({ "ratio_max": most }),
        Aim::Nothing => serde_json::Value::Null,
    }
}

fn verdict(m: &Measurement) -> &'static str {
    match m.met() {
        Some(true) => "ok",
        Some(false) => "missed",
        None => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_says_whether_the_aim_is_met() {
        let m = Measurement {
            name: "a".to_owned(),
            value: 1_234_567.0,
            unit: Unit::EventsPerSecond,
            against: "b",
            baseline: 2_469_134.0,
            aim: Aim::AtLeast(500_000.0),
            rounds: 5,
        };
        let table = table(&[m]);
        let row = table.lines().nth(1).unwrap_or_default();
        assert!(row.starts_with("a     1,234,567 events/s  2,469,134 events/s (b)  2.00x"), "{row}");
        assert!(row.ends_with(">= 500,000 events/s  ok  5"), "{row}");
    }
}
