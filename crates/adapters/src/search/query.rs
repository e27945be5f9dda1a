//! What is looked for: words and phrases. Nothing in them is an operator of the index, so no text can break it.

/// More words are not searched.
const PIECES_MAX: usize = 32;

/// Words and phrases, in the order they were written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Query {
    /// Each a word or the words of a phrase, in small letters; none is empty.
    pieces: Vec<Vec<String>>,
}

/// Which files count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// Those that have every piece.
    All,
    /// Those that have some.
    Some,
    /// Those that have words which begin like some.
    Beginning,
}

impl Query {
    /// Reads what an agent wrote: words between blanks, phrases between double quotes.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let mut pieces: Vec<Vec<String>> = Vec::new();
        for (n, part) in text.split('"').enumerate() {
            let is_quoted = n % 2 == 1;
            if is_quoted {
                pieces.push(words(part));
            } else {
                // A name such as read_file is a phrase: its parts stand beside each other.
                pieces.extend(part.split_whitespace().map(words));
            }
        }
        pieces.retain(|piece| !piece.is_empty());
        let mut seen = Vec::new();
        pieces.retain(|piece| {
            !seen.contains(piece) && {
                seen.push(piece.clone());
                true
            }
        });
        if pieces.is_empty() {
            return Err("the query has no words".to_owned());
        }
        if pieces.len() > PIECES_MAX {
            return Err(format!("the query has {} words, at most {PIECES_MAX} are searched", pieces.len()));
        }
        Ok(Self { pieces })
    }

    /// How many words and phrases there are.
    pub(crate) fn count(&self) -> usize {
        self.pieces.len()
    }

    /// Each word or phrase.
    pub(crate) fn pieces(&self) -> &[Vec<String>] {
        &self.pieces
    }

    /// Each word or phrase as a query of its own.
    pub(super) fn each(&self) -> impl Iterator<Item = Self> {
        self.pieces.iter().map(|piece| Self { pieces: vec![piece.clone()] })
    }

    /// Only those whose number is let through.
    pub(super) fn only(&self, through: impl Fn(usize) -> bool) -> Self {
        let pieces = self.pieces.iter().enumerate().filter(|(n, _)| through(*n));
        Self { pieces: pieces.map(|(_, piece)| piece.clone()).collect() }
    }

    /// The same in the language of the index.
    pub(super) fn expression(&self, need: Need) -> String {
        let pieces: Vec<String> = self
            .pieces
            .iter()
            .map(|piece| format!("\"{}\"{}", piece.join(" "), if need == Need::Beginning { "*" } else { "" }))
            .collect();
        let joint = if need == Need::All { " AND " } else { " OR " };
        format!("({})", pieces.join(joint))
    }
}

/// The words of a text as the index has them, but for their endings.
pub(crate) fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(|word| word.chars().flat_map(char::to_lowercase).filter(|c| c.is_alphanumeric()).collect())
        .filter(|word: &String| !word.is_empty())
        .collect()
}

/// The parts of names such as `readFile` and `HTTPServer2`, which the index takes for one word.
pub(super) fn parts_of_names(text: &str) -> String {
    let mut parts = String::new();
    for word in text.split(|c: char| !c.is_alphanumeric()) {
        let is_mixed = word.len() > 2
            && word.chars().any(char::is_lowercase)
            && word.chars().skip(1).any(char::is_uppercase);
        if !is_mixed {
            continue;
        }
        let chars: Vec<char> = word.chars().collect();
        for (n, c) in chars.iter().enumerate() {
            let after_small = n > 0 && chars[n - 1].is_lowercase();
            let before_small = n > 0 && chars.get(n + 1).is_some_and(|next| next.is_lowercase());
            if c.is_uppercase() && (after_small || before_small) {
                parts.push(' ');
            }
            parts.push(*c);
        }
        parts.push(' ');
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_phrases_are_told_apart() {
        let query = Query::read(r#"Redis "disk is full" read_file redis  ->"#).unwrap();
        assert_eq!(query.count(), 3);
        assert_eq!(query.expression(Need::All), r#"("redis" AND "disk is full" AND "read file")"#);
        assert_eq!(query.expression(Need::Beginning), r#"("redis"* OR "disk is full"* OR "read file"*)"#);
        assert!(Query::read("  \" \" -> ").is_err());
        assert!(Query::read(&(0..40).map(|n| format!("w{n} ")).collect::<String>()).is_err());
    }

    #[test]
    fn names_have_parts() {
        assert_eq!(parts_of_names("readFile, HTTPServer x TOOLS Plain"), "read File HTTP Server ");
    }
}
