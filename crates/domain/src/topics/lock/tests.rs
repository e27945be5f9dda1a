//! The rules of locks as tables, and as what holds under whatever order things come in.

use proptest::prelude::*;

use super::*;

const LEASE_MS: u64 = 1000;

fn session(number: u8) -> SessionId {
    SessionId::new(format!("s-{number}"))
}

fn call(number: u8) -> CallId {
    CallId::new(format!("c-{number}"))
}

/// A lock table that is used as the domain uses it: who cannot have a lock at once waits, and who is next is served.
#[derive(Default)]
struct Table {
    locks: Locks,
    at: i64,
    /// Grants in their order: whose, which number, whether it is a new hold.
    granted: Vec<(LockName, SessionId, CallId, u64, bool)>,
    /// Requests that had to wait, in their order.
    queued: Vec<(LockName, SessionId, CallId)>,
}

impl Table {
    fn ask(&mut self, name: &LockName, who: u8, which: u8, kept: bool) {
        let (session, call, at) = (session(who), call(which), Time(self.at));
        match self.locks.free_for(name, &session, kept, at) {
            Some(fence) => self.grant(name, &session, &call, kept, fence),
            None => {
                let due = at.plus_ms(100);
                self.queued.push((name.clone(), session.clone(), call.clone()));
                self.locks.wait(name, Waiter { session, call, kept, since: at, due });
            }
        }
        self.serve();
    }

    fn grant(&mut self, name: &LockName, session: &SessionId, call: &CallId, kept: bool, fence: u64) {
        let is_new = self.locks.get(name).is_none_or(|lock| lock.holder.is_none());
        let grant = Grant { name: name.clone(), fence };
        self.locks.grant(&grant, (session, call), kept, (Time(self.at), LEASE_MS));
        self.granted.push((name.clone(), session.clone(), call.clone(), fence, is_new));
    }

    fn serve(&mut self) {
        while let Some((name, waiter)) = self.locks.next() {
            let (name, Waiter { session, call, kept, .. }) = (name.clone(), waiter.clone());
            let held = self.locks.get(&name).and_then(|lock| lock.holder.as_ref()).map(|h| h.fence);
            let fence = held.unwrap_or_else(|| self.locks.next_fence(Time(self.at)));
            self.grant(&name, &session, &call, kept, fence);
        }
    }

    fn holder(&self, name: &str) -> Option<(String, u32, Option<String>)> {
        let holder = self.locks.get(&LockName::new(name))?.holder.as_ref()?;
        Some((holder.session.to_string(), holder.kept, holder.call.as_ref().map(ToString::to_string)))
    }
}

#[test]
fn names_of_the_same_thing_are_the_same() {
    for (text, plain) in [
        ("deploy", Some("deploy")),
        (" deploy ", Some("deploy")),
        ("file:a/../b", Some("file:b")),
        ("file:./Memory//Notes.md", Some("file:memory/notes.md")),
        ("file:a/b/.", Some("file:a/b")),
        ("file:../a", None),
        ("file:/etc/passwd", None),
        ("file:", None),
        ("file:a/..", None),
        ("", None),
        ("two\nlines", None),
        ("a\u{202e}b", None),
    ] {
        assert_eq!(name(text).ok().as_ref().map(LockName::as_str), plain, "{text:?}");
    }
    assert!(name(&"x".repeat(NAME_CHARS_MAX + 1)).is_err());
}

#[test]
fn who_has_a_lock_can_take_it_again_and_gives_it_back_as_often() {
    let (mut table, x) = (Table::default(), LockName::new("x"));
    table.ask(&x, 1, 1, true);
    table.ask(&x, 1, 2, true);
    table.ask(&x, 2, 1, true);
    assert_eq!(table.holder("x"), Some(("s-1".to_owned(), 2, None)));
    table.locks.unlock(&x);
    table.serve();
    assert_eq!(table.holder("x"), Some(("s-1".to_owned(), 1, None)));
    table.locks.unlock(&x);
    table.serve();
    assert_eq!(table.holder("x"), Some(("s-2".to_owned(), 1, None)));
    let numbers: Vec<u64> = table.granted.iter().map(|(_, _, _, fence, _)| *fence).collect();
    assert_eq!(numbers, [1, 1, 2], "taking one's own lock again is no new grant");
}

#[test]
fn two_calls_of_one_conversation_follow_each_other() {
    let (mut table, x) = (Table::default(), LockName::new("x"));
    table.ask(&x, 1, 1, false);
    table.ask(&x, 1, 2, false);
    table.ask(&x, 2, 1, false);
    assert_eq!(table.holder("x"), Some(("s-1".to_owned(), 0, Some("c-1".to_owned()))));
    table.locks.leave(&session(1), &call(1));
    table.serve();
    assert_eq!(table.holder("x"), Some(("s-1".to_owned(), 0, Some("c-2".to_owned()))));
    table.locks.leave(&session(1), &call(2));
    table.serve();
    assert_eq!(table.holder("x"), Some(("s-2".to_owned(), 0, Some("c-1".to_owned()))));
}

