//! Grants given and taken: only their own bytes change.

use domain::context::{Access, Acl, Grant, Grantee};
use domain::id::{AgentId, Time};
use formats::acl::{Unchanged, give, print, read, take};

const PATH: &str = "contexts/plan.acl.yaml";

fn agent(id: &str) -> Grantee {
    Grantee::Agent(AgentId::new(id))
}

fn grant(to: Grantee) -> Grant {
    Grant { to, access: Access::Read, redact: Vec::new(), expires: None }
}

#[test]
fn a_grant_is_added_in_whatever_way_the_file_is_written() {
    let new = Grant {
        access: Access::ReadWrite,
        redact: vec!["a.b".to_owned()],
        expires: Some(Time(1_800_000_000_000)),
        ..grant(agent("coder-001"))
    };
    let line = "{agent: coder-001, access: read_write, redact: [a.b], expires: '2027-01-15T08:00:00.000Z'}";
    for (text, becomes) in [
        ("", format!("grants:\n  - {line}\n")),
        ("grants: []\n", format!("grants: [{line}]\n")),
        (
            "# who\ngrants:\n  # the first\n  - agent: a # her\n    access: read\n\n# end\n",
            format!(
                "# who\ngrants:\n  # the first\n  - agent: a # her\n    access: read\n  - {line}\n\n# end\n"
            ),
        ),
        ("grants:\n- {role: coder}\n", format!("grants:\n- {{role: coder}}\n- {line}\n")),
        ("grants: [{agent: a}]\nowner: b\n", format!("grants: [{{agent: a}}, {line}]\nowner: b\n")),
    ] {
        assert_eq!(give(PATH, text, &new), Ok(becomes), "{text:?}");
    }
}

#[test]
fn a_grant_that_is_there_becomes_the_new_one_and_comments_stay() {
    let text = "grants:\n  # why\n  - agent: a # her\n    access: read # only\n    redact: [x]\n  - role: coder\n  - {agent: a}\n";
    let wider = Grant { access: Access::ReadWrite, ..grant(agent("a")) };
    let expected = "grants:\n  # why\n  - agent: a # her\n    access: read_write # only\n  - role: coder\n";
    assert_eq!(give(PATH, text, &wider).as_deref(), Ok(expected));
}

#[test]
fn a_grant_is_taken_back_and_the_last_one_leaves_an_empty_list() {
    let text = "owner: a\ngrants:\n  # why\n  - agent: a\n  - role: coder # all\n  - {agent: a, access: read_write}\n";
    let left = take(PATH, text, &agent("a")).unwrap();
    assert_eq!(left, "owner: a\ngrants:\n  # why\n  - role: coder # all\n");
    let none = take(PATH, &left, &Grantee::Role("coder".to_owned())).unwrap();
    assert_eq!(read(PATH, &none).value, Some(Acl { owner: Some(AgentId::new("a")), grants: Vec::new() }));
    assert_eq!(take(PATH, text, &agent("b")).as_deref(), Ok(text));
}

#[test]
fn what_does_not_read_is_not_changed_and_says_where() {
    let Err(Unchanged::Broken(told)) = give(PATH, "grants:\n  - {agnt: a}\n", &grant(agent("b"))) else {
        panic!("it was changed")
    };
    assert_eq!((told[0].line, told[0].column), (2, 5));
}

#[test]
fn what_is_printed_reads_as_it_was() {
    for acl in [
        Acl::default(),
        Acl {
            owner: Some(AgentId::new("a")),
            grants: vec![grant(agent("a")), grant(Grantee::Role("x: y".to_owned()))],
        },
    ] {
        assert_eq!(read(PATH, &print(&acl)).value, Some(acl));
    }
}
