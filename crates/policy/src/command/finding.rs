//! Findings: the reasons against running a command without an approval.

use crate::Risk;

/// One reason against a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    pub is_denied: bool,
    pub risk: Risk,
    /// The reason, for a person.
    pub factor: String,
    /// One of [`rule`].
    pub rule: &'static str,
    /// Whether the command needs the network.
    pub network: bool,
}

/// A reason to ask.
pub(super) fn ask(risk: Risk, rule: &'static str, factor: impl Into<String>) -> Finding {
    Finding { is_denied: false, risk, factor: factor.into(), rule, network: false }
}

/// A reason to deny.
pub(super) fn deny(rule: &'static str, factor: impl Into<String>) -> Finding {
    Finding { is_denied: true, risk: Risk::Critical, factor: factor.into(), rule, network: false }
}

/// The rules of findings, in words that can be searched for.
pub(super) mod rule {
    pub const UNKNOWN: &str = "programs that are not known to only read are asked";
    pub const OPTION: &str = "options that are not known to be harmless are asked";
    pub const OUTSIDE: &str = "paths outside the workspace are asked";
    pub const SECRET: &str = "credentials are denied";
    pub const MAYBE_SECRET: &str = "what may hold credentials is asked";
    pub const CONTROL: &str = "control files are denied";
    pub const HIDDEN: &str = "hidden characters are denied";
    pub const EMPTY: &str = "empty commands are denied";
    pub const LONG: &str = "commands too long or too deep to be checked are denied";
    pub const GRAMMAR: &str = "commands outside the accepted grammar are asked";
    pub const PADDED: &str = "commands that hide a part of themselves are asked";
    pub const MANY: &str = "commands with too many parts are asked";
    pub const BLOCKED: &str = "blocked patterns are denied";
    pub const CHANGES: &str = "what writes, runs, fetches or leaks is asked";
    pub const OWNER: &str = "policy/commands.yaml decides";
    pub const SEEN: &str = "what was seen in the workspace makes it ask";
}
