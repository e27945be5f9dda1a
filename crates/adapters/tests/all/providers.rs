//! Providers over real connections: both APIs, in pieces and whole, and everything that can go wrong.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use adapters::model::Models;
use domain::session::{Message, Speaker};
use domain::settings::{Endpoint, KeySource, ModelRef, Provider, Settings, Timeouts};
use domain::tool::{Call, Want};
use domain::usage::Usage;
use ports::model::{ErrorKind, Model, ModelError, RawCall, Reply, Request, Schema};
use testkit::contract;
use testkit::model::{Puppet, message, request, result, says};
use testkit::provider::{Fault, Provider as Server};

/// Every way to ask.
const WAYS: [&str; 4] = ["openai", "openai-whole", "anthropic", "anthropic-whole"];
/// Time-outs of a test: long enough for a slow machine, short enough to wait for.
const TIMEOUTS: Timeouts = Timeouts { connect_ms: 2_000, first_byte_ms: 300, idle_ms: 300 };
const AGAIN: ErrorKind = ErrorKind::Retry { after_ms: 0 };
const OUT: ErrorKind = ErrorKind::Outage { after_ms: 0 };
const LIMITED: ErrorKind = ErrorKind::Limited { after_ms: 0 };

fn answer() -> Reply {
    let call = |id: &str, name: &str, arguments: &str| RawCall {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments: arguments.to_owned(),
    };
    Reply {
        text: "I look for é and 日本".to_owned(),
        calls: vec![
            call("call-1-1", "read_file", r#"{"path":"memory/backup.md"}"#),
            call("call-1-2", "write_file", r#"{"content":"a \"b\"\n","path":"x"}"#),
        ],
        usage: Usage { cache_read: 40, ..Usage::of(100, 20) },
    }
}

fn server() -> Server {
    Server::start(Arc::new(Puppet::answering(|_| Ok(answer()))))
}

fn endpoint(url: String, way: &str) -> Provider {
    let endpoint = Endpoint { stream: !way.ends_with("-whole"), timeouts: TIMEOUTS, ..Endpoint::new(url) };
    if way.starts_with("openai") { Provider::OpenAi(endpoint) } else { Provider::Anthropic(endpoint) }
}

fn settings(url: &str, change: impl Fn(&mut Endpoint)) -> Settings {
    let mut settings = Settings::default();
    for way in WAYS {
        let mut provider = endpoint(url.to_owned(), way);
        match &mut provider {
            Provider::OpenAi(endpoint) | Provider::Anthropic(endpoint) => change(endpoint),
            Provider::Scripted { .. } | Provider::Record { .. } | Provider::Replay { .. } => {}
        }
        settings.providers.insert(way.to_owned(), provider);
        let target = ModelRef {
            provider: way.to_owned(),
            model: "big".to_owned(),
            context_tokens: None,
            max_tokens: None,
        };
        settings.models.insert(way.to_owned(), target);
    }
    settings
}

fn models(server: &Server) -> Models {
    Models::new(Path::new("."), &settings(&server.url(), |_| {}))
}

fn ask(way: &str) -> Request {
    Request { model: way.to_owned(), ..request("coder-001", vec![message(Speaker::User, "go")]) }
}

#[tokio::test]
async fn every_way_gives_the_same_answer() {
    let server = server();
    let models = models(&server);
    assert_eq!(models.problems(), [""; 0]);
    for way in WAYS {
        assert_eq!(models.ask(ask(way)).await, Ok(answer()), "{way}");
    }
}

#[tokio::test]
async fn every_way_keeps_the_contract() {
    let server = Server::start(Arc::new(Puppet::answering(|_| Ok(says("yes")))));
    for way in WAYS {
        let provider = endpoint(server.url(), way);
        let target = ModelRef {
            provider: "p".to_owned(),
            model: "m".to_owned(),
            context_tokens: None,
            max_tokens: None,
        };
        let settings = Settings {
            providers: [("p".to_owned(), provider)].into(),
            models: [("puppet".to_owned(), target)].into(),
            ..Settings::default()
        };
        contract::model::holds(&Models::new(Path::new("."), &settings)).await;
    }
}

#[tokio::test]
async fn a_conversation_arrives_as_it_was_held() {
    let puppet = Arc::new(Puppet::answering(|_| Ok(says("fine"))));
    let server = Server::start(puppet.clone());
    let models = models(&server);
    let want = Want::Invalid { tool: "read_file".to_owned(), error: String::new() };
    let id = domain::id::CallId::new("c-1");
    let call = Call { id, arguments: r#"{"path":"a"}"#.to_owned(), want, seen: None };
    let talk = vec![
        message(Speaker::User, "read it"),
        Message { calls: vec![call], ..message(Speaker::Assistant, "I read") },
        result("c-1", "words"),
    ];
    for way in WAYS {
        let asked = Request { messages: talk.clone(), system: "be brief".to_owned(), ..ask(way) };
        models.ask(asked).await.unwrap();
        let seen = puppet.asked().pop().unwrap();
        assert_eq!(seen.system, "be brief", "{way}");
        let plain = |m: &Message| (m.speaker, m.content.clone(), m.calls.clone(), m.call.clone());
        let expected: Vec<_> = talk.iter().map(plain).collect();
        assert_eq!(seen.messages.iter().map(plain).collect::<Vec<_>>(), expected, "{way}");
    }
}

/// What each fault comes to, whichever way it is met.
fn faults() -> Vec<(Fault, ErrorKind, &'static str)> {
    let said = |code: u16, body: &str| Fault::Status { code, headers: Vec::new(), body: body.to_owned() };
    let long = r#"{"error":{"message":"prompt is too long"}}"#;
    let elsewhere = Fault::wait(302, "location", "https://elsewhere/");
    vec![
        (Fault::status(400), ErrorKind::GiveUp, "answers 400 Bad Request: not now"),
        (said(400, long), ErrorKind::TooLong, "too long for this model"),
        (Fault::status(401), ErrorKind::Denied, "the key is missing or wrong"),
        (Fault::status(403), ErrorKind::Down, "may not use this model"),
        (Fault::status(404), ErrorKind::Down, "does not know the model \"big\""),
        (Fault::status(408), OUT, "408 Request Timeout"),
        (Fault::status(413), ErrorKind::TooLong, "the conversation is too long"),
        (Fault::status(429), LIMITED, "429 Too Many Requests"),
        (Fault::status(500), OUT, "500 Internal Server Error"),
        (Fault::status(503), OUT, "503 Service Unavailable"),
        (Fault::status(529), LIMITED, "answers 529"),
        (elsewhere, ErrorKind::Denied, "sends requests on to https://elsewhere/"),
        (Fault::Cut { percent: 20 }, OUT, "127.0.0.1"),
        (Fault::Cut { percent: 60 }, OUT, "127.0.0.1"),
        (Fault::Short, AGAIN, "127.0.0.1"),
        (Fault::Malformed, AGAIN, "127.0.0.1"),
        (Fault::Page, ErrorKind::Denied, "answers with a web page; is base_url right?"),
        (Fault::Silent, OUT, "says nothing for 300 ms"),
        (Fault::Idle, OUT, "says nothing for 300 ms"),
        (Fault::Reset, OUT, "breaks the connection"),
        (Fault::endless(), ErrorKind::Down, "answers with more than 16777216 bytes"),
        (Fault::Refusal, ErrorKind::GiveUp, "declines to answer: I cannot help with that"),
        (Fault::Overloaded, LIMITED, "Overloaded"),
    ]
}

#[tokio::test]
async fn every_fault_has_its_outcome_and_its_words_and_the_next_question_is_answered() {
    let server = server();
    let models = models(&server);
    for (fault, kind, part) in faults() {
        for way in WAYS {
            let given = fault.clone();
            server.misbehave(move |number| (number == 0).then(|| given.clone()));
            let error = models.ask(ask(way)).await.expect_err(part);
            assert_eq!(error.kind, kind, "{way}, {fault:?}: {}", error.message);
            assert!(error.message.contains(part), "{way}, {fault:?}: {}", error.message);
            assert_eq!(models.ask(ask(way)).await, Ok(answer()), "{way} after {fault:?}");
        }
    }
}

#[tokio::test]
async fn an_answer_that_is_too_long_says_so_and_a_half_call_is_not_completed() {
    let server = server();
    let models = models(&server);
    server.misbehave(|_| Some(Fault::Length));
    for way in ["openai", "openai-whole", "anthropic"] {
        let reply = models.ask(ask(way)).await.unwrap();
        assert!(reply.text.ends_with("[The answer was cut off here: it reached max_tokens.]"), "{way}");
        assert_eq!(reply.calls[0], answer().calls[0], "{way}");
        assert!(serde_json::from_str::<serde_json::Value>(&reply.calls[1].arguments).is_err(), "{way}");
    }
    server.misbehave(|_| Some(Fault::BadArguments));
    for way in ["openai", "openai-whole", "anthropic"] {
        let reply = models.ask(ask(way)).await.unwrap();
        assert_eq!(reply.calls[1].arguments, "{\"path\": oops", "{way}: the tool's reader tells the model");
    }
    server.misbehave(|_| Some(Fault::Empty));
    for way in WAYS {
        let reply = models.ask(ask(way)).await.unwrap();
        assert_eq!((reply.text.as_str(), reply.calls.len()), ("", 0), "{way}: the domain asks again");
    }
}

#[tokio::test]
async fn a_wait_that_one_was_asked_for_holds_back_all_who_ask_the_model() {
    for (header, value, wait_ms) in [("retry-after-ms", "120", 120), ("retry-after", "120", 120_000)] {
        let server = server();
        let models = models(&server);
        let asked = Arc::new(std::sync::Mutex::new(Vec::new()));
        let times = asked.clone();
        server.misbehave(move |number| {
            times.lock().unwrap().push(std::time::Instant::now());
            (number == 0).then(|| Fault::wait(429, header, value))
        });
        let error = models.ask(ask("openai-whole")).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Limited { after_ms: wait_ms });
        let next = models.ask(ask("openai-whole")).await;
        if wait_ms > 30_000 {
            let waits = |after_ms: u64| (100_000..=120_000).contains(&after_ms);
            assert!(
                matches!(next, Err(ModelError { kind: ErrorKind::Limited { after_ms }, .. }) if waits(after_ms))
            );
            assert_eq!(server.seen().len(), 1, "nobody asks while the window is closed");
        } else {
            let times = asked.lock().unwrap().clone();
            let waited = times[1] - times[0];
            assert!(waited >= Duration::from_millis(wait_ms), "{waited:?}");
            assert_eq!(next, Ok(answer()));
        }
    }
}

#[tokio::test]
async fn dropping_a_question_closes_its_connection() {
    let server = server();
    let settings = settings(&server.url(), |endpoint| endpoint.timeouts = Timeouts::default());
    let models = Arc::new(Models::new(Path::new("."), &settings));
    let mut count = 0;
    for fault in [Fault::Silent, Fault::Idle] {
        for way in WAYS {
            let given = fault.clone();
            server.misbehave(move |_| Some(given.clone()));
            let (asked, before) = (models.clone(), server.seen().len());
            let question = tokio::spawn(async move { asked.ask(ask(way)).await });
            while server.seen().len() == before {
                tokio::task::yield_now().await;
            }
            question.abort();
            count += 1;
            server.abandoned(count).await;
        }
    }
}

#[tokio::test]
async fn a_key_goes_to_its_provider_and_is_never_told() {
    const SECRET: &str = "sk-test-81c5";
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("key");
    let write = |text: &str| {
        std::fs::write(&file, text).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    };
    write(SECRET);
    let server = server();
    let settings = settings(&server.url(), |endpoint| endpoint.key = Some(KeySource::File("key".to_owned())));
    let models = Models::new(home.path(), &settings);
    for (way, header, value) in [
        ("openai", "authorization", format!("Bearer {SECRET}")),
        ("anthropic", "x-api-key", SECRET.to_owned()),
    ] {
        models.ask(ask(way)).await.unwrap();
        assert_eq!(server.seen().pop().unwrap().header(header), Some(value.as_str()));
        let body = format!(r#"{{"error":{{"message":"Incorrect API key provided: {SECRET}"}}}}"#);
        server.misbehave(move |_| Some(Fault::Status { code: 403, headers: vec![], body: body.clone() }));
        let error = models.ask(ask(way)).await.unwrap_err();
        assert!(!error.message.contains(SECRET), "{}", error.message);
        assert!(error.message.contains("provided: [key]"), "{}", error.message);
        server.misbehave(|number| (number == 0).then(|| Fault::status(401)));
        models.ask(ask(way)).await.unwrap_err();
    }
    write("sk-test-new");
    models.ask(ask("anthropic")).await.unwrap();
    let sent = server.seen().pop().unwrap();
    assert_eq!(sent.header("x-api-key"), Some("sk-test-new"), "it is read again after a 401");
    let shown = format!("{settings:?}");
    assert!(!shown.contains("sk-test"), "{shown}");
}

#[tokio::test]
async fn a_key_is_not_sent_for_all_to_read() {
    let settings = settings("http://models.example/v1", |endpoint| {
        endpoint.key = Some(KeySource::Env("PATH".to_owned()));
    });
    let models = Models::new(Path::new("."), &settings);
    let error = models.ask(ask("openai")).await.unwrap_err();
    assert!(error.message.contains("a key would go to models.example for all to read"), "{}", error.message);
}

#[tokio::test]
async fn one_that_cannot_be_reached_is_tried_again() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let settings = settings(&format!("http://{closed}/v1"), |_| {});
    let models = Models::new(Path::new("."), &settings);
    for way in WAYS {
        let error = models.ask(ask(way)).await.unwrap_err();
        assert_eq!(error.kind, OUT);
        assert!(error.message.starts_with("127.0.0.1 cannot be reached: "), "{}", error.message);
    }
}

#[tokio::test]
async fn an_answer_by_schema_is_checked_whatever_the_provider_promises() {
    let mut answers = ["not json", "{\"vote\":\"yes\"}"].into_iter().cycle();
    let server = Server::start(Arc::new(Puppet::answering(move |_| Ok(says(answers.next().unwrap())))));
    let models = models(&server);
    let schema = r#"{"type":"object","properties":{"vote":{"type":"string"}},"required":["vote"],"additionalProperties":false}"#;
    for way in WAYS {
        let schema = Schema { name: "vote".to_owned(), schema: schema.to_owned() };
        let reply = models.ask(Request { schema: Some(schema), ..ask(way) }).await.unwrap();
        assert_eq!(reply.text, "{\"vote\":\"yes\"}", "{way}");
        let body = server.seen().pop().unwrap().body;
        let native = match way.starts_with("openai") {
            true => &body["response_format"],
            false => &body["output_config"]["format"],
        };
        assert_eq!(native["type"], "json_schema", "{way}");
    }
}

#[tokio::test]
async fn what_a_provider_does_not_count_is_estimated() {
    let server = server();
    let models = models(&server);
    let Reply { text, calls, .. } = answer();
    let bytes = text.len() + calls.iter().map(|call| call.name.len() + call.arguments.len()).sum::<usize>();
    for way in WAYS {
        for usage in [
            "null",
            "{}",
            r#"{"prompt_tokens": -300, "completion_tokens": 1e300, "input_tokens": -300, "output_tokens": 1e300}"#,
            r#"{"prompt_tokens": 0, "completion_tokens": 0, "input_tokens": 0, "output_tokens": 0}"#,
        ] {
            server.misbehave(move |_| Some(Fault::Miscounted(usage)));
            let reply = models.ask(ask(way)).await.unwrap();
            let estimated = Usage::of(9, bytes.div_ceil(3) as u64);
            assert_eq!(reply, Reply { usage: estimated, ..answer() }, "{way} with {usage}");
        }
        let is_whole = way.ends_with("-whole");
        for (fault, costs) in [
            (Fault::Cut { percent: 60 }, true),
            (Fault::Short, true),
            (Fault::Malformed, true),
            (Fault::Idle, true),
            (Fault::Refusal, true),
            // In place of an answer it costs nothing.
            (Fault::Overloaded, !is_whole),
            (Fault::status(400), false),
            (Fault::status(500), false),
            (Fault::Page, false),
            (Fault::Silent, false),
            (Fault::Reset, false),
        ] {
            let told = fault.clone();
            server.misbehave(move |_| Some(told.clone()));
            let error = models.ask(ask(way)).await.unwrap_err();
            let Usage { tokens_in, tokens_out, .. } = error.usage;
            assert_eq!((tokens_in > 0, tokens_out > 0), (costs, costs), "{way}: {fault:?}: {error:?}");
        }
    }
}

#[tokio::test]
async fn who_gives_up_on_an_answer_knows_what_came_of_it() {
    let server = server();
    let settings = settings(&server.url(), |endpoint| endpoint.timeouts.idle_ms = 600_000);
    let models = Arc::new(Models::new(Path::new("."), &settings));
    server.misbehave(|_| Some(Fault::Idle));
    for way in WAYS {
        let request = ask(way);
        let (progress, models) = (request.progress.clone(), models.clone());
        let asked = tokio::spawn(async move { models.ask(request).await });
        let something = async {
            while progress.so_far() == Usage::default() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), something).await.expect("something comes");
        asked.abort();
        let Usage { tokens_in, tokens_out, .. } = progress.so_far();
        assert!(tokens_in > 0 && tokens_out > 0, "{way}: {:?}", progress.so_far());
    }
}
