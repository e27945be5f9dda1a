//! A provider that does nothing but wait and say the same words: what is measured against it is not the server's own
//! work.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

/// Connections that may wait to be taken: all of a thousand come at once.
const BACKLOG: u32 = 4_096;
const ANSWER: &str = r#"{"id":"1","object":"chat.completion","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"It is done."}}],"usage":{"prompt_tokens":10,"completion_tokens":4,"total_tokens":14}}"#;

/// A server on a thread of its own, for as long as the process lives.
pub struct Lean {
    address: SocketAddr,
    latency_ms: Arc<AtomicU64>,
}

impl Lean {
    /// Starts it.
    pub fn start(latency: Duration) -> anyhow::Result<Self> {
        let latency_ms = Arc::new(AtomicU64::new(0));
        let (sender, address) = std::sync::mpsc::channel();
        let wait = Arc::clone(&latency_ms);
        std::thread::spawn(move || -> anyhow::Result<()> {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async move {
                let socket = TcpSocket::new_v4()?;
                socket.bind(SocketAddr::from(([127, 0, 0, 1], 0)))?;
                let listener = socket.listen(BACKLOG)?;
                sender.send(listener.local_addr()?)?;
                loop {
                    let (stream, _) = listener.accept().await?;
                    tokio::spawn(serve(stream, Arc::clone(&wait)));
                }
            })
        });
        let lean = Self { address: address.recv().context("the server did not start")?, latency_ms };
        lean.delay(latency);
        Ok(lean)
    }

    /// Answers so much later from now on.
    pub fn delay(&self, latency: Duration) {
        self.latency_ms.store(u64::try_from(latency.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// What stands before `/chat/completions`.
    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }
}

async fn serve(mut stream: TcpStream, latency_ms: Arc<AtomicU64>) -> anyhow::Result<()> {
    stream.set_nodelay(true)?;
    let answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{ANSWER}",
        ANSWER.len()
    );
    let mut bytes = Vec::with_capacity(16 << 10);
    loop {
        let end = loop {
            if let Some(end) = request_end(&bytes) {
                break end;
            }
            if stream.read_buf(&mut bytes).await? == 0 {
                return Ok(());
            }
        };
        bytes.drain(..end);
        tokio::time::sleep(Duration::from_millis(latency_ms.load(Ordering::Relaxed))).await;
        stream.write_all(answer.as_bytes()).await?;
    }
}

/// Where the first request ends, if all of it is there.
fn request_end(bytes: &[u8]) -> Option<usize> {
    let head = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let text = std::str::from_utf8(&bytes[..head]).ok()?.to_ascii_lowercase();
    let length =
        text.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse::<usize>().ok());
    let end = head + length.unwrap_or(0);
    (bytes.len() >= end).then_some(end)
}
