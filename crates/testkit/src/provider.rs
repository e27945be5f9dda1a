//! A provider of models on this machine: a real HTTP server that speaks OpenAI's and Anthropic's API, in pieces and
//! whole, and misbehaves when it is told to. What it says comes from a model of the test.

mod fault;
mod wire;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use ports::model::Model;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

pub use fault::Fault;

/// A request is not longer than this.
const REQUEST_BYTES_MAX: usize = 64 << 20;
/// So many requests are remembered.
const REMEMBERED_MAX: usize = 10_000;

type Choose = dyn FnMut(usize) -> Option<Fault> + Send;

/// The server. It stops when this is dropped.
pub struct Provider {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: Option<watch::Sender<bool>>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    brain: Arc<dyn Model>,
    faults: Mutex<Box<Choose>>,
    latency: Mutex<Duration>,
    count: AtomicUsize,
    /// Requests that the asker gave up before they were answered.
    abandoned: watch::Sender<usize>,
    seen: Mutex<Vec<Seen>>,
}

/// A request as it came in.
#[derive(Debug, Clone)]
pub struct Seen {
    /// `/v1/messages`
    pub path: String,
    /// All headers, as they were sent.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Value,
}

impl Shared {
    fn remember(&self, seen: &Seen) {
        let mut kept = lock(&self.seen);
        if kept.len() < REMEMBERED_MAX {
            kept.push(seen.clone());
        }
    }
}

impl Seen {
    /// A header by its name in small letters.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }
}

impl Provider {
    /// Starts a server that answers with what `brain` says.
    pub fn start(brain: Arc<dyn Model>) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("this machine has a loopback");
        listener.set_nonblocking(true).expect("a listener can be made asynchronous");
        let address = listener.local_addr().expect("a listener has an address");
        let shared = Arc::new(Shared {
            brain,
            faults: Mutex::new(Box::new(|_| None)),
            latency: Mutex::default(),
            count: AtomicUsize::new(0),
            abandoned: watch::Sender::new(0),
            seen: Mutex::default(),
        });
        let (stop, stopped) = watch::channel(false);
        let served = shared.clone();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime for the test's server").block_on(serve(listener, served, stopped));
        });
        Self { address, shared, stop: Some(stop), thread: Some(thread) }
    }

    /// What stands before `/chat/completions` and `/messages`.
    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Asks `choose` for each request, by its number from 0, how to misbehave.
    pub fn misbehave(&self, choose: impl FnMut(usize) -> Option<Fault> + Send + 'static) {
        *lock(&self.shared.faults) = Box::new(choose);
        self.shared.count.store(0, Ordering::SeqCst);
    }

    /// Answers this much later.
    pub fn delay(&self, latency: Duration) {
        *lock(&self.shared.latency) = latency;
    }

    /// How many requests came since it was told how to misbehave.
    pub fn count(&self) -> usize {
        self.shared.count.load(Ordering::SeqCst)
    }

    /// Every request so far.
    pub fn seen(&self) -> Vec<Seen> {
        lock(&self.shared.seen).clone()
    }

    /// Waits until so many requests were given up by their asker.
    pub async fn abandoned(&self, count: usize) {
        let mut abandoned = self.shared.abandoned.subscribe();
        _ = abandoned.wait_for(|n| *n >= count).await;
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            _ = thread.join();
        }
    }
}

fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn serve(listener: std::net::TcpListener, shared: Arc<Shared>, mut stopped: watch::Receiver<bool>) {
    let Ok(listener) = TcpListener::from_std(listener) else { return };
    loop {
        tokio::select! {
            // The sender is dropped: the test is over. Connections end with the runtime.
            _ = stopped.changed() => return,
            accepted = listener.accept() => {
                if let Ok((stream, _)) = accepted {
                    _ = stream.set_nodelay(true);
                    tokio::spawn(Connection { stream, buffer: Vec::new(), shared: shared.clone() }.run());
                }
            }
        }
    }
}

struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
    shared: Arc<Shared>,
}

impl Connection {
    async fn run(mut self) {
        while let Some(seen) = self.request().await {
            let number = self.shared.count.fetch_add(1, Ordering::SeqCst);
            let fault = (lock(&self.shared.faults))(number);
            self.shared.remember(&seen);
            let latency = *lock(&self.shared.latency);
            if !latency.is_zero() {
                tokio::time::sleep(latency).await;
            }
            if !self.answer(&seen, fault).await {
                return;
            }
        }
    }

