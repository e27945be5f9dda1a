//! One cycle: decide, commit, and only then act.
