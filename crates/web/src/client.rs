//! The client's side of the socket. It blocks, for commands that do one thing and exit, but for [`Following`].

use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, Lines};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

use crate::api::{News, Request, Response};
use crate::place;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why there was no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nobody listens, or who did has hung up before reading the request: it was certainly not taken.
    #[error("no daemon answers at {path}: {source}")]
    Unreachable {
        /// The socket.
        path: String,
        /// In the words of the system.
        source: std::io::Error,
    },
    /// The request was sent, and no answer came in time. Whether it was taken is not known.
    #[error("the daemon at {path} does not answer: {why}")]
    Silent {
        /// The socket.
        path: String,
        /// In words.
        why: String,
    },
    /// The daemon ended with the request in its hands. Whether it was taken is not known.
    #[error("the daemon ended before it answered")]
    Ended,
    /// What came is no answer.
    #[error("the daemon's answer is not understood: {0}")]
    Garbled(String),
}

/// Whether anybody listens at a socket.
pub fn is_served(socket: &Path) -> bool {
    connect(socket).is_ok()
}

fn connect(socket: &Path) -> std::io::Result<UnixStream> {
    place::within(socket, |name| UnixStream::connect(name))
}

/// Asks the daemon of a home one thing.
pub fn ask(socket: &Path, request: &Request) -> Result<Response, ClientError> {
    ask_within(socket, request, PATIENCE)
}

/// Asks something that may take its time.
pub fn ask_within(socket: &Path, request: &Request, patience: Duration) -> Result<Response, ClientError> {
    let unreachable = |source| ClientError::Unreachable { path: socket.display().to_string(), source };
    let mut stream = connect(socket).map_err(unreachable)?;
    stream.set_read_timeout(Some(patience)).map_err(unreachable)?;
    stream.set_write_timeout(Some(PATIENCE)).map_err(unreachable)?;
    let mut text = serde_json::to_string(request).map_err(|error| ClientError::Garbled(error.to_string()))?;
    text.push('\n');
    stream.write_all(text.as_bytes()).map_err(unreachable)?;
    let mut line = String::new();
    match BufReader::new(stream).read_line(&mut line) {
        Ok(0) => return Err(ClientError::Ended),
        Ok(_) => {}
        // The system says so only if not all of the request was read, and what is not whole is not taken.
        Err(error) if error.kind() == ErrorKind::ConnectionReset => return Err(unreachable(error)),
        Err(source) => {
            let why = match source.kind() {
                // The system calls it so when the time is over.
                ErrorKind::WouldBlock | ErrorKind::TimedOut => {
                    format!("no answer within {} s", patience.as_secs())
                }
                _ => source.to_string(),
            };
            return Err(ClientError::Silent { path: socket.display().to_string(), why });
        }
    }
    serde_json::from_str(&line).map_err(|error| ClientError::Garbled(error.to_string()))
}

/// News of a home that another process works in.
pub struct Following {
    lines: Lines<tokio::io::BufReader<OwnedReadHalf>>,
    /// Whoever closes it has heard enough.
    _write: OwnedWriteHalf,
}

impl Following {
    /// Begins to follow.
    pub async fn begin(socket: &Path) -> Result<Self, ClientError> {
        let unreachable = |source| ClientError::Unreachable { path: socket.display().to_string(), source };
        let stream = connect(socket).map_err(unreachable)?;
        stream.set_nonblocking(true).map_err(unreachable)?;
        let stream = tokio::net::UnixStream::from_std(stream).map_err(unreachable)?;
        let (read, mut write) = stream.into_split();
        let mut text = serde_json::to_string(&Request::Follow)
            .map_err(|error| ClientError::Garbled(error.to_string()))?;
        text.push('\n');
        write.write_all(text.as_bytes()).await.map_err(unreachable)?;
        Ok(Self { lines: tokio::io::BufReader::new(read).lines(), _write: write })
    }

    /// The next news; none when the other ends. May be dropped while it waits: nothing is lost.
    pub async fn next(&mut self) -> Result<Option<News>, ClientError> {
        let Ok(Some(line)) = self.lines.next_line().await else { return Ok(None) };
        serde_json::from_str(&line).map(Some).map_err(|error| ClientError::Garbled(error.to_string()))
    }
}