    /// The next request; nothing if the asker is gone.
    async fn request(&mut self) -> Option<Seen> {
        let end = loop {
            if let Some(at) = self.buffer.windows(4).position(|w| w == b"\r\n\r\n") {
                break at + 4;
            }
            self.more().await?;
        };
        let head = String::from_utf8_lossy(&self.buffer[..end]).into_owned();
        let mut lines = head.lines();
        let path = lines.next()?.split(' ').nth(1)?.to_owned();
        let headers: Vec<(String, String)> = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
            .collect();
        let length = headers.iter().find(|(n, _)| n == "content-length").and_then(|(_, v)| v.parse().ok());
        let length: usize = length.unwrap_or(0);
        while self.buffer.len() < end + length {
            self.more().await?;
        }
        let body = serde_json::from_slice(&self.buffer[end..end + length]).unwrap_or(Value::Null);
        self.buffer.drain(..end + length);
        Some(Seen { path, headers, body })
    }

    async fn more(&mut self) -> Option<()> {
        let mut bytes = [0; 16 << 10];
        let n = self.stream.read(&mut bytes).await.ok().filter(|n| *n > 0)?;
        self.buffer.extend(&bytes[..n]);
        (self.buffer.len() <= REQUEST_BYTES_MAX).then_some(())
    }

    /// Answers one request; whether the connection goes on.
    async fn answer(&mut self, seen: &Seen, fault: Option<Fault>) -> bool {
        let is_openai = seen.path.ends_with("/chat/completions");
        if let Some(fault) = &fault
            && let Some(raw) = fault.without_model(is_openai)
        {
            return self.misbehave(fault, &raw).await;
        }
        let stream = seen.body["stream"] == true;
        let request = wire::request(&seen.body);
        let is_due = request.is_due;
        let mut reply = match self.shared.brain.ask(request).await {
            Ok(reply) => wire::ended(wire::Reply::of(reply), is_due),
            Err(error) => {
                let raw = fault::status(500, &[], &error.message);
                return self.write(raw.as_bytes()).await;
            }
        };
        if let Some(fault) = &fault {
            fault.change(&mut reply);
        }
        let pieces = match (is_openai, stream) {
            (true, true) => wire::openai_events(&reply),
            (false, true) => wire::anthropic_events(&reply),
            (true, false) => vec![wire::openai(&reply).to_string()],
            (false, false) => vec![wire::anthropic(&reply).to_string()],
        };
        let pieces = match &fault {
            Some(fault) => fault.pieces(pieces, stream),
            None => pieces,
        };
        let kind = if stream { "text/event-stream" } else { "application/json" };
        let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\n\r\n");
        let chunks = pieces.iter().map(|piece| format!("{:x}\r\n{piece}\r\n", piece.len()));
        let mut whole = head + &chunks.collect::<String>();
        match &fault {
            Some(Fault::Cut { percent }) => {
                let mut bytes = whole.into_bytes();
                bytes.truncate(bytes.len() * usize::from(*percent).min(99) / 100);
                self.write(&bytes).await;
                false
            }
            Some(Fault::Idle) => {
                let half = whole.len() / 2;
                self.write(&whole.as_bytes()[..half]).await;
                self.gone().await;
                false
            }
            _ => {
                whole.push_str("0\r\n\r\n");
                self.write(whole.as_bytes()).await
            }
        }
    }

    async fn misbehave(&mut self, fault: &Fault, raw: &str) -> bool {
        match fault {
            Fault::Silent => {
                self.gone().await;
                false
            }
            Fault::Reset => {
                _ = self.stream.set_zero_linger();
                false
            }
            Fault::Endless { chunk } => {
                if self.write(raw.as_bytes()).await {
                    while self.write(chunk.as_bytes()).await {}
                }
                self.shared.abandoned.send_modify(|n| *n += 1);
                false
            }
            _ => self.write(raw.as_bytes()).await,
        }
    }

    /// Waits until the asker closes the connection.
    async fn gone(&mut self) {
        while self.more().await.is_some() {}
        self.shared.abandoned.send_modify(|n| *n += 1);
    }

    async fn write(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).await.is_ok()
    }
}
