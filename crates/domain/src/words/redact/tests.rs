//! What is redacted and what is not: a corpus both ways.

use super::*;

/// What must never get through: the whole text, and the part that is secret.
const SECRET: [(&str, &str); 46] = [
    ("key: sk-ant-api03-AbCd1234efGH5678ijKL9012mnOP-x_yZ", "AbCd1234efGH5678"),
    ("OPENAI sk-proj-abcDEF123456ghiJKL7890 in prose", "abcDEF123456"),
    ("curl -H 'x: sk-1234567890abcdefABCDEF1234567890'", "1234567890abcdef"),
    ("sk-or-v1-0123456789abcdef0123456789abcdef", "0123456789abcdef"),
    ("git push https://x:ghp_0123456789abcdefghijABCDEFGHIJ456789@github.com/a/b", "ghp_0123456789"),
    ("github_pat_11ABCDEFG0abcdefghijkl_mnop", "11ABCDEFG0abc"),
    ("glpat-ABCdef123456_7890-xy", "ABCdef123456"),
    ("aws AKIAIOSFODNN7EXAMPLE", "IOSFODNN7EXAMPLE"),
    ("xoxb-123456789012-abcdefGHIJKL", "123456789012-abc"),
    ("AIzaSyA1234567890abcdefghijklmnopqrstuv", "SyA1234567890"),
    ("npm_0123456789abcdefghijklmnopqrstuvwxyzAB", "0123456789abcdef"),
    ("hf_ABCdefGHIjklMNOpqrSTUvwxYZ0123456789", "ABCdefGHI"),
    ("jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc123DEF456ghi789 end", "eyJzdWIiOiIxMjM0In0"),
    ("Authorization: Bearer abcdef0123456789ghij", "abcdef0123456789"),
    ("authorization: Basic ZGFuYTpodW50ZXIyMTIz", "ZGFuYTpodW50"),
    ("{\"Authorization\": \"token abcdef123456\"}", "abcdef123456"),
    ("Cookie: session=9f8e7d6c5b4a3210; theme=dark", "9f8e7d6c5b4a"),
    ("postgres://dana:hunter2@db.example.org:5432/app", "hunter2"),
    ("redis://:s3cr3tpass@localhost:6379", "s3cr3tpass"),
    ("password=hunter2", "hunter2"),
    ("PASSWORD=correcthorse", "correcthorse"),
    ("password: hunter2!", "hunter2!"),
    ("\"password\": \"correcthorse\"", "correcthorse"),
    ("'passwd': 'Tr0ub4dor&3'", "Tr0ub4dor&3"),
    ("DB_PASS='p4ssw0rd'", "p4ssw0rd"),
    ("{\"token\":\"a1b2c3d4e5f6g7h8\"}", "a1b2c3d4e5f6"),
    ("{\\\"token\\\": \\\"a1b2c3d4e5f6g7h8\\\"}", "a1b2c3d4e5f6"),
    ("API_KEY: 9aF3kLm20xQzT7vB", "9aF3kLm20xQzT7vB"),
    ("export STRIPE_KEY=rnd8f7a6s5d4f3g2h1", "rnd8f7a6s5d4"),
    ("apiKey = \"9aF3kLm20xQzT7vB\"", "9aF3kLm20xQzT7vB"),
    ("client_secret: 0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9", "4e5f-6071"),
    ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzKEY1", "wJalrXUtnFEMI"),
    ("access_token=ya29.a0AfH6SMBx1234567890abcdef&x=1", "a0AfH6SMBx"),
    ("https://h/x?api_key=9aF3kLm20xQzT7vB&y=2", "9aF3kLm20xQzT7vB"),
    ("password => 'hunter22'", "hunter22"),
    ("password := \"hunter22\"", "hunter22"),
    ("sshpass -p x; PGPASSWORD=hunter2 psql", "hunter2"),
    ("--password=hunter2 --user=dana", "hunter2"),
    ("sk_live_51H8abcdEFGHijkl0123", "51H8abcd"),
    ("whsec_ABCDEF0123456789abcdef", "ABCDEF0123"),
    ("PRIVATE+KEY+synod/1+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz", "AYEKFALVFGy"),
    ("AGE-SECRET-KEY-1QQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQ", "QQQQQQQQ"),
    ("-----BEGIN RSA PRIVATE KEY-----\nMIIEabc\ndef\n-----END RSA PRIVATE KEY-----\nafter", "MIIEabc"),
    ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk", "b3BlbnNzaC1rZXk"),
    ("rZXktdjEAAAAABG5v\nAAAAgQ==\n-----END PRIVATE KEY-----\nrest", "AAAAgQ"),
    ("\"key\": \"-----BEGIN PRIVATE KEY-----\\nMIIE\\n-----END PRIVATE KEY-----\\n\"", "MIIE"),
];

