//! `search_files` over ten thousand files that are indexed, beside reading all of them for the same words.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use adapters::clock::SystemClock;
use adapters::tools::Toolbox;
use domain::tool::{Act, SearchFiles};
use ports::tools::Tools as _;
use testkit::tools::order;

use crate::load;
use crate::measure::{Aim, Measurement, Pair, RANKS, Unit, timed};

const FILES: u32 = 10_000;
const FOLDERS: u32 = 100;
const FILE_BYTES: usize = 2_000;
const SAMPLES: usize = 100;
const AGENT: &str = "writer-001";

pub fn run() -> anyhow::Result<Vec<Measurement>> {
    let folder = tempfile::tempdir()?;
    let place = folder.path().join("workspaces").join(AGENT);
    for n in 0..FILES {
        let beneath = place.join(format!("part-{:03}", n % FOLDERS));
        std::fs::create_dir_all(&beneath)?;
        std::fs::write(beneath.join(format!("{n:05}.md")), text(n))?;
    }
    let tools = Toolbox::new(folder.path().to_owned(), Arc::new(SystemClock))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let find = |query: String, wanted: &str| {
        let act = Act::SearchFiles(SearchFiles { query, path: None });
        let found = runtime.block_on(tools.run(order(1, AGENT, act)));
        anyhow::ensure!(found.read.iter().any(|file| file.ends_with(wanted)), "{}", found.text);
        Ok(())
    };
    let began = Instant::now();
    find("needle00000".to_owned(), "00000.md")?;
    let first = began.elapsed().as_secs_f64();
    let (mut n, mut m) = (0, 0);
    let pair = Pair::take_turns(
        SAMPLES,
        || {
            // A file changes before each search, as when an agent works.
            n = (n + 7_919) % FILES;
            std::fs::write(place.join(format!("part-{:03}/{n:05}.md", n % FOLDERS)), text(n) + "changed\n")?;
            timed(|| {
                find(format!("needle{n:05} {}", load::words(30, n).replace('\n', " ")), &format!("{n:05}.md"))
            })
        },
        || {
            m = (m + 7_919) % FILES;
            timed(|| {
                let found = grep(&place, &format!("needle{m:05}"))?;
                anyhow::ensure!(found == 1, "{found} files");
                Ok(())
            })
        },
    )?;
    let mut all: Vec<Measurement> = RANKS
        .map(|(what, pick)| Measurement {
            name: format!("search of {FILES} files after an edit, {what}"),
            value: pick(&pair.thing) * 1e3,
            unit: Unit::Milliseconds,
            against: "reading them all",
            baseline: pick(&pair.baseline) * 1e3,
            aim: if what == "p99" { Aim::AtMost(30.0) } else { Aim::Nothing },
            rounds: SAMPLES,
        })
        .into();
    all.push(Measurement {
        name: format!("first search of {FILES} files"),
        value: first * 1e3,
        unit: Unit::Milliseconds,
        against: "reading them all",
        baseline: pair.baseline.first().copied().unwrap_or(0.0) * 1e3,
        aim: Aim::Nothing,
        rounds: 1,
    });
    Ok(all)
}

fn text(n: u32) -> String {
    format!("# Notes {n}\n\n{}\nneedle{n:05}\n", load::words(FILE_BYTES, n))
}

fn grep(folder: &Path, word: &str) -> anyhow::Result<usize> {
    let mut found = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            found += grep(&entry.path(), word)?;
        } else if std::fs::read_to_string(entry.path())?.contains(word) {
            found += 1;
        }
    }
    Ok(found)
}
