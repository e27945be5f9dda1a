//! Any bytes as the text of a YAML or JSON file: no panic, no more than linear time, and an edit does what it says.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| targets::run("document", text));
