//! What every journal keeps.

use domain::id::{Seq, Time};
use ports::journal::{Entry, Journal, JournalError, Snapshot};

/// A sample entry for one place.
pub fn entry(seq: u64) -> Entry {
    Entry {
        seq: Seq(seq),
        at: Time(1_700_000_000_000 + i64::try_from(seq).unwrap_or(0)),
        version: 1,
        kind: format!("sample_{}", seq % 3),
        body: format!("{{\"number\":{seq},\"text\":\"ä\\u0000\\n\"}}"),
    }
}

/// Sample entries for the places `from` to `to`.
pub fn entries(from: u64, to: u64) -> Vec<Entry> {
    (from..=to).map(entry).collect()
}

/// The rules of one journal; `make` gives an empty one each time.
pub fn holds(make: impl Fn() -> Box<dyn Journal>) {
    an_empty_journal_has_nothing(make().as_mut());
    what_was_appended_is_read_in_order(make().as_mut());
    a_batch_that_does_not_follow_is_refused_whole(make().as_mut());
    the_newest_snapshot_counts(make().as_mut());
    the_cursor_stays_inside_the_journal(make().as_mut());
    any_text_and_number_comes_back_as_it_was(make().as_mut());
}

/// The rules of opening again. `store` gives an empty store; what it returns opens it, and each opening ends
/// the process that had it open before.
pub fn survives<Open>(store: impl Fn() -> Open)
where
    Open: Fn() -> Box<dyn Journal>,
{
    let open = store();
    let mut journal = open();
    journal.append(&entries(1, 3)).expect("appends");
    journal.append(&entries(4, 5)).expect("appends");
    let kept = Snapshot { seq: Seq(4), version: 2, body: "state".to_owned() };
    journal.save_snapshot(&kept).expect("saves");
    drop(journal);

    let mut journal = open();
    assert_eq!(journal.last(), Seq(5), "everything acknowledged survives");
    assert_eq!(journal.read(Seq(0), 100).expect("reads"), entries(1, 5));
    assert_eq!(journal.snapshot().expect("reads"), Some(kept), "a snapshot survives");
    journal.append(&entries(6, 6)).expect("goes on");
    journal.set_printed(Seq(6)).expect("notes");
    journal.append(&entries(7, 7)).expect("goes on");
    drop(journal);

    let mut journal = open();
    assert_eq!(journal.read(Seq(4), 100).expect("reads"), entries(5, 7));
    assert!(journal.printed().expect("reads") <= Seq(6), "the cursor never runs ahead of what was noted");
}

fn an_empty_journal_has_nothing(journal: &mut dyn Journal) {
    assert_eq!(journal.last(), Seq(0));
    assert_eq!(journal.read(Seq(0), 10).expect("reads"), []);
    assert_eq!(journal.snapshot().expect("reads"), None);
    assert_eq!(journal.printed().expect("reads"), Seq(0));
    journal.append(&[]).expect("nothing is nothing");
    assert_eq!(journal.last(), Seq(0));
}

fn what_was_appended_is_read_in_order(journal: &mut dyn Journal) {
    journal.append(&entries(1, 1)).expect("appends");
    journal.append(&entries(2, 9)).expect("appends");
    assert_eq!(journal.last(), Seq(9));
    assert_eq!(journal.read(Seq(0), 100).expect("reads"), entries(1, 9));
    assert_eq!(journal.read(Seq(3), 4).expect("reads"), entries(4, 7));
    assert_eq!(journal.read(Seq(9), 4).expect("reads"), []);
    assert_eq!(journal.read(Seq(99), 4).expect("reads"), []);
    assert_eq!(journal.read(Seq(0), 0).expect("reads"), []);
}

fn a_batch_that_does_not_follow_is_refused_whole(journal: &mut dyn Journal) {
    journal.append(&entries(1, 2)).expect("appends");
    for (bad, last, given) in [
        (entries(4, 5), 2, 4),
        (entries(2, 3), 2, 2),
        (vec![entry(3), entry(5)], 3, 5),
        (vec![entry(3), entry(3)], 3, 3),
        (vec![entry(0)], 2, 0),
    ] {
        match journal.append(&bad) {
            Err(JournalError::Gap { last: l, given: g }) => assert_eq!((l, g), (Seq(last), Seq(given))),
            other => panic!("expected a gap, got {other:?}"),
        }
        assert_eq!(journal.last(), Seq(2), "nothing of a refused batch counts");
    }
    journal.append(&entries(3, 3)).expect("a refused batch does not stop the next");
    assert_eq!(journal.read(Seq(0), 10).expect("reads"), entries(1, 3));
}

fn the_newest_snapshot_counts(journal: &mut dyn Journal) {
    journal.append(&entries(1, 5)).expect("appends");
    for seq in [2, 5] {
        let snapshot = Snapshot { seq: Seq(seq), version: 1, body: format!("state {seq}") };
        journal.save_snapshot(&snapshot).expect("saves");
        assert_eq!(journal.snapshot().expect("reads"), Some(snapshot));
    }
    let ahead = Snapshot { seq: Seq(6), version: 1, body: String::new() };
    assert!(matches!(journal.save_snapshot(&ahead), Err(JournalError::Gap { .. })));
    assert_eq!(journal.snapshot().expect("reads").map(|s| s.seq), Some(Seq(5)));
}

fn the_cursor_stays_inside_the_journal(journal: &mut dyn Journal) {
    journal.append(&entries(1, 3)).expect("appends");
    journal.set_printed(Seq(2)).expect("notes");
    assert_eq!(journal.printed().expect("reads"), Seq(2));
    assert!(matches!(journal.set_printed(Seq(4)), Err(JournalError::Gap { .. })));
    journal.set_printed(Seq(0)).expect("files may be printed again from the start");
    assert_eq!(journal.printed().expect("reads"), Seq(0));
}

fn any_text_and_number_comes_back_as_it_was(journal: &mut dyn Journal) {
    let odd = |seq, at, version, text: &str| Entry {
        seq: Seq(seq),
        at: Time(at),
        version,
        kind: text.to_owned(),
        body: text.repeat(3),
    };
    let batch = [
        odd(1, 0, 0, ""),
        odd(2, -1, 1, "nul \0 inside"),
        odd(3, i64::MAX, u32::MAX, "'; DROP TABLE events; --"),
        odd(4, i64::MIN, 7, "\u{1f9d1}\u{200d}\u{1f680}\r\n\u{feff}"),
        odd(5, 1, 1, &"long ".repeat(100_000)),
    ];
    journal.append(&batch).expect("appends");
    assert_eq!(journal.read(Seq(0), 10).expect("reads"), batch);
}
