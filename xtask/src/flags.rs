//! Reads `--name number`. Every task names the flags it knows; another one is an error.

use std::collections::BTreeMap;

use crate::shell::Failure;

/// The flags that were given.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Flags {
    values: BTreeMap<String, u64>,
}

impl Flags {
    /// Reads flags; `known` are the names that may be there.
    pub fn read(args: &[String], known: &[&str]) -> Result<Self, Failure> {
        let mut flags = Self::default();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let name = arg.strip_prefix("--").unwrap_or_default();
            let (name, attached) = match name.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (name, None),
            };
            if !known.contains(&name) {
                let names = known.iter().map(|name| format!("--{name}")).collect::<Vec<_>>().join(", ");
                let names = if names.is_empty() { "none".to_owned() } else { names };
                return Err(Failure::usage(format!("unknown argument {arg:?}; known: {names}")));
            }
            let value = attached.or_else(|| args.next().map(String::as_str)).unwrap_or_default();
            let wrong = |_| Failure::usage(format!("--{name} needs a whole number, {value:?} was given"));
            flags.values.insert(name.to_owned(), value.parse().map_err(wrong)?);
        }
        Ok(flags)
    }

    /// The number given for `--name`.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.values.get(name).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(args: &[&str]) -> Result<Flags, Failure> {
        let args: Vec<String> = args.iter().map(|a| (*a).to_owned()).collect();
        Flags::read(&args, &["seed"])
    }

    #[test]
    fn numbers_come_with_a_space_or_an_equals_sign() {
        assert_eq!(read(&["--seed", "7"]).unwrap().number("seed"), Some(7));
        assert_eq!(read(&["--seed=8"]).unwrap().number("seed"), Some(8));
        assert_eq!(read(&[]).unwrap().number("seed"), None);
    }

    #[test]
    fn what_is_not_known_is_a_usage_error() {
        for args in [&["--sed", "7"][..], &["--seed"], &["--seed", "x"], &["7"]] {
            assert_eq!(read(args).unwrap_err().code, 2, "{args:?}");
        }
    }
}
