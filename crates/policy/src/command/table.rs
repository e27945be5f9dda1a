//! The tables in `crates/policy/tables`: data that a person can read and extend, read once at first use. A heading
//! starts at the left and ends in a colon; what is indented belongs to it; a line that starts with `#` is a comment.

use std::sync::LazyLock;

/// A heading of a table and what stands below it.
pub(super) struct Block {
    /// The text before the colon.
    pub head: &'static str,
    /// The words after it.
    pub marks: Vec<&'static str>,
    /// The indented lines, each as words.
    pub lines: Vec<Vec<&'static str>>,
}

/// The blocks of a table. Tables are part of the program: a mistake in one is found by the tests that read them all.
pub(super) fn blocks(text: &'static str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let lines = text.lines().filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with("# "));
    for line in lines.filter(|line| *line != "#") {
        match (line.starts_with(' '), line.split_once(':'), blocks.last_mut()) {
            (true, _, Some(block)) => block.lines.push(line.split_whitespace().collect()),
            (false, Some((head, marks)), _) => {
                let marks = marks.split_whitespace().collect();
                blocks.push(Block { head, marks, lines: Vec::new() });
            }
            (_, _, _) => panic!("a table has the line {line:?} without a heading or a colon"),
        }
    }
    blocks
}

/// Declares the lists of `lists.txt`, each a field of its name.
macro_rules! lists {
    ($($name:ident),+ $(,)?) => {
        /// Lists of words by name; what each is for is said beside it in `lists.txt`.
        pub(super) struct Lists {
            $(pub $name: Vec<&'static str>,)+
        }

        /// How many there are.
        #[cfg(test)]
        const LISTS: usize = [$(stringify!($name)),+].len();

        fn read(blocks: &[Block]) -> Lists {
            Lists { $($name: words_of(blocks, stringify!($name)),)+ }
        }
    };
}

lists! {
    secret_folders, secret_names, secret_words, data_extensions, example_ends, secret_samples, control_names,
    fetchers, decoders, runners, everything, disks, wrappers, shells, variable_starts, variables,
    find_alone, find_values, find_paths, find_actions, test_operators, awk_reaching, jq_reaching, jq_flags,
    systemctl_commands, git_network, git_config_secrets,
}

/// All lists.
pub(super) static WORDS: LazyLock<Lists> =
    LazyLock::new(|| read(&blocks(include_str!("../../tables/lists.txt"))));

fn words_of(blocks: &[Block], name: &str) -> Vec<&'static str> {
    let block = blocks.iter().find(|block| block.head == name);
    block.expect("every list that is declared is in lists.txt").lines.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_list_is_declared_once_and_has_words() {
        let blocks = blocks(include_str!("../../tables/lists.txt"));
        assert!(!WORDS.secret_names.is_empty());
        assert_eq!(blocks.len(), LISTS);
        for block in blocks {
            let mut words = block.lines.concat();
            let count = words.len();
            words.sort_unstable();
            words.dedup();
            assert!(count > 0 && words.len() == count && block.marks.is_empty(), "{}", block.head);
        }
    }
}
