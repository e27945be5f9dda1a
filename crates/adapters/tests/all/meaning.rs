//! Search by meaning, against a server that gives vectors.

use std::sync::{Arc, Mutex};

use domain::id::AgentId;
use domain::settings::{Embeddings, Endpoint, KeySource, Provider, Settings};
use ports::tools::Tools as _;
use serde_json::{Value, json};
use testkit::tools::order;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::home::{Home, search};

/// A provider whose vectors point to cars, to food, or to neither.
struct Server {
    url: String,
    asked: Arc<Mutex<Vec<String>>>,
    status: Arc<Mutex<&'static str>>,
}

impl Server {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let status = Arc::new(Mutex::new("200 OK"));
        let (texts, answer) = (Arc::clone(&asked), Arc::clone(&status));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&texts), Arc::clone(&answer)));
            }
        });
        Self { url, asked, status }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    fn settings(&self) -> Settings {
        let mut settings = Settings::default();
        settings.providers.insert("local".to_owned(), Provider::OpenAi(Endpoint::new(self.url.clone())));
        settings.search.embeddings =
            Some(Embeddings { provider: "local".to_owned(), model: "small".to_owned() });
        settings
    }
}

async fn serve(mut stream: TcpStream, asked: Arc<Mutex<Vec<String>>>, status: Arc<Mutex<&'static str>>) {
    let mut bytes = Vec::new();
    loop {
        let mut part = [0; 4096];
        let Ok(read @ 1..) = stream.read(&mut part).await else { return };
        bytes.extend_from_slice(&part[..read]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.to_lowercase().lines().find_map(|line| {
            line.strip_prefix("content-length:").map(|n| n.trim().parse::<usize>().unwrap())
        });
        if body.len() < length.unwrap_or(0) {
            continue;
        }
        assert!(head.starts_with("POST /v1/embeddings "), "{head}");
        let request: Value = serde_json::from_str(body).unwrap();
        assert_eq!(request["model"], "small");
        let texts: Vec<String> =
            request["input"].as_array().unwrap().iter().map(|t| t.as_str().unwrap().to_owned()).collect();
        let data: Vec<Value> =
            texts.iter().enumerate().map(|(n, t)| json!({"index": n, "embedding": vector(t)})).collect();
        asked.lock().unwrap().extend(texts);
        let status = *status.lock().unwrap();
        let answer = json!({"data": data}).to_string();
        let answer = format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{answer}",
            answer.len()
        );
        if stream.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
        bytes.clear();
    }
}

fn vector(text: &str) -> [f64; 3] {
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    match (has(&["car", "automobile", "engine"]), has(&["bread", "meal"])) {
        (true, _) => [1.0, 0.0, 0.0],
        (_, true) => [0.0, 1.0, 0.0],
        _ => [0.0, 0.0, 1.0],
    }
}

#[tokio::test]
async fn what_means_the_same_is_found_and_asked_for_once() {
    let server = Server::start().await;
    let home = Home::new();
    home.write("memory/a.md", "the automobile stands in the yard\n")
        .write("memory/b.md", "bread for the meal\n")
        .write(
            "memory/key.md",
            "automobile\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\n",
        )
        .write("memory/pay/june.md", "automobile of the director\n");
    let mut settings = server.settings();
    settings.trust.secret.insert("memory/pay/*".to_owned(), vec![AgentId::new("finance-001")]);
    home.tools.settle(&settings);
    let found = home.run(order(1, "coder-001", search("car", None))).await;
    assert_eq!(found.read, ["memory/a.md"], "{}", found.text);
    assert_eq!(found.text, "memory/a.md:1: the automobile stands in the yard");
    let mut asked = server.asked();
    asked.sort_unstable();
    assert_eq!(asked, ["bread for the meal\n", "car", "the automobile stands in the yard\n"]);
    home.run(order(1, "coder-001", search("engine", None))).await;
    assert_eq!(server.asked().len(), 4, "only the query is new");
    home.write("memory/b.md", "a meal without\n");
    let found = home.run(order(1, "coder-001", search("bread", None))).await;
    assert_eq!(found.read, ["memory/b.md"], "{}", found.text);
    assert_eq!(server.asked().len(), 6, "the query and the file that changed");
}

#[tokio::test]
async fn what_both_ways_find_comes_first() {
    let server = Server::start().await;
    let home = Home::new();
    home.write("memory/a.md", "automobile\n")
        .write("memory/b.md", "the car, an automobile\n")
        .write("memory/c.md", "meal in the car park\n");
    home.tools.settle(&server.settings());
    let found = home.run(order(1, "coder-001", search("car", None))).await;
    assert_eq!(found.read.len(), 3, "{}", found.text);
    assert_ne!(found.read[2], "memory/b.md", "{}", found.text);
    assert_eq!(found.read[2], "memory/a.md", "it has the meaning and not the word: {}", found.text);
}

#[tokio::test]
async fn without_vectors_words_alone_count_and_it_is_said() {
    let server = Server::start().await;
    *server.status.lock().unwrap() = "503 Service Unavailable";
    let home = Home::new();
    home.write("memory/a.md", "a car\n");
    home.tools.settle(&server.settings());
    let found = home.run(order(1, "coder-001", search("car", None))).await;
    assert_eq!(found.read, ["memory/a.md"]);
    assert!(found.text.contains("[searched by words alone: "), "{}", found.text);
    *server.status.lock().unwrap() = "200 OK";
    let found = home.run(order(1, "coder-001", search("car", None))).await;
    assert_eq!(found.text, "memory/a.md:1: a car");
    // A key that is not there is told, and nothing is sent.
    let mut settings = server.settings();
    let endpoint =
        Endpoint { key: Some(KeySource::Env("SYNOD_TEST_NO_KEY".to_owned())), ..Endpoint::new(&server.url) };
    settings.providers.insert("local".to_owned(), Provider::OpenAi(endpoint));
    home.tools.settle(&settings);
    let found = home.run(order(1, "coder-001", search("car", None))).await;
    assert!(found.text.contains("SYNOD_TEST_NO_KEY"), "{}", found.text);
}

#[tokio::test]
async fn what_an_agent_may_not_see_is_left_out() {
    let home = Home::new();
    home.write("memory/a.md", "salary table\n").write("memory/pay/june.md", "salary of all\n");
    let mut settings = Settings::default();
    settings.trust.secret.insert("memory/pay/*".to_owned(), vec![AgentId::new("finance-001")]);
    home.tools.settle(&settings);
    let found = home.run(order(1, "coder-001", search("salary", None))).await;
    assert_eq!(found.read, ["memory/a.md"]);
    let mut found = home.run(order(1, "finance-001", search("salary", None))).await;
    found.read.sort_unstable();
    assert_eq!(found.read, ["memory/a.md", "memory/pay/june.md"]);
}
