//! Any bytes as a command: no panic, what is allowed is words alone, and one more command makes nothing milder.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| targets::run("command", text));
