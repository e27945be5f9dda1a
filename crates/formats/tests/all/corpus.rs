//! Every text of the fuzz corpus goes through its parser, so that what fuzzing found stays fixed on stable.

#[path = "../../../../fuzz/src/lib.rs"]
mod targets;

use std::path::PathBuf;

fn texts(target: &str) -> Vec<(PathBuf, String)> {
    let folder = format!("{}/../../fuzz/corpus/{target}", env!("CARGO_MANIFEST_DIR"));
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{folder}: {e}"));
    let mut paths: Vec<PathBuf> = entries.map(|e| e.unwrap().path()).collect();
    paths.sort();
    let text = |p: &PathBuf| String::from_utf8_lossy(&std::fs::read(p).unwrap()).into_owned();
    paths.into_iter().map(|p| (p.clone(), text(&p))).collect()
}

#[test]
fn every_text_of_the_corpus_holds_in_every_parser() {
    let all: Vec<(PathBuf, String)> = targets::TARGETS.iter().flat_map(|t| texts(t)).collect();
    assert!(targets::TARGETS.iter().all(|t| !texts(t).is_empty()));
    for (path, text) in &all {
        for target in targets::TARGETS {
            let ran = std::panic::catch_unwind(|| targets::run(target, text));
            assert!(ran.is_ok(), "{target} on {}", path.display());
        }
    }
}

#[test]
fn every_prefix_of_the_corpus_holds() {
    for target in targets::TARGETS {
        for (path, text) in texts(target) {
            let step = (text.len() / 60).max(1);
            for cut in (0..text.len()).step_by(step).filter(|c| text.is_char_boundary(*c)) {
                let ran = std::panic::catch_unwind(|| targets::run(target, &text[..cut]));
                assert!(ran.is_ok(), "{target} on {} cut at {cut}", path.display());
            }
        }
    }
}

mod mutated {
    use proptest::prelude::*;

    use super::{targets, texts};

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_changed_text_of_the_corpus_holds(target in prop::sample::select(&targets::TARGETS[..]), pick in any::<prop::sample::Index>(), changes in prop::collection::vec((any::<prop::sample::Index>(), 0..12_usize, "[\\PC\n\r\t \u{feff}\u{a0}:|>\\-\\[\\]{}\"'#*&!?`]{0,4}"), 0..6)) {
            let texts = texts(target);
            let mut text = texts[pick.index(texts.len())].1.clone();
            for (at, length, with) in changes {
                let bounds: Vec<usize> = text.char_indices().map(|(i, _)| i).chain([text.len()]).collect();
                let start = at.index(bounds.len());
                let end = (start + length).min(bounds.len() - 1);
                text.replace_range(bounds[start]..bounds[end], &with);
            }
            targets::run(target, &text);
        }
    }
}
