#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| targets::run("approval", text));
