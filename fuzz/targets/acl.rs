//! Any bytes as the text of a file with grants: no panic, no more than linear time, and print(parse(x)) = x where it is printed.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| targets::run("acl", text));
