//! What is known of Anthropic's models by their names.

/// The longest answer of a model whose name says nothing.
const ANSWER_UNKNOWN: u32 = 4_096;
/// The longest answers of the families, the newest first: from this version on, names with this word.
const ANSWERS: [((u32, u32), &str, u32); 8] = [
    ((4, 6), "haiku", 64_000),
    ((4, 6), "", 128_000),
    ((4, 5), "", 64_000),
    ((4, 0), "opus", 32_000),
    ((4, 0), "", 64_000),
    ((3, 7), "", 64_000),
    ((3, 5), "", 8_192),
    ((0, 0), "", 4_096),
];
/// From this version on a model itself decides how much to think.
const ADAPTIVE: (u32, u32) = (4, 6);

/// Tokens of the longest answer of a model.
pub fn answer_max(model: &str) -> u32 {
    let Some(version) = version(model) else { return ANSWER_UNKNOWN };
    let known = ANSWERS.iter().find(|(from, word, _)| version >= *from && model.contains(word));
    known.map_or(ANSWER_UNKNOWN, |(_, _, tokens)| *tokens)
}

/// Whether a model takes an effort and decides itself how much to think; older ones take a number of tokens.
pub fn is_adaptive(model: &str) -> bool {
    version(model).is_some_and(|version| version >= ADAPTIVE)
}

/// `claude-opus-4-6` and `claude-3-7-sonnet-20250219`: the numbers behind `claude`, without dates.
fn version(model: &str) -> Option<(u32, u32)> {
    const NUMBER_MAX: u32 = 99;
    let (_, behind) = model.split_once("claude")?;
    let mut parts = behind.split(|c: char| !c.is_ascii_alphanumeric()).map(str::parse::<u32>);
    let is_number = |part: &Result<u32, _>| part.as_ref().is_ok_and(|number| *number <= NUMBER_MAX);
    let major = parts.find(is_number)?.ok()?;
    let minor = parts.next().filter(is_number).and_then(Result::ok);
    Some((major, minor.unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_how_long_an_answer_may_be_and_how_thinking_is_asked_for() {
        for (model, most, adaptive) in [
            ("claude-3-haiku-20240307", 4_096, false),
            ("claude-3-5-sonnet-20241022", 8_192, false),
            ("claude-3-7-sonnet-20250219", 64_000, false),
            ("claude-opus-4-20250514", 32_000, false),
            ("claude-opus-4-1", 32_000, false),
            ("claude-sonnet-4-20250514", 64_000, false),
            ("anthropic/claude-sonnet-4.5", 64_000, false),
            ("claude-haiku-4-5-20251001", 64_000, false),
            ("claude-opus-4-6", 128_000, true),
            ("claude-haiku-5", 64_000, true),
            ("claude-opus-5-5", 128_000, true),
            ("claude-next", 4_096, false),
            ("another", 4_096, false),
        ] {
            assert_eq!((answer_max(model), is_adaptive(model)), (most, adaptive), "{model}");
        }
    }
}