#[test]
fn a_call_of_who_keeps_the_lock_does_not_queue_behind_others() {
    let (mut table, x) = (Table::default(), LockName::new("x"));
    table.ask(&x, 1, 1, true);
    table.ask(&x, 2, 1, true);
    table.ask(&x, 1, 2, false);
    assert_eq!(table.holder("x"), Some(("s-1".to_owned(), 1, Some("c-2".to_owned()))));
    let holder = |table: &Table| table.locks.get(&x).and_then(|lock| lock.holder.clone()).unwrap();
    assert_eq!(holder(&table).until, None, "nothing lapses while a call has it");
    table.locks.leave(&session(1), &call(2));
    table.locks.renew(&x, Time(5));
    assert_eq!(holder(&table).until, Some(Time(5)));
}

#[test]
fn numbers_outgrow_those_of_a_journal_that_was_lost() {
    let mut before = Table { at: 1_700_000_000_000, ..Table::default() };
    for n in 0..50 {
        before.ask(&LockName::new(format!("l{n}")), 1, 1, true);
    }
    let last = before.granted.iter().map(|(_, _, _, fence, _)| *fence).max();
    let after = Table { at: before.at + 1000, ..Table::default() };
    assert!(last < Some(after.locks.next_fence(Time(after.at))));
}

#[derive(Debug, Clone)]
enum Deed {
    Ask { kept: bool },
    Leave,
    Unlock,
    Free,
    End,
    Time(i64),
}

fn deed() -> impl Strategy<Value = (Deed, u8, u8, u8)> {
    let deed = prop_oneof![
        6 => any::<bool>().prop_map(|kept| Deed::Ask { kept }),
        3 => Just(Deed::Leave),
        3 => Just(Deed::Unlock),
        1 => Just(Deed::Free),
        1 => Just(Deed::End),
        1 => (-3..3_i64).prop_map(Deed::Time),
    ];
    (deed, 0..3_u8, 0..4_u8, 0..3_u8)
}

/// Who waits for `name`, in order.
fn waiting(locks: &Locks, name: &LockName) -> Vec<(SessionId, CallId)> {
    let queue = locks.get(name).into_iter().flat_map(|lock| &lock.queue);
    queue.map(|waiter| (waiter.session.clone(), waiter.call.clone())).collect()
}

proptest! {
    #[test]
    fn nobody_shares_a_lock_and_everybody_is_served_in_order(deeds in proptest::collection::vec(deed(), 1..80)) {
        let mut table = Table::default();
        let mut calls = 0_u8;
        for (deed, which, who, of) in deeds {
            let name = LockName::new(format!("l{which}"));
            let before: Vec<_> = (0..3_u8).map(|n| LockName::new(format!("l{n}"))).map(|n| (waiting(&table.locks, &n), n)).collect();
            let served = table.granted.len();
            match deed {
                Deed::Ask { kept } => {
                    calls = calls.wrapping_add(1);
                    table.ask(&name, who, calls, kept);
                }
                Deed::Leave => {
                    let of_call = table.locks.get(&name).and_then(|lock| lock.holder.clone()).and_then(|h| Some((h.session, h.call?)));
                    let waits = waiting(&table.locks, &name);
                    let one = of_call.into_iter().chain(waits).nth(usize::from(of));
                    if let Some((session, call)) = one {
                        table.locks.leave(&session, &call);
                    }
                }
                Deed::Unlock => table.locks.unlock(&name),
                Deed::Free => table.locks.free(&name),
                Deed::End => table.locks.end(&session(who)),
                Deed::Time(ms) => table.at += ms,
            }
            table.serve();
            // First come, first served: who is granted a new hold was the first of those who waited and still do.
            for (name, session, call, _, is_new) in table.granted[served..].iter().filter(|granted| granted.4) {
                let (queue, _) = before.iter().find(|(_, other)| other == name).unwrap();
                let ahead = queue.iter().take_while(|w| **w != (session.clone(), call.clone()));
                let still = waiting(&table.locks, name);
                for other in ahead {
                    prop_assert!(!still.contains(other), "{other:?} was before {call} and {is_new} still waits");
                }
            }
            let mut last = std::collections::BTreeMap::new();
            for (name, .., fence, is_new) in &table.granted {
                let before = last.insert(name.clone(), *fence).unwrap_or(0);
                prop_assert!(if *is_new { before < *fence } else { before == *fence }, "numbers grow");
            }
            for (name, lock) in table.locks.all() {
                prop_assert!(lock.holder.is_some(), "{} is not left lying", name);
                prop_assert!(lock.holder.as_ref().is_some_and(|h| h.kept > 0 || h.call.is_some()));
            }
            let stored = serde_json::to_string(&table.locks).unwrap();
            prop_assert_eq!(&serde_json::from_str::<Locks>(&stored).unwrap(), &table.locks);
        }
        for who in 0..4 {
            table.locks.end(&session(who));
            table.serve();
        }
        prop_assert_eq!(table.locks.all().count(), 0, "nothing is left when all owners are gone");
        prop_assert!(table.locks.by_owner.is_empty() && table.locks.ready.is_empty());
    }
}
