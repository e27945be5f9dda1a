//! Any bytes as the text of a script file: no panic, no more than linear time, and print(parse(x)) = x where it is printed.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| targets::run("script", text));
