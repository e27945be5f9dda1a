//! What a path rule covers, as a table.

use policy::path::{Pattern, beneath, normal};

#[test]
fn a_pattern_covers_what_it_names_and_all_beneath_it() {
    for (pattern, covered, others) in [
        (
            "memory/pay",
            &["memory/pay", "memory/pay/june.md", "memory/pay/2026/june.md"][..],
            &["memory", "memory/payment", "memory/play.md", "x/memory/pay", ""][..],
        ),
        (
            "memory/pay/*",
            &["memory/pay", "memory/pay/june.md", "memory/pay/2026/june.md"],
            &["memory", "memory/payment"],
        ),
        ("memory/pay/**", &["memory/pay", "memory/pay/2026/june.md"], &["memory", "memory/payment"]),
        ("memory/pay/", &["memory/pay", "memory/pay/june.md"], &["memory", "memory/payment"]),
        ("./memory//pay/./*", &["memory/pay/june.md"], &["memory"]),
        ("Memory/PAY/*", &["memory/pay/june.md", "MEMORY/pay/June.md"], &["memory"]),
        (
            "workspaces/*/vendor/*",
            &[
                "workspaces/a/vendor",
                "workspaces/a/vendor/x.c",
                "workspaces/a/vendor/x/y.c",
                "workspaces/a/lib/vendor/x",
            ],
            &["workspaces", "workspaces/a", "workspaces/a/vendored/x", "workspaces/vendor/x", "vendor/x"],
        ),
        (
            "memory/*.md",
            &["memory/a.md", "memory/a/b.md", "memory/a.md/x"],
            &["memory", "memory/a.txt", "a.md"],
        ),
        (
            "contexts/cust*",
            &["contexts/customers.json", "contexts/cust", "contexts/cust/a"],
            &["contexts", "contexts/plan.json"],
        ),
        ("*.pem", &["a.pem", "memory/a.pem"], &["a.pem.txt"]),
        ("*", &["a", "a/b", ""], &[]),
        ("**", &["a", "a/b", ""], &[]),
        ("", &[""], &["a"]),
        ("/*", &[""], &["a", "a/b"]),
        ("/memory", &[], &["memory", "memory/a"]),
    ] {
        let rule = Pattern::new(pattern);
        for path in covered {
            assert!(rule.covers(path), "{pattern} covers {path:?}");
        }
        for path in others {
            assert!(!rule.covers(path), "{pattern} does not cover {path:?}");
        }
    }
}

#[test]
fn a_folder_may_hold_what_a_pattern_covers() {
    for (pattern, folder, may, begins) in [
        ("memory/pay/*", "", true, true),
        ("memory/pay/*", "memory", true, true),
        ("memory/pay/*", "memory/pay/2026", true, false),
        ("memory/pay/*", "memory/payment", false, false),
        ("memory/pay/*", "mem", false, false),
        ("memory/pay/*", "workspaces", false, false),
        ("workspaces/*/vendor/*", "workspaces", true, true),
        ("workspaces/*/vendor/*", "workspaces/a", true, false),
        ("workspaces/*/vendor/*", "workspaces/a/src", true, false),
        ("workspaces/*/vendor/*", "memory", false, false),
        ("contexts/cust*", "contexts", true, true),
        ("contexts/cust*", "contexts/plan", false, false),
        ("*.pem", "memory", true, false),
    ] {
        let rule = Pattern::new(pattern);
        assert_eq!(rule.may_cover_beneath(folder), may, "{pattern} in {folder:?}");
        assert_eq!(rule.begins_beneath(folder), begins, "{pattern} begins in {folder:?}");
    }
}

#[test]
fn a_path_has_one_plain_form() {
    for (path, plain) in [
        ("memory/a.md", Some("memory/a.md")),
        ("./memory//./a.md/", Some("memory/a.md")),
        ("memory/x/../a.md", Some("memory/a.md")),
        (".", Some("")),
        ("a/..", Some("")),
        ("..", None),
        ("a/../../b", None),
        ("/etc", None),
        ("~/x", None),
    ] {
        assert_eq!(normal(path).as_deref(), plain, "{path}");
    }
}

#[test]
fn a_folder_is_compared_as_the_least_careful_file_system_does() {
    for (path, folder, is) in [
        ("policy/commands.yaml", "policy", true),
        ("POLICY./x", "policy", true),
        ("policy", "policy", true),
        ("policies/x", "policy", false),
        ("memory/policy", "policy", false),
    ] {
        assert_eq!(beneath(path, folder), is, "{path} in {folder}");
    }
}