/// What people and agents need to read as it is.
const HARMLESS: [&str; 44] = [
    "commit 0123456789abcdef0123456789abcdef01234567",
    "id 123e4567-e89b-12d3-a456-426614174000",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4",
    "max_tokens: 4096, token_count=12345678901234",
    "tokens: 123456789012",
    "let token = self.next_token();",
    "token = lexer.current_token1",
    "password: string",
    "password: Option<String>",
    "def login(user: str, password: str) -> None:",
    "password = getpass.getpass()",
    "password = request.form.password",
    "PASSWORD=${DB_PASSWORD}",
    "password: \"{{ vault.password }}\"",
    "api_key: <your key here>",
    "api_key=YOUR_API_KEY_1234567",
    "\"password\": \"Enter your password\"",
    "the password: it must be long",
    "What is the secret: nobody knows",
    "primary_key: user_id_0123456789",
    "public_key = \"AAAAB3NzaC1yc2EAAAADAQABAAABAQC7\"",
    "sort_key=created_at_2026_01_01",
    "next_page_token: abcdef0123456789",
    "sk-learn-is-a-nice-library-for-2026",
    "risk-assessment-of-the-whole-project",
    "desk-1234567890abcdef1234 is a word with sk- inside",
    "AKIA is a prefix, AKIAbc too",
    "Bearer authentication is described below",
    "the bearer of this letter is trustworthy",
    "http://localhost:8080/path@2x.png",
    "https://user@example.org/repo.git",
    "ssh://git@github.com:22/a/b.git",
    "https://user:${TOKEN}@example.org/",
    "-----BEGIN CERTIFICATE-----\nMIIBIjANBgkq\n-----END CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkq\n-----END PUBLIC KEY-----",
    "crates/domain/src/token.rs:12: error: no such token",
    "secret: /run/secrets/db",
    "token_file=/etc/synod/token-0123456789ab",
    "synod/0123456789abcdef+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
    "Authorization: see below",
    "2026-11-16T01:50:02.123Z event=12345 seq=678901234567",
    "Schlüssel: ä ö ü, password: ***",
    "if password == other_password { … }",
];

#[test]
fn no_secret_gets_through() {
    for (text, secret) in SECRET {
        let clean = redact(text);
        assert!(!clean.contains(secret) && clean.contains("[redacted: "), "{text:?} became {clean:?}");
    }
}

#[test]
fn what_is_harmless_stays() {
    let changed: Vec<_> =
        HARMLESS.iter().map(|text| redact(text)).filter(|c| matches!(c, Cow::Owned(_))).collect();
    assert_eq!(changed, Vec::<String>::new());
}

#[test]
fn only_the_secret_is_replaced() {
    let cases = [
        ("password=hunter2 --user=dana", "password=[redacted: password] --user=dana"),
        ("{\"token\":\"a1b2c3d4e5f6g7h8\",\"n\":1}", "{\"token\":\"[redacted: secret]\",\"n\":1}"),
        ("Authorization: Bearer abcdef0123456789ghij\nX: y", "Authorization: Bearer [redacted: token]\nX: y"),
        ("redis://:s3cr3tpass@localhost:6379", "redis://:[redacted: password]@localhost:6379"),
        (
            "a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nb",
            "a\n[redacted: private key]\nb",
        ),
    ];
    for (text, clean) in cases {
        assert_eq!(redact(text), clean);
    }
}

#[test]
fn redacting_twice_changes_nothing_more() {
    for (text, _) in SECRET {
        let once = redact(text).into_owned();
        assert_eq!(redact(&once), once);
    }
}

#[test]
fn json_stays_json() {
    for (text, _) in SECRET {
        let value = serde_json::json!({ "content": text, "password": text });
        let clean = redact(&value.to_string()).into_owned();
        assert!(serde_json::from_str::<serde_json::Value>(&clean).is_ok(), "{clean}");
    }
}

#[test]
fn a_key_begins_where_no_word_goes_on() {
    let keys = [
        "ghp_0123456789abcdefghijABCDEFGHIJ456789",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc123DEF456ghi789",
        "AKIAIOSFODNN7EXAMPLE",
        "Bearer abcdef0123456789ghij",
        "SG.0123456789abcdefghijABCDEFGHIJ4567890123456789",
    ];
    for key in keys {
        for before in ["", " ", "\n", "(", "s ", "sk ", "x:", "e-", "\u{e4}"] {
            assert!(redact(&format!("{before}{key}")).contains("[redacted: "), "{before:?} {key}");
        }
        for before in ["x", "7", "_", "e"] {
            let text = format!("{before}{key}");
            assert_eq!(redact(&text), text);
        }
    }
}

#[test]
fn known_values_are_found_anywhere() {
    assert_eq!(redact_known("x=plain-word-key;", &["plain-word-key", "x"]), "x=[redacted: known key];");
}

#[test]
fn hostile_texts_cost_no_more_than_their_length() {
    for piece in [
        "token:",
        "password='",
        "://a:",
        "-----BEGIN ",
        "-----END PRIVATE KEY",
        "eyJ",
        "sk-",
        "\\\"token\\\":",
    ] {
        let text = piece.repeat(40_000 / piece.len());
        // Each byte is looked at a bounded number of times; quadratic work would not end.
        assert!(redact(&text).len() < 20 * text.len());
    }
}
